"""What numbers become as integers of another type: one rule for constants, for contents of containers, and for kernels.

Reals go by way of `i32` to it and to what is narrower, by way of `i64` to the others: what does not fit there, and NaN,
is the least of it. Then the low bits count. `u64` takes what is below 2**64 as it is.
"""

from __future__ import annotations

import numpy as np

from quadrants.ir.types import DType


def wrapped(value: int, t: DType) -> int:
    """An integer as the integer type t holds it: the low bits, signed if t is; 0 or 1 for u1."""
    if t.kind == "b":
        return int(value != 0)
    value &= (1 << t.bits) - 1
    return value - (1 << t.bits) if value > t.max else value


def converted(value: float, t: DType) -> int:
    """A number as one of the integer type t."""
    if t.kind == "b":
        return bool(value)
    if not isinstance(value, float):
        return wrapped(int(value), t)
    bits = _bits(t.name == "i32", t.bits)
    fits = -(2.0**bits) <= value < 2.0 ** (64 if t.name == "u64" else bits)
    return wrapped(int(value) if fits else -(2**bits), t)


def cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array as one of another type: reals become integers as above, integers wrap, what is not zero is True."""
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "f" and dtype.kind in "iu":
        return converted_reals(array, dtype)
    with np.errstate(over="ignore"):
        return array.astype(dtype)


def converted_reals(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`converted` for an array of reals and a dtype of NumPy, which leaves what does not fit to the processor."""
    wide = array.astype(np.float64)
    bits = _bits(dtype == np.int32, 8 * dtype.itemsize)
    least = -(2.0**bits)
    fits = (wide >= least) & (wide < -least)
    whole = np.where(fits, wide, least).astype(np.int64).astype(dtype)
    if dtype == np.uint64:
        large = (wide >= -least) & (wide < 2.0**64)
        whole = np.where(large, np.where(large, wide, 0.0).astype(np.uint64), whole)
    return whole


def _bits(is_i32: bool, bits: int) -> int:
    """Of a number on the way, without its sign."""
    return 31 if is_i32 or bits < 32 else 63
