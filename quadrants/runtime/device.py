"""What the backends of devices share: memory, programs of tasks, and what a launch reads back."""

from __future__ import annotations

import os
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any

from quadrants import _logging as logging
from quadrants import profiler, session, targets
from quadrants._ext.core import DeviceBuffer, DeviceProgram, Plan, device_count
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.lacks import Lacks
from quadrants.launch.adstack_plan import MOST_ROWS
from quadrants.launch.recipe import LOOP_CONDITION, Recipe
from quadrants.runtime import bindings
from quadrants.runtime.backend import Backend
from quadrants.toolchain import archive, build

if TYPE_CHECKING:
    from quadrants.backends.interface import Device
    from quadrants.launch.tasks import TaskLaunch
    from quadrants.runtime.interface import Kernel


# Launches of a kernel before its tasks become a graph, which costs as much to make as some twenty launches save.
_GRAPH_AFTER = 8


def visible_device() -> int:
    """The number of the device that QD_VISIBLE_DEVICE names, -1 where it is not set."""
    named = os.environ.get("QD_VISIBLE_DEVICE", "")
    if named and not named.isdigit():
        raise ValueError(f"Invalid QD_VISIBLE_DEVICE={named}, should be the number of a device, such as 0")
    return int(named or -1)


def chosen_device(vendor: str) -> int:
    """The number of the device that the options ask for, the first one where they name none.

    Warns where several processes of one launcher share it without having been told to.
    """
    number: int = session.cfg_in_force().device
    if number >= 0:
        return number
    visible = visible_device()
    if visible >= 0:
        return visible
    rank = os.environ.get("LOCAL_RANK", "")
    if rank.isdigit() and int(rank) > 0 and device_count(vendor) > 1:
        logging.warn(
            f"LOCAL_RANK is {rank}, but no device was chosen: this process shares device 0 with others. Write "
            f"qd.init(device={rank}), or set QD_DEVICE."
        )
    return 0


def _ring_bytes() -> int:
    """Bytes for the lines of one launch, on devices that cannot print."""
    chosen = os.environ.get("QD_PRINT_BUFFER", "")
    if chosen and not chosen.isdigit():
        raise ValueError(f"Invalid QD_PRINT_BUFFER={chosen}, should be a number of bytes, such as 1048576")
    return int(chosen or 1 << 20)


def _most_shared(device: Device) -> int:
    """Bytes that the threads of a block may share."""
    most: int = device.attribute("max_shared_bytes")
    return most


class _Event:
    """An event that goes with whoever has it, such as a thread."""

    def __init__(self, device: Device) -> None:
        self._device, self.handle = device, device.event_create()

    def __del__(self) -> None:
        try:
            self._device.event_destroy(self.handle)
        except Exception:  # of a device that is lost, or of the process before a fork
            return


