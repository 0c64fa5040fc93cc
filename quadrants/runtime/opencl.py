"""The OpenCL backend: OpenCL C through the driver of the device, launched through its loader.

Context and programs are pyopencl's; memory, streams and launches are the launch core's.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quadrants import session
from quadrants._ext import opencl as native
from quadrants._ext.core import Plan, device_of_table, refuse_fork
from quadrants.backends import registry
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.lacks import Lacks, all_atomics
from quadrants.lang.impl import register_device_query
from quadrants.launch.recipe import Recipe
from quadrants.runtime.device import BinaryBackend, visible_device
from quadrants.toolchain import opencl
from quadrants.toolchain.errors import CompilerNotFound

if TYPE_CHECKING:
    from quadrants.launch.tasks import TaskLaunch
    from quadrants.runtime.interface import Kernel

# A processor does the iterations of a thread, which are far apart, before those of the next one: what it reads for the
# first is to be in its cache still for that. Few iterations a thread do that, and an odd distance.
_BLOCKS_OF_CPU = 4093
# The extensions that atomics of 64 bits belong to; the first has those that others are made of, too.
_BASE, _EXTENDED = "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"
_OF_EXTENDED = [(op, t) for op in ("min", "max", "and", "or", "xor") for t in ("i64", "u64")]
# Threads of a block and bytes that they share, which nearly all devices have.
_LEAST = (1024, 32 << 10)


def probe() -> bool:
    """Whether there is a device that can run kernels."""
    try:
        found = opencl.chosen()
    except CompilerNotFound:
        return False
    return found is not None and not found.lacking


def probe_among() -> bool:
    """The same where OpenCL is one of `qd.gpu`: a processor like the host's is none."""
    found = opencl.chosen() if probe() else None
    return found is not None and not found.is_cpu


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
    """The device of the option `device`, else that of QD_OPENCL_DEVICE, else that of QD_VISIBLE_DEVICE."""
    number = session.cfg_in_force().device
    if number >= 0:
        return _able(opencl.numbered(number, f"device={number}"))
    visible = -1 if os.environ.get("QD_OPENCL_DEVICE") else visible_device()
    return _able(opencl.numbered(visible, f"QD_VISIBLE_DEVICE={visible}") if visible >= 0 else opencl.chosen())


def _able(found: opencl.Found | None) -> opencl.Found:
    if found is None or found.lacking:
        raise QuadrantsRuntimeError("there is no OpenCL device that can run kernels: " + "; ".join(lacking()))
    return found


class OpenClBackend(BinaryBackend):
    """Kernels as programs of a context of their own."""

    compiler = opencl
    dlpack_device = None  # no other package can address this memory
    polls = False  # nothing that host and device both see while a kernel runs

    def __init__(self) -> None:
        refuse_fork("opencl")
        found, queue = _given() if session.cfg_in_force().external_opencl_command_queue else (_chosen(), None)
        self.place = found.place
        opencl.take(self.place)
        opencl.give_back(self.place)
        if queue is not None:
            opencl.borrow(self.place, queue.context)
            self.default_stream = queue.int_ptr
        self.context = opencl.context(self.place)
        self.opened = _opened(self.context, found, self.default_stream)
        super().__init__("opencl", device_of_table("opencl", native.table_address(), self.opened))
        self.do_without(_lacks(found.device))
        self.arch = found.chip
        self._cl_device = found.device
        self.is_cpu = found.is_cpu
        if found.is_cpu:  # which walks through memory in order best
            self.dialect = replace(self.dialect, batches=False, processor=True)

    def close(self) -> None:
        """The runtime ends, and with it the use of a context of somebody else."""
        super().close()
        opencl.give_back(self.place)

    def borrowed(self, array: Any) -> Any:
        """What has the `address` of the memory of a pyopencl array, and keeps it within reach of kernels; None where it
        has no address, or one of another context."""
        address = opencl.address_of(array.base_data) if array.context == self.context else 0
        return native.Borrowed(self.device, self.opened, address) if address else None

    def orders(self, array: Any) -> bool:
        """Whether events do. PoCL takes those of another device of the context for done."""
        return bool(array.queue.device == self._cl_device)

    def flags(self, options: dict[str, Any]) -> tuple[str, ...]:
        checked = bool(options.get("debug") or options.get("check_out_of_bound"))
        fast, optimised = bool(options["fast_math"]), options["opt_level"] != 0
        return opencl.flags(self.arch, fast_math=fast, optimised=optimised, checked=checked)

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
        chosen = session.cfg_in_force().saturating_grid_dim > 0
        if not self.is_cpu or launch.form == "chunk" or launch.count is None or chosen:
            return super()._most_blocks(launch, handle)
        return _BLOCKS_OF_CPU


class _Refused(QuadrantsRuntimeError):
    """The driver does not take a binary."""


def _lacks(device: Any) -> Lacks:
    has = opencl.extensions(device)
    atomics = {} if _EXTENDED in has else dict.fromkeys(_OF_EXTENDED, _EXTENDED)
    if _BASE not in has:
        atomics |= all_atomics(("i64", "u64", "f64"), _BASE)
    types = {} if "cl_khr_fp64" in has else {"f64": "cl_khr_fp64"}
    name = f"arch opencl on {device.name.strip()}"
    return Lacks(name, types, atomics, *map(_if_less, (device.max_work_group_size, device.local_mem_size), _LEAST))


def _if_less(found: int, usual: int) -> int:
    return found if found < usual else 0


def _given() -> tuple[opencl.Found, Any]:
    """The device and the queue that `qd.init` was given."""
    try:
        found, queue = opencl.queue_at(session.cfg_in_force().external_opencl_command_queue)
    except ValueError as error:
        raise QuadrantsRuntimeError(f"external_opencl_command_queue: {error}") from None
    in_order, times = opencl.features(queue)
    wrong = ""
    if found is None or found.lacking:
        what = f"lacks {found.lacking}" if found is not None else "is only a part of one"
        wrong = f"of {queue.device.name.strip()}, which {what}; give one of another device"
    elif not in_order:
        wrong = "out of order, and launches rely on order; give one that is in order"
    elif session.cfg_in_force().kernel_profiler and not times:
        flag = "pyopencl.command_queue_properties.PROFILING_ENABLE"
        wrong = f"that notes no times, which kernel_profiler=True needs; make it with {flag}"
    if found is None or wrong:
        raise QuadrantsRuntimeError(f"external_opencl_command_queue is a queue {wrong}")
    return found, queue


def _opened(context: Any, found: opencl.Found, queue: int) -> int:
    timing = bool(session.cfg_in_force().kernel_profiler)
    device, binding = found.device.int_ptr, os.fsencode(opencl.binding())
    opened: int = native.opened(context.int_ptr, device, queue, timing, binding)
    return opened


registry.register(("opencl",), OpenClBackend)
register_device_query("opencl", "max_shared_memory_bytes", lambda: registry.device().attribute("max_shared_bytes"))
