"""What Python does once, while a kernel is compiled, is told or refused where a user would take it for its work."""

import random
import time
import warnings

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd

NUMBERS = [1, 2, 3]
NAMED = {"a": 0}


def told(run) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [str(w.message) for w in caught]


def test_containers_of_python_do_not_change(arch):
    @qd.kernel
    def grown(n: qd.i32) -> qd.i32:
        NUMBERS.append(n * 2)
        return NUMBERS[-1]

    @qd.kernel
    def shrunk(n: qd.i32) -> qd.i32:
        s = 0
        for _ in range(n):
            s += NUMBERS.pop()
        return s

    @qd.kernel
    def named(n: qd.i32):
        for _ in range(n):
            NAMED.update(a=5)

    for kernel in (grown, shrunk, named):
        with raises(qd.QuadrantsSyntaxError, "would change a"):
            kernel(3)
    assert NUMBERS == [1, 2, 3] and NAMED == {"a": 0}


def test_copies_and_lists_of_the_kernel_do(arch):
    @qd.func
    def longer(items):
        items.append(7)
        return items[-1] + len(items)

    @qd.kernel
    def run(n: qd.i32) -> qd.i32:
        items = NUMBERS
        items.append(n)
        rows = [[1], [2]]
        rows[0].append(n)
        named = {"q": [1]}
        named["q"].append(3)
        s = 0
        for i in range(n):
            pair = [i]
            pair.append(2)
            s += pair[0] * pair[1]
        if n > 0:
            s += longer(items)
        return s + items[-1] + rows[0][1] + named["q"][1]

    assert run(4) == 12 + (7 + 5) + 4 + 4 + 3
    assert NUMBERS == [1, 2, 3]


def test_parts_of_lists_cannot_depend_on_the_run(arch):
    @qd.kernel
    def nested(n: qd.i32) -> qd.i32:
        rows = [[1], [2]]
        if n > 0:
            rows[0].append(n)
        return rows[0][-1]

    with raises(qd.QuadrantsSyntaxError, "cannot depend on a run-time"):
        nested(3)


@pytest.mark.parametrize("function", [time.time, random.random, np.random.rand, random.Random(1).gauss])
def test_answers_that_are_other_ones_each_time(arch, function):
    @qd.kernel
    def run() -> qd.f32:
        return function()

    assert ["is called once, while the kernel is compiled" in text for text in told(run)] == [True]

    @qd.kernel
    def meant() -> qd.f32:
        return qd.static(function())

    assert told(meant) == []


def test_real_funcs_that_may_end_without_a_result(arch):
    @qd.real_func
    def some(n: qd.i32) -> qd.i32:
        if n > 0:
            return 5

    @qd.real_func
    def waits(n: qd.i32) -> qd.i32:
        while True:
            n += 1
            if n > 10:
                return n

    @qd.real_func
    def either(n: qd.i32) -> qd.i32:
        if n > 10:
            return n
        elif n > 5:
            return 2
        else:
            return 1

    @qd.real_func
    def leaves(n: qd.i32) -> qd.i32:
        while True:
            if n > 10:
                break
            n += 1
            if n == 7:
                return n

    @qd.kernel
    def run(n: qd.i32, k: qd.template()) -> qd.i32:
        return qd.static([some, waits, either, leaves])[k](n)

    ends = "may come to its end without a `return`"
    assert [[ends in text for text in told(lambda k=k: run(1, k))] for k in range(4)] == [[True], [], [], [True]]
    assert [run(1, k) for k in range(4)] == [5, 11, 1, 7] and run(-1, 0) == 0


def test_elements_of_annotated_vectors(arch):
    @qd.real_func
    def half(v: qd.types.vector(2, qd.i32), m: qd.types.matrix(2, 2, qd.u8)) -> qd.f32:
        return v[0] / 2 + m[0, 1]

    @qd.func
    def inlined(v: qd.types.vector(2, qd.i32)):
        return v[0] / 2

    @qd.kernel
    def run(x: qd.f32, n: qd.i32) -> qd.f32:
        return half(qd.Vector([x, x]), qd.Matrix([[n, n], [n, n]]))

    @qd.kernel
    def kept(x: qd.f32) -> qd.f32:
        return inlined(qd.Vector([x, x]))

    assert run(1.9, 300) == 44.5
    assert ["which it keeps" in text for text in told(lambda: kept(1.5))] == [True]
    assert kept(1.5) == 0.75  # as in the reference


def test_views_are_of_the_annotated_type(arch):
    @qd.func
    def whole(a: qd.BufferView[qd.i32]):
        return a[0]

    @qd.kernel
    def run(a: qd.BufferView[qd.f32]) -> qd.f32:
        return whole(a)

    x = qd.ndarray(qd.f32, 4)
    with raises(qd.QuadrantsCompilationError, "Expect element type i32 for argument 'a', but get f32"):
        run(x[1:3])
