"""Forward mode of kernels: what becomes of stores, control flow and arrays."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import field

import quadrants as qd
from quadrants.lang.enums import AutodiffMode


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64)


def push(kernel, *args):
    return kernel._in_mode(AutodiffMode.FORWARD)(*args)


def test_values_and_duals_are_computed_side_by_side():
    x, y = field([1.0, 2.0, 3.0]), field(np.zeros(3))

    @qd.kernel
    def k():
        for i in x:
            y[i] += x[i] * x[i]

    x.dual.from_numpy(np.array([1.0, 0.0, 2.0]))
    push(k)
    assert y.dual.to_numpy().tolist() == [2, 0, 12]
    assert y.to_numpy().tolist() == [1, 4, 9]


def test_a_store_takes_over_and_an_accumulation_adds():
    x, y = field([3.0]), field([0.0])

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i]
            y[i] = 2 * x[i]
            y[i] += x[i] * x[i]
            y[i] -= 0.5 * x[i]

    x.dual[0] = 1
    push(k)
    assert y.dual[0] == 2 + 6 - 0.5 and y[0] == 6 + 9 - 1.5


def test_a_constant_store_clears_the_dual():
    y = field([5.0])

    @qd.kernel
    def k():
        for i in y:
            y[i] = 2.0

    y.dual[0] = 7
    push(k)
    assert y.dual[0] == 0


def test_loops_need_no_stacks_and_statements_may_stand_beside_loops_of_their_own():
    x, y = field([0.4]), field([0.0])

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            for j in range(n):
                w = v
                v = v * w + 0.1
                if j > 1:
                    v = qd.sin(v)
            y[i] = v

    def by_hand(v):
        for j in range(5):
            v = v * v + 0.1
            if j > 1:
                v = np.sin(v)
        return v

    x.dual[0] = 1
    push(k, 5)
    assert y.dual[0] == pytest.approx((by_hand(0.4 + 1e-6) - by_hand(0.4 - 1e-6)) / 2e-6, rel=1e-6)


def test_a_variable_that_is_overwritten_by_what_it_was():
    x, y = field([0.4]), field([0.0])

    @qd.kernel
    def k():
        for i in x:
            v = qd.Vector([x[i], 2 * x[i]])
            v = qd.Vector([v[1] * v[0], v[0]])
            v[0] = v[0] * v[1]
            y[i] = v.sum()

    x.dual[0] = 1
    push(k)
    assert y.dual[0] == pytest.approx(6 * 0.4**2 + 1)


def test_ndarrays_are_constants():
    x, y = field([2.0]), field([0.0])
    a = qd.ndarray(qd.f64, 1, needs_grad=True)
    a.fill(3)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in x:
            y[i] = x[i] * a[i]
            a[i] = 4.0 * x[i]

    x.dual[0] = 1
    push(k, a)
    assert y.dual[0] == 3 and a[0] == 8 and a.grad[0] == 0


def test_refusals():
    x, y = field([2.0]), field([0.0])

    @qd.kernel
    def largest():
        for i in x:
            qd.atomic_max(y[i], x[i])

    @qd.kernel
    def loops_on():
        for i in x:
            while y[i] < 3:
                y[i] += x[i]

    with pytest.raises(RuntimeError, match="atomic_max on"):
        push(largest)
    with pytest.raises(RuntimeError, match="`while` is not supported in AutoDiff"):
        push(loops_on)


def test_names_show_the_mode():
    x, y = field([2.0]), field([0.0])

    @qd.kernel
    def square():
        for i in x:
            y[i] = x[i] * x[i]

    assert "square_forward_grad" in square._in_mode(AutodiffMode.FORWARD).source()
    assert "square_reverse_grad" in square.grad.source()
    assert "grad" not in square.source()
