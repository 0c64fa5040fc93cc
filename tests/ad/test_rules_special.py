"""Derivatives where formulas are singular, at ties, and of NaN and infinity; both modes, f32 and f64."""

from __future__ import annotations

import numpy as np
import pytest
from operations import BINARY, UNARY, name
from oracle import field, forward, reverse

import quadrants as qd

INF, NAN = np.inf, np.nan


@pytest.fixture(params=["f32", "f64"])
def real(init, request):
    init(default_fp=getattr(qd, request.param), ad_stack_experimental_enabled=True, fast_math=False)
    return getattr(qd, request.param)


def _special() -> list:
    """Functions of two numbers."""

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
    def real_square(x, y):
        return x**2.0

    @qd.func
    def half_power(x, y):
        return x**0.5

    @qd.func
    def min_of_three(x, y):
        return qd.min(x, y, x)

    @qd.func
    def max_of_three(x, y):
        return qd.max(y, x, y)

    @qd.func
    def selected_root(x, y):
        return qd.select(x > 0, qd.sqrt(x), y)

    @qd.func
    def chosen_root(x, y):
        return qd.sqrt(x) if x > 0 else y

    return list(locals().values())


UNARY_OPS = {name(pair): pair[0] for pair in UNARY}
BINARY_OPS = {name(pair): pair[0] for pair in BINARY} | {op.fn.__name__: op for op in _special()}
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
    ("pow", 0.0, 2.0): (0.0, 0.0), ("pow", 0.0, 1.5): (0.0, 0.0), ("pow", -2.0, 2.0): (-4.0, NAN),
    ("pow", NAN, 2.0): (NAN, NAN), ("pow", 1.0, INF): (INF, 0.0),
    ("div", 1.0, 0.0): (INF, -INF), ("div", 0.0, 0.0): (INF, NAN), ("div", 1.0, INF): (0.0, 0.0),
    ("mod", -2.0, -1.5): (1.0, -1.0), ("mod", 2.0, -0.75): (1.0, 3.0), ("raw_mod", 2.0, -0.75): (1.0, 2.0),
    ("raw_mod", -2.0, 0.75): (1.0, 2.0), ("mod", 1.0, 0.0): (1.0, -INF),
    ("atan2", 0.0, 0.0): (NAN, NAN), ("atan2", 0.0, 2.0): (0.5, 0.0), ("atan2", 1.0, 0.0): (0.0, -1.0),
    ("min", 0.5, 0.5): (0.0, 1.0), ("max", 0.5, 0.5): (0.0, 1.0), ("min", -0.0, 0.0): (0.0, 1.0),
    ("min", NAN, 1.0): (0.0, 1.0), ("min", 1.0, NAN): (0.0, 1.0), ("max", NAN, 1.0): (0.0, 1.0),
    ("max", 1.0, NAN): (0.0, 1.0), ("min", -INF, -INF): (0.0, 1.0), ("max", INF, 1.0): (1.0, 0.0),
    ("min_of_three", 0.5, 0.5): (1.0, 0.0), ("max_of_three", 0.5, 0.5): (0.0, 1.0),
    ("selected_root", 0.25, 3.0): (1.0, 0.0), ("selected_root", -1.0, 3.0): (NAN, 1.0),
    ("chosen_root", 0.0, 3.0): (0.0, 1.0), ("chosen_root", -1.0, 3.0): (0.0, 1.0),
    ("chosen_root", 0.25, 3.0): (1.0, 0.0),
}  # fmt: skip

# In reverse mode the adjoint of the side that is not taken is zero, and zero times an infinite slope is NaN.
FORWARD = {("selected_root", -1.0, 3.0): (0.0, 1.0)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}({case[1]}, {case[2]})")
def test_a_special_value(real, case):
    unary = case[0] in UNARY_OPS
    op = (UNARY_OPS if unary else BINARY_OPS)[case[0]]
    x, y, z = field([case[1]], real), field([case[2]], real), field([0.0], real)

    @qd.kernel
    def apply():
        for i in x:
            z[i] = op(x[i]) if qd.static(unary) else op(x[i], y[i])

    backward = [float(g[0]) for g in reverse(apply, [x, y], [z])]
    # PoCL 3.1: tanh of f32 is 1 - 2 ** -24 from 9 to infinity.
    below = 2e-7 if case[0] == "tanh" and qd.cfg.arch == qd.opencl else 0
    np.testing.assert_allclose(backward, CASES[case], rtol=0, atol=below)
    for k, g in enumerate(forward(apply, [x, y], [z])):
        # A dual of zero times the infinite slope of the other operand is NaN, in forward mode.
        if np.isfinite(CASES[case][1 - k]):
            np.testing.assert_allclose(g[0], FORWARD.get(case, CASES[case])[k], rtol=0, atol=below)


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
