"""One cell of a sparse tree at a time, from Python scope: what is active, and what becomes so."""

from __future__ import annotations

import math

import numpy as np

from quadrants.data import memory
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.sparse import CAPACITY, FIRST, LIVE, Memory, Pool, SparseNode, axes_above

_I32 = np.dtype(np.int32)


def numbers_of(part: Memory):
    """A live array of i32 over a part of a container or a list."""
    strides = tuple(level[3] for level in part.levels)
    return memory.array(part.tree.buffer, part.shape, _I32, part.offset, strides)


def coords_above(node: SparseNode, coords: tuple, target: SparseNode) -> tuple:
    """Coordinates of the cell of `target` around a cell of `node`."""
    return tuple(coords[k] // divisor for k, divisor in axes_above(node, target))


def entry_of(node: SparseNode, coords: tuple) -> int:
    """The number of a cell among those that its header describes."""
    number = 0
    for k, extent in node.own:
        number = number * extent + coords[k] % extent
    return number


def header_index(node: SparseNode, coords: tuple, entry: int) -> tuple | None:
    """Where the header of a node has an entry; None where the container around it is not active."""
    digits = tuple(coords[k] // divisor % extent for k, divisor, extent in node.digits)
    if node.holder is None:
        return (*digits, entry)
    container = slot(node.holder, coords_above(node, coords, node.holder))
    return (container, *digits, entry) if container > 0 else None


def slot(node: SparseNode, coords: tuple) -> int:
    """The container of a cell of a pointer node; 0 if it is not active."""
    at = header_index(node, coords, entry_of(node, coords))
    return max(0, int(numbers_of(node.header).item(at))) if at is not None else 0


def container(node: SparseNode, coords: tuple) -> int:
    """The container that a cell of any sparse node is in, or that it is; 0 if that is not active, or the root's."""
    while node.kind != "pointer":
        if node.above is None:
            return 0
        coords = coords_above(node, coords, node.above)
        node = node.above
    return slot(node, coords)


def activate(node: SparseNode, coords: tuple) -> None:
    """Make a cell active, and all around it."""
    if node.above is not None:
        activate(node.above, coords_above(node, coords, node.above))
    header = numbers_of(node.header)
    number = entry_of(node, coords)
    if node.kind == "pointer":
        at = header_index(node, coords, number)
        if header.item(at) == 0:
            header[at] = allocate(node.pool, coords)
    elif node.kind == "bitmasked":
        at = header_index(node, coords, number // 32)
        header[at] = int(np.int32(np.uint32(header.item(at) & 0xFFFFFFFF | 1 << number % 32)))
    else:
        at = header_index(node, coords, 0)
        length = header.item(at)
        (k, _), chunk = node.own[0], chunk_of(node)
        for begin in range(length - length % chunk, number, chunk):  # a list has all chunks up to its length
            activate(node.above, coords_above(node, (*coords[:k], begin, *coords[k + 1 :]), node.above))
        header[at] = max(length, number + 1)


def chunk_of(node: SparseNode) -> int:
    """Entries of a list that one container has."""
    position = node.own[0][0]
    return next(divisor for k, divisor in node.above_axes if k == position)


def allocate(pool: Pool, coords: tuple) -> int:
    """A container of a pool for the cell at `coords`."""
    counters = numbers_of(pool.lists["counters"])
    live = counters.item(LIVE)
    if live >= counters.item(CAPACITY):
        raise QuadrantsRuntimeError(out_of_memory(pool.name, live, pool.stride))
    order = numbers_of(pool.lists["order"])
    found = order.item(live) or live + FIRST
    order[live] = found
    numbers_of(pool.lists["place"])[found] = live
    for k, c in enumerate(coords):
        numbers_of(pool.lists["coords"])[found, k] = c
    counters[LIVE] = live + 1
    return found


def out_of_memory(name: str, live: int, stride: int) -> str:
    """What is said where a pool has no more room."""
    return (
        f"Out of memory: the node {name} has {live} active cells of {stride} bytes each, and there is no memory for "
        "more. What is stored stays; deactivate cells that are not needed, or use smaller cells"
    )


def is_active(node: SparseNode, coords: tuple) -> bool:
    """Whether a cell is active."""
    number = entry_of(node, coords)
    at = header_index(node, coords, {"pointer": number, "bitmasked": number // 32, "dynamic": 0}[node.kind])
    if at is None:
        return False
    found = numbers_of(node.header).item(at)
    if node.kind == "bitmasked":
        return bool(found >> number % 32 & 1)
    return found > (number if node.kind == "dynamic" else 0)


def live(pool: Pool) -> int:
    """How many containers cells have."""
    return int(numbers_of(pool.lists["counters"]).item(LIVE))


def cells_of(node: SparseNode) -> int:
    """Cells of a node, active or not."""
    return math.prod(node.shape)
