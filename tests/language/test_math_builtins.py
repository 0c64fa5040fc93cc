"""Math functions and builtins in kernels (language.md 12)."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from language_kit import raises
from spec_kit import same_type, traced_helpers

import quadrants as qd

pytestmark = traced_helpers

UNARY = ("sin", "cos", "tan", "asin", "acos", "tanh", "sqrt", "exp", "log", "rsqrt", "floor", "ceil", "abs")


@pytest.mark.parametrize(("dtype", "tolerance"), [("f64", 1e-12), ("f32", 2e-6)])
def test_functions_against_numpy(arch, dtype, tolerance):
    """Every function of one real argument keeps the type and agrees with NumPy; atan2, pow, max, min, round."""
    t = getattr(qd, dtype)
    functions = [(k, getattr(qd, name)) for k, name in enumerate(UNARY)]
    n = len(UNARY)

    @qd.kernel
    def table(x: qd.types.ndarray(t, 1), out: qd.types.ndarray(t, 2)):
        for i in range(x.shape[0]):
            for k, function in qd.static(functions):
                out[k, i] = function(x[i])
                qd.static_assert(same_type(function(x[i]), t))
            out[n, i] = qd.atan2(x[i], 0.5)
            out[n + 1, i] = max(x[i], 0.5, x[i] * x[i])
            out[n + 2, i] = min(x[i], 0.5)
            out[n + 3, i] = qd.round(x[i] * 10)
            out[n + 4, i] = qd.pow(x[i], 2.5)

    x = np.linspace(0.01, 0.99, 101, dtype=f"float{dtype[1:]}")
    a, out = qd.ndarray(t, shape=len(x)), qd.ndarray(t, shape=(n + 5, len(x)))
    a.from_numpy(x)
    table(a, out)
    got, wide = out.to_numpy(), x.astype(np.float64)
    names = {"asin": "arcsin", "acos": "arccos"}
    for k, name in enumerate(UNARY):
        expected = 1 / np.sqrt(wide) if name == "rsqrt" else getattr(np, names.get(name, name))(wide)
        np.testing.assert_allclose(got[k], expected, rtol=tolerance, err_msg=name)
    np.testing.assert_allclose(got[n], np.arctan2(wide, 0.5), rtol=tolerance)
    np.testing.assert_allclose(got[n + 1], np.maximum(wide, 0.5), rtol=tolerance)
    np.testing.assert_allclose(got[n + 2], np.minimum(wide, 0.5), rtol=tolerance)
    np.testing.assert_allclose(got[n + 3], np.floor(x * x.dtype.type(10) + x.dtype.type(0.5)), rtol=tolerance)
    np.testing.assert_allclose(got[n + 4], wide**2.5, rtol=tolerance)


def test_types_and_special_cases(arch):
    """Integers in sqrt; casts of round; half away from zero; NaN in max / min; u1; one argument; vectors."""

    @qd.kernel
    def special(nan: qd.f32, zero: qd.f32, out: qd.types.ndarray(qd.f64, 1)):
        four = 4
        half = 2.5
        yes = zero == 0
        no = zero != 0
        qd.static_assert(same_type(qd.sqrt(four), qd.f32))
        qd.static_assert(same_type(qd.round(half, qd.i32), qd.i32))
        qd.static_assert(same_type(qd.atan2(four, four), qd.f32))
        qd.static_assert(same_type(qd.atan2(qd.f64(1.0), four), qd.f64))
        qd.static_assert(same_type(qd.max(four, half), qd.f32))
        qd.static_assert(same_type(qd.math.popcnt(qd.i64(3)), qd.i32))
        out[0] = qd.sqrt(four)
        out[1] = qd.round(half)
        out[2] = qd.round(-half, qd.i32)
        out[3] = qd.floor(-half, dtype=int) * 10 + qd.ceil(-half, qd.i32)
        out[4] = qd.max(nan, 1.0) * 100 + qd.max(1.0, nan) * 10 + qd.min(nan, 2.0)
        out[5] = qd.isnan(nan) if qd.static(hasattr(qd, "isnan")) else qd.math.isnan(nan)
        out[6] = qd.math.isinf(1 / zero) + qd.math.isinf(-1 / zero) * 2
        out[7] = qd.max(yes, no) * 10 + qd.min(yes, no)
        out[8] = qd.max(four)
        v = qd.max(qd.Vector([1, 5]), qd.Vector([3, 2]))
        out[9] = v[0] * 10 + v[1]
        out[10] = max(*v) * 10 + v.min()
        out[11] = qd.abs(qd.Vector([-1.5, 2.0])).sum()
        out[12] = abs(-four) + pow(four, 2) + len(v)
        out[13] = qd.math.popcnt(255) + qd.math.clz(0) * 100 + qd.math.ffs(0) * 10000 + qd.math.ffs(8)
        out[14] = qd.math.clz(qd.i64(0))
        out[15] = math.sqrt(16) + np.sin(0.0)
        out[16] = qd.sqrt(-half) != qd.sqrt(-half) or qd.math.isnan(qd.sqrt(-half))
        out[17] = any(v > 4) * 10 + all(v > 2)
        out[18] = qd.exp(1000.0 + zero)
        out[19] = qd.log(zero)

    out = qd.ndarray(qd.f64, shape=20)
    special(math.nan, 0.0, out)
    expected = [2, 3, -3, -32, 112, 1, 3, 10, 4, 35, 53, 3.5, 22, 8 + 3200 + 4, 64, 4, 1, 11, math.inf, -math.inf]
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-7)


def test_python_scope(arch):
    """The functions also take numbers and vectors in Python scope; NumPy's meaning there."""
    assert qd.sqrt(16.0) == 4 and qd.max(1, 2) == 2 and qd.round(2.5) == 2
    assert qd.abs(qd.Vector([-1, 2])).to_list() == [1, 2]


