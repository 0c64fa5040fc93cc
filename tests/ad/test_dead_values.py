"""What is given to a variable and never read takes no part in gradients, however steep it is."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

N = 3


def gradient(init, body, count=2, **options):
    """What the loss is and how x takes part in it, for x = 2 everywhere."""
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, **options)
    x = qd.field(qd.f64, N, needs_grad=True)
    loss = qd.field(qd.f64, (), needs_grad=True)
    kernel = body(x, loss)
    x.fill(2.0)
    with qd.ad.Tape(loss=loss):
        kernel(count)
    return loss[None], x.grad.to_numpy()


def in_a_branch(x, loss):
    @qd.kernel
    def run(n: qd.i32):
        for i in x:
            w = x[i]
            v = w * w
            if n > 0:
                w = qd.sqrt(w - x[i])
            loss[None] += v

    return run


def in_both_branches(x, loss):
    @qd.kernel
    def run(n: qd.i32):
        for i in x:
            w = x[i]
            v = w * w
            if n > 5:
                w = 1.0 / (w - x[i])
            else:
                if i >= 0:
                    w = qd.log(w - x[i])
            loss[None] += v

    return run


def in_a_loop(x, loss):
    @qd.kernel
    def run(n: qd.i32):
        for i in x:
            w = x[i]
            v = w * w
            for _ in range(n):
                w = qd.sqrt(w - x[i])
            loss[None] += v

    return run


def in_two_that_feed_one_another(x, loss):
    @qd.kernel
    def run(n: qd.i32):
        for i in x:
            w = x[i]
            v = w * w
            u = w
            for _ in range(n):
                for _ in range(2):
                    w = qd.sqrt(u - x[i]) + w
                    u = w / (u - x[i])
            loss[None] += v

    return run


def in_a_static_loop(x, loss):
    @qd.kernel
    def run(n: qd.i32):
        for i in x:
            w = x[i]
            v = w * w
            for _ in qd.static(range(3)):
                for _ in range(n):
                    w = qd.sqrt(w - x[i])
            loss[None] += v

    return run


def in_a_component(x, loss):
    @qd.kernel
    def run(n: qd.i32):
        for i in x:
            w = qd.Vector([x[i], 1.0])
            v = w[0] * w[0]
            if n > 0:
                w[0] = qd.sqrt(w[0] - x[i])
                w[n - 1] = qd.log(w[0])
            loss[None] += v

    return run


def at_the_beginning(x, loss):
    @qd.kernel
    def run(n: qd.i32):
        for i in x:
            w = qd.sqrt(x[i] - x[i])
            if n > 0:
                w = x[i]
            else:
                w = 2.0
            loss[None] += w * w

    return run


@pytest.mark.parametrize(
    "body",
    [
        in_a_branch, in_both_branches, in_a_loop, in_two_that_feed_one_another, in_a_static_loop, in_a_component,
        at_the_beginning,
    ],
)  # fmt: skip
@pytest.mark.parametrize("fast_math", [True, False])
def test_steep_ones_are_no_part_of_gradients(init, body, fast_math):
    loss, grad = gradient(init, body, fast_math=fast_math)
    assert loss == 4.0 * N
    np.testing.assert_array_equal(grad, [4.0] * N)


def test_what_overflows_beside_the_loss(init):
    def body(x, loss):
        @qd.kernel
        def run(n: qd.i32):
            for i in x:
                w = x[i]
                u = 3.0
                v = qd.sin(w)
                for _ in qd.static(range(3)):
                    for _ in range(2 * n):
                        w -= qd.sin(v + u)
                        u += u * u * v * 0.25
                loss[None] += v

        return run

    loss, grad = gradient(init, body, 10, fast_math=False)
    np.testing.assert_allclose(loss, N * np.sin(2.0), rtol=1e-12)
    np.testing.assert_allclose(grad, [np.cos(2.0)] * N, rtol=1e-12)


def test_values_that_are_read_by_another_way_stay(init):
    def body(x, loss):
        @qd.kernel
        def run(n: qd.i32):
            for i in x:
                w = x[i]
                u = 0.0
                vec = qd.Vector([w, w])
                for k in range(n):
                    u += w  # that of the iteration before
                    if k == 0:
                        w = w * w
                        vec[1] = 3.0 * w
                    else:
                        w = 0.5 * w
                loss[None] += u + vec[n - 1]

        return run

    loss, grad = gradient(init, body)  # 2 + 4 + 3 * 4
    assert loss == 18.0 * N
    np.testing.assert_array_equal(grad, [1.0 + 4.0 + 12.0] * N)


def test_locals_that_are_exchanged_keep_what_they_were_given(init):
    def body(x, loss):
        @qd.kernel
        def run(n: qd.i32):
            for i in x:
                k = 0
                qd.atomic_cas(k, 0, 3)  # k = 3
                was = qd.atomic_cas(k, n + 5, 9)  # stays 3
                v = x[i] * x[i]
                old = qd.atomic_exchange(v, 5.0 * x[i])
                loss[None] += k * x[i] + was * old + v

        return run

    loss, grad = gradient(init, body)  # 3 * 2 + 3 * 4 + 5 * 2
    assert loss == 28.0 * N
    np.testing.assert_array_equal(grad, [3.0 + 3.0 * 4.0 + 5.0] * N)
