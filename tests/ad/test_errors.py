"""Errors of derivatives, numbered as in docs/development/coverage/autodiff.md: kind, stable text, place, and that a
correct kernel works right after it, without a new start.

E-14 is about devices without 64-bit stacks. E-19 and E-21 are about memory (test_stacks), E-22 about compilers
(toolchain/test_compile_failures).
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from oracle import field, forward, reverse

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]


class Case:
    """Fields of a provocation."""

    def __init__(self):
        self.x, self.y = field(POINTS, name="x"), field(np.zeros(4), name="y")
        self.loss = field(0.0)


def gradient_of_integers(c):
    qd.field(qd.i32, 4, needs_grad=True)


def gradient_of_an_integer_array(c):
    qd.ndarray(qd.u8, 4, needs_grad=True)


def gradient_without_a_place(c):
    bare = qd.field(qd.f64, 4, name="bare")

    @qd.kernel
    def fails():
        for i in bare:
            c.y[i] = bare.grad[i]

    fails()


def python_access_without_a_place(c):
    qd.field(qd.f64, 4).grad.fill(0)


def loss_with_an_axis(c):
    with qd.ad.Tape(loss=c.x):
        pass


def loss_without_gradient(c):
    with qd.ad.Tape(loss=qd.field(qd.f64, ())):
        pass


def loss_of_two_elements(c):
    with qd.ad.Tape(loss=qd.ndarray(qd.f64, 2, needs_grad=True)):
        pass


def tape_entered_twice(c):
    tape = qd.ad.Tape(loss=c.loss)
    for _ in range(2):
        with tape:
            pass


def tape_evaluated_twice(c):
    tape = qd.ad.Tape(loss=c.loss)
    with tape:
        pass
    tape.grad()


def tape_never_entered(c):
    qd.ad.Tape(loss=c.loss).grad()


def tape_in_a_tape(c):
    with qd.ad.Tape(loss=c.loss), qd.ad.Tape(loss=c.loss):
        pass


def gradient_for_anything(c):
    @qd.ad.grad_for(print)
    def gradient():
        pass


def random_numbers(c):
    @qd.kernel
    def fails():
        for i in c.x:
            c.y[i] = c.x[i] * qd.random()

    fails.grad()


def random_numbers_forward(c):
    @qd.kernel
    def fails():
        for i in c.x:
            c.y[i] = c.x[i] * qd.random()

    forward(fails, [c.x], [c.y])


def mixed_top_level(c):
    @qd.kernel
    def fails():
        n = c.x.shape[0]
        for i in range(n):
            c.y[i] = c.x[i]

    fails.grad()


def while_loop(c):
    @qd.kernel
    def fails():
        for i in c.x:
            while c.y[i] < 1:
                c.y[i] += c.x[i]

    fails.grad()


def while_loop_forward(c):
    @qd.kernel
    def fails():
        for i in c.x:
            while c.y[i] < 1:
                c.y[i] += c.x[i]

    forward(fails, [c.x], [c.y])


def break_of_an_inner_loop(c):
    @qd.kernel
    def fails():
        for i in c.x:
            for j in range(3):
                if c.x[i] > j:
                    break
                c.y[i] += c.x[i]

    fails.grad()


def continue_in_a_func(c):
    @qd.func
    def some(v):
        s = 0.0
        for j in range(3):
            if v > j:
                continue
            s += v * v
        return s

    @qd.kernel
    def fails():
        for i in c.x:
            c.y[i] = some(c.x[i])

    fails.grad()


def clock(c):
    @qd.kernel
    def fails():
        for i in c.x:
            c.y[i] = c.x[i] * qd.cast(qd.clock_counter(), qd.f64)

    fails.grad()


def stream(c):
    @qd.kernel
    def fails():
        for i in c.x:
            c.y[i] = c.x[i]

    fails.grad(qd_stream=qd.create_stream())


def stream_in_a_tape(c):
    @qd.kernel
    def fails():
        for i in c.x:
            c.loss[None] += c.x[i]

    with qd.ad.Tape(loss=c.loss):
        fails(qd_stream=qd.create_stream())


def atomic(name):
    def provoke(c):
        op = getattr(qd, f"atomic_{name}")

        @qd.kernel
        def fails():
            for i in c.x:
                op(c.y[0], c.x[i])

        fails.grad()

    provoke.__name__ = f"atomic_{name}"
    return provoke


def race(c):
    @qd.kernel
    def fails():
        for i in range(1, 4):
            c.x[i] = c.x[i - 1] * 2

    fails.grad()


def gradient_array_read(c):
    a = qd.ndarray(qd.f64, 4, needs_grad=True)

    @qd.kernel
    def fails(a: qd.types.ndarray()):
        for i in a:
            c.y[i] = a.grad[i]

    fails.grad(a)


def gradient_array_written(c):
    a = qd.ndarray(qd.f64, 4, needs_grad=True)

    @qd.kernel
    def fails(a: qd.types.ndarray()):
        for i in a:
            a.grad[i] = c.x[i]

    fails.grad(a)


def bound_of_a_real(c):
    @qd.kernel
    def fails():
        for i in c.x:
            v = c.x[i]
            for _ in range(qd.cast(qd.sqrt(abs(v)), qd.i32)):
                v = qd.sin(v)
            c.y[i] = v

    fails.grad()


MIXED = "Mixed usage of for-loops and statements without looping"
NOT_IN_AUTODIFF = "is not supported in AutoDiff"
STREAM = "qd_stream is not compatible with"
COMPILER = (  # found while a kernel is compiled: these name kernel, file and line
    ("E-02", gradient_without_a_place, qd.QuadrantsCompilationError, "has not been placed, check whether"),
    ("E-09", random_numbers, RuntimeError, "RandStmt not supported"),
    ("E-09", random_numbers_forward, RuntimeError, "RandStmt not supported"),
    ("E-10", mixed_top_level, RuntimeError, MIXED),
    ("E-12", while_loop, RuntimeError, f"`while` {NOT_IN_AUTODIFF}"),
    ("E-12", while_loop_forward, RuntimeError, f"`while` {NOT_IN_AUTODIFF}"),
    ("E-12", break_of_an_inner_loop, RuntimeError, f"`break` {NOT_IN_AUTODIFF}"),
    ("E-12", continue_in_a_func, RuntimeError, f"`continue` {NOT_IN_AUTODIFF}"),
    ("E-12", clock, RuntimeError, f"clock_counter {NOT_IN_AUTODIFF}"),
    *(("E-15", atomic(name), RuntimeError, f"atomic_{name} on 'y'") for name in ("min", "max", "mul")),
    ("E-16", race, RuntimeError, "Cross-iteration read-after-write of 'x'.*serialize=True"),
    ("E-17", gradient_array_read, RuntimeError, "Cannot automatically differentiate through a grad tensor"),
    ("E-17", gradient_array_written, RuntimeError, "Cannot automatically differentiate through a grad tensor"),
    ("E-18", bound_of_a_real, RuntimeError, r"adstack bound at .*\.py:\d+ is unresolved"),
)
OTHERS = (
    ("E-01", gradient_of_integers, qd.QuadrantsRuntimeError, "is not supported for field with .*needs_grad"),
    ("E-01", gradient_of_an_integer_array, qd.QuadrantsRuntimeError, "is not supported for ndarray with .*needs_grad"),
    ("E-03", python_access_without_a_place, qd.QuadrantsRuntimeError, "Field has no allocation"),
    ("E-04", loss_with_an_axis, RuntimeError, "must be a 0-D field"),
    ("E-04", loss_without_gradient, RuntimeError, "Gradients of loss are not allocated"),
    ("E-04", loss_of_two_elements, RuntimeError, "ndarray with only one element"),
    ("E-05", tape_entered_twice, AssertionError, "Tape can be entered only once"),
    ("E-06", tape_evaluated_twice, AssertionError, "can be evaluated only once"),
    ("E-07", tape_never_entered, AssertionError, "tape must be entered"),
    ("E-05", tape_in_a_tape, RuntimeError, "cannot be entered inside a Tape"),
    ("E-08", gradient_for_anything, RuntimeError, "Primal function"),
    ("E-13", stream, RuntimeError, STREAM),
    ("E-13", stream_in_a_tape, RuntimeError, STREAM),
)


def named(case) -> str:
    return f"{case[0]} {case[1].__name__}"


def check_a_correct_kernel():
    x, y, loss = field(POINTS), field(np.zeros(4)), field(0.0)

    @qd.kernel
    def works():
        for i in x:
            v = x[i]
            for _ in range(3):
                v = v * v * 0.5 + x[i]
            y[i] = v

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    v, slope = np.array(POINTS), np.ones(4)
    for _ in range(3):
        v, slope = v * v * 0.5 + POINTS, v * slope + 1
    with qd.ad.Tape(loss=loss):
        works()
        total()
    np.testing.assert_allclose(x.grad.to_numpy(), slope, rtol=1e-12)
    np.testing.assert_allclose(reverse(works, [x], [y])[0], slope, rtol=1e-12)
    np.testing.assert_allclose(forward(works, [x], [y])[0], slope, rtol=1e-12)


@pytest.mark.parametrize("case", COMPILER, ids=named)
def test_errors_of_the_compiler_name_kernel_file_and_line(init, case):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)
    _, provoke, kind, text = case
    with pytest.raises(kind, match=text) as caught:
        provoke(Case())
    assert "fails" in str(caught.value)
    assert re.search(r'test_errors\.py"?(, line |:)\d+', str(caught.value)), str(caught.value)
    check_a_correct_kernel()


@pytest.mark.parametrize("case", OTHERS, ids=named)
def test_errors_of_calls(init, case):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)
    _, provoke, kind, text = case
    with pytest.raises(kind, match=text):
        provoke(Case())
    check_a_correct_kernel()


@pytest.mark.parametrize("shape", ["range", "triangle", "serial outer loop", "func"])
def test_dynamic_loops_without_the_option(init, shape):
    """E-11, whatever the loop looks like; the same kernel works with the option."""
    for allowed in (False, True):
        init(default_fp=qd.f64, ad_stack_experimental_enabled=allowed)
        x, y = field(POINTS), field(np.zeros(4))

        @qd.func
        def recur(v):
            for _ in range(2):
                v = qd.sin(v)
            return v

        @qd.kernel
        def fails():
            if qd.static(shape == "range"):
                for i in x:
                    for _ in range(2):
                        y[i] += x[i] * x[i]
            elif qd.static(shape == "triangle"):
                for i in x:
                    for j in range(i + 1):
                        y[i] += x[j] * x[i]
            elif qd.static(shape == "serial outer loop"):
                for _ in range(1):
                    for i in range(4):
                        y[i] += x[i] * x[i]
            else:
                for i in x:
                    y[i] = recur(x[i])

        if allowed:
            fails.grad()
        else:
            with pytest.raises(qd.QuadrantsCompilationError, match="non static range") as caught:
                fails.grad()
            assert "fails" in str(caught.value) and re.search(r'test_errors\.py", line \d+', str(caught.value))


@pytest.mark.parametrize("statement", ["break", "continue", "while"])
def test_what_no_stack_helps_is_told_first(init, statement):
    init(default_fp=qd.f64)
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def leaves():
        for i in x:
            for j in range(4):
                if x[i] > j:
                    if qd.static(statement == "break"):
                        break
                    elif qd.static(statement == "continue"):
                        continue
                    else:
                        while y[i] < 0:
                            y[i] += x[i]
                y[i] += x[i]

    with pytest.raises(RuntimeError, match=f"`{statement}` is not supported in AutoDiff. .*"):
        leaves.grad()


@pytest.mark.runtime(exclude=("cpu", "opencl"))
def test_blocks_and_subgroups(init):
    """E-12 of what only devices have."""
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)
    x, y = field(np.ones(64)), field(np.zeros(64))

    @qd.kernel
    def shares():
        qd.loop_config(block_dim=64)
        for i in range(64):
            pad = qd.simt.block.SharedArray((64,), qd.f64)
            pad[i] = x[i]
            qd.simt.block.sync()
            y[i] = pad[63 - i]

    @qd.kernel
    def shuffles():
        qd.loop_config(block_dim=64)
        for i in range(64):
            y[i] = qd.simt.subgroup.shuffle(x[i], qd.u32(0))

    for kernel in (shares, shuffles):
        with pytest.raises(RuntimeError, match=NOT_IN_AUTODIFF) as caught:
            kernel.grad()
        assert kernel.fn.__name__ in str(caught.value) and "test_errors.py" in str(caught.value)
        check_a_correct_kernel()


def test_members_of_structs_have_the_names_that_users_wrote(init):
    init(ad_stack_experimental_enabled=True)
    cells = qd.types.struct(a=qd.f32, inner=qd.types.struct(b=qd.types.vector(2, qd.i32))).field(shape=1)
    x, y = (qd.field(qd.f32, shape=shape, needs_grad=True) for shape in (1, ()))

    @qd.kernel
    def fails():
        for i in x:
            v = x[i]
            for _ in range(cells[i].inner.b[1]):
                v = qd.sin(v) * v
            y[None] += v

    with pytest.raises(RuntimeError, match=r"because it is a part of 'inner\.b'\."):
        fails.grad()
