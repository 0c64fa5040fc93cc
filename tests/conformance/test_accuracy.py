"""Real functions on 200,000 uniform samples each, against wider arithmetic: the largest error of each is bounded."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

COUNT = 200_000


@qd.func
def add(a, b):
    return a + b


@qd.func
def product(a, b):
    return a * b


@qd.func
def quotient(a, b):
    return a / b


@qd.func
def power(a, b):
    return a**b


# A function, what it is in NumPy, where its arguments are drawn, and the largest relative error in f32. Near a zero of
# the function an absolute one of a hundredth of that will do.
TABLE = {
    "add": (add, np.add, ((1, 10), (1, 10)), 1e-6),
    "product": (product, np.multiply, ((-10, 10), (-10, 10)), 1e-6),
    "quotient": (quotient, np.divide, ((-10, 10), (0.1, 10)), 1e-6),
    "sqrt": (qd.sqrt, np.sqrt, ((0, 1e4),), 1e-6),
    "rsqrt": (qd.rsqrt, lambda x: 1 / np.sqrt(x), ((1e-3, 1e4),), 1e-5),
    "sin": (qd.sin, np.sin, ((-np.pi, np.pi),), 1e-4),
    "cos": (qd.cos, np.cos, ((-np.pi, np.pi),), 1e-4),
    "tan": (qd.tan, np.tan, ((-1.5, 1.5),), 1e-4),
    "tanh": (qd.tanh, np.tanh, ((-5, 5),), 1e-4),
    "asin": (qd.asin, np.arcsin, ((-1, 1),), 1e-3),
    "acos": (qd.acos, np.arccos, ((-1, 1),), 1e-3),
    "atan2": (qd.atan2, np.arctan2, ((-10, 10), (-10, 10)), 1e-5),
    "exp": (qd.exp, np.exp, ((-20, 20),), 1e-5),
    "log": (qd.log, np.log, ((1e-3, 1e3),), 1e-5),
    "pow": (power, np.power, ((0.1, 10), (-4, 4)), 1e-5),
}
F64 = 1e-12


def samples(ranges, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(31)
    return [rng.uniform(low, high, COUNT).astype({"f32": np.float32, "f64": np.float64}[dtype]) for low, high in ranges]


def computed(function, args: list[np.ndarray]) -> np.ndarray:
    out = np.empty_like(args[0])

    @qd.kernel
    def one(x: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in x:
            out[i] = function(x[i])

    @qd.kernel
    def two(x: qd.types.ndarray(), y: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in x:
            out[i] = function(x[i], y[i])

    (one if len(args) == 1 else two)(*args, out)
    return out


@pytest.mark.parametrize("fast_math", [False, True], ids=["strict", "fast_math"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", TABLE)
def test_largest_error(init, name: str, dtype: str, fast_math: bool) -> None:
    function, exact, ranges, bound = TABLE[name]
    init(fast_math=fast_math)
    if dtype == "f64" and not qd.is_extension_enabled(qd.extension.data64):
        pytest.skip("this arch has no f64")
    args = samples(ranges, dtype)
    found = computed(function, args)
    wide = np.float64 if dtype == "f32" else np.longdouble
    expected = exact(*[x.astype(wide) for x in args])
    bound = bound if dtype == "f32" else F64
    excess = np.abs(found - expected) - bound * np.maximum(np.abs(expected), 0.01)
    worst = int(np.argmax(excess))
    assert excess[worst] <= 0, (*[x[worst] for x in args], found[worst], expected[worst])
