"""All active cells of a field at once, as NumPy arrays; and making all active, or none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quadrants.data import memory
from quadrants.data.alone import alone
from quadrants.data.sparse.host import live, numbers_of, out_of_memory
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.sparse import CAPACITY, FIRST, HIGH, LIVE, Memory, Pool, SparseNode, Within, axes_above, path


class Active(NamedTuple):
    """The containers that have cells of a field. ids: their numbers; None for the root's. index: one array for each
    axis of the field, which broadcast to (containers, extents of the levels), zero-based. mask: which of these cells
    are active, of that shape; None if all are.
    """

    ids: np.ndarray | None
    index: tuple
    mask: np.ndarray | None


def containers(node: SparseNode | None) -> np.ndarray | None:
    """Numbers of the live containers of a pointer node; None for the root's."""
    if node is None:
        return None
    order = numbers_of(node.pool.lists["order"])
    return np.array(_some(order, live(node.pool)))


def _some(array, count: int) -> np.ndarray:
    """The first entries of a live array, fetched."""
    if isinstance(array, np.ndarray):
        return array[:count]
    return np.asarray(memory.array(array.buffer, (count, *array.shape[1:]), array.dtype, array.offset, array.strides))


def take(array, ids: np.ndarray | None) -> np.ndarray:
    """The content of some containers; `array` has them as its first axis, where `ids` says which."""
    if ids is None:
        return np.asarray(array)[None]
    if isinstance(array, np.ndarray):
        return array[ids]
    return _some(array, int(ids.max(initial=0)) + 1)[ids]


def put(array, ids: np.ndarray | None, values: np.ndarray) -> None:
    """Store what `take` gave."""
    if ids is None:
        array[...] = values[0]
    elif isinstance(array, np.ndarray):
        array[ids] = values
    elif len(ids):
        count = int(ids.max()) + 1
        window = memory.array(array.buffer, (count, *array.shape[1:]), array.dtype, array.offset, array.strides)
        whole = np.array(window)
        whole[ids] = values
        window[...] = whole


def clear(array, ids: np.ndarray | None) -> None:
    """Set the content of some containers to zero."""
    if ids is None:
        array[...] = 0
    elif isinstance(array, np.ndarray):
        array[ids] = 0
    else:
        content = take(array, ids)
        content[...] = 0
        put(array, ids, content)


def active(within: Within, levels: tuple, shape: tuple) -> Active:
    """Which cells of a field are active. levels: (axis, extent, divisor, stride) in a container, outermost first.
    shape: extents of its axes.
    """
    holder = within.holder
    ids = containers(holder)
    count = 1 if ids is None else len(ids)
    rank = len(levels)
    index: list = [np.zeros((1,) * (rank + 1), np.int64) for _ in shape]
    for k, (axis, extent, divisor, _) in enumerate(levels):
        steps = (np.arange(extent, dtype=np.int64) * divisor).reshape(
            [extent if a == k + 1 else 1 for a in range(rank + 1)]
        )
        index[axis] = index[axis] + steps
    if holder is not None and ids is not None:
        coords = take(numbers_of(holder.pool.lists["coords"]), ids).astype(np.int64)
        axes = [(within.axes[k][0], within.axes[k][1] * d) for k, d in axes_above(within.node, holder)]
        for k, (axis, divisor) in enumerate(axes):
            index[axis] = index[axis] + (coords[:, k] * divisor).reshape(count, *(1,) * rank)
    mask = _mask(within, holder, index, ids, count)
    for axis, extent in enumerate(shape):  # lists whose last chunk is longer than what is left
        if (index[axis] >= extent).any():
            inside = index[axis] < extent
            mask = inside if mask is None else mask & inside
    return Active(ids, tuple(index), mask)


