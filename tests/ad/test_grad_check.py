"""Tape(grad_check=[..]): gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd


def place(shape, dtype=qd.f64, **options):
    return qd.field(dtype, shape, needs_grad=True, **options)


def test_right_gradients_pass(arch, capfd):
    x, y, loss = place((3,)), place((2,), name="y"), place(())
    x.from_numpy(np.array([0.3, -1.2, 2.0]))
    y.fill(0.7)

    @qd.kernel
    def k(m: qd.f64):
        for i in range(3):
            loss[None] += m * qd.sin(x[i]) * y[i % 2]

    with qd.ad.Tape(loss=loss, grad_check=[x, y]):
        k(2.0)
        k(1.0)
    assert [line for line in capfd.readouterr().out.splitlines() if "variable" in line] == [
        "variable 0 passes grad check", "variable 1 (y) passes grad check"
    ]  # fmt: skip
    np.testing.assert_allclose(x.grad.to_numpy(), 3 * 0.7 * np.cos(x.to_numpy()), rtol=1e-12)
    assert loss[None] == pytest.approx(3 * 0.7 * np.sin(x.to_numpy()).sum()) and loss.grad[None] == 1


def test_wrong_gradients_fail(arch):
    x, good, loss = place((), name="x"), place(()), place(())
    x[None], good[None] = 2, 1

    @qd.kernel
    def k():
        loss[None] += x[None] * x[None] + good[None]

    @qd.ad.grad_replaced
    def wrong():
        k()

    @qd.ad.grad_for(wrong)
    def gradient():
        k.grad()
        x.grad[None] += 1

    with (
        pytest.raises(AssertionError, match="Grad check failed.* for x\\."),
        qd.ad.Tape(loss=loss, grad_check=[good, x]),
    ):
        wrong()
    assert x[None] == 2 and loss[None] == 5 and x.grad[None] == 5
    with qd.ad.Tape(loss=loss, grad_check=[x]):
        k()


def test_everything_is_as_after_the_pass(arch):
    """Fields and arrays that the kernels change start each evaluation as the first one, and end as it ended."""
    x, state, loss = place(()), place(()), place(())
    array = qd.ndarray(qd.f64, (1,), needs_grad=True)
    foreign = np.array([10.0])
    x[None], state[None] = 0.5, 3
    array.fill(2)

    @qd.kernel
    def move(a: qd.types.ndarray(), b: qd.types.ndarray()):
        state[None] += x[None] * a[0]
        b[0] += 1

    @qd.kernel
    def measure(b: qd.types.ndarray()):
        loss[None] += state[None] ** 2 * b[0]

    with qd.ad.Tape(loss=loss, grad_check=[x]):
        move(array, foreign)
        measure(foreign)
    assert (x[None], state[None], loss[None]) == (0.5, 4, 176)
    assert foreign.tolist() == [11] and array.to_numpy().tolist() == [2]
    assert x.grad[None] == 2 * 4 * 11 * 2


def test_gradients_from_before_do_not_count(arch):
    x, loss = place(()), place(())
    x[None] = 3

    @qd.kernel
    def k():
        loss[None] += x[None] ** 2

    x.grad[None] = 100
    with qd.ad.Tape(loss=loss, grad_check=[x], clear_gradients=False):
        k()
    assert x.grad[None] == 106


def test_vector_and_tensor_parameters(arch):
    v, loss = qd.Vector.field(2, qd.f64, (2,), needs_grad=True), place(())
    t = qd.tensor(qd.f64, (2,), backend=qd.Backend.FIELD, needs_grad=True)
    v.fill(0.5)
    t.fill(0.25)

    @qd.kernel
    def k(t: qd.Tensor):
        for i in range(2):
            loss[None] += v[i].dot(v[i]) * t[i]

    with qd.ad.Tape(loss=loss, grad_check=[v, t]):
        k(t)
    assert v.grad.to_numpy().tolist() == [[0.25, 0.25]] * 2 and t.grad.to_numpy().tolist() == [0.5, 0.5]


def test_a_zero_gradient_must_be_zero(arch):
    x, loss = place(()), place(())
    x[None] = 3

    @qd.kernel
    def k():
        loss[None] += 0 * x[None]

    with qd.ad.Tape(loss=loss, grad_check=[x]):
        k()
    assert x.grad[None] == 0


def test_what_is_refused(arch):
    x, loss, single = place(()), place(()), place((), qd.f32)
    for bad in (x, (x,), "x"):
        with pytest.raises(AssertionError, match="grad_check should be a list"):
            qd.ad.Tape(loss=loss, grad_check=bad)
    with pytest.raises(AssertionError, match="Only f64 is supported when checking grad."):
        with qd.ad.Tape(loss=single, grad_check=[x]):
            pytest.fail("entered")
    for bad in (qd.field(qd.f64, ()), qd.field(qd.i32, ()), qd.ndarray(qd.f64, (1,), needs_grad=True), 3):
        with pytest.raises(AssertionError, match="grad_check needs fields of numbers"):
            with qd.ad.Tape(loss=loss, grad_check=[bad]):
                pytest.fail("entered")


@pytest.mark.parametrize("factor", [0.0, 2.0, -1.0])
def test_one_wrong_element_of_many_is_found(arch, factor):
    n = 100
    x = qd.field(qd.f64, shape=n, needs_grad=True)
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def squares():
        for i in x:
            loss[None] += x[i] * x[i]

    @qd.ad.grad_replaced
    def forward():
        squares()

    @qd.ad.grad_for(forward)
    def backward():
        squares.grad()
        x.grad[37] *= factor

    x.fill(1.0)
    with pytest.raises(AssertionError, match="Grad check failed"), qd.ad.Tape(loss=loss, grad_check=[x]):
        forward()
