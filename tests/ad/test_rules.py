"""The derivative of every scalar operation against central differences, in both modes, alone and in recurrences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from operations import BINARY, UNARY, name
from oracle import differences, field, forward, reverse

import quadrants as qd


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


POINTS = {"acos": [0.3, -0.4], "asin": [0.3, -0.4], "log": [0.3, 2.5], "sqrt": [0.3, 2.5], "rsqrt": [0.3, 2.5],
          "power": [0.3, 2.5]}  # fmt: skip


@pytest.mark.parametrize("pair", UNARY, ids=name)
def test_unary(pair):
    op, numpy_op = pair
    points = POINTS.get(name(pair), [0.3, -0.7, 1.3])
    x, y = field(points), field(np.zeros(len(points)))

    @qd.kernel
    def apply():
        for i in x:
            y[i] = op(x[i])

    (expected,) = differences(numpy_op, [points])
    np.testing.assert_allclose(reverse(apply, [x], [y])[0], expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(forward(apply, [x], [y])[0], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("pair", BINARY, ids=name)
def test_binary(pair):
    op, numpy_op = pair
    first, second = [0.3, 1.3, 2.2], [0.8, 0.45, 0.7]
    if name(pair) in ("mod", "raw_mod", "floordiv", "div", "raw_div", "atan2"):
        first, second = first + [-0.9, 1.7], second + [0.35, -0.6]
    x, z, y = field(first), field(second), field(np.zeros(len(first)))

    @qd.kernel
    def apply():
        for i in x:
            y[i] = op(x[i], z[i])

    expected = differences(numpy_op, [first, second])
    for found in (reverse(apply, [x, z], [y]), forward(apply, [x, z], [y])):
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("trips", [0, 1, 3, 10])
@pytest.mark.parametrize("pair", UNARY, ids=name)
def test_unary_in_a_recurrence(pair, trips):
    op, numpy_op = pair
    a, b = (-0.3, 0.4) if name(pair) == "log" else (0.3, 0.31)
    x, y = field([0.35, 0.62]), field([0.0, 0.0])

    @qd.kernel
    def apply(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = op(v) * a + b
            y[i] = v

    def oracle(v):
        for _ in range(trips):
            v = numpy_op(v) * a + b
        return v

    (expected,) = differences(oracle, [[0.35, 0.62]])
    np.testing.assert_allclose(reverse(apply, [x], [y], trips)[0], expected, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(forward(apply, [x], [y], trips)[0], expected, rtol=1e-5, atol=1e-9)


def gradients(op, *values):
    """The derivatives of a func of one or two numbers, by reverse and by forward mode."""
    xs = [field([v]) for v in values]
    y = field([0.0])
    x, z = xs[0], xs[-1]
    both = len(xs) == 2

    @qd.kernel
    def apply():
        for i in x:
            if qd.static(both):
                y[i] = op(x[i], z[i])
            else:
                y[i] = op(x[i])

    found = [float(g[0]) for g in reverse(apply, xs, [y])]
    again = [float(g[0]) for g in forward(apply, xs, [y])]
    np.testing.assert_array_equal(found, again)
    return found


OPS = {name(pair): pair[0] for pair in (*UNARY, *BINARY)}


@pytest.mark.parametrize("op", ["min", "max"])
def test_a_tie_goes_to_the_second_operand(op):
    assert gradients(OPS[op], 0.5, 0.5) == [0.0, 1.0]


def test_a_choice_between_equals_takes_one_side_only():
    assert gradients(OPS["conditional"], 0.5, 0.5) == [0.5, 0.5]


def test_abs_is_flat_at_zero():
    assert gradients(OPS["abs"], 0.0) == [0.0]


def test_log_of_a_negative_number_has_the_slope_of_its_formula():
    assert gradients(OPS["log"], -2.0) == [-0.5]


def test_sqrt_at_zero_is_infinite():
    assert gradients(OPS["sqrt"], 0.0) == [math.inf]


def test_powers_of_zero():
    assert gradients(OPS["square"], 0.0) == [0.0]
    assert gradients(OPS["zeroth"], 0.0) == [0.0]
    assert gradients(OPS["power"], 0.0) == [0.0]
    assert gradients(OPS["pow"], 0.0, 2.0)[0] == 0.0


def test_the_exponent_of_a_negative_base_has_no_derivative():
    x, y, z = field([-2.0]), field([2.0]), field([0.0])
    op = OPS["pow"]

    @qd.kernel
    def apply():
        for i in x:
            z[i] = op(x[i], y[i])

    base, exponent = reverse(apply, [x, y], [z])
    assert base == [-4.0] and math.isnan(exponent[0])


def test_integer_powers_of_negative_numbers_are_exact():
    assert gradients(OPS["cube"], -2.0) == [12.0]


def test_integers_stop_derivatives():
    x, y = field([1.6]), field([0.0])

    @qd.kernel
    def through_integers():
        for i in x:
            y[i] = qd.cast(qd.cast(x[i], qd.i32), qd.f64) * x[i] + qd.math.popcnt(qd.cast(x[i], qd.i32))

    assert reverse(through_integers, [x], [y])[0] == [1.0]
    assert forward(through_integers, [x], [y])[0] == [1.0]


def test_casts_between_reals_convert_the_adjoint():
    x = qd.field(qd.f32, 1, needs_grad=True)
    y = qd.field(qd.f64, 1, needs_grad=True)

    @qd.kernel
    def widen():
        for i in x:
            y[i] = qd.cast(x[i], qd.f64) * 3.0

    y.grad[0] = 2.0
    widen.grad()
    assert x.grad[0] == 6.0
