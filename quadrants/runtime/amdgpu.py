"""The AMD backend: HIP text through HIPRTC, launched by the HIP runtime on the first visible device.

Written against the documented interface; no machine of the project has such a device.
"""

from __future__ import annotations

import glob
import os

from quadrants import profiler, session
from quadrants._ext.core import Device, device_count
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.impl import register_device_query
from quadrants.runtime import emulated, registry
from quadrants.runtime.device import DeviceBackend
from quadrants.runtime.recipe import Recipe
from quadrants.toolchain import build, hiprtc


def probe() -> bool:
    """Whether there is an AMD device that this process can use."""
    return bool(_nodes()) and device_count("hip") > 0


def _nodes() -> list[dict]:
    """What the system says of its AMD processors for computing, one dict of numbers each."""
    found = []
    for path in sorted(glob.glob("/sys/class/kfd/kfd/topology/nodes/*/properties")):
        try:
            with open(path) as file:
                node = dict(line.split(maxsplit=1) for line in file if " " in line)
        except OSError:  # a device that this user may not open
            continue
        if int(node.get("gfx_target_version", 0)):
            found.append({key: int(value) for key, value in node.items() if value.strip().isdigit()})
    return found


def chip_name(version: int) -> str:
    """The compiler's name of a `gfx_target_version`, such as gfx90a of 90010: major, minor and stepping in base 100."""
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}"


class AmdBackend(DeviceBackend):
    """Kernels as modules of the HIP runtime."""

    dlpack_device = (10, 0)

    def __init__(self):
        super().__init__("hip", Device("hip"))
        nodes = _nodes()
        if not nodes:
            raise QuadrantsRuntimeError("the system shows no AMD device under /sys/class/kfd")
        visible = os.environ.get("HIP_VISIBLE_DEVICES", "").split(",")[0].strip()
        node = nodes[int(visible) if visible.isdigit() and int(visible) < len(nodes) else 0]
        self.arch = chip_name(node["gfx_target_version"])
        self.multiprocessors = max(1, node.get("simd_count", 4) // max(1, node.get("simd_per_cu", 4)))

    def _flags(self, options: dict) -> tuple[str, ...]:
        return hiprtc.flags(self.arch, fast_math=bool(options["fast_math"]))

    def identity(self, options: dict) -> str:
        """What decides the machine code of a text."""
        return "\n".join((hiprtc.identity(), self.arch, *self._flags(options)))

    def artifact(self, recipe: Recipe, text: str, options: dict) -> str:
        """The key under which the disk cache has the code of a text."""
        return build.key_hip(text, self.arch, self._flags(options))

    def build(self, kernel, args: tuple, recipe: Recipe, text: str, options: dict):
        """Compile or load the text and describe to the launch core how to launch it."""
        with profiler.scope("compile HIP"):
            code = build.build_hip(text, recipe.name, self.arch, self._flags(options), self.cache)
        return self.plan(kernel, args, recipe, code)

    def load(self, kernel, args: tuple, recipe: Recipe, artifact: str):
        """The same from what the disk cache has; None when it has it no more."""
        code = build.kept_binary(artifact, ".hsaco", self.cache)
        return None if code is None else self.plan(kernel, args, recipe, code)

    def functions(self, code: bytes, recipe: Recipe):
        module = self.device.load(code)
        return [module.function(launch.name) for launch in recipe.launches], module


def _make():
    cfg = session.current_cfg()
    return emulated.EmulatedBackend("hip") if cfg.emulate else AmdBackend()


registry.register(("amdgpu",), _make)
register_device_query(
    "amdgpu", "max_shared_memory_bytes", lambda: registry.current().device.attribute("max_shared_bytes")
)
