"""Control flow that the other tests of derivatives leave out: every dtype of a carried variable, chains of branches,
options of loops, and what the language refuses anyway.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check, field, forward, reverse

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


@pytest.fixture
def stacks(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


@pytest.mark.parametrize("name", INTEGERS)
def test_carried_integers_of_every_type(stacks, name):
    dtype = getattr(qd, name)
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            at = qd.cast(i, dtype)
            v = x[i]
            for _ in range(6):
                v = v * x[qd.cast(at % qd.cast(4, dtype), qd.i32)] + 0.3
                at = (at * qd.cast(5, dtype) + qd.cast(3, dtype)) % qd.cast(7, dtype)
            y[i] = v

    check(k, [x], [y])


@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_carried_reals_of_every_type(stacks, name):
    dtype = getattr(qd, name)
    x, y = field(POINTS, qd.f64), field(np.zeros(4), qd.f64)

    @qd.kernel
    def k():
        for i in x:
            v = qd.cast(x[i], dtype)
            for _ in range(5):
                v = v * v * qd.cast(0.5, dtype) + qd.cast(0.125, dtype)
            y[i] = qd.cast(v, qd.f64)

    v, slope = np.array(POINTS), np.ones(4)
    for _ in range(5):
        v, slope = v * v * 0.5 + 0.125, v * slope
    tolerance = {"f16": 2e-2, "f32": 2e-6, "f64": 1e-12}[name]
    np.testing.assert_allclose(reverse(k, [x], [y])[0], slope, rtol=tolerance, atol=tolerance * 1e-2)
    np.testing.assert_allclose(forward(k, [x], [y])[0], slope, rtol=tolerance, atol=tolerance * 1e-2)


def test_a_carried_truth_value(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            high = x[i] > 0.5
            v = x[i]
            for j in range(6):
                if high:
                    v = qd.sin(v)
                else:
                    v = v * v + 0.4
                high = v > 0.45 and j != 3
            y[i] = v

    check(k, [x], [y])


def test_five_trips_in_single_precision(init):
    init(ad_stack_experimental_enabled=True)
    x, y = field(POINTS, qd.f32), field(np.zeros(4), qd.f32)

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(5):
                v = qd.sin(v) + 0.1
            y[i] = v

    v, slope = np.float32(POINTS).astype(np.float64), np.ones(4)
    for _ in range(5):
        v, slope = np.sin(v) + 0.1, np.cos(v) * slope
    np.testing.assert_allclose(reverse(k, [x], [y])[0], slope, rtol=1e-6)


def test_chains_of_branches_that_overwrite_their_conditions(stacks):
    x, y = field(np.linspace(-0.97, 1.04, 9)), field(np.zeros(9))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for j in range(4):
                if v < -0.5:
                    v = -v * 0.8
                elif v < -0.1 and v > -0.4:
                    v = qd.sin(v) - 0.3
                elif v < 0.2 or j == 2:
                    v = v * v + 0.21
                elif not v > 0.6:
                    v = 0.0
                else:
                    v = qd.cos(v)
                    if v < 0.7:
                        v = v * x[i]
                if v == 0.0:
                    v = x[i] * 0.9
            y[i] = v

    check(k, [x], [y])


def test_zeros_that_the_user_wrote_in_branches(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            w = 0.0
            v = 0.0
            for j in range(5):
                if j % 2 == 0:
                    w = 0.0
                else:
                    w = x[i] * v + 1.0
                v = qd.sin(v + w) + x[i]
            y[i] = v * w

    check(k, [x], [y])


def test_a_recurrence_that_starts_from_a_square(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i] ** 2
            for _ in range(4):
                v = v * v * 0.7 + v
            y[i] = v

    check(k, [x], [y])


def test_six_loops_beside_one_another_with_branches(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v, at = x[i], i
            for a in range(2):
                if v > 0.1:
                    v = qd.sin(v) * x[at]
                at = (at + 1) % 4
            for b in range(3):
                if v > 0.05 * b:
                    v = v * 0.9 + 0.1 * v * v
            for c in range(2):
                if at % 2 == c:
                    v += x[at] * v
                at = (at + 3) % 4
            for d in range(3):
                if v < 0.5:
                    v = qd.cos(v)
            for e in range(2):
                if v < x[at]:
                    v = v * v
                at = (at * 3 + e) % 4
            for f in range(3):
                if v > -0.2:
                    v = qd.tanh(v + 0.1 * f)
            y[i] = v

    check(k, [x], [y])


@pytest.mark.parametrize("option", ["serialize", "block_dim", "parallelize"])
def test_options_of_loops(stacks, option):
    x, y = field(np.linspace(-1, 1, 100)), field(np.zeros(100))

    @qd.kernel
    def k():
        if qd.static(option == "serialize"):
            qd.loop_config(serialize=True)
        elif qd.static(option == "block_dim"):
            qd.loop_config(block_dim=64)
        else:
            qd.loop_config(parallelize=2)
        for i in x:
            v = x[i]
            for _ in range(3):
                v = qd.sin(v) * v
            y[i] = v

    v = x.to_numpy()
    slope = np.ones(100)
    for _ in range(3):
        v, slope = np.sin(v) * v, (np.cos(v) * v + np.sin(v)) * slope
    np.testing.assert_allclose(reverse(k, [x], [y])[0], slope, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_loop_under_a_condition_is_right_or_refused(init, allowed):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=allowed)
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(on: qd.i32):
        if on > 0:
            for i in range(4):
                y[i] = x[i] * x[i]

    for on, slope in ((1, 2 * np.array(POINTS)), (0, np.zeros(4))):
        try:
            found = reverse(k, [x], [y], on)[0]
        except qd.QuadrantsCompilationError as error:
            assert not allowed and "non static range" in str(error)
        else:
            np.testing.assert_allclose(found, slope)


def test_what_the_language_refuses_is_refused_in_derivatives(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def inner_struct_for():
        for i in range(4):
            for j in x:
                y[i] += x[j]

    @qd.kernel
    def step():
        for i in x:
            for j in range(0, 4, 2):
                y[i] += x[j]

    for kernel in (inner_struct_for, step):
        said = []
        for launch in (kernel, kernel.grad):
            with pytest.raises((RuntimeError, qd.QuadrantsCompilationError)) as caught:
                launch()
            said.append(str(caught.value).splitlines()[-1])
        assert said[0] == said[1]


@pytest.mark.runtime(exclude=("opencl", "metal", "vulkan"))  # whose functions cannot call themselves
def test_calls_of_real_functions_that_compute_integers(stacks):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.real_func
    def double(k: qd.i32) -> qd.i32:
        return k * 2

    @qd.real_func
    def hop(k: qd.i32, by: qd.i32) -> qd.i32:
        r = k
        while r > 3:
            r -= 3
        return (r + double(by)) % 4

    @qd.real_func
    def factorial(k: qd.i32) -> qd.i32:
        r = 1
        if k > 1:
            r = k * factorial(k - 1)
        return r

    @qd.kernel
    def k():
        for i in x:
            v, at = x[i], i
            for j in range(5):
                v = qd.sin(v) * x[hop(at, j)] + 0.2
                if factorial(j) % 4 == 2:
                    v = v * v
                at = hop(at + 1, 2)
            y[i] = v

    check(k, [x], [y])


def test_real_functions_of_constants(stacks):
    x, y, w = field(POINTS), field(np.zeros(4)), qd.field(qd.f64, 4)
    w.from_numpy(np.array([0.5, -0.2, 1.1, 0.7]))

    @qd.real_func
    def damp(p: qd.f64, by: qd.i32) -> qd.f64:
        r = p
        for _ in range(by):
            r = qd.tanh(r + 0.3)
        return r

    @qd.kernel
    def k(c: qd.f64):
        for i in x:
            v = x[i] * damp(c, i)
            for j in range(3):
                v = qd.sin(v) * damp(w[i], j) + 0.1 * damp(0.3, 2)
            y[i] = v

    check(k, [x], [y], 0.4)


def test_a_real_function_that_does_something_is_refused(stacks):
    x, y, n = field(POINTS), field(np.zeros(4)), qd.field(qd.i32, ())

    @qd.real_func
    def counts(k: qd.i32) -> qd.i32:
        n[None] += 1
        return k

    @qd.real_func
    def calls(k: qd.i32) -> qd.i32:
        return counts(k)

    @qd.real_func
    def halves(v: qd.f64) -> qd.f64:
        return v * 0.5

    @qd.kernel
    def writes():
        for i in x:
            y[calls(i)] = x[i]

    @qd.kernel
    def computes():
        for i in x:
            y[i] = halves(x[i])

    for kernel, name in ((writes, "calls"), (computes, "halves")):
        with pytest.raises(RuntimeError, match=f"real function '{name}' is not supported in AutoDiff"):
            kernel.grad()


def test_a_bound_that_is_larger_at_the_gradient_than_before(stacks):
    """The launch of the derivative reads bounds as they are then."""
    x, y, n = field(POINTS), field(np.zeros(4)), qd.field(qd.i32, ())

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = qd.sin(v)
            y[i] = v

    for trips in (3, 10, 0, 10):
        n[None] = 1
        k()
        n[None] = trips
        v, slope = np.array(POINTS), np.ones(4)
        for _ in range(trips):
            v, slope = np.sin(v), np.cos(v) * slope
        np.testing.assert_allclose(reverse(k, [x], [y])[0], slope, rtol=1e-12)


@pytest.mark.parametrize("ip", ["i32", "i64"])
@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("cfg_optimization", [False, True])
def test_programs_under_all_options(init, cfg_optimization, fast_math, ip):
    """Ragged segments, a triangle, Fibonacci, matrices, zeros in branches, a scatter: under every set of options."""
    init(
        default_fp=qd.f64, ad_stack_experimental_enabled=True, cfg_optimization=cfg_optimization, fast_math=fast_math,
        default_ip=getattr(qd, ip),
    )  # fmt: skip
    x, y = field(np.linspace(0.2, 1.1, 6)), field(np.zeros(3))
    starts = qd.field(qd.i32, 4)
    starts.from_numpy(np.array([0, 2, 3, 6], dtype=np.int32))

    @qd.kernel
    def ragged():
        for i in y:
            p = 1.0
            for j in range(starts[i], starts[i + 1]):
                p = p * x[j] + qd.sin(p)
            y[i] = p

    @qd.kernel
    def triangle():
        for i in y:
            v = 0.5
            for j in range(i + 1):
                for m in range(j, 3):
                    v = v * x[j + m] + qd.cos(v)
            y[i] = v

    @qd.kernel
    def fibonacci():
        for i in y:
            p, q = 1.0, x[i]
            for _ in range(i + 2):
                p, q = q, p * q * 0.5 + p
            y[i] = p * q

    @qd.kernel
    def matrices():
        for i in y:
            q, s = qd.Vector([x[i], x[i + 1]]), 1.3
            M = qd.Matrix([[0.4, x[i]], [-x[i + 2], 0.9]])
            for _ in range(i + 2):
                q = (M @ q) / s
                q = qd.Vector([q[0] * q[0], q[1] + 0.1 * q[0]])
                s += 0.2 * q[1]
            y[i] = q.sum()

    @qd.kernel
    def zeros():
        for i in y:
            w, v = 0.0, x[i]
            for j in range(starts[i + 1]):
                if j % 2 == 0:
                    w = 0.0
                else:
                    w = v * v
                v = qd.sin(v + w)
            y[i] = v + w

    @qd.kernel
    def scatter():
        for i in x:
            w = x[i]
            for j in range(starts[1]):
                y[(i + j) % 3] += w * x[j]
                w *= 0.5 + x[i] * x[i]

    for kernel in (ragged, triangle, fibonacci, matrices, zeros, scatter):
        check(kernel, [x], [y])