def test_sum_over_lists(arch):
    """Items known at run time, while compiling, or both; a start; comparisons count as integers."""
    x = qd.field(qd.i32, shape=4)
    x.from_numpy(np.array([3, 5, 7, 11], np.int32))

    @qd.kernel
    def sums(out: qd.types.ndarray(qd.f64, 1)):
        items = [x[0], x[1], x[2]]
        by_name = {"a": x[0], "b": x[3]}
        out[0] = sum(items)
        out[1] = sum([x[i] for i in qd.static(range(4))], start=100)
        out[2] = sum([x[0], 2.5], 10)
        out[3] = sum((1, 2, 3)) + sum([]) + sum(range(4))
        out[4] = sum([qd.Vector([1, 2]), qd.Vector([x[0], 4])])[0]
        out[5] = sum(by_name.values())
        out[6] = sum([x[0] > 0, x[1] > 0, x[2] > 10, x[3] > 0])
        qd.static_assert(same_type(sum([x[0], 2.5]), qd.f32))

    out = qd.ndarray(qd.f64, shape=7)
    sums(out)
    assert out.to_numpy().tolist() == [15, 126, 15.5, 12, 4, 14, 3]

    @qd.kernel
    def of_vector() -> qd.i32:
        return sum(qd.Vector([x[0], 2]))

    @qd.kernel
    def of_field() -> qd.i32:
        return sum(x)

    @qd.kernel
    def of_array(a: qd.types.ndarray(qd.f64, 1)) -> qd.i32:
        return sum(a)

    with raises(qd.QuadrantsTypeError, "use v.sum() for a vector"):
        of_vector()
    with raises(qd.QuadrantsTypeError, "write a loop with `total += x[i]` for a field or array"):
        of_field()
    with raises(qd.QuadrantsTypeError, "write a loop with `total += a[i]` for a field or array"):
        of_array(out)


def test_errors(arch):
    @qd.kernel
    def integer_sine(n: qd.i32) -> qd.f32:
        return qd.sin(n)

    @qd.kernel
    def integer_rsqrt(n: qd.i32) -> qd.f32:
        return qd.rsqrt(n)

    @qd.kernel
    def integer_floor(n: qd.i32) -> qd.f32:
        return qd.floor(n)

    @qd.kernel
    def python_function(n: qd.i32) -> qd.f32:
        return math.sin(n)

    @qd.kernel
    def numpy_function(n: qd.i32) -> qd.f32:
        return np.sin(n)

    for kernel in (integer_sine, integer_rsqrt, integer_floor):
        with raises(qd.QuadrantsTypeError, "takes real inputs only"):
            kernel(1)
    for kernel in (python_function, numpy_function):
        with raises(qd.QuadrantsTypeError, "qd.sin"):
            kernel(1)


def test_constants_outside_of_domains_warn_of_nothing(arch):
    big, zero = np.float32(3e38), np.float32(0)
    out = qd.ndarray(qd.f32, shape=(8,))

    @qd.kernel
    def run(out: qd.types.ndarray(qd.f32, 1)):
        out[0] = qd.log(-1.5)
        out[1] = qd.sqrt(-2.0) + qd.asin(2.0)
        out[2] = qd.log(0.0)
        out[3] = qd.exp(1000.0)
        out[4] = qd.rsqrt(-1.0)
        out[5] = big * big
        out[6] = big / zero
        out[7] = zero / zero

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(out)
    inf, nan = math.inf, math.nan
    np.testing.assert_array_equal(out.to_numpy(), [nan, nan, -inf, inf, nan, inf, inf, nan])


def test_functions_of_the_user_warn_while_compiling_as_elsewhere(arch):
    @qd.kernel
    def run() -> qd.f32:
        return qd.static(np.log(-1.0))

    with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
        assert math.isnan(run())
