"""Elementwise mathematics of `qd.*`: in Python scope NumPy's results on numbers, arrays, vectors and matrices.

All functions work on each element. In Python scope the dtype follows NumPy; a Matrix argument gives a Matrix or Vector,
anything else a NumPy scalar or array.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from quadrants.lang.function_table import KERNEL_FUNCTIONS, both_scopes, kernel_only, kernel_only_draw
from quadrants.lang.matrix import Matrix, wrap
from quadrants.lang.matrix_ops import operand


def apply(fn: Callable, *args: Any) -> Any:
    """`fn` on the arrays behind `args`; a Matrix again if one was among them."""
    result = fn(*map(operand, args))
    return wrap(result) if builtins.any(isinstance(a, Matrix) for a in args) else result


def _rounded(fn: Callable, x: Any, dtype: Any) -> Any:
    result = apply(fn, x)
    if dtype is None:
        return result
    from quadrants.lang.casts import cast

    return cast(result, dtype)


@both_scopes
def sin(x) -> Any:
    """Sine of x in radians. x: real; result: same dtype. Integers in kernels: QuadrantsTypeError.

    y = qd.sin(x)
    """
    return apply(np.sin, x)


@both_scopes
def cos(x) -> Any:
    """Cosine of x in radians. x: real; result: same dtype. Integers in kernels: QuadrantsTypeError.

    y = qd.cos(x)
    """
    return apply(np.cos, x)


@both_scopes
def tan(x) -> Any:
    """Tangent of x in radians. x: real; result: same dtype. Integers in kernels: QuadrantsTypeError.

    y = qd.tan(x)
    """
    return apply(np.tan, x)


@both_scopes
def asin(x) -> Any:
    """Arc sine in [-pi/2, pi/2]; nan outside [-1, 1]. x: real; result: same dtype.

    y = qd.asin(x)
    """
    return apply(np.arcsin, x)


@both_scopes
def acos(x) -> Any:
    """Arc cosine in [0, pi]; nan outside [-1, 1]. x: real; result: same dtype.

    y = qd.acos(x)
    """
    return apply(np.arccos, x)


@both_scopes
def tanh(x) -> Any:
    """Hyperbolic tangent. x: real; result: same dtype.

    y = qd.tanh(x)
    """
    return apply(np.tanh, x)


@both_scopes
def atan2(x1, x2) -> Any:
    """Angle in [-pi, pi] of the point with ordinate x1 and abscissa x2; 0 for (0, 0).

    x1, x2: numbers of any dtype; in kernels the result is f64 if one of them is f64, else f32.

        angle = qd.atan2(y, x)
    """
    return apply(np.arctan2, x1, x2)


@both_scopes
def sqrt(x) -> Any:
    """Square root; nan for negative x. x: real (same dtype) or integer (default_fp).

    y = qd.sqrt(x)
    """
    return apply(np.sqrt, x)


@both_scopes
def rsqrt(x) -> Any:
    """1 / sqrt(x); inf for 0. x: real; result: same dtype. Integers in kernels: QuadrantsTypeError.

    y = qd.rsqrt(x)
    """
    with np.errstate(divide="ignore"):
        return apply(lambda a: 1.0 / np.sqrt(a), x)


@both_scopes
def exp(x) -> Any:
    """e to the power of x. x: real (same dtype) or integer (default_fp).

    y = qd.exp(x)
    """
    return apply(np.exp, x)


@both_scopes
def log(x) -> Any:
    """Natural logarithm: -inf for 0, nan for negative x. x: real (same dtype) or integer (default_fp).

    y = qd.log(x)
    """
    return apply(np.log, x)


@both_scopes
def floor(x, dtype=None) -> Any:
    """Largest integral value not above x, as the dtype of x, or cast to `dtype` if given. x: real.

    y = qd.floor(x)
    """
    return _rounded(np.floor, x, dtype)


@both_scopes
def ceil(x, dtype=None) -> Any:
    """Smallest integral value not below x, as the dtype of x, or cast to `dtype` if given. x: real.

    y = qd.ceil(x)
    """
    return _rounded(np.ceil, x, dtype)


@both_scopes
def round(x, dtype=None) -> Any:
    """Nearest integral value, as the dtype of x, or cast to `dtype` if given. x: real.

    Halves go away from zero in kernels, to even in Python scope (NumPy's rule).

        y = qd.round(x)
    """
    return _rounded(np.round, x, dtype)


@both_scopes
def abs(x) -> Any:
    """Absolute value. x: number of any dtype; result: same dtype (the smallest integer wraps to itself).

    y = qd.abs(x)
    """
    return apply(builtins.abs, x)


@both_scopes
def pow(base, exponent) -> Any:
    """`base ** exponent`. An integer exponent keeps the dtype of the base; otherwise the dtypes are promoted.

    Raises RuntimeError in kernels for an integer base with a negative compile-time integer exponent.

        y = qd.pow(x, 3)
    """
    return apply(operator.pow, base, exponent)


def _fold(name: str, fn: Callable, args: tuple) -> Any:
    if not args:
        raise AssertionError(f"qd.{name} needs at least one argument")
    result = args[-1]
    for x in reversed(args[:-1]):
        result = apply(fn, x, result)
    return result


@both_scopes
def max(*args) -> Any:
    """Elementwise maximum of one or more numbers, vectors or matrices; scalars broadcast; dtypes are promoted.

    Of three and more, the last two are compared first, and promoted for that: beside unsigned integers negative ones
    become large.

    One argument is returned as it is: the largest element of a vector is `v.max()`.

        z = qd.max(x, y, 0.0)
    """
    return _fold("max", np.maximum, args)


@both_scopes
def min(*args) -> Any:
    """Elementwise minimum of one or more numbers, vectors or matrices; scalars broadcast; dtypes are promoted.

    Of three and more, the last two are compared first, and promoted for that: beside unsigned integers negative ones
    become large.

    One argument is returned as it is: the smallest element of a vector is `v.min()`.

        z = qd.min(x, y, 0.0)
    """
    return _fold("min", np.minimum, args)


@both_scopes
def select(cond, x1, x2) -> Any:
    """x1 where `cond` is not 0, else x2; both are evaluated.

    cond: integer or u1, a scalar or of the shape of the result; x1, x2: scalars broadcast, dtypes are promoted.

        y = qd.select(x > 0, x, -x)
    """
    return apply(lambda c, a, b: np.where(c, a, b)[()], cond, x1, x2)


@both_scopes
def frexp(x) -> Any:
    """Mantissa in [0.5, 1) with the sign of x, and exponent (i32), so that x = mantissa * 2**exponent. x: f32, f64.

    m, e = qd.frexp(x)
    """
    mantissa, exponent = np.frexp(operand(x))
    return (wrap(mantissa), wrap(exponent)) if isinstance(x, Matrix) else (mantissa, exponent)


@kernel_only_draw
def random(dtype=float) -> Any:
    """A new random number at every call. Kernel scope only.

    dtype: f32, f64 (or float): uniform in [0, 1); i32, u32, i64, u64 (or int): uniform over all values.

        x[i] = qd.random(qd.f32)
    """


@kernel_only
def zero(x) -> Any:
    """A value of the shape and dtype of x filled with 0. Kernel scope only.

    y = qd.zero(x)
    """


@kernel_only
def one(x) -> Any:
    """A value of the shape and dtype of x filled with 1. Kernel scope only.

    y = qd.one(x)
    """


__all__ = [
    "KERNEL_FUNCTIONS", "abs", "acos", "asin", "atan2", "ceil", "cos", "exp", "floor", "frexp", "log", "max", "min",
    "one", "pow", "random", "round", "rsqrt", "select", "sin", "sqrt", "tan", "tanh", "zero",
]  # fmt: skip
