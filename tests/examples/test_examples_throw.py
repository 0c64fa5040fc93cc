"""throw: gradients against an analytic case and finite differences, and the descent."""

from __future__ import annotations

import numpy as np

from quadrants.examples.throw import Throws

TARGETS = np.array([[6.0, 1.0], [3.0, 3.0], [7.0, -1.0]])


def test_gradient_without_air_is_analytic():
    throws = Throws(TARGETS, steps=20, drag=0.0)
    aim = np.array([[5.0, 4.0], [2.0, 8.0], [7.0, 3.0]])
    throws.aim.from_numpy(aim.astype(np.float32))
    loss = throws.gradient()
    # Symplectic Euler falls by g dt^2 N (N + 1) / 2 in N steps.
    end = aim - np.array([0.0, 0.5 * 9.8 * throws.dt**2 * 20 * 21])
    assert np.isclose(loss, ((end - TARGETS) ** 2).sum(), rtol=1e-4)
    assert np.allclose(throws.aim.grad.to_numpy(), 2 * (end - TARGETS), rtol=1e-4, atol=1e-4)


def test_gradient_with_air_matches_finite_differences():
    throws = Throws(TARGETS, steps=20)
    aim = np.array([[5.0, 4.0], [2.0, 8.0], [7.0, 3.0]], np.float32)
    throws.aim.from_numpy(aim)
    throws.gradient()
    gradient = throws.aim.grad.to_numpy()
    step = 1e-2

    def loss(values):
        throws.aim.from_numpy(values.astype(np.float32))
        throws.loss[None] = 0.0
        throws.fly()
        return throws.loss[None]

    for i in range(3):
        for k in range(2):
            change = np.zeros_like(aim)
            change[i, k] = step
            slope = (loss(aim + change) - loss(aim - change)) / (2 * step)
            assert np.isclose(slope, gradient[i, k], rtol=1e-2, atol=2e-2)


def test_descent_hits_the_targets():
    throws = Throws(TARGETS, steps=30)
    losses = [throws.improve() for _ in range(80)]
    assert losses[-1] < 1e-4 * losses[0] and losses[-1] < 1e-3
    assert losses[5] < losses[0]
    throws.fly()
    assert np.abs(throws.x.to_numpy()[-1] - TARGETS).max() < 0.05
