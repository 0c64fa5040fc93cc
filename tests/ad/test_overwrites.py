"""A tape warns of cells that a launch overwrites although its derivative needs what it read of them."""

from __future__ import annotations

import warnings

import pytest

import quadrants as qd

N = 4


class Fields:
    def __init__(self):
        self.x = qd.field(qd.f32, N, needs_grad=True, name="x")
        self.y = qd.field(qd.f32, N, needs_grad=True, name="y")
        self.v = qd.field(qd.f32, (N + 1, N), needs_grad=True, name="v")
        self.w = qd.Vector.field(2, qd.f32, N, needs_grad=True, name="w")
        self.s = qd.Vector.field(2, qd.f32, N, needs_grad=True, layout=qd.Layout.SOA, name="s")
        self.loss = qd.field(qd.f32, (), needs_grad=True, name="loss")
        for k, field in enumerate((self.x, self.y, self.v, self.w, self.s)):
            field.fill(0.3 + 0.1 * k)


def in_place(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.x[i] = qd.sin(f.x[i])  # told

    return run


def steps(f):
    @qd.kernel
    def run():
        for i in f.x:
            for t in range(N):
                f.v[t + 1, i] = f.v[t, i] * f.v[t, i]
                f.v[t + 1, i] *= 0.5 * f.v[t + 1, i]  # told

    return run


def no_loop(f):
    @qd.kernel
    def run():
        f.loss[None] = f.loss[None] ** 2  # told

    return run


def components(f):
    @qd.kernel
    def run():
        for i in f.w:
            f.w[i][0] *= f.w[i][1] * f.w[i][0]  # told

    return run


def a_condition(f):
    @qd.kernel
    def run():
        for i in f.x:
            if f.x[i] > 0.2:
                f.x[i] = 0.0  # told

    return run


def an_update(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.y[i] += f.x[i]
            f.x[i] += qd.exp(f.x[i])  # told

    return run


def an_inlined_function(f):
    @qd.func
    def grow(i):
        f.x[i] = f.x[i] * f.x[i]  # told

    @qd.kernel
    def run():
        for i in f.x:
            grow(i)

    return run


def read_again(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.x[i] = qd.sin(f.x[i])  # told
            f.loss[None] += f.x[i]

    return run


def set_and_read_again(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.y[i] = f.x[i]
            f.y[i] = qd.sin(f.y[i])  # told
            f.loss[None] += 2.0 * f.y[i]

    return run


def a_bounce(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.v[1, i] = f.x[i] * f.x[i] - 0.2
            if f.v[1, i] < 0:
                f.v[1, i] *= -0.8  # told
            f.y[i] = f.v[1, i] ** 2

    return run


def a_vector_by_its_norm(f):
    @qd.kernel
    def run():
        for i in f.w:
            f.w[i] *= qd.exp(-f.w[i].norm())  # told
            f.loss[None] += f.w[i][1]

    return run


def a_later_loop(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.y[i] = f.x[i]
        for i in f.x:
            f.v[1, i] = f.y[i] * f.y[i]
        for k in f.x:
            f.y[k] = 2.0  # told
        for i in f.x:
            f.loss[None] += f.v[1, i]

    return run


def a_whole_vector(f):
    @qd.kernel
    def run():
        for i in f.w:
            f.w[i] += qd.sin(f.w[i] * f.w[i])  # told

    return run


def a_whole_vector_of_its_elements(f):
    @qd.kernel
    def run():
        for i in f.w:
            f.w[i] = qd.Vector([f.w[i].x * f.w[i].y, f.w[i].x])  # told

    return run


def a_list_of_elements(f):
    @qd.kernel
    def run():
        for i in f.w:
            f.w[i] = [qd.sin(f.w[i][0]), f.w[i][1]]  # told

    return run


def elements_apart(f):
    @qd.kernel
    def run():
        for i in f.s:
            f.s[i] += qd.sin(f.s[i] * f.s[i])  # told

    return run


def a_vector_as_index(f):
    @qd.kernel
    def run():
        for at in qd.grouped(f.v):
            f.v[at] = qd.sin(f.v[at])  # told

    return run


def a_vector_of_a_range_as_index(f):
    @qd.kernel
    def run():
        for at in qd.grouped(qd.ndrange(2, 2)):
            f.v[at] *= f.v[at]  # told

    return run


def a_function_that_writes(f):
    @qd.func
    def put(a: qd.template(), t, i, value):
        a[t, i] = value  # told

    @qd.kernel
    def run():
        for t, i in f.v:
            put(f.v, t, i, qd.sin(f.v[t, i]))

    return run


def an_index_with_a_name(f):
    @qd.kernel
    def run():
        for i in f.x:
            at = N - 1 - i
            f.x[N - 1 - i] = qd.sin(f.x[at])  # told

    return run


TOLD = (
    a_whole_vector, a_whole_vector_of_its_elements, a_list_of_elements, elements_apart, a_vector_as_index,
    a_vector_of_a_range_as_index, a_function_that_writes, an_index_with_a_name,
    in_place, steps, no_loop, components, a_condition, an_update, an_inlined_function, read_again, set_and_read_again,
    a_bounce, a_vector_by_its_norm, a_later_loop,
)  # fmt: skip


def linear(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.y[i] = f.y[i] + 0.1 * f.x[i]
            f.x[i] = f.x[i] * 2.0

    return run


def read_behind_it(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.x[i] = f.y[i] * 2.0
            f.y[i] = f.x[i] * f.x[i]

    return run


def another_cell(f):
    @qd.kernel
    def run():
        for i in f.x:
            for t in range(N):
                f.v[t + 1, i] = f.v[t, i] * f.v[t, i]

    return run


def another_field(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.y[i] += f.x[i] * f.x[i]

    return run


def scaled_and_read_again(f):
    @qd.kernel
    def run():
        for i in f.x:
            f.y[i] = f.x[i]
            f.y[i] *= 3.0
            f.v[1, i] = f.y[i] * f.y[i]

    return run


def other_bounds(f):
    @qd.kernel
    def run():
        for i in range(N // 2):
            f.y[i] = f.x[i] * f.x[i]
        for i in range(N // 2, N):
            f.x[i] = 2.0

    return run


def the_bits_of_a_number(f):
    @qd.kernel
    def run():
        for i in f.x:
            one = 1.0
            f.y[i] = qd.sin(f.v[qd.cast(one, qd.i32) & 1, i])
            f.v[qd.bit_cast(one, qd.i32) & 1, i] = 2.0

    return run


def another_element(f):
    @qd.kernel
    def run():
        for i in f.w:
            f.w[i].x = qd.sin(f.w[i].y)
            for k in qd.static(range(1)):
                f.s[i][k] = qd.sin(f.s[i][k + 1])

    return run


def a_whole_vector_scaled(f):
    @qd.kernel
    def run():
        for i in f.w:
            f.w[i] += 2.0 * f.w[i]
            f.s[i] = f.s[i] * 3.0

    return run


SILENT = (
    another_element, a_whole_vector_scaled,
    linear, read_behind_it, another_cell, another_field, scaled_and_read_again, other_bounds, the_bits_of_a_number,
)  # fmt: skip


def said(run, f) -> list:
    @qd.kernel
    def total():
        for i in f.x:
            f.loss[None] += f.x[i] + f.y[i] + f.v[N, i] + f.w[i].sum() + f.s[i].sum()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with qd.ad.Tape(loss=f.loss):
            run()
            total()
    return [w for w in told if "is overwritten here" in str(w.message)]


@pytest.fixture
def fields(init):
    init(ad_stack_experimental_enabled=True, offline_cache=False)
    return Fields()


@pytest.mark.parametrize("make", TOLD, ids=lambda make: make.__name__)
def test_what_the_derivative_needs_is_overwritten(fields, make):
    told = said(make(fields), fields)
    with open(__file__) as file:
        lines = file.readlines()
    assert len(told) == 1 and told[0].filename == __file__
    assert lines[told[0].lineno - 1].rstrip().endswith("# told"), told[0].lineno


@pytest.mark.parametrize("make", SILENT, ids=lambda make: make.__name__)
def test_programs_that_keep_what_they_need(fields, make):
    assert said(make(fields), fields) == []


def test_who_calls_the_derivative_by_itself_may_have_brought_values_back(fields, recwarn):
    run = in_place(fields)
    run()
    fields.x.fill(0.3)
    fields.x.grad.fill(1.0)
    run.grad()
    assert not [w for w in recwarn if "is overwritten here" in str(w.message)]
    assert fields.x.grad[0] == pytest.approx(0.9553365)


def test_a_function_with_a_gradient_of_its_own_is_asked_nothing(fields):
    run = in_place(fields)

    @qd.ad.grad_replaced
    def outer():
        run()

    @qd.ad.grad_for(outer)
    def outer_grad():
        fields.x.fill(0.3)
        run.grad()

    assert said(outer, fields) == []
