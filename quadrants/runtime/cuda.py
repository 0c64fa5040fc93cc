"""The CUDA backend: CUDA C++ through NVRTC, launched by the driver on one device of those that are visible."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from quadrants import session
from quadrants._ext.core import Device, DeviceBuffer, device_count
from quadrants.backends import registry
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.impl import register_device_query
from quadrants.launch.recipe import Recipe
from quadrants.runtime import emulated
from quadrants.runtime.device import BinaryBackend, chosen_device
from quadrants.toolchain import drivers, nvrtc

# What a function may use without asking.
_STATIC_SHARED = 48 * 1024


def probe() -> bool:
    """Whether there is a CUDA device that this process can use."""
    return bool(device_count("cuda") > 0)


def lacking() -> list[str]:
    """What keeps `probe` from being true, each with what provides it."""
    return drivers.cuda().missing


class CudaBackend(BinaryBackend):
    """Kernels as modules of the driver, in the device's primary context, which torch and cupy use too."""

    compiler = nvrtc

    def __init__(self) -> None:
        nvrtc.identity()  # without it no kernel runs, not even one on disk
        if session.cfg_in_force().offline_cache is False:
            # Nothing is on disk, so a kernel will be compiled soon: the compiler starts while the device does.
            nvrtc.prepare()
        super().__init__("cuda", Device("cuda", chosen_device("cuda")))
        self.dlpack_device = (2, self.device.ordinal)
        self.arch = f"sm_{self.device.attribute('compute_capability')}"

    def allocate(self, nbytes: int) -> DeviceBuffer:
        """Zeroed memory: out of cupy's pool in programs that use cupy, so that the two do not hoard apart."""
        cupy = sys.modules.get("cupy")
        if cupy is None or nbytes == 0:
            return super().allocate(nbytes)
        try:
            with cupy.cuda.Device(self.device.ordinal), cupy.cuda.Stream.null:
                taken = cupy.get_default_memory_pool().malloc(nbytes)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise QuadrantsRuntimeError(
                f"cannot allocate {nbytes} bytes of cuda device memory: {error}; use smaller fields or free some that "
                "are not needed"
            ) from None
        return DeviceBuffer(self.device, nbytes, taken.ptr, taken)

    def flags(self, options: dict[str, Any]) -> tuple[str, ...]:
        return nvrtc.flags(options)

    def functions(self, code: bytes, recipe: Recipe) -> tuple[list[int], Any]:
        handles, module = super().functions(code, recipe)
        for launch, handle in zip(recipe.launches, handles, strict=True):
            if launch.shared_bytes > _STATIC_SHARED:
                self.device.allow_shared(handle, launch.shared_bytes)
        return handles, module


def _attribute(name: str) -> Callable[[], int]:
    return lambda: registry.device().attribute(name)


registry.register(("cuda",), emulated.unless_wanted("cuda", CudaBackend))
register_device_query("cuda", "max_shared_memory_bytes", _attribute("max_shared_bytes"))
register_device_query("cuda", "compute_capability", _attribute("compute_capability"))
register_device_query("cuda", "clock_freq_hz", lambda: 1000 * _attribute("clock_khz")())
