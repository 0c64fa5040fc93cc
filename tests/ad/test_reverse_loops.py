"""Loops that carry values, in kernels that are differentiated in reverse mode."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check, field, reverse

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]


@pytest.fixture
def stacks(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def numbers(shape, low=-1.0, high=1.0, seed=7):
    return np.random.default_rng(seed).uniform(low, high, shape)


def test_triangles(stacks):
    n = 4
    x, y = field(numbers((n, n))), field(np.zeros(n))

    @qd.kernel
    def below():
        for i in range(n):
            v = 0.5
            for j in range(i + 1):
                v = qd.sin(v * x[i, j])
                for m in range(j):
                    v = v * v + x[i, m]
            y[i] = v

    @qd.kernel
    def above():
        for i in range(n):
            v = 0.5
            for j in range(i, n):
                v = v * x[i, j] + qd.cos(v)
            y[i] = v

    check(below, [x], [y])
    check(above, [x], [y])


def test_a_loop_in_a_branch_in_a_loop(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            if v > 0.0:
                for j in range(n):
                    v = v * 0.9 + qd.sin(v)
                    if v > 0.8:
                        for m in range(j):
                            v = v * x[i] * 0.7
            else:
                v = v * v
            y[i] = v

    for n in (0, -2, 1, 4):
        check(k, [x], [y], n)


def test_loops_beside_one_another(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32, m: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = qd.sin(v) + 0.3
            w = v * x[i]
            for _ in range(m):
                w = w * v * 0.5 + 0.1
            for _ in range(n):
                v = v * w + 0.2
            y[i] = v + w

    check(k, [x], [y], 3, 4)
    check(k, [x], [y], 0, 2)


def test_swaps_fibonacci_and_reassignment(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            p, q = 1.0, x[i]
            for _ in range(n):
                p, q = q, p * q + p
            y[i] = p * q

    check(k, [x], [y], 3)


def test_carried_vectors_and_matrices(stacks):
    x, y = field(numbers((3, 4))), field(np.zeros(3))

    @qd.kernel
    def k(n: qd.i32):
        for i in range(3):
            q = qd.Vector([x[i, 0], x[i, 1]])
            M = qd.Matrix([[x[i, 2], 0.3], [-0.4, x[i, 3]]])
            s = 1.3
            for j in range(n):
                q = (M @ q) / s
                q = qd.Vector([q[0] * q[0], q[1] + 0.1 * q[0]])
                q[j % 2] += M[1, 0] * q[1]
                M[0, j % 2] = M[1, 1] * q[0]
                s += q[0] * 0.1
            y[i] = q.dot(q) + M.determinant()

    check(k, [x], [y], 4)


def test_carried_integers_and_truth_values(stacks):
    x, y = field(numbers(8)), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32):
        for i in range(4):
            at = i
            odd = i % 2 == 1
            small = qd.cast(i, qd.i8)
            v = 0.7
            for j in range(n):
                if odd:
                    v = v * x[at] + 0.3
                else:
                    v = qd.sin(v) * x[small]
                odd = not odd
                at = (at * 3 + 1) % 8
                small = qd.cast((small + 3) % 8, qd.i8)
            y[i] = v

    check(k, [x], [y], 5)


def test_scatters_from_inner_loops(stacks):
    x, y = field(numbers(5)), field(np.zeros(5))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            w = x[i]
            for j in range(n):
                qd.atomic_add(y[(i + j) % 5], w * x[j])
                w *= 0.5 + x[i] * x[i]

    check(k, [x], [y], 4)


def test_a_serial_recurrence_through_memory(stacks):
    x, y = field(POINTS), field(np.zeros(5))

    @qd.kernel
    def k():
        for _ in range(1):
            for i in range(4):
                y[i + 1] = y[i] * x[i] + qd.sin(x[i])

    k()
    x.grad.fill(0)
    y.grad.fill(0)
    y.grad[4] = 1
    k.grad()

    def last(x):
        v = 0.0
        for a in x:
            v = v * a + np.sin(a)
        return v

    step = 1e-6
    expected = [(last(x.to_numpy() + step * e) - last(x.to_numpy() - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-6)


def test_bounds_from_fields_of_every_integer_type(stacks):
    x, y = field(POINTS), field(np.zeros(4))
    for dtype in (qd.i8, qd.i16, qd.i32, qd.i64, qd.u8, qd.u16, qd.u32, qd.u64):
        n = qd.field(dtype, 4)
        n.from_numpy(np.array([2, 0, 3, 1]).astype(n.to_numpy().dtype))

        @qd.kernel
        def k():
            for i in x:
                v = x[i]
                for _ in range(n[i]):
                    v = qd.sin(v) + 0.2
                y[i] = v

        check(k, [x], [y], modes="r")


def test_a_kernel_around_a_top_level_like_loop(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(on: qd.i32):
        if on > 0:
            for i in range(4):
                y[i] = x[i] * x[i]

    check(k, [x], [y], 1)
    check(k, [x], [y], 0)


def test_the_flag_changes_nothing_where_it_is_not_needed(init):
    found = []
    for enabled in (False, True):
        init(default_fp=qd.f64, ad_stack_experimental_enabled=enabled)
        x, y = field(POINTS), field(np.zeros(4))

        @qd.kernel
        def k():
            for i in x:
                s = 0.0
                for j in qd.ndrange(3):
                    s += x[i] * j
                y[i] = s * s

        found.append(reverse(k, [x], [y])[0])
        assert "stack" not in k.grad.source().replace("qd_stack", "").split("struct qd_args")[1]
    np.testing.assert_array_equal(*found)
