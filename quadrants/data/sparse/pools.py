"""The memory of pools.

On the host a pool has addresses for all that the memory of the machine could hold, and the system gives it memory page
by page, when a container is first written: nothing has to grow.

On a device it begins small, and grows between launches: in front of one that may activate cells, to twice its size when
more than half of it is in use. What is stored moves by copies on the device. Addresses are looked up by each launch
(`refresh`), as they change then.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from quadrants.data import context, memory
from quadrants.data.sparse.host import numbers_of
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.sparse import CAPACITY, COUNTERS, FIRST, LIVE, Memory, Pool

# Lists with a number for each container: see `ir.sparse.Pool`.
_LISTS = ("order", "place", "freed", "holes", "moved", "coords")
_MOST = 2**31 - 16
_LEAST = 1 << 20
# Containers that a task may use anew, while those that it frees are not sorted out; besides one more for each cell.
_AGAIN = 1024
# Bytes that a pool of a device has from the beginning, if it can use them; for all of its cells where that is little.
_BEGIN, _LITTLE = 64 << 20, 256 << 20


class PoolMemory:
    """Memory that declarations have as their tree. unit: bytes for each container."""

    __slots__ = ("buffer", "unit", "__weakref__")

    def __init__(self, nbytes: int, unit: int):
        self.buffer = memory.allocate(nbytes)
        self.unit = unit


def make(name: str, rank: int, stride: int, cells: int, writes) -> Pool:
    """A pool for up to `cells` containers of `stride` bytes, or for as many as there can be memory for."""
    each = stride + 4 * (len(_LISTS) - 1 + rank)
    limit = min(2 * cells + _AGAIN, _MOST)
    budget = _begin_on_device(min(cells, _MOST) * each) if memory.on_device() else addresses()
    while True:
        capacity = max(1, min(limit, budget // each))
        try:
            pool = _allocate(name, rank, stride, capacity, limit, writes)
        except QuadrantsRuntimeError:
            if budget < _LEAST or capacity == 1:
                raise
            budget = min(budget, capacity * each) // 2
            continue
        numbers_of(pool.lists["counters"])[CAPACITY] = capacity
        return pool


def _allocate(name: str, rank: int, stride: int, capacity: int, limit: int, writes) -> Pool:
    shown = limit if memory.on_device() else capacity  # of an array of NumPy there has to be all of it
    counters = PoolMemory(4 * COUNTERS, 0)
    lists = {"counters": Memory(((0, COUNTERS, 1, 4),), 0, (COUNTERS,), counters, writes)}
    for key in _LISTS:
        unit = 4 * max(rank, 1) if key == "coords" else 4
        home = PoolMemory((capacity + FIRST) * unit, unit)
        levels: tuple = ((0, shown + FIRST, 1, unit),)
        if key == "coords":
            levels += ((1, max(rank, 1), 1, 4),)
        lists[key] = Memory(levels, 0, tuple(level[1] for level in levels), home, writes)
    data = PoolMemory((capacity + FIRST) * stride, stride)
    shape = (shown + FIRST, stride // 4)
    words = Memory(((0, shape[0], 1, stride), (1, shape[1], 1, 4)), 0, shape, data, writes)
    return Pool(name, rank, stride, capacity, limit, words, lists)


def addresses() -> int:
    """Bytes that one pool of the host may have addresses for: what the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 1 << 34


def _begin_on_device(most: int) -> int:
    return max(most if most <= _LITTLE else 0, _BEGIN, context.sparse_arena())


# ---------------------------------------------------------------- growth


def can_grow(pool: Pool) -> bool:
    """Whether a pool may get more memory than it has now."""
    return pool.capacity < pool.limit and memory.is_device(pool.words.tree.buffer)


def make_room(pools: Iterable[Pool]) -> None:
    """In front of a launch that may activate cells: twice the memory where more than half is in use."""
    for pool in pools:
        if can_grow(pool):
            live = int(numbers_of(pool.lists["counters"]).item(LIVE))
            if 2 * live > pool.capacity:
                _grow(pool, min(pool.limit, 2 * pool.capacity))


def _grow(pool: Pool, capacity: int) -> None:
    """More memory, or as it is where there is none: a launch that needs it says so."""
    homes = [pool.words.tree, *(pool.lists[key].tree for key in _LISTS)]
    try:
        fresh = [memory.allocate((capacity + FIRST) * home.unit) for home in homes]
    except QuadrantsRuntimeError:
        return
    memory.synchronize()
    for home, buffer in zip(homes, fresh):
        buffer.device.copy(buffer.ptr, home.buffer.ptr, home.buffer.nbytes)
    memory.synchronize()
    for home, buffer in zip(homes, fresh):
        home.buffer = buffer
    pool.capacity = capacity
    numbers_of(pool.lists["counters"])[CAPACITY] = np.int32(capacity)
