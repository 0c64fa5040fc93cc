"""Numbers to start from: small ones, extremes, halves; the same for the same arguments."""

from __future__ import annotations

import numpy as np

_SMALL = (0, 1, 2, 3, 5, 7, 1, 4, 6, 2, 9, 11, 16, 30, 64, 100)


def cells(dtype: str, shape, seed: int) -> np.ndarray:
    """An array of `dtype` and `shape` with numbers of both signs, where the dtype has them."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    kind = np.dtype("bool" if dtype == "u1" else {"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    count = int(np.prod(shape))
    state = seed * 2654435761 % 2**32
    out = []
    for k in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        out.append(_number(kind, state >> 8))
    return np.array(out, kind).reshape(shape)


def put(container, key, number) -> int:
    """Write a cell from Python scope; 1 if the container takes the number, 0 if it refuses it."""
    try:
        container[key] = number
    except TypeError:
        return 0
    return 1


def _number(kind: np.dtype, bits: int):
    x = _SMALL[bits % 16]
    sign = -1 if bits >> 4 & 1 else 1
    if kind.kind == "b":
        return bool(bits >> 5 & 1)
    if kind.kind == "f":
        return sign * (x + (bits >> 5 & 3) / 4)
    info = np.iinfo(kind)
    if bits >> 5 & 15 == 0:
        # The least number is its own negative.
        return info.max - x if sign > 0 else info.min + (x if bits >> 9 & 1 else 0)
    return sign * x if info.min < 0 else x
