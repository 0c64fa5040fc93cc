"""What Python scope does to numbers that it stores: integers wrap, reals are rounded, reals into integers fail.

Types that are called, as `S(a=5.7)`, cast instead: reals into integers truncate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.ir.types import DType
from quadrants.lang.primitive_types import from_numpy_type, wrap_int


def store_value(value: Any, dtype: np.dtype) -> Any:
    """`value` (a number, a sequence or an array) as it is stored in memory of `dtype`.

    Integers wrap to the width, a nonzero number becomes True. Raises TypeError for a real number into integer memory,
    an integer beyond 64 bits, and anything that is no number.
    """
    kind = dtype.kind
    if type(value) is int and kind in "iu":
        return _wrap_int(value, dtype)
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.dtype.kind == "O":
        return _store_objects(array, dtype)
    if array.dtype.kind not in ("iufb" if kind == "f" else "iub"):
        raise not_stored(value, from_numpy_type(dtype))
    with np.errstate(over="ignore"):
        return array.astype(dtype, copy=False)


def whole_number(value: Any, dtype: DType) -> int:
    """The integer that a store into memory of the integer type `dtype` starts from, not yet wrapped.

    Python's and NumPy's integers and truth values, also as arrays without axes. Raises TypeError for all else: for real
    numbers, whole ones too, because a slip there would stay unseen.
    """
    item = value[()] if isinstance(value, np.ndarray) and not value.ndim else value
    if not isinstance(item, (int, np.integer, np.bool_)):
        raise not_stored(value, dtype)
    return int(item)


def not_stored(value: Any, dtype: DType) -> TypeError:
    """The error for a value that memory of type `dtype` does not take."""
    if isinstance(value, np.ndarray) and value.ndim:
        if value.dtype.kind in "iub":
            return TypeError(f"an array of shape {value.shape} cannot be stored as one {dtype}")
        what = "real numbers" if value.dtype.kind == "f" else f"{value.dtype} values"
        return TypeError(f"{what} cannot be stored as {dtype}; convert them first, as by int(..)")
    advice = "; write int(..) to truncate it first" if isinstance(value, (float, np.floating, np.ndarray)) else ""
    return TypeError(f"{value!r} ({type(value).__name__}) cannot be stored as {dtype}{advice}")


def cast_integer(value: Any, dtype: DType) -> int:
    """A number that is given to the integer type `dtype` by calling a type: reals truncate, integers wrap.

    Raises TypeError for infinity, NaN and what does not fit in 64 bits.
    """
    if dtype.kind == "b":
        return int(bool(value))
    try:
        number = int(value)
    except (OverflowError, ValueError):
        raise TypeError(f"{value!r} cannot be converted to {dtype}") from None
    if not -(1 << 63) <= number < 1 << 64:
        raise TypeError(f"{number} does not fit in 64 bits and cannot be converted to {dtype}")
    return wrap_int(number, dtype)


def check_integer(value: int, dtype: DType, place: str) -> None:
    """TypeError unless an integer passed for a parameter of type `dtype` fits in 64 bits with its sign; all that do
    wrap to the width of the type.
    """
    if dtype.kind == "u" and value < 0:
        raise TypeError(
            f"{place}: {value} is negative, but the parameter has the unsigned type {dtype}; pass a number >= 0 or "
            "declare the parameter signed"
        )
    low, high = (0, 1 << 64) if dtype.kind == "u" else (-(1 << 63), 1 << 63)
    if dtype.kind in "iu" and not low <= value < high:
        sign = " with a sign" if dtype.kind == "i" else ""
        raise TypeError(f"{place}: {value} does not fit in 64 bits{sign}, and the parameter has the type {dtype}")


def _wrap_int(value: int, dtype: np.dtype) -> np.generic:
    if not -(1 << 63) <= value < (1 << 64):
        raise TypeError(f"cannot store {value} as {from_numpy_type(dtype)}: it does not fit in 64 bits")
    return dtype.type(wrap_int(value, from_numpy_type(dtype)))


def _store_objects(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    # Lists arrive as objects, so that every Python int keeps its exact value.
    out = np.empty(array.shape, dtype)
    for i, x in np.ndenumerate(array):
        out[i] = _real(x, dtype) if dtype.kind == "f" else _wrap_int(whole_number(x, from_numpy_type(dtype)), dtype)
    return out


def _real(x: Any, dtype: np.dtype) -> np.floating:
    if not isinstance(x, (int, float, np.integer, np.bool_, np.floating)):
        raise not_stored(x, from_numpy_type(dtype))
    with np.errstate(over="ignore"):
        return dtype.type(float(x))
