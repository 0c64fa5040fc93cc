"""What Python scope does to numbers that it stores: integers wrap, reals are rounded, floats into integers fail.

Types that are called, as `S(a=5.7)`, cast instead, as kernels do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.ir.conversion import converted, wrapped
from quadrants.ir.types import DType
from quadrants.lang.primitive_types import from_numpy_type


def store_value(value: Any, dtype: np.dtype) -> Any:
    """`value` (a number, a sequence or an array) as it is stored in memory of `dtype`.

    Integers wrap to the width, a nonzero number becomes True. Raises TypeError for a float into integer memory
    (see `truncated`), an integer beyond 64 bits, and anything that is no number.
    """
    kind = dtype.kind
    if kind != "f":
        value = truncated(value, kind)
    if type(value) is int and kind in "iu":
        return _wrap_int(value, dtype)
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.dtype.kind == "O":
        return _store_objects(array, dtype)
    if array.dtype.kind not in ("iufb" if kind == "f" else "iub"):
        raise TypeError(f"cannot store {_describe(value)} as {from_numpy_type(dtype)}; convert it explicitly first")
    with np.errstate(over="ignore"):
        return array.astype(dtype, copy=False)


def truncated(value: Any, kind: str = "i") -> Any:
    """What an integer of a container takes of a real number: its whole part, of NumPy's types other than float64.

    A float, as Python and float64 write it, stays as it is, to be refused: it is rather a slip. So does what is not
    finite. `kind` "b": whether the number is not zero.
    """
    whole = bool if kind == "b" else int
    if isinstance(value, np.ndarray):
        if value.dtype.kind != "f" or value.dtype == np.float64 and value.ndim or not np.isfinite(value).all():
            return value
        if not value.ndim:
            return whole(value)
        return np.array([whole(x) for x in value.flat], object).reshape(value.shape)
    narrow = isinstance(value, np.floating) and not isinstance(value, float)
    return whole(value) if narrow and np.isfinite(value) else value


def cast_integer(value: Any, dtype: DType) -> int:
    """A number that is given to the integer type `dtype` by calling a type: converted as by a cast in a kernel.

    Raises TypeError for integers that do not fit in 64 bits.
    """
    if isinstance(value, (float, np.floating)):
        return converted(float(value), dtype)
    if dtype.kind == "b":
        return int(bool(value))
    number = int(value)
    if not -(1 << 63) <= number < 1 << 64:
        raise TypeError(f"{number} does not fit in 64 bits and cannot be converted to {dtype}")
    return wrapped(number, dtype)


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
    return dtype.type(wrapped(value, from_numpy_type(dtype)))


def _store_objects(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    # Lists arrive as objects, so that every Python int keeps its exact value.
    out = np.empty(array.shape, dtype)
    for i, x in np.ndenumerate(array):
        x = x if dtype.kind == "f" else truncated(x, dtype.kind)
        whole = isinstance(x, (int, np.integer, np.bool_))
        if not whole and not (dtype.kind == "f" and isinstance(x, (float, np.floating))):
            raise TypeError(f"cannot store {_describe(x)} as {from_numpy_type(dtype)}; convert it explicitly first")
        with np.errstate(over="ignore"):
            out[i] = float(x) if dtype.kind == "f" else bool(x) if dtype.kind == "b" else _wrap_int(int(x), dtype)
    return out


def _describe(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})" if not isinstance(value, np.ndarray) else f"{value.dtype} values"
