"""How many slots of scratch the algorithms are promised by their callers."""

from __future__ import annotations

TILE = 256
MOST_LEVELS = 4


def levels(log256_max_n: int) -> int:
    """A capacity of 256**D elements, checked.

    Errors:
        TypeError: D is no integer.
        ValueError: D is not one of 1, 2, 3, 4.
    """
    if isinstance(log256_max_n, bool) or not hasattr(log256_max_n, "__index__"):
        raise TypeError(f"log256_max_n must be an integer known at compile time, such as 3, not {log256_max_n!r}")
    if log256_max_n > MOST_LEVELS:
        raise ValueError(f"log256_max_n={log256_max_n} exceeds the maximum of {MOST_LEVELS}")
    if log256_max_n < 1:
        raise ValueError(f"log256_max_n={log256_max_n} is below 1; 256**log256_max_n elements must fit")
    return int(log256_max_n)


def reduce_scratch_slots(n, log256_max_n: int | None = None):
    """Slots that `reduce_add`, `reduce_min` and `reduce_max` may use as scratch for n elements: at least 1.

    Args:
        n: number of elements; in kernels also an integer that is known only there.
        log256_max_n: what the reduction will be given; left out, the least D of 1, 2, ... with 256**D >= n.

    A slot is a u32, and for elements of 8 bytes a u64.

    Errors:
        ValueError: log256_max_n is not one of 1, 2, 3, 4, or is left out for an n of a kernel.

        scratch = qd.ndarray(qd.u32, qd.algorithms.reduce_scratch_slots(n))
    """
    return _at_least_one(sum(_tiles_by_level(n, log256_max_n)))


def exclusive_scan_scratch_slots(n, log256_max_n: int | None = None):
    """Slots that the exclusive scans may use as scratch for n elements; as `reduce_scratch_slots` otherwise.

    scratch = qd.ndarray(qd.u32, qd.algorithms.exclusive_scan_scratch_slots(n))
    """
    return _at_least_one(sum(_tiles_by_level(n, log256_max_n)))


def sort_scratch_slots(n, log256_max_n: int | None = None):
    """Slots of u32 that `sort` may use as scratch for n keys of any type; as `reduce_scratch_slots` otherwise.

    scratch = qd.ndarray(qd.u32, qd.algorithms.sort_scratch_slots(n))
    """
    return _at_least_one(TILE * _tiles(n) + sum(_tiles_by_level(n, log256_max_n)))


def select_scratch_slots(n):
    """Slots of u32 that `select` may use as scratch for n elements: at least 1. n may be known only in the kernel.

    scratch = qd.ndarray(qd.u32, qd.algorithms.select_scratch_slots(n))
    """
    tiles = _tiles(n)
    slots = _positive(n) + tiles
    for _ in range(1, MOST_LEVELS):
        tiles = _tiles(tiles)
        slots += tiles * (tiles > 1)
    return _at_least_one(slots)


def reduce_by_key_scratch_slots(n):
    """Slots of u32 that `reduce_by_key_add` may use as scratch for n pairs: at least 1. n may be known only in the
    kernel.

        scratch = qd.ndarray(qd.u32, qd.algorithms.reduce_by_key_scratch_slots(n))
    """
    tiles = _tiles(n)
    slots = _positive(n) + tiles * (tiles > 1)
    for _ in range(1, MOST_LEVELS):
        tiles = _tiles(tiles)
        slots += tiles * (tiles > 1)
    return _at_least_one(slots)


def _tiles_by_level(n, log256_max_n: int | None) -> list:
    """The tiles of n elements, the tiles of these tiles, and so on: one number for each level below the last one."""
    if log256_max_n is None:
        depth = _least_levels(n)
    else:
        depth = levels(log256_max_n)
    counts = [_tiles(n)]
    while len(counts) < depth:
        counts.append(_tiles(counts[-1]))
    return counts[: depth - 1]


def _least_levels(n) -> int:
    if not hasattr(n, "__index__"):
        raise ValueError("log256_max_n must be given in kernels, where n may be any number")
    depth = 1
    while TILE**depth < n:
        depth += 1
    return depth


def _tiles(n):
    return (_positive(n) + (TILE - 1)) // TILE


def _positive(n):
    return n * (n > 0)


def _at_least_one(slots):
    return slots + (slots < 1) * 1
