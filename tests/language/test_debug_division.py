"""Integer division by zero: a failure with the user's line in debug mode, 0 without it."""

from __future__ import annotations

import pytest
from language_kit import alive, raises

import quadrants as qd

debug = pytest.mark.runtime(debug=True)
OPERATORS = {"//": "//", "%": "%", "raw_div": "qd.raw_div", "raw_mod": "qd.raw_mod"}


@qd.func
def divided(a, b, op: qd.template()):
    if qd.static(op == "//"):
        return a // b
    if qd.static(op == "%"):
        return a % b
    if qd.static(op == "raw_div"):
        return qd.raw_div(a, b)
    return qd.raw_mod(a, b)


def text_of(op: str) -> str:
    return f"Integer division by zero: the divisor of `{OPERATORS[op]}` is 0"


@debug
@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("t", [qd.i8, qd.u16, qd.i32, qd.u32, qd.i64, qd.u64], ids=str)
def test_scalars(arch, t, op):
    @qd.kernel
    def run(a: t, b: t) -> t:
        return t(divided(a, b, op))

    assert run(7, 3) == (2 if "/" in op or "div" in op else 1)
    with raises(qd.QuadrantsAssertionError, text_of(op)) as caught:
        run(7, 0)
    text = str(caught.value)
    assert __file__ in text.replace("\n", "") and "in divided:" in text and "^^^" in text
    assert run(9, 3) == (3 if "/" in op or "div" in op else 0)
    alive()


@debug
@pytest.mark.parametrize("op", OPERATORS)
def test_vectors_and_matrices(arch, op):
    @qd.kernel
    def run(x: qd.i32, y: qd.i32, what: qd.template()) -> qd.i32:
        v, m = qd.Vector([7, 8]), qd.Matrix([[7, 8], [9, 10]])
        r = 0
        if qd.static(what == 0):
            r = divided(v, qd.Vector([x, y]), op)[0]
        elif qd.static(what == 1):
            r = divided(m, y, op)[0, 0]
        else:
            r = divided(7, qd.Matrix([[x, 1], [y, 1]]), op)[0, 0]
        return r

    for what in range(3):
        assert run(3, 3, what) == (2 if "/" in op or "div" in op else 1)
        with raises(qd.QuadrantsAssertionError, text_of(op)):
            run(3, 0, what)


@debug
def test_only_what_is_computed_counts(arch):
    """A divisor behind a condition is looked at where the condition holds."""

    @qd.kernel
    def run(a: qd.i32, b: qd.i32) -> qd.i32:
        r = a // b if b != 0 else -1
        if b != 0 and a % b == 1:
            r += 100
        if b > 0:
            r += a // b * 1000
        return r

    assert [run(7, 3), run(7, 0), run(9, -3)] == [2102, -1, -3]


@debug
def test_augmented_assignments_and_loop_bounds(arch):
    f = qd.field(qd.i32, shape=4)

    @qd.kernel
    def run(b: qd.i32, what: qd.template()):
        if qd.static(what == 0):
            for i in f:
                f[i] //= b - i
        elif qd.static(what == 1):
            for i in f:
                f[i] %= b - i
        else:
            for i in range(8 // b):
                f[i] = 1

    for what in range(3):
        f.fill(8)
        run(4, what)
        with raises(qd.QuadrantsAssertionError, "Integer division by zero") as caught:
            run(0 if what == 2 else 2, what)
        assert ("f[i] //= b - i", "f[i] %= b - i", "8 // b")[what] in str(caught.value)


@debug
def test_reals_and_constant_divisors_have_no_check(arch):
    @qd.kernel
    def run(a: qd.f32, b: qd.f32, n: qd.i32) -> qd.f32:
        return a // b + n // 3 + (qd.Vector([n, n]) % qd.Vector([2, 3]))[0]

    assert run(1.0, 0.0, 7) == float("inf")
    assert "qd_fail" not in run.source(1.0, 0.0, 7)

    @qd.kernel
    def constant(n: qd.i32) -> qd.i32:
        return n // 0

    with raises(qd.QuadrantsAssertionError, "Integer division by zero"):
        constant(3)


@pytest.mark.parametrize("op", OPERATORS)
def test_zero_without_debug_mode(arch, op):
    @qd.kernel
    def run(a: qd.i32, b: qd.i32) -> qd.i32:
        return divided(a, b, op) + divided(qd.Vector([a, a]), b, op)[0]

    assert run(7, 0) == 0
