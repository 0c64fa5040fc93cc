"""What is not differentiated: the errors say what, where and what to do, and later kernels work."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check, field, reverse

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]


def refused(kernel, kind, text, *args):
    """`kernel.grad` raises `kind` with `text`, the file and the kernel; another kernel then works."""
    with pytest.raises(kind, match=text) as caught:
        kernel.grad(*args)
    assert "test_reverse_errors.py" in str(caught.value) and kernel.fn.__name__ in str(caught.value)
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def works():
        for i in x:
            y[i] = x[i] * x[i]

    check(works, [x], [y])


@pytest.fixture
def stacks(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


@pytest.fixture
def no_stacks(init):
    init(default_fp=qd.f64)


def test_gradients_that_are_not_placed(no_stacks):
    x, y = qd.field(qd.f64, 4, name="x"), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            y[i] = x.grad[i]

    with pytest.raises(qd.QuadrantsCompilationError, match="Gradient x.grad has not been placed, check whether"):
        k()


def test_random_numbers(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] * qd.random()

    refused(k, RuntimeError, "RandStmt not supported")


@pytest.mark.parametrize("where", ["before", "after"])
def test_loops_and_other_statements(stacks, where):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        if qd.static(where == "before"):
            n = x.shape[0]
            for i in range(n):
                y[i] = x[i]
        else:
            for i in x:
                y[i] = x[i]
            y[0] = 3.0

    refused(k, RuntimeError, "Mixed usage of for-loops and statements without looping")


def test_dynamic_loops_without_stacks(no_stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.func
    def power(v, n):
        r = 1.0
        for _ in range(n):
            r *= v
        return r

    @qd.kernel
    def k():
        for i in x:
            y[i] = power(x[i], i)

    refused(k, qd.QuadrantsCompilationError, "non static range")


def test_products_of_ranges_that_need_a_stack(no_stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in qd.ndrange(3):
                v = qd.sin(v)
            y[i] = v

    refused(k, qd.QuadrantsCompilationError, "non static range")


def test_while_break_and_continue(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def with_while():
        for i in x:
            j = 0
            while j < 3:
                y[i] += x[i]
                j += 1

    @qd.kernel
    def with_break():
        for i in x:
            for j in range(4):
                if j > 2:
                    break
                y[i] += x[i]

    @qd.kernel
    def with_continue():
        for i in x:
            if x[i] < 0:
                continue
            y[i] += x[i]

    refused(with_while, RuntimeError, "`while` is not supported in AutoDiff")
    refused(with_break, RuntimeError, "`break` is not supported in AutoDiff")
    refused(with_continue, RuntimeError, "`continue` is not supported in AutoDiff")


def test_atomics_without_a_derivative(stacks):
    x, y = field(POINTS), field(np.zeros(4))
    n, plain = qd.field(qd.i32, 4), qd.field(qd.f64, 4)

    @qd.kernel
    def largest():
        for i in x:
            qd.atomic_max(y[i], x[i])

    @qd.kernel
    def elsewhere():
        for i in x:
            qd.atomic_max(plain[i], x[i])
            qd.atomic_max(n[i], i)
            y[i] += x[i] * x[i]

    refused(largest, RuntimeError, "atomic_max on 'y'|atomic_max on")
    (found,) = reverse(elsewhere, [x], [y])
    np.testing.assert_allclose(found, 2 * np.array(POINTS))
    assert (plain.to_numpy() == 0).all() and (n.to_numpy() == 0).all()


def test_what_an_atomic_returns(stacks):
    x, y = field(POINTS), field(np.zeros(4))
    count = qd.field(qd.i32, ())

    @qd.kernel
    def slots():
        for i in x:
            at = qd.atomic_add(count[None], 1)
            y[at] = x[i]

    @qd.kernel
    def unused():
        for i in x:
            _ = qd.atomic_add(count[None], 1)
            y[i] = x[i] * x[i]

    refused(slots, RuntimeError, "the value that an atomic operation returned")
    (found,) = reverse(unused, [x], [y])
    np.testing.assert_allclose(found, 2 * np.array(POINTS))
    assert count[None] == 0


def test_iterations_that_read_what_others_write(stacks):
    x = field(POINTS)

    @qd.kernel
    def chain():
        for i in range(1, 4):
            x[i] = x[i - 1] * 2

    refused(chain, RuntimeError, "Cross-iteration read-after-write")


def test_steps_of_a_simulation_are_no_race(stacks):
    """What is read has another index than what is written, whatever the step is."""
    z = field(np.vstack([POINTS, np.zeros((3, 4))]))

    @qd.kernel
    def wave(t: qd.i32):
        for i in range(4):
            z[t + 1, i] = z[t, i] + 0.5 * qd.sin(z[t, (i + 1) % 4]) * z[t, 0]

    for t in range(3):
        wave(t)
    z.grad.fill(0)
    for i in range(4):
        z.grad[3, i] = 1.0 + i
    for t in reversed(range(3)):
        wave.grad(t)
    found = z.grad.to_numpy()[0]

    def loss(points):
        row = np.array(points)
        for _ in range(3):
            row = row + 0.5 * np.sin(np.roll(row, -1)) * row[0]
        return (row * (1.0 + np.arange(4))).sum()

    for i in range(4):
        step = np.eye(4)[i] * 1e-6
        slope = (loss(POINTS + step) - loss(POINTS - step)) / 2e-6
        assert found[i] == pytest.approx(slope, rel=1e-6)

    @qd.kernel
    def chain(t: qd.i32):
        for i in range(1, 4):
            z[t + 1, i] = z[t + 1, i - 1] * z[t, i]

    refused(chain, RuntimeError, "Cross-iteration read-after-write", 0)


def test_steps_that_meet_are_a_race(stacks):
    """Small integers and those that wrap around are the same for different sums; so may be indices of two cells."""
    z, p = field(np.vstack([POINTS, np.zeros((3, 4))])), field(POINTS)

    @qd.kernel
    def cut(t: qd.i32):
        for i in range(4):
            z[qd.cast(t + 256, qd.u8), i] = z[t, (i + 1) % 4]

    @qd.kernel
    def small(t: qd.u8):
        for i in range(4):
            z[t + qd.u8(255), i] = z[t - qd.u8(1), (i + 1) % 4]

    @qd.kernel
    def around(t: qd.i32):
        for i in range(4):
            z[t - 2147483647 - 2, i] = z[t + 2147483647, (i + 1) % 4]

    @qd.kernel
    def shifted(first: qd.i32):
        for i in range(3):
            p[first + i + 1] = p[first + i] * 0.5

    for k in (cut, small, around, shifted):
        refused(k, RuntimeError, "Cross-iteration read-after-write", 1)


def test_neighbouring_components_and_serial_loops_are_no_race(stacks):
    m, y = field(np.arange(8.0).reshape(4, 2)), field(np.zeros(4))

    @qd.kernel
    def components():
        for i in range(4):
            m[i, 0] = m[i, 1] * m[i, 1]
            y[i] = m[i, 0]

    components()
    (found,) = reverse(components, [m], [y])
    np.testing.assert_allclose(found, np.stack([np.zeros(4), 2 * np.arange(1.0, 8, 2)], axis=1))


def test_sums_beside_calls_are_no_race(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.real_func
    def hop(k: qd.i32) -> qd.i32:
        return (k + 2) % 4

    @qd.kernel
    def scatter():
        for i in x:
            if x[i] > 0.1:
                y[(i + 1) % 4] += x[hop(i)] ** 2
            y[i] += x[i] * x[hop(i)]

    check(scatter, [x], [y])


def test_gradients_of_arrays_by_hand(stacks):
    a = qd.ndarray(qd.f64, 4, needs_grad=True)
    b = qd.ndarray(qd.f64, 4, needs_grad=True)

    @qd.kernel
    def read(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in a:
            b[i] = a.grad[i]

    @qd.kernel
    def write(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in a:
            a.grad[i] = b[i]

    for k in (read, write):
        a.grad.fill(2)
        b.fill(2)
        k(a, b)
        assert b[1] == 2 and a.grad[1] == 2
        refused(k, RuntimeError, "Cannot automatically differentiate through a grad tensor", a, b)


def test_gradients_of_fields_by_hand(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def by_hand():
        for i in x:
            y[i] = x.grad[i] * x[i]
            y.grad[i] = 3.0

    x.grad.fill(2)
    y.grad.fill(1)
    by_hand.grad()
    np.testing.assert_allclose(x.grad.to_numpy(), 4.0)
    by_hand()
    assert y.grad[0] == 3 and y[1] == pytest.approx(4 * -0.7)


def test_bit_casts_stop_nothing_silently(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def bits():
        for i in x:
            y[i] = qd.bit_cast(qd.bit_cast(x[i], qd.i64) + 1, qd.f64)

    @qd.kernel
    def through():
        for i in x:
            y[i] = qd.bit_cast(qd.bit_cast(x[i], qd.i64), qd.f64)

    refused(bits, RuntimeError, "qd.bit_cast of a value with a derivative is not supported in AutoDiff")
    check(through, [x], [y])


def test_a_decomposition_without_derivative_is_named_where_it_is_called(stacks):
    y = field(np.zeros(4))
    A = qd.Matrix.field(2, 2, qd.f64, 4, needs_grad=True)

    @qd.func
    def largest(M):
        values, vectors = qd.eig(M)
        return values[0, 0]

    @qd.kernel
    def k():
        for i in y:
            y[i] = largest(A[i])

    with pytest.raises(RuntimeError, match=r"qd.eig is not supported in AutoDiff.*grad_replaced") as caught:
        k.grad()
    assert "test_reverse_errors.py" in str(caught.value).splitlines()[0] and "in largest" in str(caught.value)


def test_clocks(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] * qd.cast(qd.clock_counter(), qd.f64)

    refused(k, RuntimeError, "clock_counter is not supported in AutoDiff")


def test_bounds_nobody_knows_before_the_launch(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(qd.cast(x[i] * 3, qd.i32)):
                v = qd.sin(v)
            y[i] = v

    refused(k, RuntimeError, r"adstack bound at .*test_reverse_errors.py:\d+ is unresolved")
