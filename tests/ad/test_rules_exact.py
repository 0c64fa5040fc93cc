"""Every operation with a derivative against the formula of its derivative: both modes, f32 and f64, alone and in
recurrences that feed the result back into either operand.
"""

from __future__ import annotations

import numpy as np
import pytest
from operations import BINARY, UNARY, name
from oracle import field, forward, reverse

import quadrants as qd

one = np.ones_like
UNARY_SLOPES = {
    "neg": lambda x: -one(x), "abs": np.sign, "sin": np.cos, "cos": lambda x: -np.sin(x),
    "tan": lambda x: 1 + np.tan(x) ** 2, "asin": lambda x: 1 / np.sqrt(1 - x * x),
    "acos": lambda x: -1 / np.sqrt(1 - x * x), "tanh": lambda x: 1 - np.tanh(x) ** 2, "exp": np.exp,
    "log": lambda x: 1 / x, "sqrt": lambda x: 0.5 / np.sqrt(x), "rsqrt": lambda x: -0.5 * x**-1.5,
    "floor": lambda x: 0 * x, "ceil": lambda x: 0 * x, "round": lambda x: 0 * x, "square": lambda x: 2 * x,
    "cube": lambda x: 3 * x * x, "seventh": lambda x: 7 * x**6, "inverse_square": lambda x: -2 / (x * x * x),
    "zeroth": lambda x: 0 * x, "power": lambda x: 1.7 * x**0.7, "cast": lambda x: 2 * one(x),
}  # fmt: skip
BINARY_SLOPES = {
    "add": lambda x, y: (one(x), one(x)), "sub": lambda x, y: (one(x), -one(x)), "mul": lambda x, y: (y, x),
    "div": lambda x, y: (1 / y, -x / (y * y)), "raw_div": lambda x, y: (1 / y, -x / (y * y)),
    "floordiv": lambda x, y: (0 * x, 0 * x), "mod": lambda x, y: (one(x), -np.floor(x / y)),
    "raw_mod": lambda x, y: (one(x), -np.trunc(x / y)),
    "pow": lambda x, y: (y * x ** (y - 1), x**y * np.log(x)),
    "atan2": lambda x, y: (y / (x * x + y * y), -x / (x * x + y * y)),
    "min": lambda x, y: (1.0 * (x < y), 1.0 * ~(x < y)), "max": lambda x, y: (1.0 * (y < x), 1.0 * ~(y < x)),
    "select": lambda x, y: (np.where(x < y, 2 * x, y), np.where(x < y, 0, x)),
    "conditional": lambda x, y: (np.where(x < y, 2 * x, y), np.where(x < y, 0, x)),
}  # fmt: skip
TRIPS = (0, 1, 3, 10)
START = (0.35, 0.62, 0.85)
OTHER = (0.45, 1.3, 0.7)


@pytest.fixture(params=["f32", "f64"])
def real(init, request):
    """The dtype under test, and the relative error that it allows."""
    init(default_fp=getattr(qd, request.param), ad_stack_experimental_enabled=True, fast_math=False)
    return getattr(qd, request.param), 1e-4 if request.param == "f32" else 1e-10


def wide(values) -> np.ndarray:
    return np.array(values, dtype=np.longdouble)


def start(real) -> np.ndarray:
    """The points of a recurrence as the kernel sees them."""
    return np.array(START, dtype=np.float32 if real is qd.f32 else np.float64)


def agree(found, expected, tolerance) -> None:
    expected = np.asarray(expected, dtype=np.float64)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 1e-2)


@pytest.mark.parametrize("pair", UNARY, ids=name)
def test_unary(real, pair):
    dtype, tolerance = real
    op, slope = pair[0], UNARY_SLOPES[name(pair)]
    x, y = field(START, dtype), field(np.zeros(3), dtype)

    @qd.kernel
    def apply():
        for i in x:
            y[i] = op(x[i])

    expected = slope(wide(start(dtype)))
    agree(reverse(apply, [x], [y])[0], expected, tolerance)
    agree(forward(apply, [x], [y])[0], expected, tolerance)


@pytest.mark.parametrize("pair", UNARY, ids=name)
def test_unary_in_a_recurrence(real, pair):
    dtype, tolerance = real
    op, numpy_op, slope = *pair, UNARY_SLOPES[name(pair)]
    a, b = (-0.25, 0.5) if name(pair) == "log" else (0.25, 0.3125)
    x, y = field(START, dtype), field(np.zeros(3), dtype)

    @qd.kernel
    def apply(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = op(v) * a + b
            y[i] = v

    for trips in TRIPS:
        v, dv = wide(start(dtype)), wide(np.ones(3))
        for _ in range(trips):
            v, dv = numpy_op(v) * a + b, slope(v) * a * dv
        agree(reverse(apply, [x], [y], trips)[0], dv, tolerance)
        agree(forward(apply, [x], [y], trips)[0], dv, tolerance)


@pytest.mark.parametrize("pair", BINARY, ids=name)
def test_binary(real, pair):
    dtype, tolerance = real
    op, slope = pair[0], BINARY_SLOPES[name(pair)]
    x, z, y = field(START, dtype), field(OTHER, dtype), field(np.zeros(3), dtype)

    @qd.kernel
    def apply():
        for i in x:
            y[i] = op(x[i], z[i])

    expected = slope(wide(x.to_numpy()), wide(z.to_numpy()))
    for found in (reverse(apply, [x, z], [y]), forward(apply, [x, z], [y])):
        for one_found, one_expected in zip(found, expected, strict=True):
            agree(one_found, one_expected, tolerance)


@pytest.mark.parametrize("second", [False, True], ids=["first operand", "second operand"])
@pytest.mark.parametrize("pair", BINARY, ids=name)
def test_binary_in_a_recurrence(real, pair, second):
    dtype, tolerance = real
    op, numpy_op, slope = *pair, BINARY_SLOPES[name(pair)]
    x, z, y = field(START, dtype), field(OTHER, dtype), field(np.zeros(3), dtype)

    @qd.kernel
    def apply(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                if qd.static(second):
                    v = op(z[i], v) * 0.25 + 0.3125
                else:
                    v = op(v, z[i]) * 0.25 + 0.3125
            y[i] = v

    w = wide(z.to_numpy())
    for trips in TRIPS:
        v, dv, dw = wide(start(dtype)), wide(np.ones(3)), wide(np.zeros(3))
        for _ in range(trips):
            if second:
                by_w, by_v = slope(w, v)
                v = numpy_op(w, v) * 0.25 + 0.3125
            else:
                by_v, by_w = slope(v, w)
                v = numpy_op(v, w) * 0.25 + 0.3125
            dw = (by_v * dw + by_w) * 0.25
            dv = by_v * dv * 0.25
        for found in (reverse(apply, [x, z], [y], trips), forward(apply, [x, z], [y], trips)):
            agree(found[0], dv, tolerance)
            agree(found[1], dw, tolerance)


@pytest.mark.cpu_only
def test_the_tables_have_every_operation():
    assert set(UNARY_SLOPES) == {name(pair) for pair in UNARY}
    assert set(BINARY_SLOPES) == {name(pair) for pair in BINARY}
