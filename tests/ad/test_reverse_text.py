"""What derivative code looks like: short, branch-free pushes, nothing that no gradient needs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from oracle import field, kernel_differences, reverse

import quadrants as qd

pytestmark = pytest.mark.cpu_only


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def body(kernel, *args) -> list:
    """The statements of the first task, without comments."""
    text = kernel.grad.source(*args)
    start = re.search(rf"\n(static )?void {kernel.fn.__name__}_reverse_grad_0\w*\([^;]*?\n{{", text).start() + 1
    lines = text[start : text.index("\n}\n", start)].splitlines()
    return [line.split("  //")[0].strip() for line in lines]


def test_products_and_sums():
    x, y = field(np.ones(4), name="x"), field(np.ones(()), name="y")

    @qd.kernel
    def f(m: qd.f64):
        for i in x:
            y[None] += m * x[i] * x[i]

    assert body(f, 2.0)[-5:] == [
        "const double t = m * x[i];",
        "const double x_value = x[i];",
        "const double g = y_grad[0];",
        "x_grad[i] += g * x_value * m + g * t;",
        "}",
    ]


def test_a_linear_kernel_computes_no_primal():
    x, y = field(np.ones(4), name="x"), field(np.ones(4), name="y")

    @qd.kernel
    def f(n: qd.i32):
        for i in x:
            s = 0.0
            for j in range(n):
                s += 3.0 * x[i]
            y[i] = s

    text = "\n".join(body(f, 2))
    assert "x[i]" not in text.replace("x_grad[i]", "") and "stack" not in text


def test_a_push_is_one_store_and_nothing_is_counted():
    x, y = field(np.ones(4), name="x"), field(np.ones(4), name="y")

    @qd.kernel
    def f(n: qd.i32):
        for i in x:
            v = x[i]
            for j in range(n):
                v = qd.sin(v)
            y[i] = v

    lines = body(f, 2)
    assert "v_stack[j] = v_1;" in lines
    assert "const double v_2 = v_stack[j];" in lines
    assert sum("v_stack" in line for line in lines) == 3  # and its declaration
    assert "for (int32_t j = n; j-- > 0;) {" in lines


def test_the_length_of_the_text_grows_by_two_lines_a_stack():
    x, y = field(np.ones(4)), field(np.ones(4))

    def lines_with(count):
        @qd.kernel
        def f(n: qd.i32):
            for i in x:
                v = qd.Vector.zero(qd.f64, count)
                w = [x[i] * 1.0 for _ in qd.static(range(count))]
                for j in range(n):
                    for c in qd.static(range(count)):
                        w[c] = qd.sin(w[c])
                for c in qd.static(range(count)):
                    v[c] = w[c]
                y[i] = v.sum()

        text = f.grad.source(2)
        return len(text.splitlines()), len(re.findall(r"_stack(_\d+)?\[j\] = ", text))

    few, many = lines_with(2), lines_with(12)
    assert (few[1], many[1]) == (2, 12)
    assert (many[0] - few[0]) / 10 <= 16  # all lines of the recurrence; the push and the pop are two of them


def test_constant_loops_are_not_checked():
    x, y = field(np.ones(4)), field(np.ones(4))

    @qd.kernel
    def f():
        for i in x:
            v = x[i]
            for _ in range(8):
                v = qd.sin(v)
            y[i] = v

    assert not any("qd_fail" in line or "setjmp" in line for line in body(f))


def test_components_of_what_is_assigned_once_are_read_where_they_are():
    x = qd.Vector.field(2, qd.f64, shape=4, needs_grad=True)
    y = field(np.zeros(4), name="y")

    @qd.kernel
    def f():
        for i in range(4):
            v = qd.sin(x[i])
            at = qd.Vector([i, 0]) + 0
            y[at[0]] += v[0] * v[1]

    lines = body(f)
    assert not any(line.startswith(("const double v_", "const int32_t at_")) for line in lines)
    assert "const double g = y_grad[at.v[0]];" in lines


def test_a_component_that_changes_is_copied_in_time():
    x = qd.Vector.field(2, qd.f64, shape=4, needs_grad=True)
    y = field(np.zeros(4), name="y")
    x.from_numpy(np.linspace(0.1, 0.8, 8).reshape(4, 2))

    @qd.kernel
    def f():
        for i in range(4):
            v = x[i]
            a = v[0] * v[1]
            v[0] = a * v[1]
            v[1] += v[0] * a
            y[i] = v[0] * v[1]

    for got, want in zip(reverse(f, [x], [y]), kernel_differences(f, [x], [y])):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_loops_of_a_task_that_are_equally_long_share_a_depth():
    x, y = field(np.ones(4), name="x"), field(np.zeros(4), name="y")
    n = qd.field(qd.i32, ())

    @qd.kernel
    def f(m: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = qd.sin(v)
            for _ in range(n[None]):
                v = qd.cos(v)
            for _ in range(m):
                v = qd.sin(v)
            y[i] = v

    text = f.grad.source(3)
    assert set(re.findall(r"\bqd_depth\d*\b", text)) == {"qd_depth", "qd_depth1"}
