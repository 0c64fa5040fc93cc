"""Control flow in kernels that are differentiated, cell by cell of what the guide promises."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check, field, reverse

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]


@pytest.fixture(params=[False, True], ids=["no stacks", "stacks"])
def runtime(init, request):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=request.param)
    return request.param


def numbers(shape, low=-1.0, high=1.0, seed=7):
    return np.random.default_rng(seed).uniform(low, high, shape)


def test_straight_line_code_and_branches(runtime):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        v = x[0] * x[1]
        if x[2] > 0.5:
            v = v * x[2]
            y[0] += v
        elif x[2] > 0.1:
            v = v + x[3]
        else:
            y[1] = v * v
        y[2] = v + x[3] * v

    for third in (1.3, 0.3, -0.2):
        x[2] = third
        check(k, [x], [y])


def test_several_loops_of_every_kind(runtime):
    x, y, w, z = field(numbers((3, 4))), field(np.zeros((3, 4))), field(np.zeros((3, 4))), field(np.zeros(()))

    @qd.kernel
    def k():
        for i, j in x:
            y[i, j] = x[i, j] * x[i, j]
        for I in qd.grouped(x):
            z[None] += y[I] * x[I]
        for i in range(1, 3):
            z[None] += qd.sin(x[i, 0])
        for i, j in qd.ndrange(3, (1, 4)):
            w[i, j] += x[i, j] * x[i, j - 1]
        qd.loop_config(serialize=True)
        for i in range(3):
            z[None] += x[i, 1] ** 3

    check(k, [x], [z, w])
    assert (y.grad.to_numpy() == 0).all() and z.grad[None] == 1


def test_unrolled_loops(runtime):
    x, y = field(numbers((4, 3))), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in range(4):
            v = 1.0
            for j in qd.static(range(3)):
                v = v * x[i, j] + qd.sin(v)
            y[i] = v

    check(k, [x], [y])


def test_loops_behind_a_compile_time_choice(runtime):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(which: qd.template()):
        if qd.static(which):
            for i in x:
                y[i] = x[i] * x[i]
        else:
            for i in x:
                y[i] = x[i] ** 3

    check(k, [x], [y], True)
    check(k, [x], [y], False)


def test_an_inner_ndrange_that_carries_a_sum(runtime):
    x, y = field(numbers((4, 3))), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in range(4):
            s = 0.0
            for j, m in qd.ndrange(3, 2):
                s += x[i, j] * x[i, (j + m) % 3]
            y[i] = s * s

    check(k, [x], [y])


def test_chains_through_arrays_end_with_zero_gradients(runtime):
    fields = [field(POINTS) for _ in range(5)]
    a, b, c, d, e = fields

    @qd.kernel
    def k():
        for i in a:
            b[i] = 2 * a[i]
            c[i] = 3 * b[i]
            d[i] = 4 * c[i]
            e[i] = 5 * d[i]

    (found,) = reverse(k, [a], [e])
    assert found.tolist() == [120.0] * 4
    assert all((f.grad.to_numpy() == 0).all() for f in (b, c, d, e))


def test_short_circuits(runtime):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            if i > 0 and x[i - 1] > 0.0:
                y[i] = x[i] * x[i - 1]
            if i == 3 or x[i + 1] < 0:
                y[i] += x[i] ** 3

    check(k, [x], [y])


def test_a_branch_that_overwrites_its_condition(runtime):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            if v > 0.5:
                v = -v * v
                if v < -1.0:
                    v = v * x[i]
            if v > 0.2:
                v = qd.sin(v)
            y[i] = v

    check(k, [x], [y])


def test_choices_do_not_evaluate_the_other_side(runtime):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            y[i] = qd.sqrt(x[i]) if x[i] > 0 else x[i] * (x[i - 1] if i > 0 else 0.0)

    check(k, [x], [y])
    x[1] = 0.0
    x[0] = 0.5
    (found,) = reverse(k, [x], [y])
    assert found[1] == 0.5  # not the infinite slope of a root that was not taken


def test_accumulation_keeps_the_gradient_and_a_store_takes_it(runtime):
    x, y, z = field(POINTS), field(np.zeros(4)), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            y[i] += x[i] * 2
            y[i] -= x[i] * x[i]
            z[i] = x[i] * 3

    (found,) = reverse(k, [x], [y, z])
    np.testing.assert_allclose(found, 5 - 2 * np.array(POINTS))
    assert (y.grad.to_numpy() == 1).all() and (z.grad.to_numpy() == 0).all()


def test_a_cell_that_is_read_and_written(runtime):
    x, y = field(POINTS), field(POINTS)

    @qd.kernel
    def k():
        for i in x:
            y[i] = y[i] + qd.sin(x[i])

    (found,) = reverse(k, [x], [y])
    np.testing.assert_allclose(found, np.cos(POINTS))
    assert (y.grad.to_numpy() == 1).all()


def test_gradients_add_up_over_calls(runtime):
    x, y = field(POINTS), field(np.zeros(()))

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i]

    y.grad[None] = 1
    k.grad()
    k.grad()
    np.testing.assert_allclose(x.grad.to_numpy(), 4 * np.array(POINTS))
    assert k.grad is k.grad


def test_kernels_without_gradients_do_nothing(runtime):
    x, y = qd.field(qd.f64, 4), qd.field(qd.f64, 4)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i]
            while y[i] < 3:
                y[i] += 1

    k.grad()
    assert (y.to_numpy() == 0).all()


def test_values_that_are_returned(runtime):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k() -> qd.f64:
        for i in x:
            y[i] = x[i] * x[i]
        return y[2]

    k()
    x.grad.fill(0)
    y.grad.fill(1)
    assert k.grad() == pytest.approx(1.69)
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * np.array(POINTS))


def test_prints_and_asserts_are_the_primals(init, capfd):
    init(default_fp=qd.f64, debug=True)
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            assert x[i] < 5.0
            if x[i] > 100:
                print("never", x[i])
            y[i] = x[i] * x[i]

    check(k, [x], [y])


def test_asserts_about_what_the_kernel_changes(init):
    init(default_fp=qd.f64, debug=True)
    x, y, done = field(POINTS), field(np.zeros(4)), qd.field(qd.i32, 4)

    @qd.kernel
    def k():
        for i in x:
            assert done[i] == 0
            done[i] = 1
            y[i] = x[i] * x[i]

    k()
    (found,) = reverse(k, [x], [y])
    np.testing.assert_allclose(found, 2 * np.array(POINTS))


def test_methods_of_classes(runtime):
    @qd.data_oriented
    class Model:
        def __init__(self):
            self.x, self.y = field(POINTS), field(np.zeros(4))

        @qd.func
        def square(self, v):
            return v * v

        @qd.kernel
        def step(self, factor: qd.f64):
            for i in self.x:
                self.y[i] = self.square(self.x[i]) * factor

    model = Model()
    model.y.grad.fill(1)
    model.step.grad(2.0)
    model.step.grad(factor=1.0)
    model.y.grad.fill(1)
    model.step.grad(factor=1.0)
    np.testing.assert_allclose(model.x.grad.to_numpy(), 6 * np.array(POINTS))


def test_funcs_with_loops_of_their_own_are_tasks(runtime):
    x, y, z = field(POINTS), field(np.zeros(4)), field(np.zeros(4))

    @qd.func
    def first(scale: qd.f64):
        for i in x:
            y[i] = x[i] * x[i] * scale

    @qd.func
    def second(n: qd.i32, scale: qd.f64):
        for i in range(n):
            z[i] = qd.sin(y[i]) * scale

    @qd.kernel
    def k(a: qd.f64):
        first(a)
        second(4, a * 2)

    check(k, [x], [z], 0.7)
