"""How many slots of scratch the algorithms are promised by their callers."""

from __future__ import annotations

TILE = 256
MOST_LEVELS = 4


def levels(log256_max_n: int) -> int:
    """A capacity of 256**D elements, checked.

    Errors:
        ValueError: D is not one of 1, 2, 3, 4.
    """
    if log256_max_n > MOST_LEVELS:
        raise ValueError(f"log256_max_n={log256_max_n} exceeds the maximum of {MOST_LEVELS}")
    if log256_max_n < 1:
        raise ValueError(f"log256_max_n={log256_max_n} is below 1; 256**log256_max_n elements must fit")
    return int(log256_max_n)


def sort_scratch_slots(n: int, log256_max_n: int | None = None) -> int:
    """Slots of u32 that `sort` may use as scratch for n keys of any type: at least 1.

    Args:
        n: number of keys.
        log256_max_n: what `sort` will be given; left out, the least D of 1, 2, ... with 256**D >= n.

    Errors:
        ValueError: log256_max_n is not one of 1, 2, 3, 4.

        scratch = qd.ndarray(qd.u32, qd.algorithms.sort_scratch_slots(n))
    """
    if log256_max_n is None:
        log256_max_n = 1
        while TILE**log256_max_n < n:
            log256_max_n += 1
    depth = levels(log256_max_n)
    tiles = _tiles(n)
    slots = TILE * tiles
    for _ in range(1, depth):
        slots += tiles
        tiles = _tiles(tiles)
    return max(1, slots)


def _tiles(n: int) -> int:
    return (n + TILE - 1) // TILE if n > 0 else 0
