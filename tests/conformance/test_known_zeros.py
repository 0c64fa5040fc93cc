"""Zeros that are known while a kernel is compiled, written or found by following variables: NaN, infinity and the sign
of zero are those of the operation, as without."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

DIVISORS = np.array([-2, 3, 0.0, -0.0, np.inf, -np.inf, np.nan, -0.5])


@qd.func
def quotient(zero, x):
    return zero // x


@qd.kernel
def written(x: qd.types.ndarray(ndim=1), out: qd.types.ndarray(ndim=2)):
    for i in x:
        a = x[i]
        out[0, i] = 0.0 // a
        out[1, i] = -0.0 // a
        out[2, i] = 0.0 % a
        out[3, i] = 0.0 - a
        out[4, i] = a + 0.0
        out[5, i] = 0.0 * a
        out[6, i] = -0.0 / a


@qd.kernel
def followed(x: qd.types.ndarray(ndim=1), out: qd.types.ndarray(ndim=2)):
    for i in x:
        a, zero, other = x[i], 0.0, -0.0
        for _ in range(0):
            zero += 1.0
        out[0, i] = quotient(zero, a)
        out[1, i] = quotient(other, a)
        out[2, i] = qd.math.mod(zero, a)
        out[3, i] = zero - a
        out[4, i] = a + zero
        out[5, i] = zero * a
        out[6, i] = other / a


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("kernel", [written, followed])
def test_known_zeros_are_zeros_like_others(init, kernel, dtype):
    init(fast_math=False, default_fp=getattr(qd, dtype))
    x = DIVISORS.astype(dtype.replace("f", "float"))
    out = np.zeros((7, x.size), x.dtype)
    kernel(x, out)
    with np.errstate(all="ignore"):
        zero = x.dtype.type(0)
        wanted = [np.floor(zero / x), np.floor(-zero / x), zero % x, zero - x, x + zero, zero * x, -zero / x]
    for row, (got, want) in enumerate(zip(out, wanted, strict=True)):
        # A remainder is a difference, which makes NaN of infinity; the sign of one that is zero is left open.
        known = np.isfinite(x) | (row != 2)
        assert np.array_equal(got[known], want[known], equal_nan=True), (row, got, want)
        signs = ~np.isnan(want) & (row != 2)
        assert (np.signbit(got) == np.signbit(want))[signs].all(), (row, got, want)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_odd_functions_keep_the_sign_of_zero(init, dtype):
    init(fast_math=False, default_fp=getattr(qd, dtype))

    @qd.kernel
    def functions(x: qd.types.ndarray(ndim=1), out: qd.types.ndarray(ndim=2)):
        for i in x:
            out[0, i] = qd.sin(x[i])
            out[1, i] = qd.tan(x[i])
            out[2, i] = qd.asin(x[i])
            out[3, i] = qd.tanh(x[i])
            out[4, i] = qd.atan2(x[i], 1.0)
            out[5, i] = qd.round(x[i])

    x = np.array([0.0, -0.0], dtype.replace("f", "float"))
    out = np.ones((6, 2), x.dtype)
    functions(x, out)
    assert (out == 0).all() and (np.signbit(out) == [False, True]).all(), out


@qd.kernel
def of_integers(x: qd.types.ndarray(ndim=1), out: qd.types.ndarray(ndim=2), ns: qd.types.ndarray(qd.i32, ndim=1)):
    for i in x:
        a, n, no, part = x[i], 0, False, 0.4
        v = qd.Vector([0, 1])
        out[0, i] = a / n
        out[1, i] = a * n
        out[2, i] = a / no
        out[3, i] = a / (ns[i] & qd.i32(0))
        out[4, i] = a * (ns[i] * 0)
        out[5, i] = (a * v)[0]
        out[6, i] = a / qd.floor(part)
        out[7, i] = a * qd.bit_cast(qd.i32(0), qd.f32)
        out[8, i] = 1 / (n - a)
        out[9, i] = a // n
        out[10, i] = a % n
        for j in range(3):
            if j == 1:
                out[11, i] = a / (j - 1)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_integers_that_are_zero_are_zeros_like_others(init, dtype, fast):
    """A loop that a driver unrolls has counters that it knows."""
    init(fast_math=fast, default_fp=getattr(qd, dtype))
    x = np.array([-2, 3, 0.25, -0.5]) if fast else DIVISORS
    x = x.astype(dtype.replace("f", "float"))
    out = np.zeros((12, x.size), x.dtype)
    of_integers(x, out, np.arange(x.size, dtype=np.int32))
    with np.errstate(all="ignore"):
        zero = x.dtype.type(0)
        quotient, product = x / zero, x * zero
        wanted = [quotient, product, quotient, quotient, product, product, quotient, product, 1 / (zero - x)]
        wanted += [quotient, np.full_like(x, np.nan), quotient]
    for row, (got, want) in enumerate(zip(out, wanted, strict=True)):
        assert np.array_equal(got, want, equal_nan=True), (row, got, want)
