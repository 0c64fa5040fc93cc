"""Compile-time evaluation (language.md 14)."""

from __future__ import annotations

import enum
import math

import numpy as np
import pytest
from language_kit import raises, warns

import quadrants as qd
from quadrants import static as st


class Mode(enum.IntEnum):
    A = 1
    B = 2


class Plain(enum.Enum):
    A = 1


def test_static_values(arch):
    """14.1: accepted kinds, several arguments, Python inside the parentheses, recognition by identity."""
    mode, name, table = Mode.A, "dense", {"k": 3}
    f = qd.field(qd.i32, shape=(2, 3))
    flags = (1, 2, 3)

    @qd.func
    def double(x):
        return x * 2

    @qd.func
    def square(x):
        return x * x

    @qd.kernel
    def values(a: qd.types.ndarray(), out: qd.types.ndarray(qd.i32, 1)):
        x, y = qd.static(3, 4)
        out[0] = x * 10 + y
        out[1] = 1 if st(mode in (Mode.A, Mode.B)) else 2
        if qd.static(name == "dense" and len(flags) > 2 or undefined):  # noqa: F821
            out[2] = 1
        g = qd.static(f)
        g[1, 2] = 5
        op = qd.static(double if mode == Mode.B else square)
        out[3] = op(5)
        if qd.static(mode not in (Mode.B,) and not False):
            out[4] = 0 + qd.static(flags[1] + table["k"])
        v = qd.Vector([1, 2, 3])
        m = qd.Matrix([[1, 2], [3, 4], [5, 6]])
        for i in qd.static(range(v.n)):
            out[5] += v[i]
        out[6] = m.n * 10 + m.m
        out[7] = len(v) + v.get_shape()[0] + f.shape[1]
        out[8] = 0 + qd.static(int(math.sqrt(49)))
        out[9] = 1
        k = qd.static(np.int32(6))
        for i in range(k):
            out[10] += 1

    out = qd.ndarray(qd.i32, shape=11)
    values(qd.ndarray(qd.i32, shape=3), out)
    assert out.to_numpy().tolist() == [34, 1, 1, 25, 5, 6, 32, 9, 7, 1, 6]
    assert f[1, 2] == 5
    assert qd.static(3) == 3 and qd.static(1, 2) == [1, 2]


@pytest.mark.parametrize(
    "bad", ["text", {"a": 1}, {1, 2}, np.zeros(3), qd.f32, int, Plain.A, object()], ids=lambda x: type(x).__name__
)
def test_static_refuses(arch, bad):
    @qd.kernel
    def refuse():
        x = qd.static(bad)  # noqa: F841

    with raises(qd.QuadrantsCompilationError, "Input to qd.static must be compile-time constants or global pointers"):
        refuse()


def test_static_refuses_run_time_values(arch):
    @qd.kernel
    def scalar(n: qd.i32) -> qd.i32:
        return qd.static(n)

    @qd.kernel
    def variable() -> qd.i32:
        x = 1
        if qd.static(x > 0):
            x = 2
        return x

    for kernel, args in ((scalar, (1,)), (variable, ())):
        with raises(qd.QuadrantsCompilationError, "Input to qd.static must be compile-time constants"):
            kernel(*args)


def test_static_names(arch):
    """9, 14: names bound by qd.static cannot be bound again."""

    @qd.kernel
    def again():
        c = qd.static(1)
        c = 2  # noqa: F841

    @qd.kernel
    def existing():
        c = 1
        c = qd.static(2)  # noqa: F841

    with raises(qd.QuadrantsSyntaxError, "cannot be assigned"):
        again()
    with raises(qd.QuadrantsSyntaxError, "Recreating variables is not allowed"):
        existing()


