"""The memory of pools. On the host a pool has addresses for all that the memory of the machine could hold, and the
system gives it memory page by page, when a container is first written."""

from __future__ import annotations

import os

from quadrants.data import memory
from quadrants.data.sparse.host import numbers_of
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.sparse import CAPACITY, COUNTERS, Memory, Pool

# Lists with a number for each container: see `ir.sparse.Pool`.
_LISTS = ("order", "place", "freed", "holes", "moved")
_ALIGN = 64
_MOST = 2**31 - 16
_LEAST = 1 << 20


class PoolMemory:
    """Memory that declarations have as their tree."""

    __slots__ = ("buffer", "__weakref__")

    def __init__(self, nbytes: int):
        self.buffer = memory.allocate(nbytes)


def make(name: str, rank: int, stride: int, cells: int, writes) -> Pool:
    """A pool for up to `cells` containers of `stride` bytes, or for as many as there can be memory for."""
    each = stride + 4 * (len(_LISTS) + rank)
    limit = budget()
    while True:
        capacity = max(1, min(cells, limit // each, _MOST))
        try:
            return _allocate(name, rank, stride, capacity, writes)
        except QuadrantsRuntimeError:
            if limit < _LEAST or capacity == 1:
                raise
            limit = min(limit, capacity * each) // 2


def _allocate(name: str, rank: int, stride: int, capacity: int, writes) -> Pool:
    containers = capacity + 2  # that of zeros, and one for writes that found no room
    data = PoolMemory(containers * stride)
    lists: dict = {}
    offsets, at = {}, 0
    for key in ("counters", *_LISTS, "coords"):
        offsets[key] = at
        count = COUNTERS if key == "counters" else containers * (rank if key == "coords" else 1)
        at = -(-(at + 4 * count) // _ALIGN) * _ALIGN
    numbers = PoolMemory(max(at, _ALIGN))
    for key, offset in offsets.items():
        if key == "coords":
            levels: tuple = ((0, containers, 1, 4 * rank), (1, max(rank, 1), 1, 4))
        else:
            levels = ((0, COUNTERS if key == "counters" else containers, 1, 4),)
        lists[key] = Memory(levels, offset, tuple(level[1] for level in levels), numbers, writes)
    words = Memory(
        ((0, containers, 1, stride), (1, stride // 4, 1, 4)), 0, (containers, stride // 4), data, writes
    )  # fmt: skip
    pool = Pool(name, rank, stride, capacity, words, lists)
    numbers_of(pool.lists["counters"])[CAPACITY] = capacity
    return pool


def budget() -> int:
    """Bytes that one pool may have addresses for."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 1 << 34