class DeviceBackend(Backend):
    """A subclass gives `functions(code, recipe) -> (handles of the tasks, what keeps them)`."""

    device: Device
    default_stream = 0  # the driver's handle of a queue of somebody else that is the default stream
    polls = True  # a kernel can tell the host that it failed while neither waits for the other

    def __init__(self, dialect: str, device: Device):
        super().__init__(dialect)
        self.device = device
        self.dialect = self.dialect.without(Lacks(self.dialect.abilities.arch, shared_bytes=_most_shared(device)))
        self._events = threading.local()
        self._scratch = _Scratch(device)
        self.multiprocessors = device.attribute("multiprocessors")
        target = targets.of_dialect(dialect)
        self.graphs = target is not None and target.graphs and os.environ.get("QD_GRAPH") != "0"
        self._deciding: dict[str, tuple[int, Any]] = {}

    def synchronize(self) -> None:
        """Wait for the default stream, and raise what its work did wrong."""
        self.device.synchronize()

    def close(self) -> None:
        """The runtime ends: let go of failures that were not told and of the memory of stacks, and bring the disk cache
        back under its limit.
        """
        self.device.forget_failures()
        self.device.free_heaps()
        super().close()

    def allocate(self, nbytes: int) -> DeviceBuffer:
        """Zeroed memory of the device. QuadrantsRuntimeError naming the bytes when there is not that much."""
        return DeviceBuffer(self.device, nbytes)

    def borrow(self, nbytes: int) -> Borrowed:
        """Memory of at least that size for the time of a launch, with anything in it; lent while the result is kept."""
        return Borrowed(self._scratch, nbytes)

    def borrowed(self, array: Any) -> Any:
        """What has the `address` of an array of pyopencl; None where kernels do not reach it."""
        return None

    def orders(self, array: Any) -> bool:
        """Whether events order launches and what the package of an array does with it; else the host waits."""
        return True

    def exchange_event(self) -> int:
        """An event of the calling thread, for waits that are recorded at once."""
        events = self._events
        if not hasattr(events, "own"):
            events.own = _Event(self.device)
        handle: int = events.own.handle
        return handle

    def functions(self, code: Any, recipe: Recipe) -> tuple[list[int], Any]:
        """Load compiled code: the function handle of every task, and an object that keeps them."""
        raise NotImplementedError

    def plan(self, kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, code: Any) -> Plan:
        """Describe to the launch core how to launch the tasks of that code."""
        self.device.refuse_capture(recipe.name)  # loading code would spoil the graph that is recorded
        self._check(recipe)
        handles, keepalive = self.functions(code, recipe)
        program = DeviceProgram(
            self.device,
            [self._task(launch, handle) for launch, handle in zip(recipe.launches, handles, strict=True)],
            recipe.size,
            frame_bytes=recipe.frame,
            prefix_bytes=recipe.prefix,
            error_offset=recipe.error,
            polled=recipe.polled and self.polls,
            seed_offset=recipe.seed,
            block_in_memory=recipe.in_memory,
            waits=recipe.prints,
            ring_offset=recipe.ring,
            ring_bytes=_ring_bytes(),
            lines=recipe.lines,
            early=recipe.early,
            timed=bool(session.cfg_in_force().kernel_profiler),
            local_tasks=[number for number, launch in enumerate(recipe.launches) if launch.local],
            regions=[(r.kind, r.begin, r.end, r.parent, r.flag, r.random, r.ended, r.again) for r in recipe.regions],
            stacks=recipe.stacks,
            task_stacks=[(launch.number, launch.stacks, launch.gate) for launch in recipe.launches],
            gate_bytes=session.cfg_in_force().ad_stack_sparse_threshold_bytes,
            graph_after=self._graph_after(kernel, recipe),
            condition=self._condition(recipe),
            keepalive=keepalive,
        )
        return bindings.make_plan(kernel, args, recipe, 0, keepalive=program, program=program)

    def _graph_after(self, kernel: Kernel, recipe: Recipe) -> int:
        """Launches before the tasks of a kernel are one graph, -1 for ever."""
        loops = any(region.kind == "loop" for region in recipe.regions)
        alone = len(recipe.launches) < 2 and not loops
        timed = session.cfg_in_force().kernel_profiler
        if not self.graphs or alone or timed or recipe.stacks is not None or recipe.prints or kernel.mode:
            return -1
        return 0 if recipe.graph else _GRAPH_AFTER

    def _condition(self, recipe: Recipe) -> int:
        """The function that decides on the device whether a loop runs again; 0 where none does."""
        if not self.graphs or not recipe.decides or "QD_CUDA_FORCE_HOST_LOOP" in os.environ:
            return 0
        if recipe.decides not in self._deciding:
            self._deciding[recipe.decides] = self.function_of(recipe.decides, LOOP_CONDITION)
        return self._deciding[recipe.decides][0]

    def function_of(self, text: str, name: str) -> tuple[int, Any]:
        """The handle of the only task of a text that is no kernel's, and what keeps it."""
        raise NotImplementedError

    def _task(self, launch: TaskLaunch, handle: int) -> tuple[Any, ...]:
        most = self._most_blocks(launch, handle) if launch.form in ("stride", "chunk") else 0
        if launch.stacks and launch.form == "stride":
            most = min(most, max(1, MOST_ROWS // launch.block_dim))
        return (launch.name, handle, launch.block_dim, launch.shared_bytes, most, launch.count)

    def _check(self, recipe: Recipe) -> None:
        self._check_block(recipe)
        self._check_shared(recipe)

    def _check_block(self, recipe: Recipe) -> None:
        most = self.device.attribute("argument_bytes")
        if recipe.size > most and not recipe.in_memory:
            raise QuadrantsRuntimeError(
                f"kernel {recipe.name} takes {recipe.size} bytes of arguments, more than the {most} that this device "
                "and its driver pass to a kernel; update the driver, or pass fewer arguments"
            )

    def _check_shared(self, recipe: Recipe) -> None:
        """Of what a larger device has kept; else `passes.refuse_lacking` says it, with the line."""
        most = _most_shared(self.device)
        for launch in recipe.launches:
            if launch.shared_bytes > most:
                raise QuadrantsRuntimeError(
                    f"kernel {recipe.name}: Requested dynamic shared memory size of {launch.shared_bytes} bytes, but "
                    f"the device supports max capacity of {most} bytes."
                )

    def _most_blocks(self, launch: TaskLaunch, handle: int) -> int:
        """Blocks that keep the device busy; more would only repeat what they do at their end."""
        chosen: int = session.cfg_in_force().saturating_grid_dim
        if chosen > 0:
            return chosen
        resident = self.device.residency(handle, launch.block_dim, launch.shared_bytes)
        return max(1, min(launch.blocks, resident)) * self.multiprocessors


class BinaryBackend(DeviceBackend):
    """A device whose compiler makes binaries. A subclass sets `arch`, the chip, and gives `flags(options)`."""

    compiler: ModuleType
    arch: str

    def flags(self, options: dict[str, Any]) -> tuple[str, ...]:
        """The options of the compiler."""
        raise NotImplementedError

    def identity(self, options: dict[str, Any]) -> str:
        """What decides the machine code of a text."""
        return "\n".join((self.compiler.identity(), self.arch, repr(self.dialect.lacks), *self.flags(options)))

    def artifact(self, recipe: Recipe, text: str, options: dict[str, Any]) -> str:
        """The key under which the disk cache has the code of a text."""
        return build.key_binary(self.dialect.name, text, self.arch, self.flags(options))

    def build(self, kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, text: str, options: dict[str, Any]) -> Plan:
        """Compile or load the text and describe to the launch core how to launch it."""
        name = self.dialect.name
        self._check(recipe)
        with profiler.scope(f"compile {name.upper()}"):
            code = build.build_binary(
                name, text, recipe.name, self.arch, self.flags(options), self.cache, units=recipe.units
            )
        return self.plan(kernel, args, recipe, code)

    def load(self, kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, artifact: str) -> Plan | None:
        """The same from what the disk cache has; None when it has it no more."""
        code = build.kept_binary(artifact, build.binary_suffix(self.dialect.name, self.arch), self.cache)
        return None if code is None else self.plan(kernel, args, recipe, code)

    def function_of(self, text: str, name: str) -> tuple[int, Any]:
        options = self.flags({"fast_math": False, "opt_level": 1})
        module = self.device.load(build.build_binary(self.dialect.name, text, name, self.arch, options, self.cache))
        return module.function(name), module

    def functions(self, code: bytes, recipe: Recipe) -> tuple[list[int], Any]:
        modules = [self.device.load(unit) for unit in archive.members(code)]
        return [modules[launch.unit].function(launch.name) for launch in recipe.launches], modules


class Borrowed:
    """A `buffer` that goes back to where it is from with the last reference to this."""

    __slots__ = ("buffer", "_scratch")

    def __init__(self, scratch: _Scratch, nbytes: int):
        self._scratch = scratch
        self.buffer = scratch.take(nbytes)

    def __del__(self) -> None:
        if hasattr(self, "buffer"):
            self._scratch.put(self.buffer)


class _Scratch:
    """Buffers that were given back, by size: a power of two, so that few sizes serve all."""

    SMALLEST = 1 << 12
    MOST = 1 << 28  # bytes kept

    def __init__(self, device: Device):
        self.device = device
        self.lock = threading.Lock()
        self.free: dict[int, list[DeviceBuffer]] = {}
        self.bytes = 0

    def take(self, nbytes: int) -> DeviceBuffer:
        size = max(self.SMALLEST, 1 << max(nbytes - 1, 0).bit_length())
        with self.lock:
            kept = self.free.get(size)
            if kept:
                self.bytes -= size
                return kept.pop()
        return DeviceBuffer(self.device, size, clear=False)

    def put(self, buffer: DeviceBuffer) -> None:
        with self.lock:
            if self.bytes + buffer.nbytes <= self.MOST:
                self.bytes += buffer.nbytes
                self.free.setdefault(buffer.nbytes, []).append(buffer)
