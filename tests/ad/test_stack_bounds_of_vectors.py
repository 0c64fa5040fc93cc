"""Bounds of loops that are components of vectors: the stacks are as deep as those of the numbers themselves."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.runtime(ad_stack_experimental_enabled=True)


def grouped(x, loss):
    @qd.kernel
    def k():
        for I in qd.grouped(x):
            v = x[I]
            for _ in range(I[0]):
                v = v * v
            loss[None] += v

    return k


def unpacked(x, loss):
    @qd.kernel
    def k():
        for I in qd.grouped(x):
            i, j = I
            v = x[I]
            for _ in range(i):
                v = v * v
            loss[None] += v

    return k


def made(x, loss):
    @qd.kernel
    def k():
        for i, j in x:
            p = qd.Vector([j, i])
            v = x[i, j]
            for _ in range(p[1]):
                v = v * v
            loss[None] += v

    return k


def moved(x, loss):
    @qd.kernel
    def k():
        for I in qd.grouped(x):
            J = I + qd.Vector([1, 2])
            v = x[I]
            for _ in range(J[0] - 1):
                v = v * v
            loss[None] += v

    return k


def swizzled(x, loss):
    @qd.kernel
    def k():
        for I in qd.grouped(x):
            J = I.yx
            v = x[I]
            for _ in range(J[1]):
                v = v * v
            loss[None] += v

    return k


@pytest.mark.parametrize("kernel", [grouped, unpacked, made, moved, swizzled])
def test_lengths_that_are_components(arch, kernel):
    x = qd.field(qd.f32, (4, 3), needs_grad=True)
    loss = qd.field(qd.f32, (), needs_grad=True)
    start = np.linspace(0.7, 1.1, 12, dtype=np.float32).reshape(4, 3)
    x.from_numpy(start)
    with qd.ad.Tape(loss):
        kernel(x, loss)()
    powers = 2.0 ** np.arange(4)[:, None]
    assert np.allclose(x.grad.to_numpy(), powers * start ** (powers - 1), rtol=1e-5)


def test_vectors_whose_components_change_have_no_length(arch):
    x = qd.field(qd.f32, (4, 3), needs_grad=True)
    loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def k():
        for I in qd.grouped(x):
            J = I
            J[0] = J[0] + 3
            v = x[I]
            for _ in range(J[0]):
                v = v * v
            loss[None] += v

    with pytest.raises(RuntimeError, match="component of 'J'"), qd.ad.Tape(loss):
        k()
