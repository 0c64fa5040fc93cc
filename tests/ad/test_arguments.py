"""Derivatives of kernels over every kind of argument: arrays of all elements and layouts, dataclasses, templates."""

from __future__ import annotations

import dataclasses
import typing

import numpy as np
import pytest

import quadrants as qd


@pytest.mark.parametrize("layout", [None, (1, 0)])
@pytest.mark.parametrize("backend", ["FIELD", "NDARRAY"])
def test_tensors_with_layouts(arch, backend, layout):
    x, y = (qd.tensor(qd.f32, (2, 3), backend=qd.Backend[backend], layout=layout, needs_grad=True) for _ in range(2))
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    x.from_numpy(values)

    @qd.kernel
    def k(x: qd.Tensor, y: qd.Tensor):
        for i, j in qd.ndrange(2, 3):
            y[i, j] += x[i, j] * x[i, j]

    k(x, y)
    weights = np.array([[1, 10, 100], [2, 20, 200]], np.float32)
    y.grad.from_numpy(weights)
    k.grad(x, y)
    assert (
        y.to_numpy().tolist() == (values**2).tolist() and x.grad.to_numpy().tolist() == (2 * values * weights).tolist()
    )


def test_arrays_of_vectors_and_matrices(arch):
    v = qd.Vector.ndarray(2, qd.f32, (3,), needs_grad=True)
    m = qd.Matrix.ndarray(2, 2, qd.f32, (3,), needs_grad=True)
    y = qd.ndarray(qd.f32, (), needs_grad=True)
    rng = np.random.default_rng(1)
    a, b = rng.random((3, 2), np.float32), rng.random((3, 2, 2), np.float32)
    v.from_numpy(a), m.from_numpy(b)

    @qd.kernel
    def k(v: qd.types.ndarray(), m: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in v:
            y[None] += v[i].dot(m[i] @ v[i])

    k(v, m, y)
    y.grad.fill(1)
    k.grad(v, m, y)
    np.testing.assert_allclose(m.grad.to_numpy(), a[:, :, None] * a[:, None, :], rtol=1e-5)
    expected = np.einsum("nij,nj->ni", b + b.transpose(0, 2, 1), a)
    np.testing.assert_allclose(v.grad.to_numpy(), expected, rtol=1e-5)


@dataclasses.dataclass
class Bodies:
    position: qd.types.ndarray(dtype=qd.f32, ndim=1)
    mass: qd.types.ndarray(dtype=qd.f32, ndim=1)


@dataclasses.dataclass
class Scene:
    bodies: Bodies
    energy: qd.types.ndarray(dtype=qd.f32, ndim=1)


def test_nested_dataclasses(arch):
    def array(*values, needs_grad=True):
        made = qd.ndarray(qd.f32, (len(values),), needs_grad=needs_grad)
        made.from_numpy(np.array(values, np.float32))
        return made

    scene = Scene(Bodies(array(1, 2, 3), array(10, 20, 30, needs_grad=False)), array(0))

    @qd.func
    def lift(bodies: Bodies, i):
        return bodies.mass[i] * bodies.position[i] ** 2

    @qd.kernel
    def k(scene: Scene, gravity: qd.f32):
        for i in range(3):
            scene.energy[0] += gravity * lift(scene.bodies, i)

    with qd.ad.Tape(loss=scene.energy):
        k(scene, 0.5)
    assert scene.energy[0] == 180 and scene.bodies.position.grad.to_numpy().tolist() == [10, 40, 90]
    # Another scene, in which only the masses have gradients, is another specialisation of the same derivative.
    other = Scene(Bodies(array(1, 2, 3, needs_grad=False), array(10, 20, 30)), array(0))
    with qd.ad.Tape(loss=other.energy):
        k(other, 0.5)
    assert other.bodies.mass.grad.to_numpy().tolist() == [0.5, 2, 4.5]
    assert scene.bodies.position.grad.to_numpy().tolist() == [10, 40, 90]


def test_templates_and_returns(arch):
    x = qd.field(qd.f32, (3,), needs_grad=True)
    y = qd.field(qd.f32, (3,), needs_grad=True)
    x.fill(2)

    @qd.kernel
    def power(source: qd.template(), target: qd.template(), n: qd.template()) -> qd.f32:
        for i in source:
            target[i] += source[i] ** n
        return 7.0

    for n in (2, 3):
        x.grad.fill(0)
        y.grad.fill(1)
        assert power(x, y, n) == 7 and power.grad(x, y, n) == 7
        assert x.grad.to_numpy().tolist() == [n * 2 ** (n - 1)] * 3


def test_funcs_with_loops_at_the_top_are_reversed_in_order(arch):
    a, b, c = (qd.field(qd.f32, (3,), needs_grad=True) for _ in range(3))
    a.fill(3)

    @qd.func
    def first():
        for i in a:
            b[i] = a[i] * a[i]

    @qd.func
    def second(factor):
        for i in b:
            c[i] += factor * b[i] * a[i]

    @qd.kernel
    def both():
        first()
        second(2.0)

    both()
    c.grad.fill(1)
    both.grad()
    assert c.to_numpy().tolist() == [54] * 3 and a.grad.to_numpy().tolist() == [54] * 3
    assert b.grad.to_numpy().tolist() == [0] * 3


def test_numbers_and_numpy_arrays_are_constants(arch):
    x = qd.ndarray(qd.f32, (2,), needs_grad=True)
    y = qd.ndarray(qd.f32, (2,), needs_grad=True)
    x.fill(3)
    weights = np.array([2, 4], np.float32)

    @qd.kernel
    def k(x: qd.types.ndarray(), w: qd.types.ndarray(), y: qd.types.ndarray(), s: qd.f32):
        for i in x:
            y[i] += s * w[i] * x[i]

    y.grad.fill(1)
    k.grad(x, weights, y, 10.0)
    assert x.grad.to_numpy().tolist() == [20, 40] and weights.tolist() == [2, 4]


def test_arrays_without_gradient_are_constants_and_write_nothing(arch):
    x = qd.ndarray(qd.f32, (2,), needs_grad=True)
    y = qd.ndarray(qd.f32, (2,))

    @qd.kernel
    def k(x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[i] += x[i]

    x.fill(3)
    k.grad(x, y)
    assert x.grad.to_numpy().tolist() == [0, 0] and y.to_numpy().tolist() == [0, 0]


class Config(typing.NamedTuple):
    stiffness: float
    squared: bool


def test_configuration_by_template(arch):
    x, loss = qd.field(qd.f32, (2,), needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    x.fill(3)

    @qd.kernel
    def k(config: qd.template()):
        for i in x:
            if qd.static(config.squared):
                loss[None] += config.stiffness * x[i] ** 2
            else:
                loss[None] += config.stiffness * x[i]

    for squared, expected in ((True, 12), (False, 2)):
        with qd.ad.Tape(loss=loss):
            k(Config(2.0, squared))
        assert x.grad.to_numpy().tolist() == [expected] * 2


def test_gradients_of_arrays_by_hand(arch):
    """Kernels use `.grad` of arrays; those that do cannot be differentiated. With fields it is legal, and constant."""
    a = qd.ndarray(qd.f32, (2,), needs_grad=True)
    x, y = (qd.field(qd.f32, (2,), needs_grad=True) for _ in range(2))

    @qd.kernel
    def reads(a: qd.types.ndarray()):
        for i in a:
            a[i] = a.grad[i]

    @qd.kernel
    def writes(a: qd.types.ndarray()):
        for i in a:
            a.grad[i] = 2 * a[i]

    @qd.kernel
    def fields():
        for i in x:
            y[i] += x.grad[i] * x[i]

    a.fill(3)
    writes(a)
    reads(a)
    assert a.to_numpy().tolist() == [6, 6]
    for k in (reads, writes):
        with pytest.raises(RuntimeError, match="Cannot automatically differentiate through a grad tensor"):
            k.grad(a)
    x.fill(5)
    x.grad.fill(10)
    fields()
    assert y.to_numpy().tolist() == [50, 50]
    y.grad.fill(1)
    fields.grad()
    assert x.grad.to_numpy().tolist() == [20, 20]
