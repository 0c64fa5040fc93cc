"""How a device runs the tasks of a kernel: with how many threads, and which iterations each of them does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quadrants.emit.batches import FEWEST, Batch, batch_of
from quadrants.emit.layout import ArgsLayout
from quadrants.emit.tiles import tile_of
from quadrants.emit.trip_counts import count_of
from quadrants.ir import cost, walk
from quadrants.ir.nodes import Builtin, If, Intrinsic, Task

if TYPE_CHECKING:
    from quadrants.emit.dialects import Dialect
    from quadrants.emit.records import TileAxis
    from quadrants.launch.tasks import Program

_MOST = 2**31 - 1  # blocks of a grid, and iterations of one axis
# A device starts a block in 0.6 ns, whatever its size. Threads of blocks that are small, and the work of an iteration
# of those, in units of `ir.cost`, that takes no longer; work before a condition that may leave a thread nothing to do.
_SMALL, _BRIEF, _LOOK = 64, 256, 32
_OF_GRID = ("thread_index", "block.global_thread_idx")  # with a thread for each iteration this is its number


@dataclass(slots=True, eq=False, repr=False)
class Form:
    """name: "serial", "flat", "stride" or "chunk", see `TaskLaunch`; "" where there is no device. block_dim: threads of
    a block. count: iterations, and threads: those that the host starts, both as in `TaskLaunch`. tile: of a block, or
    batch: of a thread, where they are not rows of iterations and single ones.
    """

    name: str = ""
    block_dim: int = 0
    count: int | Program | None = None
    threads: int | Program | None = None
    tile: list[TileAxis] | None = None
    batch: Batch | None = None


def form_of(
    task: Task,
    dialect: Dialect,
    options: dict[str, Any],
    layout: ArgsLayout,
    heap: bool = False,
    trips: Program | None = None,
) -> Form:
    """heap: the task has stacks, and so a row of memory for each of a limited number of threads. trips: a program for
    its iterations, where tasks of the launch find that.
    """
    if not dialect.launches:
        return Form()
    loop = task.loop
    if loop is None:
        return Form("serial", 1, 1, 1)
    chosen = loop.config.block_dim if loop.config is not None else None
    if chosen is not None and chosen < dialect.vector_lanes and not _sees_threads(task):
        chosen = dialect.vector_lanes
    usual = max(options.get("default_gpu_block_dim") or dialect.block_dim, loop.lanes)
    largest = dialect.lacks.block_threads or 1024
    usual, larger = min(usual, largest), min(2 * usual, largest)
    count = count_of(loop, layout, task.pre) if trips is None else trips
    if dialect.processor and loop.vars and not heap and not _sees_threads(task):
        return Form("chunk", 1, count, None if count is None else _shared(count, cost.grain_of(task)))
    if not loop.vars:
        return Form("stride" if task.reductions or count is None or heap else "flat", chosen or 1, count, count)
    if task.reductions:
        # Where a block ends in one atomic, fewer and larger blocks are better.
        return Form("stride", chosen or larger, count, count)
    if heap:
        return Form("stride", chosen or usual, count, count)
    tile = tile_of(task, loop, larger)
    if tile is not None:
        blocks = 1
        for axis in tile:
            blocks *= axis["tiles"]
        if blocks <= _MOST:
            return Form("flat", larger, count, blocks * larger, tile=tile)
    block_dim = chosen or usual
    most = _MOST if len(loop.vars) == 1 else _MOST * block_dim
    if count is None or isinstance(count, int) and count > most:
        return Form("stride", block_dim, count, count)
    batch = batch_of(task, loop, count) if dialect.batches else None
    if dialect.batches and batch is None and _starts_longer_than_it_runs(task, chosen, count):
        return Form("stride", block_dim, count, count)
    return Form("flat", block_dim, count, count if batch is None else _shared(count, batch.times), batch=batch)


def _starts_longer_than_it_runs(task: Task, chosen: int | None, count: int | Program | None) -> bool:
    """Whether a device that has many iterations would mostly start blocks, so that fewer of them do several rounds."""
    if isinstance(count, int) and count < FEWEST:
        return False
    if chosen is None:
        brief = any(isinstance(s, If) for s in task.body) and cost.before_conditions(task) <= _LOOK
    else:
        brief = chosen <= _SMALL and cost.of_task(task)[0] <= _BRIEF
    found = walk.with_functions(task.body, (Builtin,)) if brief else ()
    return brief and not any(isinstance(node, Builtin) and node.name in _OF_GRID for node in found)


def _sees_threads(task: Task) -> bool:
    """Whether a task knows of the threads and blocks that do it."""
    if task.collective or task.shared_arrays:
        return True
    return any(isinstance(node, Intrinsic) for node in walk.with_functions(task.body, (Intrinsic,)))


def _shared(count: int | Program, times: int) -> int | Program:
    """A number of iterations as that of threads that do some each."""
    if isinstance(count, int):
        return -(-count // times)
    return (*count, ("const", times - 1), ("add",), ("const", times), ("floordiv",))
