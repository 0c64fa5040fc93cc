"""grad_replaced, grad_for, no_grad."""

from __future__ import annotations

import pytest

import quadrants as qd


@pytest.fixture
def model(arch):
    x = qd.field(qd.f32, (), needs_grad=True)
    y = qd.field(qd.f32, (), needs_grad=True)
    x[None] = 1

    @qd.kernel
    def k(m: qd.f32):
        y[None] += m * x[None]

    return x, y, k


def test_the_gradient_of_a_function_replaces_those_of_its_kernels(model):
    x, y, k = model

    @qd.ad.grad_replaced
    def forward(m):
        """Runs k twice."""
        k(m)
        k(m)
        return "value"

    @qd.ad.grad_for(forward)
    def backward(m):
        k.grad(m)

    with qd.ad.Tape(loss=y) as tape:
        assert forward(4) == "value"
    assert y[None] == 8 and x.grad[None] == 4
    assert tape.calls == [(forward, (4,))]
    assert (forward.__name__, forward.__doc__) == ("forward", "Runs k twice.")
    forward.grad(3)
    assert x.grad[None] == 7
    assert backward.__name__ == "backward" and forward(1) == "value"


def test_replaced_functions_in_replaced_functions(model):
    x, y, k = model

    @qd.ad.no_grad
    def inner():
        k(100)

    @qd.ad.grad_replaced
    def outer():
        inner()
        k(1)

    @qd.ad.grad_for(outer)
    def backward():
        k.grad(7)

    with qd.ad.Tape(loss=y) as tape:
        outer()
        k(2)
    assert [func for func, _ in tape.calls] == [outer, k]
    assert x.grad[None] == 9 and y[None] == 103


def test_keywords_reach_the_gradient(model):
    x, y, k = model

    @qd.ad.grad_replaced
    def forward(m, *, times):
        for _ in range(times):
            k(m)

    @qd.ad.grad_for(forward)
    def backward(m, *, times):
        k.grad(m * times)

    with qd.ad.Tape(loss=y):
        forward(2, times=3)
        forward(m=5, times=1)
    assert y[None] == 11 and x.grad[None] == 11


def test_methods(arch):
    @qd.data_oriented
    class Model:
        def __init__(self, factor):
            self.factor = factor
            self.x = qd.field(qd.f32, (), needs_grad=True)
            self.y = qd.field(qd.f32, (), needs_grad=True)

        @qd.kernel
        def k(self, m: qd.f32):
            self.y[None] += m * self.x[None]

        @qd.ad.grad_replaced
        def forward(self, m):
            self.k(m)
            return self

        @qd.ad.grad_for(forward)
        def backward(self, m):
            self.k.grad(m * self.factor)

    one, two = Model(10), Model(100)
    with qd.ad.Tape(loss=one.y):
        assert one.forward(2) is one
    assert one.x.grad[None] == 20 and two.x.grad[None] == 0
    two.y.grad[None] = 1
    two.forward.grad(3)
    assert two.x.grad[None] == 300


def test_no_grad_contributes_nothing(model):
    x, y, k = model

    @qd.ad.no_grad
    def constant(m):
        k(m)
        return m + 1

    with qd.ad.Tape(loss=y) as tape:
        assert constant(5) == 6
        k(2)
    assert len(tape.calls) == 2 and y[None] == 7 and x.grad[None] == 2


def test_a_gradient_that_is_missing_is_named(model):
    _, y, k = model

    @qd.ad.grad_replaced
    def lonely(m):
        k(m)

    with pytest.raises(RuntimeError, match="Primal function .*lonely.* has no gradient"), qd.ad.Tape(loss=y):
        lonely(1)


def test_recording_goes_on_after_a_failure_in_a_replaced_function(model):
    x, y, k = model

    @qd.ad.no_grad
    def fails():
        raise KeyError("inside")

    with qd.ad.Tape(loss=y):
        with pytest.raises(KeyError):
            fails()
        k(3)
    assert x.grad[None] == 3


def test_targets_of_grad_for(model):
    _, _, k = model

    @qd.ad.grad_replaced
    def good():
        pass

    qd.ad.grad_for(good)(lambda: None)
    for target in (good, qd.ad.no_grad(lambda: None)):
        with pytest.raises(RuntimeError, match="Primal function .*has a gradient already"):
            qd.ad.grad_for(target)
    with pytest.raises(RuntimeError, match="Primal function must be a .*python.* function"):
        qd.ad.grad_for(k)
    for target in (lambda: None, 3):
        with pytest.raises(RuntimeError, match="Primal function .*must be decorated by qd.ad.grad_replaced"):
            qd.ad.grad_for(target)


def test_in_forward_mode_the_kernels_inside_count(arch):
    x = qd.field(qd.f32, (), needs_dual=True)
    y = qd.field(qd.f32, (), needs_dual=True)

    @qd.kernel
    def k():
        y[None] += 3 * x[None]

    @qd.ad.no_grad
    def wrapped():
        k()

    with qd.ad.FwdMode(loss=y, param=x):
        wrapped()
    assert y.dual[None] == 3


def test_stop_grad_holds_for_the_rest_of_its_block(arch):
    x = qd.field(qd.f32, (3,), needs_grad=True)
    w = qd.field(qd.f32, (), needs_grad=True)
    y = qd.field(qd.f32, (), needs_grad=True)
    x.fill(2)
    w[None] = 5

    @qd.kernel
    def k():
        for i in x:
            qd.stop_grad(x)
            y[None] += w[None] * x[i]
        for i in x:
            y[None] += w[None] * x[i]

    @qd.kernel
    def nested(flag: qd.i32):
        for i in x:
            if flag > 0:
                qd.stop_grad(x)
                y[None] += x[i]
            y[None] += 10 * x[i]

    with qd.ad.Tape(loss=y):
        k()
    assert x.grad.to_numpy().tolist() == [5] * 3 and w.grad[None] == 12
    with qd.ad.Tape(loss=y):
        nested(1)
    assert x.grad.to_numpy().tolist() == [10] * 3


@pytest.mark.parametrize("launches", [False, True])
def test_a_replaced_function_that_raises_in_a_tape_that_goes_on(arch, launches):
    """Nothing ran in it: no gradient. A kernel did: an error, as nobody knows which part of its gradient is due."""
    x, loss = (qd.field(qd.f32, shape=(), needs_grad=True) for _ in range(2))
    x[None] = 3

    @qd.kernel
    def add():
        loss[None] += x[None] * x[None]

    @qd.ad.grad_replaced
    def step():
        if launches:
            add()
        raise ValueError

    @qd.ad.grad_for(step)
    def step_grad():
        add.grad()

    @qd.ad.no_grad
    def constant():
        add()
        raise ValueError

    def run():
        with qd.ad.Tape(loss=loss):
            for function in (step, constant):
                with pytest.raises(ValueError):
                    function()
            add()

    if launches:
        with pytest.raises(qd.QuadrantsRuntimeError, match="`.*step` raised an error after kernels had run in it"):
            run()
    else:
        run()
        assert (loss[None], x.grad[None]) == (18, 6)


def test_a_gradient_for_a_static_method(arch):
    x, loss = (qd.field(qd.f32, shape=(), needs_grad=True) for _ in range(2))
    x[None] = 3

    @qd.kernel
    def add():
        loss[None] += x[None]

    class Steps:
        @staticmethod
        @qd.ad.grad_replaced
        def step():
            add()

        @staticmethod
        @qd.ad.grad_for(step)
        def gradient():
            x.grad[None] += 7

    with qd.ad.Tape(loss=loss):
        Steps.step()
    assert x.grad[None] == 7
