"""The OpenCL backend: OpenCL C through the driver of the device, launched by libOpenCL.

Context and programs are pyopencl's; memory, streams and launches are the launch core's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quadrants import session
from quadrants._ext import opencl as native
from quadrants._ext.core import Device, Plan, device_of_table
from quadrants.backends import registry
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.impl import register_device_query
from quadrants.launch.recipe import Recipe
from quadrants.runtime.device import BinaryBackend
from quadrants.toolchain import opencl
from quadrants.toolchain.errors import CompilerNotFound

if TYPE_CHECKING:
    from quadrants.launch.tasks import TaskLaunch
    from quadrants.runtime.interface import Kernel

# A processor does the iterations of a thread, which are far apart, before those of the next one: what it reads for the
# first is to be in its cache still for that. Few iterations a thread do that, and an odd distance.
_BLOCKS_OF_CPU = 4093


def probe() -> bool:
    """Whether there is a device that can run kernels."""
    try:
        found = opencl.chosen()
    except CompilerNotFound:
        return False
    return found is not None and not found.lacking


def probe_among() -> bool:
    """The same where OpenCL is one of several archs that would do: a processor like the host's then does not count."""
    return probe() and not _chosen().is_cpu


def lacking() -> list[str]:
    """What keeps `probe` from being true, each with what provides it."""
    try:
        found = opencl.devices()
    except CompilerNotFound:
        return ["pyopencl: `pip install pyopencl`"]
    if not found:
        return ["an OpenCL device: install the driver of the device's maker, or `apt install pocl-opencl-icd`"]
    unfit = [f"a device with {one.lacking}: {one.place} has none" for one in found if one.lacking]
    return unfit or ["a GPU: its devices are processors, for which write arch=qd.opencl"]


def _chosen() -> opencl.Found:
    found = opencl.chosen()
    if found is None or found.lacking:
        raise QuadrantsRuntimeError("there is no OpenCL device that can run kernels: " + "; ".join(lacking()))
    return found


class OpenClBackend(BinaryBackend):
    """Kernels as programs of a context of their own."""

    compiler = opencl
    dlpack_device = None  # no other package can address this memory
    polls = False  # nothing that host and device both see while a kernel runs

    def __init__(self) -> None:
        found = _chosen()
        super().__init__("opencl", _device(found))
        self.arch = found.chip
        self.is_cpu = found.is_cpu
        if found.is_cpu:  # which walks through memory in order best
            self.dialect = replace(self.dialect, batches=False)

    def flags(self, options: dict[str, Any]) -> tuple[str, ...]:
        return opencl.flags(fast_math=bool(options["fast_math"]), optimised=options["opt_level"] != 0)

    def load(self, kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, artifact: str) -> Plan | None:
        try:
            return super().load(kernel, args, recipe, artifact)
        except _Refused:
            return None

    def functions(self, code: bytes, recipe: Recipe) -> tuple[list[int], Any]:
        program = opencl.load(code, self.arch)
        if program is None:
            raise _Refused(f"the OpenCL driver does not take the binary of kernel '{recipe.name}'")
        by_value = 0 if recipe.in_memory else recipe.size
        module = self.device.load(native.image(program.int_ptr, by_value))
        return [module.function(launch.name) for launch in recipe.launches], module

    def _most_blocks(self, launch: TaskLaunch, handle: int) -> int:
        if not self.is_cpu or launch.count is None or session.cfg_in_force().saturating_grid_dim > 0:
            return super()._most_blocks(launch, handle)
        return _BLOCKS_OF_CPU


class _Refused(QuadrantsRuntimeError):
    """The driver does not take a binary."""


def _device(found: opencl.Found) -> Device:
    context = opencl.context(found.place)
    timing = bool(session.cfg_in_force().kernel_profiler)
    opened = native.opened(context.int_ptr, found.device.int_ptr, timing)
    return device_of_table("opencl", native.table_address(), opened)


registry.register(("opencl",), OpenClBackend)
register_device_query("opencl", "max_shared_memory_bytes", lambda: registry.device().attribute("max_shared_bytes"))
