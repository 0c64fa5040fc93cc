"""Derivatives where formulas are singular, at ties, and of NaN and infinity; both modes, f32 and f64."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import field, forward, reverse

import quadrants as qd

INF, NAN = np.inf, np.nan


@pytest.fixture(params=["f32", "f64"])
def real(init, request):
    init(default_fp=getattr(qd, request.param), ad_stack_experimental_enabled=True, fast_math=False)
    return getattr(qd, request.param)


def _ops() -> dict:
    """Kernels of one or two numbers by name."""

    @qd.func
    def abs_(x, y):
        return abs(x)

    @qd.func
    def log(x, y):
        return qd.log(x)

    @qd.func
    def exp(x, y):
        return qd.exp(x)

    @qd.func
    def tanh(x, y):
        return qd.tanh(x)

    @qd.func
    def asin(x, y):
        return qd.asin(x)

    @qd.func
    def acos(x, y):
        return qd.acos(x)

    @qd.func
    def sqrt(x, y):
        return qd.sqrt(x)

    @qd.func
    def rsqrt(x, y):
        return qd.rsqrt(x)

    @qd.func
    def norm(x, y):
        return qd.Vector([x, y]).norm()

    @qd.func
    def norm_with_eps(x, y):
        return qd.Vector([x, y]).norm(1e-3)

    @qd.func
    def first_power(x, y):
        return x**1

    @qd.func
    def cube(x, y):
        return x**3

    @qd.func
    def inverse_square(x, y):
        return x**-2

    @qd.func
    def real_square(x, y):
        return x**2.0

    @qd.func
    def half_power(x, y):
        return x**0.5

    @qd.func
    def power(x, y):
        return x**y

    @qd.func
    def divide(x, y):
        return x / y

    @qd.func
    def modulo(x, y):
        return x % y

    @qd.func
    def raw_mod(x, y):
        return qd.raw_mod(x, y)

    @qd.func
    def atan2(x, y):
        return qd.atan2(x, y)

    @qd.func
    def min_(x, y):
        return qd.min(x, y)

    @qd.func
    def max_(x, y):
        return qd.max(x, y)

    @qd.func
    def min_of_three(x, y):
        return qd.min(x, y, x)

    @qd.func
    def max_of_three(x, y):
        return qd.max(y, x, y)

    @qd.func
    def select(x, y):
        return qd.select(x > 0, qd.sqrt(x), y)

    @qd.func
    def choice(x, y):
        return qd.sqrt(x) if x > 0 else y

    return {op.fn.__name__.strip("_"): op for op in locals().values()}


OPS = _ops()
# (operation, x, y): the derivatives by x and by y.
CASES = {
    ("abs", 0.0, 0.0): (0.0, 0.0), ("abs", -INF, 0.0): (-1.0, 0.0), ("abs", NAN, 0.0): (0.0, 0.0),
    ("log", -2.0, 0.0): (-0.5, 0.0), ("log", 0.0, 0.0): (INF, 0.0), ("log", INF, 0.0): (0.0, 0.0),
    ("log", NAN, 0.0): (NAN, 0.0), ("exp", -INF, 0.0): (0.0, 0.0), ("exp", INF, 0.0): (INF, 0.0),
    ("exp", NAN, 0.0): (NAN, 0.0), ("tanh", INF, 0.0): (0.0, 0.0), ("tanh", NAN, 0.0): (NAN, 0.0),
    ("asin", 1.0, 0.0): (INF, 0.0), ("acos", -1.0, 0.0): (-INF, 0.0), ("asin", 2.0, 0.0): (NAN, 0.0),
    ("sqrt", 0.0, 0.0): (INF, 0.0), ("sqrt", -1.0, 0.0): (NAN, 0.0), ("rsqrt", 0.0, 0.0): (-INF, 0.0),
    ("norm", 0.0, 0.0): (NAN, NAN), ("norm_with_eps", 0.0, 0.0): (0.0, 0.0),
    ("first_power", 0.0, 0.0): (1.0, 0.0), ("first_power", NAN, 0.0): (1.0, 0.0), ("cube", 0.0, 0.0): (0.0, 0.0),
    ("cube", -2.0, 0.0): (12.0, 0.0), ("cube", -INF, 0.0): (INF, 0.0), ("inverse_square", 0.0, 0.0): (-INF, 0.0),
    ("inverse_square", INF, 0.0): (0.0, 0.0), ("real_square", -2.0, 0.0): (-4.0, 0.0),
    ("half_power", 0.0, 0.0): (INF, 0.0),
    ("power", 0.0, 2.0): (0.0, 0.0), ("power", 0.0, 1.5): (0.0, 0.0), ("power", -2.0, 2.0): (-4.0, NAN),
    ("power", NAN, 2.0): (NAN, NAN), ("power", 1.0, INF): (INF, 0.0),
    ("divide", 1.0, 0.0): (INF, -INF), ("divide", 0.0, 0.0): (INF, NAN), ("divide", 1.0, INF): (0.0, 0.0),
    ("modulo", -2.0, -1.5): (1.0, -1.0), ("modulo", 2.0, -0.75): (1.0, 3.0), ("raw_mod", 2.0, -0.75): (1.0, 2.0),
    ("raw_mod", -2.0, 0.75): (1.0, 2.0), ("modulo", 1.0, 0.0): (1.0, -INF),
    ("atan2", 0.0, 0.0): (NAN, NAN), ("atan2", 0.0, 2.0): (0.5, 0.0), ("atan2", 1.0, 0.0): (0.0, -1.0),
    ("min", 0.5, 0.5): (0.0, 1.0), ("max", 0.5, 0.5): (0.0, 1.0), ("min", -0.0, 0.0): (0.0, 1.0),
    ("min", NAN, 1.0): (0.0, 1.0), ("min", 1.0, NAN): (0.0, 1.0), ("max", NAN, 1.0): (0.0, 1.0),
    ("max", 1.0, NAN): (0.0, 1.0), ("min", -INF, -INF): (0.0, 1.0), ("max", INF, 1.0): (1.0, 0.0),
    ("min_of_three", 0.5, 0.5): (1.0, 0.0), ("max_of_three", 0.5, 0.5): (0.0, 1.0),
    ("select", 0.25, 3.0): (1.0, 0.0), ("select", -1.0, 3.0): (NAN, 1.0), ("choice", 0.0, 3.0): (0.0, 1.0),
    ("choice", -1.0, 3.0): (0.0, 1.0), ("choice", 0.25, 3.0): (1.0, 0.0),
}  # fmt: skip

# In reverse mode the adjoint of the side that is not taken is zero, and zero times an infinite slope is NaN.
FORWARD = {("select", -1.0, 3.0): (0.0, 1.0)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}({case[1]}, {case[2]})")
def test_a_special_value(real, case):
    op = OPS[case[0]]
    x, y, z = field([case[1]], real), field([case[2]], real), field([0.0], real)

    @qd.kernel
    def apply():
        for i in x:
            z[i] = op(x[i], y[i])

    backward = [float(g[0]) for g in reverse(apply, [x, y], [z])]
    np.testing.assert_array_equal(backward, CASES[case])
    for k, g in enumerate(forward(apply, [x, y], [z])):
        # A dual of zero times the infinite slope of the other operand is NaN, in forward mode.
        if np.isfinite(CASES[case][1 - k]):
            np.testing.assert_array_equal(g[0], FORWARD.get(case, CASES[case])[k])


def test_what_is_flat_has_no_derivative_in_either_mode(real):
    x, y = field([1.6, -2.5, 0.0, NAN], real), field(np.zeros(4), real)

    @qd.kernel
    def apply():
        for i in x:
            flat = qd.floor(x[i]) + qd.ceil(x[i]) + qd.round(x[i]) + x[i] // 0.3
            flat += qd.cast(qd.math.isnan(x[i]), real) + qd.cast(qd.math.isinf(x[i]), real)
            whole = qd.cast(x[i], qd.i32)
            flat += qd.cast(qd.math.popcnt(whole) + qd.math.clz(whole) + ~whole + (whole << 2 & 5), real)
            flat += qd.cast(not (x[i] > 0), real) + qd.cast(x[i] > 0 and whole < 3 or x[i] == 2.0, real)
            y[i] = 2.0 * x[i] + flat

    assert reverse(apply, [x], [y])[0].tolist() == [2.0] * 4
    assert forward(apply, [x], [y])[0].tolist() == [2.0] * 4


def test_narrower_and_wider_reals(init):
    init(default_fp=qd.f64)
    x, y = field([0.3], qd.f32), field([0.0], qd.f64)
    h = qd.field(qd.f16, 1, needs_grad=True, needs_dual=True)

    @qd.kernel
    def apply():
        for i in x:
            y[i] = qd.cast(x[i], qd.f64) * 3.0 + qd.cast(h[i], qd.f64) * qd.cast(qd.cast(x[i], qd.f16), qd.f64)

    h[0] = 0.5
    (found,) = reverse(apply, [x], [y])
    assert found.dtype == np.float32 and found[0] == 3.5
    assert h.grad[0] == np.float16(np.float32(0.3))
    assert forward(apply, [x], [y])[0][0] == 3.5
