"""The Metal backend: the text of kernels, run by the SIMT emulator. What runs it on Apple's devices is not written."""

from __future__ import annotations

from quadrants.backends import registry
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.impl import register_device_query
from quadrants.runtime import emulated

_LACKING = "a runtime for devices, which is not written: qd.init(arch=qd.metal, emulate=True) runs its text"


def probe() -> bool:
    """Whether there is a device that this process can use."""
    return False


def lacking() -> list[str]:
    """What keeps `probe` from being true."""
    return [_LACKING]


def _on_a_device() -> emulated.EmulatedBackend:
    raise QuadrantsRuntimeError(f"metal lacks {_LACKING}")


registry.register(("metal",), emulated.unless_wanted("metal", _on_a_device))
register_device_query("metal", "max_shared_memory_bytes", lambda: registry.device().attribute("max_shared_bytes"))