def test_static_loops(arch):
    """14.2: enumerate, zip, lists of fields and funcs, nested; targets are constants; scopes per iteration."""
    fields = [qd.field(qd.i32, shape=2), qd.field(qd.f32, shape=2)]

    @qd.func
    def inc(x):
        return x + 1

    @qd.func
    def dec(x):
        return x - 1

    funcs = [inc, dec]

    @qd.kernel
    def loops(out: qd.types.ndarray(qd.i32, 1)):
        for i, v in qd.static(enumerate([5, 6])):
            out[0] += i * 100 + v
        for f in qd.static(fields):
            f[1] = 3.5
        for a, b in qd.static(zip([1, 2], (3, 4))):
            for c in qd.static(range(b)):
                x = a * c
                out[1] += x
        for fn in qd.static(funcs):
            out[2] = out[2] * 100 + fn(10)
        for i, j in qd.static(qd.ndrange(2, 3)):
            out[3] += i * 10 + j
        for I in qd.static(qd.grouped(qd.ndrange(2, (1, 3)))):
            out[4] += I[0] * 10 + I[1]
        for i in qd.static(range(3)):
            for j in range(i):
                out[5] += 1
        for i in qd.static(range(0)):
            undefined_name()  # noqa: F821
        for i in qd.static(range(2)):
            y = 1 if qd.static(i == 0) else 0.5
            out[6] += qd.cast(y * 2, qd.i32)

    out = qd.ndarray(qd.i32, shape=7)
    loops(out)
    assert out.to_numpy().tolist() == [111, (0 + 1 + 2) + 2 * (0 + 1 + 2 + 3), 1109, 36, 26, 3, 3]
    assert fields[0][1] == 3 and fields[1][1] == 3.5


def test_static_loop_errors_and_warning(arch):
    @qd.kernel
    def short_tuples():
        for a, b in qd.static([(1, 2), (3,)]):
            pass

    @qd.kernel
    def many() -> qd.i32:
        s = 0
        for i in qd.static(range(40)):
            s += i
        return s

    with raises(qd.QuadrantsSyntaxError):
        short_tuples()
    with warns(SyntaxWarning, "You are unrolling more than"):
        assert many() == 780


def test_static_assert(arch):
    """14.3"""

    @qd.kernel
    def holds() -> qd.i32:
        qd.static_assert(1 + 1 == 2, "arithmetic")
        return 1

    @qd.kernel
    def fails():
        qd.static_assert(1 + 1 == 3, "broken arithmetic")

    @qd.kernel
    def at_run_time(n: qd.i32):
        qd.static_assert(n == 1)

    assert holds() == 1
    with raises(qd.QuadrantsCompilationError, "AssertionError") as caught:
        fails()
    assert "broken arithmetic" in str(caught.value)
    with raises(qd.QuadrantsTypeError, "Static assert with non-static condition"):
        at_run_time(1)
    with pytest.raises(AssertionError, match="host"):
        qd.static_assert(False, "host")


def test_static_print(arch, capfd):
    @qd.kernel
    def show(n: qd.i32):
        x = n + 1
        qd.static_print("value", 3, x)

    show(1)
    assert "value 3 <qd.Expr>" in capfd.readouterr().out


def test_static_asks_the_session_for_its_default_types(arch):
    @qd.kernel
    def tolerance() -> qd.f32:
        return 0.5 if qd.static(qd.lang.impl.get_runtime().default_fp == qd.f32) else 0.25

    assert tolerance() == 0.5


def test_a_func_may_return_an_ndrange_for_static_loops(arch):
    f = qd.field(qd.i32, (4, 4))

    @qd.func
    def window():
        return qd.ndrange(3, (1, 3))

    @qd.func
    def up_to(n: qd.i32):
        return qd.ndrange(n, 2)

    @qd.kernel
    def vectors():
        for _ in range(1):
            for cell in qd.static(qd.grouped(window())):
                f[cell] += 1

    @qd.kernel
    def pairs():
        for _ in range(1):
            for i, j in qd.static(window()):
                f[i, j] += 10

    @qd.kernel
    def run_time(n: qd.i32):
        for i, j in qd.static(up_to(n)):
            f[i, j] += 1

    vectors()
    pairs()
    expected = np.zeros((4, 4), np.int32)
    expected[:3, 1:3] = 11
    np.testing.assert_array_equal(f.to_numpy(), expected)
    with raises(qd.QuadrantsSyntaxError, "qd.ndrange with run-time bounds belongs in the header"):
        run_time(2)


def test_static_values_in_cells(arch):
    """They are numbers there as anywhere; a field is none."""
    f, v = qd.field(qd.i32, shape=3), qd.Vector.field(2, qd.f32, shape=())
    pair = qd.Vector([1.0, 2.0])

    @qd.kernel
    def store():
        f[0] = qd.static(3 + 4)
        f[1], f[2] = qd.static(f.shape[0]), qd.static(5)
        v[None] = qd.static(pair)
        v[None][0] += qd.static(10)

    @qd.kernel
    def store_a_field():
        f[0] = qd.static(v)

    store()
    assert f.to_numpy().tolist() == [7, 3, 5] and v[None].to_list() == [11, 2]
    with raises(qd.QuadrantsTypeError):
        store_a_field()
