"""Kernels as functions of torch.autograd, torch tensors as arguments of kernels and as losses."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

torch = pytest.importorskip("torch", reason="the bridge to torch needs torch")


def function_of(kernel, like):
    """The torch function of `kernel(x, out)` that fills `out`, which has shape and dtype of `like(x)`."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            x = x.detach().clone().requires_grad_()
            out = like(x).requires_grad_()
            kernel(x, out)
            context.save_for_backward(x, out)
            return out.detach()

        @staticmethod
        def backward(context, upstream):
            x, out = context.saved_tensors
            x.grad = None
            out.grad = upstream.contiguous().clone()
            kernel.grad(x, out)
            return x.grad

    return Function


def zeros_like(x):
    return torch.zeros_like(x.detach())


@pytest.fixture
def squares(arch):
    @qd.kernel
    def k(x: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in x:
            out[i] += x[i] * x[i]

    return k


def test_a_kernel_is_a_torch_function(squares):
    F = function_of(squares, zeros_like)
    p = torch.full((3,), 2.0, requires_grad=True)
    F.apply(p).sum().backward()
    assert p.grad.tolist() == [4, 4, 4]
    # Between other operations, twice, with a weight on each element.
    p.grad = None
    weights = torch.tensor([1.0, 10.0, 100.0])
    (F.apply(F.apply(torch.sin(p))) * weights).sum().backward()
    expected = 4 * np.sin(2.0) ** 3 * np.cos(2.0) * np.array([1, 10, 100])
    np.testing.assert_allclose(p.grad.numpy(), expected, rtol=1e-5)


def test_torch_checks_the_gradient(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)

    @qd.kernel
    def k(x: qd.types.ndarray(ndim=2), out: qd.types.ndarray(ndim=1)):
        for i in range(x.shape[0]):
            v = 0.3
            for j in range(4):
                v = qd.sin(v + x[i, j]) * x[i, j]
            out[i] += v

    F = function_of(k, lambda x: torch.zeros(x.shape[0], dtype=x.dtype))
    x = torch.rand(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    assert torch.autograd.gradcheck(F.apply, (x,))


def test_missing_gradients_are_made_at_launch(squares):
    x = torch.ones(3, requires_grad=True)
    out = torch.zeros(3, requires_grad=True)
    assert x.grad is None
    squares(x, out)
    assert x.grad.tolist() == [0, 0, 0] and out.detach().tolist() == [1, 1, 1]
    out.grad = torch.ones(3)
    squares.grad(x, out)
    squares.grad(x, out)
    assert x.grad.tolist() == [4, 4, 4] and out.grad.tolist() == [1, 1, 1]


def test_tensors_that_require_no_gradient_are_constants(arch):
    @qd.kernel
    def k(x: qd.types.ndarray(), w: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in x:
            out[i] += x[i] * w[i]

    x, w = torch.ones(2, requires_grad=True), torch.full((2,), 5.0)
    out = torch.zeros(2, requires_grad=True)
    k(x, w, out)
    out.grad = torch.ones(2)
    k.grad(x, w, out)
    assert x.grad.tolist() == [5, 5] and w.grad is None
    numbers = np.full(2, 7, np.float32)
    x.grad.zero_()
    k.grad(x, numbers, out)
    assert x.grad.tolist() == [7, 7] and numbers.tolist() == [7, 7]


def test_needs_grad_of_the_annotation(arch):
    @qd.kernel
    def constant(x: qd.types.ndarray(needs_grad=False), out: qd.types.ndarray()):
        for i in x:
            out[i] += x[i]

    @qd.kernel
    def demanding(x: qd.types.ndarray(needs_grad=True), out: qd.types.ndarray()):
        for i in x:
            out[i] += x[i]

    x, out = (torch.ones(2, requires_grad=True) for _ in range(2))
    out.grad = torch.ones(2)
    constant.grad(x, out)
    assert x.grad is None or x.grad.tolist() == [0, 0]
    demanding.grad(x, out)
    assert x.grad.tolist() == [1, 1]

    x, out = (qd.ndarray(qd.f32, (2,), needs_grad=True) for _ in range(2))
    out.grad.fill(1)
    constant.grad(x, out)
    assert x.grad.to_numpy().tolist() == [0, 0]
    demanding.grad(x, out)
    assert x.grad.to_numpy().tolist() == [1, 1]
    with pytest.raises(ValueError, match="required needs_grad=True"):
        demanding(qd.ndarray(qd.f32, (2,)), out)


@pytest.mark.parametrize("make", [torch.ones, lambda n: np.ones(n, np.float32)], ids=["tensor", "numpy"])
def test_an_array_without_gradient_where_one_is_required(arch, make):
    """Kernels take it, as inference does; their derivatives would leave it out without a word."""

    @qd.kernel
    def demanding(x: qd.types.ndarray(needs_grad=True), out: qd.types.ndarray()):
        for i in x:
            out[i] += x[i] * x[i]

    x, out = make(2), torch.zeros(2, requires_grad=True)
    demanding(x, out)
    assert out.tolist() == [1, 1]
    out.grad = torch.ones(2)
    with pytest.raises(ValueError, match="x - required needs_grad=True, but a (Tensor|ndarray) w"):
        demanding.grad(x, out)
    x = torch.ones(2, requires_grad=True)
    demanding.grad(x, out)
    assert x.grad.tolist() == [2, 2]


def test_non_contiguous_tensors_are_refused(squares):
    out = torch.zeros(3, requires_grad=True)
    with pytest.raises(ValueError, match="contiguous"):
        squares(torch.ones(3, 2, requires_grad=True)[:, 0], out)
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.zeros(3, 2)[:, 0]
    with pytest.raises(ValueError, match="contiguous"):
        squares(x, out)
    x.grad = None
    squares(x, out)
    assert out.detach().tolist() == [1, 1, 1]


def test_vectors_are_the_last_axis(arch):
    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.types.vector(2, qd.f32), ndim=1), out: qd.types.ndarray()):
        for i in x:
            out[i] += x[i].dot(x[i])

    x = torch.arange(6, dtype=torch.float32).reshape(3, 2).requires_grad_()
    out = torch.zeros(3, requires_grad=True)
    k(x, out)
    out.grad = torch.tensor([1.0, 10.0, 100.0])
    k.grad(x, out)
    assert out.detach().tolist() == [1, 13, 41] and x.grad.tolist() == [[0, 2], [40, 60], [800, 1000]]


def test_a_loss_that_is_a_torch_tensor(arch):
    @qd.kernel
    def k(x: qd.types.ndarray(), loss: qd.types.ndarray()):
        for i in x:
            loss[0] += x[i] * x[i]

    x, loss = torch.full((3,), 2.0, requires_grad=True), torch.full((1,), 77.0, requires_grad=True)
    for expected in (4, 8):  # gradients of tensors are not cleared by the next tape
        with qd.ad.Tape(loss=loss):
            k(x, loss)
        assert loss.item() == 12 and loss.grad.tolist() == [1] and x.grad.tolist() == [expected] * 3


def test_bad_torch_losses(arch):
    for loss, text in (
        (torch.zeros(2, requires_grad=True), "tensor only contains one element"),
        (torch.zeros(1), "Gradients of loss are not allocated"),
    ):
        with pytest.raises(RuntimeError, match=text), qd.ad.Tape(loss=loss):
            pytest.fail("entered")


def test_a_gradient_check_restores_torch_tensors(arch):
    @qd.kernel
    def k(state: qd.types.ndarray()):
        for i in state:
            state[i] += 1
            loss[None] += x[None] * x[None]

    x = qd.field(qd.f64, (), needs_grad=True)
    loss = qd.field(qd.f64, (), needs_grad=True)
    x[None] = 2
    state = torch.zeros(2, dtype=torch.float64)
    with qd.ad.Tape(loss=loss, grad_check=[x]):
        k(state)
        k(state)
    assert state.tolist() == [2, 2] and loss[None] == 16 and x.grad[None] == 16
