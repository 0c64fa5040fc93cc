"""The AMD backend: HIP text through HIPRTC, launched by the HIP runtime on one device of those that are visible.

Written against the documented interface; no machine of the project has such a device.
"""

from __future__ import annotations

import glob
import os
from typing import Any

from quadrants._ext.core import Device, device_count
from quadrants.backends import registry
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.impl import register_device_query
from quadrants.runtime import emulated
from quadrants.runtime.device import BinaryBackend, chosen_device
from quadrants.toolchain import drivers, hiprtc


def probe() -> bool:
    """Whether there is an AMD device that this process can use."""
    return bool(_nodes()) and device_count("hip") > 0


def lacking() -> list[str]:
    """What keeps `probe` from being true, each with what provides it."""
    return drivers.hip().missing


def _nodes() -> list[dict[str, int]]:
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


def _node_number(ordinal: int, visible: str, count: int) -> int:
    """Which of the system's processors a visible device is; those that are named otherwise than by number count on."""
    names = [name.strip() for name in visible.split(",") if name.strip()]
    if ordinal < len(names) and names[ordinal].isdigit() and int(names[ordinal]) < count:
        return int(names[ordinal])
    return min(ordinal, count - 1)


class AmdBackend(BinaryBackend):
    """Kernels as modules of the HIP runtime."""

    compiler = hiprtc

    def __init__(self) -> None:
        hiprtc.identity()  # without it no kernel runs, not even one on disk
        super().__init__("hip", Device("hip", chosen_device("hip")))
        self.dlpack_device = (10, self.device.ordinal)
        nodes = _nodes()
        if not nodes:
            raise QuadrantsRuntimeError("the system shows no AMD device under /sys/class/kfd")
        node = nodes[_node_number(self.device.ordinal, os.environ.get("HIP_VISIBLE_DEVICES", ""), len(nodes))]
        self.arch = chip_name(node["gfx_target_version"])
        self.multiprocessors = max(1, node.get("simd_count", 4) // max(1, node.get("simd_per_cu", 4)))

    def flags(self, options: dict[str, Any]) -> tuple[str, ...]:
        return hiprtc.flags(self.arch, fast_math=bool(options["fast_math"]))


registry.register(("amdgpu",), emulated.unless_wanted("hip", AmdBackend))
register_device_query("amdgpu", "max_shared_memory_bytes", lambda: registry.device().attribute("max_shared_bytes"))
