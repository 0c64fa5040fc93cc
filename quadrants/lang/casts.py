"""Conversions of `qd.*`, and the operators that Python spells differently from C."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from quadrants.errors import QuadrantsTypeError
from quadrants.ir.conversion import cast as cast_array
from quadrants.ir.conversion import wrapped
from quadrants.ir.types import DType
from quadrants.lang.described import type_name
from quadrants.lang.function_table import both_scopes, kernel_only
from quadrants.lang.host_math import apply
from quadrants.lang.matrix import Matrix
from quadrants.lang.primitive_types import default_fp, default_ip, resolve_dtype, to_numpy_type

__all__ = ["bit_cast", "bit_shr", "cast", "raw_div", "raw_mod"]


def _converted(x: Any, dtype: DType) -> Any:
    target = to_numpy_type(dtype)
    if isinstance(x, int) and dtype.kind in "iu":
        return target.type(wrapped(x, dtype))
    return cast_array(np.asarray(x), target)[()]


@both_scopes
def cast(obj, dtype) -> Any:
    """`obj` (number, vector or matrix) converted to `dtype` (a primitive type, or int, float, bool), elementwise.

    Real to integer truncates toward zero, integer to integer keeps the low bits, anything but 0 is True as u1.
    Raises ValueError for another dtype.

        k = qd.cast(x, qd.i32)
    """
    dtype = resolve_dtype(dtype)
    return apply(lambda x: _converted(x, dtype), obj)


@both_scopes
def bit_cast(obj, dtype) -> Any:
    """The bits of the number `obj` read as `dtype`, which must be as wide: bit_cast(1.0, qd.u32) = 1065353216.

    A Python float counts as default_fp, an int as default_ip. Raises QuadrantsTypeError for unequal widths and
    ValueError for a vector or matrix of Python scope.

        bits = qd.bit_cast(x, qd.u32)
    """
    if isinstance(obj, Matrix):
        raise ValueError("Cannot apply bit_cast on Quadrants classes in Python scope; use `v.to_numpy().view(...)`")
    dtype = resolve_dtype(dtype)
    if isinstance(obj, (np.generic, np.ndarray)):
        bits = np.asarray(obj)
    elif isinstance(obj, (int, float)):
        bits = np.asarray(cast(obj, default_fp() if isinstance(obj, float) else default_ip()))
    else:
        raise QuadrantsTypeError(f"bit_cast needs a number, not {type_name(obj)}")
    if bits.dtype.itemsize != dtype.size:
        raise QuadrantsTypeError(
            f"bit_cast is only supported between data type with same size, not from {bits.dtype} to {dtype}: "
            f"qd.cast to a type of {8 * dtype.size} bits first"
        )
    return bits.view(to_numpy_type(dtype))[()]


@kernel_only
def bit_shr(x1, x2) -> Any:
    """x1 shifted right by x2 bits, filled with zeros whatever the sign of x1. Integers; result: dtype of x1.

    Kernel scope only.

        high = qd.bit_shr(x, 16)
    """


@both_scopes
def raw_div(x1, x2) -> Any:
    """Division as in C: integers truncate toward zero (-7, 3 gives -2), reals divide. Result: promoted dtype.

    q = qd.raw_div(a, b)
    """
    return apply(_raw_div, x1, x2)


@both_scopes
def raw_mod(x1, x2) -> Any:
    """Remainder as in C, with the sign of x1 (-7, 3 gives -1). Result: promoted dtype.

    r = qd.raw_mod(a, b)
    """
    return _like_python(apply(np.fmod, x1, x2), x1, x2)


def _raw_div(a: Any, b: Any) -> Any:
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return a / b
    # (a - rem) is a multiple of b, so that floor division is exact.
    return _like_python((a - np.fmod(a, b)) // b, a, b)


def _like_python(result: Any, *operands: Any) -> Any:
    if isinstance(result, np.generic) and builtins.all(isinstance(x, (int, float)) for x in operands):
        return result.item()
    return result
