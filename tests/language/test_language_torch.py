"""language.md 3.3, 3.4, 3.5: torch tensors as arguments."""

import pytest
from language_kit import alive, raises, specialisations

import quadrants as qd
from quadrants.lang.exception import QuadrantsRuntimeTypeError

torch = pytest.importorskip("torch", reason="needs the package torch")


@qd.kernel
def double(a: qd.types.ndarray()):
    for I in qd.grouped(a):
        a[I] *= 2


def test_in_place(arch):
    a = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    double(a)
    assert a.tolist() == [[0, 2, 4], [6, 8, 10]]
    with raises(ValueError, "Non contiguous tensors"):
        double(a.t())
    double(torch.zeros((0, 3)))
    for name in "int8 int16 int32 int64 uint8 float16 float64".split():
        b = torch.arange(3).to(getattr(torch, name))
        double(b)
        assert b.tolist() == [0, 2, 4], name


def test_against_the_annotation(arch):
    @qd.kernel
    def grid(a: qd.types.ndarray(dtype=qd.f32, ndim=2)) -> qd.f32:
        return a[0, 1]

    @qd.kernel
    def vectors(a: qd.types.ndarray(dtype=qd.math.vec3, ndim=1)) -> qd.f32:
        return a[1][2]

    assert grid(torch.ones(2, 2)) == 1
    assert vectors(torch.arange(6, dtype=torch.float32).reshape(2, 3)) == 5
    with raises(ValueError, "required array has dtype=f32, array with dtype=f64 is provided"):
        grid(torch.ones(2, 2, dtype=torch.float64))
    with raises(ValueError, "required array has ndim="):
        grid(torch.ones(2))
    with raises(QuadrantsRuntimeTypeError):
        double(torch.zeros(2, dtype=torch.complex64))
    alive()


def test_gradients(arch):
    @qd.kernel
    def fill(a: qd.types.ndarray(needs_grad=True)):
        for i in a:
            a[i] = i

    a = torch.zeros(3, requires_grad=True)
    fill(a)
    assert a.tolist() == [0, 1, 2] and a.grad.tolist() == [0, 0, 0]
    fill(torch.zeros(3))  # foreign arrays without a gradient pass


def test_scalars_and_tensor_parameters(arch):
    @qd.kernel
    def scalar(x: qd.f32) -> qd.f32:
        return x

    @qd.kernel
    def vector(v: qd.types.vector(2, qd.f32)) -> qd.f32:
        return v[1]

    @qd.kernel
    def any_array(t: qd.Tensor) -> qd.f32:
        return t[1]

    with raises(QuadrantsRuntimeTypeError, "cannot be converted into required type"):
        scalar(torch.tensor(1.0))
    with raises(QuadrantsRuntimeTypeError):
        vector(torch.ones(2))
    assert any_array(torch.tensor([1.0, 2.0])) == 2
    assert any_array(torch.tensor([3.0, 4.0, 5.0])) == 4
    assert specialisations(any_array) == 1
