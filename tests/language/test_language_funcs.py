"""language.md 2.2, 2.4: @qd.func and @qd.pyfunc."""

import numpy as np
import pytest
from language_kit import alive, raises

import quadrants as qd


@qd.func
def fill(x, n, v=7):
    for i in range(n):
        x[i] = v + i


def test_loops_of_funcs(arch):
    f = qd.field(qd.i32, shape=(3, 4))
    row = [qd.field(qd.i32, shape=4) for _ in range(3)]

    @qd.kernel
    def run(n: qd.i32):
        fill(row[0], n)
        if n > 0:
            fill(row[1], n)
        for _ in range(1):
            fill(row[2], n, v=7)

    run(4)
    assert all(list(r.to_numpy()) == [7, 8, 9, 10] for r in row)
    assert f.shape == (3, 4)


def test_defaults_and_unannotated_parameters(arch):
    @qd.func
    def scaled(x, factor=2, offset: qd.f32 = 0.5):
        return x * factor + offset

    @qd.kernel
    def run(x: qd.i32) -> qd.types.vector(4, qd.f32):
        return qd.Vector([scaled(x), scaled(x, 3), scaled(x, offset=1), scaled(factor=1.5, x=x)])

    np.testing.assert_array_equal(run(4).to_numpy(), [8.5, 12.5, 9, 6.5])


def test_binding_errors(arch):
    @qd.func
    def add(a, b):
        return a + b

    @qd.kernel
    def too_many() -> qd.i32:
        return add(1, 2, 3)

    @qd.kernel
    def missing() -> qd.i32:
        return add(1)

    @qd.kernel
    def unexpected() -> qd.i32:
        return add(1, 2, c=3)

    @qd.kernel
    def multiple() -> qd.i32:
        return add(1, 2, a=3)

    for k, text in (
        (too_many, "Too many arguments"),
        (missing, "Missing argument 'b'."),
        (unexpected, "Unexpected argument 'c'."),
        (multiple, "Multiple values for argument 'a'."),
    ):
        with raises(qd.QuadrantsSyntaxError, text):
            k()
    alive()


@pytest.mark.cpu_only
def test_not_from_python():
    with raises(qd.QuadrantsSyntaxError, "Quadrants functions cannot be called from Python-scope."):
        fill(None, 3)


def test_recursion_is_detected(arch):
    @qd.func
    def down(n: qd.i32):
        return down(n - 1)

    @qd.func
    def ping(n):
        return pong(n + 1)

    @qd.func
    def pong(n):
        return ping(n)

    @qd.kernel
    def direct(n: qd.i32) -> qd.i32:
        return down(n)

    @qd.kernel
    def mutual(n: qd.i32) -> qd.i32:
        return ping(n)

    @qd.kernel
    def in_loop(n: qd.i32) -> qd.i32:
        s = 0
        for i in range(n):
            s += down(i)
        return s

    @qd.kernel
    def templated() -> qd.i32:
        return counted(3)

    @qd.kernel
    def endless() -> qd.i32:
        return climb(1)

    for k in (direct, mutual, in_loop):
        with raises(qd.QuadrantsSyntaxError, "recursion"):
            k(3)
    with raises(qd.QuadrantsSyntaxError, "recursion"):
        endless()
    assert templated() == 6


@qd.func
def counted(n: qd.template()):
    # Not a recursion without end: each level is another specialisation.
    result = 0
    if qd.static(n > 0):
        result = n + counted(qd.static(n - 1))
    return result


@qd.func
def climb(n: qd.template()):
    return climb(qd.static(n + 1))


def test_requires_top_level(arch):
    @qd.func(requires_top_level=True)
    def task(x: qd.template()):
        for i in x:
            x[i] += 1

    @qd.func
    def through(x: qd.template()):
        task(x)

    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def fine():
        task(x)
        through(x)
        for _ in qd.static(range(2)):
            task(x)
        if qd.static(True):
            task(x)

    @qd.kernel
    def in_if(n: qd.i32):
        if n > 0:
            task(x)

    @qd.kernel
    def in_for(n: qd.i32):
        for _ in range(n):
            through(x)

    @qd.kernel
    def in_while(n: qd.i32):
        k = n
        while k > 0:
            k -= 1
            task(x)

    fine()
    assert list(x.to_numpy()) == [5, 5, 5]
    for k in (in_if, in_for, in_while):
        with raises(qd.QuadrantsSyntaxError, "requires_top_level=True"):
            k(1)
    alive()


def test_pyfunc(arch):
    @qd.pyfunc
    def poly(a, b):
        return a * b + 1

    @qd.kernel
    def run(a: qd.i32) -> qd.i32:
        return poly(a, 3)

    assert run(5) == poly(5, 3) == 16


@pytest.mark.cpu_only
def test_signature_errors():
    def star(*a): ...

    def keywords(**k): ...

    def keyword_only(*, a): ...

    def positional_only(a, /): ...

    for fn in (star, keywords, keyword_only, positional_only):
        with raises(qd.QuadrantsSyntaxError):
            qd.func(fn)
