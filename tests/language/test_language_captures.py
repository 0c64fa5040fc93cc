"""language.md 17.1, 17.3: captured values, ordinary Python calls, which scope a function belongs to."""

import enum
import math

import numpy as np
import pytest
from language_kit import alive, raises, warns

import quadrants as qd


class Mode(enum.IntEnum):
    FAST = 4


class Holder:
    scale = 3


NUMBER = 2
FLAG = True
TEXT = "abc"
ITEMS = (10, 20)
TABLE = {"a": 100}
VECTOR = qd.Vector([1.0, 2.0])
ARRAY = np.array([5, 6, 7])
HOLDER = Holder()


@qd.func
def plus_one(x):
    return x + 1


def test_what_is_baked(arch):
    f = qd.field(qd.i32, shape=2)
    f[1] = 1000
    dtype, function = qd.f32, plus_one

    @qd.kernel
    def run() -> qd.types.vector(10, qd.f32):
        v = qd.Vector(ARRAY)
        s = 0
        if qd.static(FLAG and TEXT == "abc"):
            s = 1
        return qd.Vector(
            [
                NUMBER,
                s,
                ITEMS[1],
                TABLE["a"],
                VECTOR[1],
                ARRAY[2] + v[0],
                Mode.FAST + Holder.scale + HOLDER.scale,
                f[1],
                qd.cast(2.5, dtype) + function(1),
                math.pi,
            ]
        )

    np.testing.assert_allclose(run().to_numpy(), [2, 1, 20, 100, 2, 12, 10, 1000, 4.5, math.pi], rtol=1e-6)


def test_changes_after_the_first_call_have_no_effect(arch):
    global NUMBER

    @qd.kernel
    def run() -> qd.i32:
        return NUMBER

    first = run()
    NUMBER += 5
    try:
        assert run() == first
    finally:
        NUMBER -= 5


def test_arrays_are_not_captured(arch):
    a = qd.ndarray(qd.i32, shape=(2,))
    t = qd.tensor(qd.i32, shape=(2,))

    @qd.kernel
    def an_array() -> qd.i32:
        return a[0]

    @qd.kernel
    def a_tensor() -> qd.i32:
        return t[0]

    with raises(qd.QuadrantsCompilationError, "not registered as a kernel parameter"):
        an_array()
    with raises(qd.QuadrantsCompilationError):
        a_tensor()
    alive()


def double(a):
    return a * 2


def broken(a):
    return a + "text"


def count(values):
    return len(values)


def test_ordinary_functions_run_at_trace_time(arch):
    @qd.kernel
    def run(x: qd.i32) -> qd.i32:
        return double(x + 1) + double(3)

    with warns(SyntaxWarning, 'Calling non-quadrants function "double"') as caught:
        assert run(4) == 16
    assert all(w.filename == __file__ for w in caught if w.category is SyntaxWarning)

    @qd.kernel
    def quiet() -> qd.i32:
        return qd.static(count([1, 2, 3]))

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quiet() == 3


def test_errors_in_ordinary_functions(arch):
    @qd.kernel
    def run() -> qd.i32:
        return broken(1)

    with pytest.warns(SyntaxWarning), raises(qd.QuadrantsTypeError, "TypeError when calling `broken`"):
        run()

    @qd.kernel
    def arguments() -> qd.i32:
        return double(1, 2)

    with pytest.warns(SyntaxWarning), raises(qd.QuadrantsTypeError, "TypeError when calling `double`"):
        arguments()
    alive()


def test_host_functions_in_kernels(arch):
    f = qd.field(qd.i32, shape=2)

    @qd.kernel
    def make():
        x = qd.field(qd.i32, shape=2)

    @qd.kernel
    def make_array():
        x = qd.ndarray(qd.i32, shape=2)

    @qd.kernel
    def read():
        x = f.to_numpy()

    for k in (make, make_array, read):
        with raises(qd.QuadrantsCompilationError, "cannot be called in Quadrants-scope"):
            k()
    alive()


def test_kernel_functions_on_the_host(arch):
    f = qd.field(qd.i32, shape=2)
    for action in (
        lambda: list(qd.grouped(f)),
        lambda: qd.bit_shr(8, 1),
        lambda: qd.zero(f[0]),
        lambda: qd.static_print(1),
    ):
        with raises(AssertionError, "cannot be called in Python-scope"):
            action()
    for action in (lambda: qd.loop_config(serialize=True), lambda: qd.random()):
        with pytest.raises(Exception, match="."):
            action()
    assert qd.static(3) == 3
    qd.static_assert(True)
    assert list(qd.ndrange(2, 2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert qd.sin(0.0) == 0 and qd.max(1, 2) == 2 and qd.select(True, 3, 4) == 3
    assert list(qd.Vector([1, 2]) + qd.Vector([3, 4])) == [4, 6]
    assert (qd.Matrix([[1, 2], [3, 4]]) @ qd.Vector([1, 1])).to_list() == [3, 7]
    alive()
