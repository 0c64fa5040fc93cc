"""Kernels of this target run as those of the CPU do."""

from quadrants.backends import registry
from quadrants.runtime.cpu import CpuBackend


def probe() -> bool:
    return True


class OutsideBackend(CpuBackend):
    dialect_name = "marked_c"


registry.register(("outside",), OutsideBackend)
