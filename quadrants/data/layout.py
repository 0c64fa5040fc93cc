"""From a tree of nodes to bytes: cell sizes under C alignment rules, and strided NumPy views over them.

root cell    | a | a | a | a |pad| b0 b1 | b0 b1 |         two dense nodes, 64-byte aligned
               ^stride             ^ two components of one vector field share a cell (AOS)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from quadrants.data import memory
from quadrants.ir.quant import Packing

# Top-level nodes start on a cache line, so that vector loads of separate fields never straddle one needlessly.
ROOT_ALIGN = 64
# Those of several pages begin at other lines of a page than the one before them. To a processor a store to y[i] is one
# to x[j] where the last 12 bits of the two addresses are the same, and a load of x[j] waits for it. All begin at what
# devices load at once.
PAGE, APART, LARGE = 4096, 5 * 256, 4 * 4096


class CellLayout(NamedTuple):
    """Where one scalar component lives.

    The byte address of canonical index I is `tree.buffer.ptr + offset +
    sum(((I[axis] - index_offset[axis]) // divisor % extent) * stride for axis, extent, divisor, stride in levels)`.
    `writes` counts the writes of integers; None for reals. `packing`: which bits of the word at that address it is, in
    the computing type `dtype`. Below a sparse node `within` says which container of the pool, whose memory `tree` has,
    the cell is in (`ir.sparse`); `levels` are then those in a container.
    """

    levels: tuple
    offset: int
    shape: tuple
    dtype: object
    index_offset: tuple
    tree: object
    writes: object = None
    packing: Packing | None = None
    within: Any = None

    @property
    def blocked(self) -> bool:
        """True if some axis is split over several dense nodes, so that no plain strided view exists."""
        if self.within is not None:
            return False
        axes = [level[0] for level in self.levels]
        return len(set(axes)) != len(axes)


def assign_offsets(root) -> int:
    """Set `cell_bytes`, `align` and `offset` of every node; gives the bytes of the whole tree."""
    return _measure(root)


def _measure(node) -> int:
    if node.kind == "place":
        node.cell_bytes = node.align = node.leaf.dtype.size
        return node.cell_bytes
    if node.word is not None:
        node.cell_bytes = node.align = node.word.size  # of all cells together
        return node.cell_bytes
    top = node.kind == "root"
    size, align = 0, 1
    before = -1  # where the last large one begins
    for child in node.children:
        nbytes = _measure(child)
        # The components of a 0-d vector field stay adjacent, as they would in a dense node.
        starts = child.kind != "place" or child.leaf is child.leaf.group[0]
        step = ROOT_ALIGN if top and starts else child.align
        child.offset = -(-size // step) * step
        if top and starts and nbytes >= LARGE:
            # Equal ones stay equally far apart, as the components of a field have to be.
            if before >= 0:
                child.offset += (before + APART - child.offset) % PAGE
            before = child.offset
        size = child.offset + nbytes
        align = max(align, child.align)
    node.align = align
    node.cell_bytes = -(-size // align) * align
    return node.cell_bytes * node.cells


def cell_of(leaf) -> CellLayout:
    """The cell of a leaf of a measured tree."""
    path = leaf.snode.path()
    axes = sorted({axis for node in path for axis in node.axes})
    canonical = {axis: (leaf.order[k] if leaf.order else k) for k, axis in enumerate(axes)}
    levels, offset, below = [], 0, dict.fromkeys(axes, 1)
    bits: list = []
    for node in reversed(path):
        offset += node.offset
        stride = node.cell_bytes if node.word is None else leaf.bits
        inner: list = []
        for axis, extent in zip(reversed(node.axes), reversed(node.dims), strict=True):
            inner.append((canonical[axis], extent, below[axis], stride))
            below[axis] *= extent
            stride *= extent
        (levels if node.word is None else bits).extend(inner)
    index_offset = leaf.offset or (0,) * len(axes)
    tree = leaf.snode.tree
    packing = leaf.packing._replace(levels=tuple(reversed(bits))) if leaf.packing is not None else None
    return CellLayout(
        tuple(reversed(levels)), offset, leaf.shape, leaf.dtype, index_offset, tree, leaf.writes, packing
    )  # fmt: skip


def even_step(cells) -> int | None:
    """Byte distance between neighbouring components if it is the same throughout; None for irregular placement."""
    first = cells[0]
    if first.packing is not None:
        return None
    if len(cells) == 1:
        return first.dtype.size
    step = cells[1].offset - first.offset
    same = all(
        cell.levels == first.levels
        and cell.tree is first.tree
        and cell.index_offset == first.index_offset
        and cell.offset == first.offset + k * step
        for k, cell in enumerate(cells)
    )
    return step if same else None


def adjacent(cells) -> bool:
    """True if the components lie side by side, so that one load moves the whole element."""
    return even_step(cells) == cells[0].dtype.size


def view(cells, element_shape: tuple, step: int, dtype: np.dtype):
    """A live array over the tree's memory, NumPy's or a `DeviceArray`.

    Axes: per canonical axis its levels, outermost first, then the element axes. Without blocking that is simply
    `shape + element_shape`; a blocked field needs a reshape, which copies, to get there.
    """
    first = cells[0]
    levels = sorted(first.levels, key=lambda level: level[0])
    inner = [math.prod(element_shape[k + 1 :]) * step for k in range(len(element_shape))]
    return memory.array(
        first.tree.buffer,
        shape=(*(level[1] for level in levels), *element_shape),
        dtype=dtype,
        offset=first.offset,
        strides=(*(level[3] for level in levels), *inner),
    )


def split_index(cell: CellLayout, index: tuple) -> tuple:
    """A zero-based canonical index as an index of the (possibly blocked) `view`."""
    levels = sorted(cell.levels, key=lambda level: level[0])
    return tuple(index[axis] // divisor % extent for axis, extent, divisor, _ in levels)


def shared_cell_reason(leaves: tuple) -> str | None:
    """Why these components of one field have no dense array of their own, or None."""
    if leaves[0].cell.within is not None:
        return "the field is sparse"
    if leaves[0].cell.blocked:
        return "an axis is split over several nodes"
    up = leaves[0].snode.up
    if up.kind != "root" and len(up.children) != len(leaves):
        return "other fields share the cell"
    return None