def _mask(within: Within, holder, index: list, ids, count: int) -> np.ndarray | None:
    """Which cells have all that lies between their container and them active."""
    mask = None
    for node in path(within.node):
        if node.kind == "pointer" or holder is not None and node in path(holder):
            continue
        axes = axes_above(within.node, node)
        coords = [index[within.axes[k][0]] // (within.axes[k][1] * d) for k, d in axes]
        number = 0
        for k, extent in node.own:
            number = number * extent + coords[k] % extent
        entry = number // 32 if node.kind == "bitmasked" else np.zeros_like(number)
        at = [coords[k] // divisor % extent for k, divisor, extent in node.digits]
        if node.holder is not None:
            at.insert(0, _slots(node.holder, [coords[k] // d for k, d in axes_above(node, node.holder)]))
        found = np.asarray(numbers_of(node.header))[(*at, entry)]
        there = (found >> (number % 32) & 1) == 1 if node.kind == "bitmasked" else number < found
        mask = there if mask is None else mask & there
    return mask


def _slots(node: SparseNode, coords: list) -> np.ndarray:
    """The containers of many cells of a pointer node, 0 where one is not active."""
    number = 0
    for k, extent in node.own:
        number = number * extent + coords[k] % extent
    at = [coords[k] // divisor % extent for k, divisor, extent in node.digits]
    if node.holder is not None:
        at.insert(0, _slots(node.holder, [coords[k] // d for k, d in axes_above(node, node.holder)]))
    return np.maximum(np.asarray(numbers_of(node.header))[(*at, number)], 0)


# ---------------------------------------------------------------- all of a node at once


@alone
def activate_all(node: SparseNode) -> None:
    """Make every cell of a node active, and those above it."""
    if node.above is not None:
        activate_all(node.above)
    header = numbers_of(node.header)
    ids = containers(node.holder)
    entries = take(header, ids)
    if node.kind == "dynamic":
        entries[...] = node.most
    elif node.kind == "bitmasked":
        cells = np.prod([extent for _, extent in node.own])
        bits = np.zeros(32 * node.entries, np.uint8)
        bits[:cells] = 1
        entries[...] = np.packbits(bits, bitorder="little").view("<i4")
    else:
        _activate_missing(node, entries, ids)
    put(header, ids, entries)


def _activate_missing(node: SparseNode, entries: np.ndarray, ids) -> None:
    """Give every cell of a pointer node in some containers a container."""
    missing = np.argwhere(entries == 0)
    coords = _coords_of(node, missing, ids)
    inside = _inside_lists(node, coords)
    missing, coords = missing[inside], coords[inside]
    pool = node.pool
    counters = numbers_of(pool.lists["counters"])
    begin = counters.item(LIVE)
    end = begin + len(missing)
    if end > counters.item(CAPACITY):
        raise QuadrantsRuntimeError(out_of_memory(pool.name, begin, pool.stride))
    order = np.array(_some(numbers_of(pool.lists["order"]), end))
    fresh = order[begin:] == 0
    order[begin:][fresh] = np.arange(begin, end, dtype=np.int32)[fresh] + FIRST
    numbers = order[begin:]
    entries[tuple(missing.T)] = numbers
    _replace(pool.lists["order"], end, order)
    for name, values in (("place", np.arange(begin, end, dtype=np.int32)), ("coords", coords.astype(np.int32))):
        put(numbers_of(pool.lists[name]), numbers, values)
    counters[LIVE] = end


def _coords_of(node: SparseNode, places: np.ndarray, ids) -> np.ndarray:
    """Coordinates of the cells of a node at some places of its header in some containers."""
    coords = np.zeros((len(places), len(node.axes)), np.int64)
    if node.holder is not None:
        around = take(numbers_of(node.holder.pool.lists["coords"]), ids)[places[:, 0]]
        for k, (axis, divisor) in enumerate(axes_above(node, node.holder)):
            coords[:, axis] += around[:, k].astype(np.int64) * divisor
    for k, (axis, divisor, _) in enumerate(node.digits):
        coords[:, axis] += places[:, 1 + k] * divisor
    rest = places[:, -1]
    for axis, extent in reversed(node.own):
        coords[:, axis] += rest % extent
        rest = rest // extent
    return coords


def _inside_lists(node: SparseNode, coords: np.ndarray) -> np.ndarray:
    """Which cells are in entries of the lists around them: the last chunk of a list may have room for more."""
    inside = np.ones(len(coords), bool)
    for around in path(node):
        if around.kind == "dynamic":
            axis, divisor = axes_above(node, around)[around.own[0][0]]
            inside &= coords[:, axis] // divisor < around.most
    return inside


def _replace(part: Memory, count: int, values: np.ndarray) -> None:
    """Store the first entries of a list."""
    array = numbers_of(part)
    memory.array(part.tree.buffer, (count,), array.dtype, part.offset, array.strides)[...] = values


def deactivate_all(node: SparseNode, nodes: list) -> None:
    """Make every cell of a node inactive, with all below. nodes: those of the tree."""
    ids = containers(node.holder)
    clear(numbers_of(node.header), ids)
    if node.words is not None:
        clear(numbers_of(node.words), ids)
    for other in nodes:
        if other.pool is not None and (other is node or node in path(other)):
            empty(other.pool)
    for table in node.tables if node.kind == "dynamic" else ():
        deactivate_all(table, nodes)


def empty(pool: Pool) -> None:
    """Give back all containers of a pool."""
    counters = numbers_of(pool.lists["counters"])
    high = max(counters.item(HIGH), counters.item(LIVE))
    words = numbers_of(pool.words)
    used = memory.array(pool.words.tree.buffer, (high + FIRST, *words.shape[1:]), words.dtype, 0, words.strides)
    used[...] = 0
    _replace(pool.lists["order"], high, np.zeros(high, np.int32))
    counters[LIVE] = 0
    counters[HIGH] = 0
