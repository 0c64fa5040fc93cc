"""Stacks of dynamic loops: how deep they are, what the launch makes of bounds, what happens when they overflow."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check, field, kernel_differences, reverse

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def ints(values, dtype=qd.i32):
    made = qd.field(dtype, np.shape(values))
    made.from_numpy(np.array(values, dtype=np.int32))
    return made


def slots(kernel, *args) -> list:
    """Names of stacks that the text declares."""
    text = kernel.grad.source(*args)
    return sorted({line.split("_stack = ")[0].split()[-1] for line in text.splitlines() if "_stack = " in line})


def test_only_what_a_derivative_needs_is_saved():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def linear(n: qd.i32):
        for i in x:
            s = 0.0
            count = 0
            for j in range(n):
                s = s * 0.5 + x[i] * j
                count += 1
            y[i] = s + count

    @qd.kernel
    def one(n: qd.i32):
        for i in x:
            s = 0.0
            v = x[i]
            for j in range(n):
                v = qd.sin(v)
                s += v
            y[i] = s

    check(linear, [x], [y], 4)
    check(one, [x], [y], 4)
    assert slots(linear, 4) == []
    assert len(slots(one, 4)) == 1


def test_the_size_follows_a_field(capfd):
    x, y, n = field(POINTS), field(np.zeros(4)), ints([3])

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[0]):
                v = qd.sin(v) + 0.1
            y[i] = v

    for trips in (3, 10, 0, -4, 10, 200):
        n[0] = trips
        check(k, [x], [y], modes="r")


def test_bounds_from_arrays_shapes_and_arguments():
    x, y = field(POINTS), field(np.zeros(4))
    a = qd.ndarray(qd.i32, (4, 2))

    @qd.kernel
    def k(a: qd.types.ndarray(), m: qd.i32, b: qd.types.ndarray()):
        for i in x:
            v = x[i]
            for j in range(a.shape[1]):
                for _ in range(a[i, j]):
                    v = qd.sin(v) + 0.1
            for _ in range(m // 2):
                v = v * v
            for _ in range(m % 4):
                v = qd.cos(v)
            for _ in range(b[1]):
                v = v * x[i]
            y[i] = v

    for seed in range(3):
        rng = np.random.default_rng(seed)
        a.from_numpy(rng.integers(0, 5, (4, 2)).astype(np.int32))
        check(k, [x], [y], a, int(rng.integers(0, 6)), rng.integers(0, 3, 3).astype(np.int64), modes="r")


def test_ragged_segments():
    values, y = field(np.random.default_rng(1).uniform(0.5, 1.5, 6)), field(np.zeros(3))
    starts = ints([0, 2, 3, 6])

    @qd.kernel
    def k():
        for i in range(3):
            p = 1.0
            for j in range(starts[i], starts[i + 1]):
                p = p * values[j] + qd.sin(p)
            y[i] = p

    check(k, [values], [y], modes="r")


def test_bounds_through_other_arrays():
    x, y = field(POINTS), field(np.zeros(4))
    n, g = ints([1, 5, 2, 0]), ints([3, 1, 0, 1])

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[g[i]]):
                v = qd.sin(v) + 0.1
            for _ in range(n[i // 2] + 1):
                v = qd.cos(v * v)
            for _ in range(qd.min(n[i], 3)):
                v = v * x[i]
            for _ in range(qd.max(n[i], 1) * 2):
                v = v + 0.1 * qd.cos(v)
            for _ in range(n[i] << 1):
                v = qd.sin(v)
            for _ in range(n[i] - 2, n[i]):
                v = v * 0.9 + 0.1 * qd.sin(x[i] * v)
            y[i] = v

    check(k, [x], [y], modes="r")


def test_lower_bounds_below_zero():
    x, y = field(POINTS), field(np.zeros(4))
    n, g, low = ints([1, 5, 2, 0]), ints([3, 1, 0, 1]), ints([-3, 1, -7, 0])

    @qd.kernel
    def k(first: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(low[i], n[g[i]] + 1):
                v = qd.sin(v) + 0.1
            for _ in range(first, n[g[i]]):
                v = qd.cos(v * v)
            for _ in range(n[g[i]] - low[i]):
                v = v * x[i] + 0.1
            y[i] = v

    for first in (-20, 0, 3):
        check(k, [x], [y], first, modes="r")


def test_bounds_that_change_in_the_loop():
    x, y, n = field(POINTS), field(np.zeros(4)), ints([3, 1, 2, 0])

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            count = n[i]
            for j in range(3):
                for _ in range(count):
                    v = qd.sin(v) + 0.1
                count = n[(i + j) % 4]
                if v > 0.3:
                    count = j
            y[i] = v

    check(k, [x], [y])


def test_a_bound_that_grows_by_itself_is_refused():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            count = 1
            for _ in range(3):
                for k in range(count):
                    v = qd.sin(v) + 0.1 * k
                count = count + 1
            y[i] = v

    with pytest.raises(RuntimeError, match="adstack bound at .* is unresolved: .*data-flow cycle"):
        k.grad()


def test_a_bound_behind_a_guard_is_not_read_outside_of_its_array():
    x, y, n = field(np.linspace(0.1, 0.9, 9)), field(np.zeros(9)), ints([2, 3])

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            if i < 2:
                for _ in range(n[i]):
                    v = qd.sin(v)
            y[i] = v * v

    check(k, [x], [y], modes="r")


def test_fields_with_an_offset():
    x, y = field(np.ones(4), offset=(-2,)), field(np.zeros(4), offset=(-2,))
    n = qd.field(qd.i32, 4, offset=(-2,))
    n.from_numpy(np.array([0, 1, 2, 3], dtype=np.int32))
    x.from_numpy(np.array(POINTS))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[i]):
                v = qd.sin(v) + 0.1
            for _ in range(n[(i * i) // 2]):
                v = v * v
            y[i] = v

    y.grad.fill(1)
    k.grad()
    v = np.array(POINTS)

    def by_hand(v):
        counts = [0, 1, 2, 3]
        out = []
        for i, p in zip(range(-2, 2), v):
            for _ in range(counts[i + 2]):
                p = np.sin(p) + 0.1
            at = (i * i) // 2
            for _ in range(counts[at + 2] if at < 2 else 0):
                p = p * p
            out.append(p)
        return np.array(out)

    usable = [1, 2, 3]  # the first cell asks for a bound outside of the field
    h = 1e-6
    expected = (by_hand(v + h) - by_hand(v - h)) / (2 * h)
    np.testing.assert_allclose(x.grad.to_numpy()[usable], expected[usable], rtol=1e-6)


def test_loops_over_products_are_numbered_row_by_row():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32, m: qd.i32):
        for i in x:
            v = x[i]
            for a, b, c in qd.ndrange(n, (1, m), 2):
                v = qd.sin(v + 0.1 * a) * (1.0 + 0.2 * b - 0.1 * c)
            y[i] = v

    check(k, [x], [y], 3, 4)
    check(k, [x], [y], 0, 4)
    check(k, [x], [y], 3, 0)


def test_stacks_of_vectors_matrices_and_small_types():
    x, y = field(np.linspace(-1, 1, 8).reshape(4, 2)), field(np.zeros(4))

    @qd.kernel
    def k(n: qd.i32):
        for i in range(4):
            v = qd.Vector([x[i, 0], x[i, 1], 0.5])
            M = qd.Matrix([[x[i, 0], 0.2], [0.1, x[i, 1]]])
            h = qd.cast(0.7, qd.f32)
            sign = qd.cast(1, qd.i8)
            far = qd.cast(i, qd.i64)
            for j in range(n):
                v = v.cross(qd.Vector([0.3, x[i, 0], v[j % 3]])) * h
                M = M @ M + M[0, 1] * 0.1
                h = h * qd.cast(0.9, qd.f32)
                if sign > 0:
                    v[far % 3] += M[1, 0] * v[0]
                sign = -sign
                far += 1
            y[i] = v.sum() + M.norm_sqr()

    check(k, [x], [y], 4, rtol=1e-4, atol=1e-5)


def test_many_threads_have_rows_of_their_own():
    n = 20000
    x, y = field(np.linspace(0, 1, n)), field(np.zeros(n))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for j in range(i % 7):
                v = qd.sin(v) + 0.1 * j
            y[i] = v

    found = reverse(k, [x], [y])[0]
    v, slope = np.linspace(0, 1, n), np.ones(n)
    at = np.arange(n)
    for j in range(6):
        go = at % 7 > j
        slope = np.where(go, slope * np.cos(v), slope)
        v = np.where(go, np.sin(v) + 0.1 * j, v)
    np.testing.assert_allclose(found, slope, rtol=1e-12)


def test_reduced_sums_are_exact_in_single_precision(init):
    init(ad_stack_experimental_enabled=True)
    x, loss = field([0.2, 0.5], dtype=qd.f32), field(0.0, dtype=qd.f32)

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(5):
                v = qd.sin(v) + 0.1
            loss[None] += v

    found = reverse(k, [x], [loss])[0]
    v, slope = np.array([0.2, 0.5]), np.ones(2)
    for _ in range(5):
        slope, v = slope * np.cos(v), np.sin(v) + 0.1
    np.testing.assert_allclose(found, slope, rtol=1e-6)


@pytest.mark.parametrize("debug", [False, True])
def test_forced_sizes(init, debug):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=32, debug=debug)
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def forced(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = qd.sin(v) + 0.1
            y[i] = v

    for trips in (0, 5, 30):
        check(forced, [x], [y], trips, modes="r")
    for trips in (32, 100):
        with pytest.raises(qd.QuadrantsAssertionError, match="[Aa]dstack overflow") as caught:
            forced.grad(trips)
            qd.sync()
        assert "forced_reverse_grad" in str(caught.value) and "ad_stack_size=32" in str(caught.value)
    qd.sync()
    check(forced, [x], [y], 5, modes="r")


def test_a_forced_size_needs_no_bound(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_size=16)
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(qd.cast(abs(x[i]) * 5, qd.i32)):
                v = qd.sin(v)
            y[i] = v

    expected = kernel_differences(k, [x], [y])
    np.testing.assert_allclose(reverse(k, [x], [y])[0], expected[0], rtol=1e-5, atol=1e-6)
