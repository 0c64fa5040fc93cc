"""Loops over several axes, of which a block of a device does a compact tile.

    iterations of three blocks          in rows                     in tiles of 2 x 4

                                        0 0 0 0 0 0 0 0 1 1         0 0 0 0 1 1 1 1 2 2
                                        1 1 1 1 1 1 2 2 2 2         0 0 0 0 1 1 1 1 2 2

What the threads of a tile read of their neighbours is mostly read by other threads of the tile, and found in the cache
of their multiprocessor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants.ir.nodes import Const, For, Task
from quadrants.ir.ranges import known_length

if TYPE_CHECKING:
    from quadrants.emit.records import TileAxis

# Neighbouring iterations of the last axis: threads that access memory together.
ROW = 32
# Of one more iteration in the padding of a tile, how many do something.
_PADDED = 1.25
# A loop of fewer iterations has all it reads in caches anyway.
_FEWEST = 1 << 16


def tile_of(task: Task, loop: For, block_dim: int) -> list[TileAxis] | None:
    """The tile of a block of that many threads, by axis, or None where rows do as well. loop: that of the task."""
    extents = _extents(loop)
    if not task.near or extents is None or loop.config is not None and loop.config.block_dim is not None:
        return None
    rows = block_dim // ROW
    if extents[-1][1] < ROW or rows < 2:
        return None
    sizes = [1] * (len(extents) - 2) + [rows, ROW]
    if len(extents) > 2 and rows >= 4:
        sizes[-3:-1] = [2, rows // 2]
    axes = [_axis(first, extent, size) for (first, extent), size in zip(extents, sizes)]
    iterations = done = 1
    for axis, (_, extent) in zip(axes, extents):
        iterations, done = iterations * extent, done * axis["size"] * axis["tiles"]
    return axes if iterations >= _FEWEST and done <= _PADDED * iterations else None


def _extents(loop: For) -> list[tuple[int, int]] | None:
    """(begin, extent) of every axis; None where one is not known."""
    found = []
    for begin, end in loop.bounds:
        extent = known_length(begin, end)
        if extent is None or not isinstance(begin, Const):
            return None
        found.append((int(begin.value), extent))
    return found


def _axis(begin: int, extent: int, size: int) -> TileAxis:
    end = begin + extent
    first = begin // size * size  # rows of memory begin there
    if (end - first - 1) // size > (end - begin - 1) // size:  # but one tile more is too much
        first = begin
    tiles = -(-(end - first) // size)
    return {
        "begin": first, "size": size, "tiles": tiles, "below": first < begin, "beyond": first + tiles * size > end
    }  # fmt: skip
