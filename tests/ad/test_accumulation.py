"""How often a derivative touches a gradient: cells that are read several times, and in loops."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import field, kernel_differences, reverse

import quadrants as qd

POINTS = np.array([0.3, -0.7, 1.3, 0.9])


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def additions(kernel, name: str, *args) -> int:
    """Lines of the text that change the gradient of a field."""
    text = kernel.grad.source(*args, arch="c")
    return sum(f"{name}_grad[" in line and ("+=" in line or "atomic" in line) for line in text.splitlines())


def agrees(kernel, inputs, outputs, *args) -> None:
    for got, want in zip(reverse(kernel, inputs, outputs, *args), kernel_differences(kernel, inputs, outputs, *args)):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)


def test_a_cell_that_several_statements_read_is_added_to_once():
    x, y = field(POINTS, name="x"), field(np.zeros(4), name="y")

    @qd.kernel
    def f():
        for i in x:
            a = qd.sin(x[i])
            if x[i] > 0:
                a += x[i] * x[i]
            for _ in range(3):
                a = a * x[i]
            y[i] = a

    agrees(f, [x], [y])
    assert additions(f, "x") == 1


def test_cells_are_told_apart_by_what_their_indices_are():
    x, y = field(POINTS, name="x"), field(np.zeros(4), name="y")

    @qd.kernel
    def f():
        for i in range(4):
            k = (i + 1) % 4
            a = x[i] * x[i]
            a *= x[k]
            a += x[(i + 2) % 4] * x[(i + 2) % 4]
            a *= x[(i + 2) % 4]
            k = (k + 1) % 4
            y[i] = a * x[k]

    agrees(f, [x], [y])


def test_the_bits_of_a_number_are_another_index_than_the_number():
    x, y = field(POINTS, name="x"), field(np.zeros(4), name="y")

    @qd.kernel
    def f(t: qd.f32):
        for i in y:
            a = x[qd.cast(t, qd.i32)] * x[i]
            y[i] = a * x[qd.bit_cast(t, qd.i32)]

    agrees(f, [x], [y], float(np.array(3, dtype=np.int32).view(np.float32)))


def test_a_first_use_that_may_not_happen_is_not_moved():
    x, y = field(POINTS, name="x"), field(np.zeros(5), name="y")

    @qd.kernel
    def f():
        for i in range(5):
            a = 1.0
            if i < 4:
                a *= x[i]
                a *= x[i]
            if i < 4 and x[i] > 0:
                a += x[i]
            y[i] = a

    agrees(f, [x], [y])


def test_cells_that_the_kernel_writes_keep_the_order_of_additions():
    x, a, b = field(POINTS, name="x"), field(np.zeros(4), name="a"), field(np.zeros(4), name="b")

    @qd.kernel
    def f():
        for i in x:
            a[i] = 3.0 * x[i]
            b[i] = a[i] * 2.0
            b[i] += a[i]

    f()
    gradient, _ = reverse(f, [x, a], [b])
    np.testing.assert_allclose(gradient, 9.0)
    np.testing.assert_array_equal(a.grad.to_numpy(), 0.0)


def test_stopped_gradients_stay_in_their_block():
    x, y = field(POINTS, name="x"), field(np.zeros(4), name="y")

    @qd.kernel
    def f():
        for i in x:
            a = 2.0 * x[i]
            for _ in range(1):
                qd.stop_grad(x)
                a += 5.0 * x[i]
            y[i] = a + x[i]

    (gradient,) = reverse(f, [x], [y])
    np.testing.assert_allclose(gradient, 3.0)


def test_additions_leave_the_loops_that_do_not_choose_the_cell():
    x, w, y = field(POINTS, name="x"), field([0.5, 0.25], name="w"), field(np.zeros(4), name="y")

    @qd.kernel
    def f(n: qd.i32):
        for i in x:
            a = x[i]
            for k in range(n):
                for j in range(2):
                    a += qd.sin(a) * w[1] + w[j]
                    if k > 0:
                        a *= w[0]
            y[i] = a

    for n in (0, 1, 3):
        agrees(f, [x, w], [y], n)
    text = f.grad.source(3, arch="c")
    loops = text[text.index("k-- > 0") :]
    assert "w_grad[1]" not in loops[: loops.index("sum_w_grad != 0.0")]


def test_no_cell_is_touched_for_a_loop_that_does_not_run():
    """The index is outside the field where the loop is empty."""
    first = qd.field(qd.i32, 4)
    first.from_numpy(np.array([0, 1 << 28, 1, -(1 << 28)], np.int32))
    trips = qd.field(qd.i32, 4)
    trips.from_numpy(np.array([2, 0, 3, 0], np.int32))
    x, w, y = field(POINTS, name="x"), field([0.5, 0.25], name="w"), field(np.zeros(4), name="y")

    @qd.kernel
    def f():
        for i in x:
            a, at = x[i], first[i]
            for _ in range(trips[i]):
                a = a * w[at]
            y[i] = a

    agrees(f, [x, w], [y])


def test_nan_leaves_the_loop():
    x, w, y = field([np.nan, 1.0], name="x"), field([0.5], name="w"), field(np.zeros(2), name="y")

    @qd.kernel
    def f(n: qd.i32):
        for i in x:
            for _ in range(n):
                y[i] += x[i] * w[0]

    gradient = reverse(f, [x, w], [y], 2)[1]
    assert np.isnan(gradient[0])


def test_variables_that_one_iteration_updates_from_a_value_they_share():
    """The value was made of what all of them were before."""
    start = qd.Vector.field(3, qd.f64, 4, needs_grad=True)
    start.from_numpy(np.random.default_rng(0).normal(0, 1, (4, 3)))
    normal = qd.Vector.field(3, qd.f64, 2)
    normal.from_numpy(np.random.default_rng(1).normal(0, 1, (2, 3)))
    n = qd.field(qd.i32, ())
    n[None] = 2
    y = field(np.zeros(4), name="y")

    @qd.kernel
    def scalars():
        for i in range(4):
            a, b, c = start[i][0], start[i][1], start[i][2]
            for k in range(n[None]):
                s = qd.exp(0.3 * (a * normal[k][0] + b * normal[k][1] + c * normal[k][2]))
                a = a * s
                b = b * s
                c = c * s
            y[i] = a + 2.0 * b + 3.0 * c

    @qd.kernel
    def vectors():
        for i in range(4):
            v = start[i]
            for k in range(n[None]):
                inward = qd.min(v.dot(normal[k]), 0.0)
                if inward < 0:
                    along = v - inward * normal[k]
                    size = qd.sqrt(along.dot(along) + 1e-3)
                    v = qd.max(size + 0.3 * inward, 0.0) * along / size
            y[i] = v[0] + 2.0 * v[1] + 3.0 * v[2]

    agrees(scalars, [start], [y])
    agrees(vectors, [start], [y])
