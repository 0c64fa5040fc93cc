"""Examples that learn: gradients against finite differences, and whether they reach their targets."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.examples.mpm_diff import Throw
from quadrants.examples.throw import Throws


def test_balls_hit_their_targets():
    throws = Throws(np.array([[4.0, 2.0], [6.0, 0.0], [2.0, 5.0]]), steps=40)
    first = throws.improve()
    for _ in range(60):
        last = throws.improve()
    assert last < 1e-4 * first
    np.testing.assert_allclose(throws.x.to_numpy()[-1], throws.target.to_numpy(), atol=0.05)


def test_the_gradient_of_a_flight():
    throws = Throws(np.array([[4.0, 2.0], [6.0, 0.0]]), steps=30)
    throws.aim.from_numpy(np.array([[3.0, 1.0], [1.0, 7.0]], np.float32))
    throws.gradient()
    found = throws.aim.grad.to_numpy()

    def loss(aim):
        throws.aim.from_numpy(aim.astype(np.float32))
        throws.loss[None] = 0
        throws.fly()
        return throws.loss[None]

    check(loss, np.array([[3.0, 1.0], [1.0, 7.0]]), found, eps=0.05)


def test_the_gradient_of_a_throw():
    throw = Throw(cells=24, particles=8, steps=12)
    throw.launch[None] = [1.5, -1.0]
    start = throw.launch.to_numpy().astype(np.float64)
    throw.improve(rate=0.0)
    found = throw.launch.grad.to_numpy()

    def loss(launch):
        throw.launch.from_numpy(launch.astype(np.float32))
        throw.loss[None] = 0
        throw.fly()
        return throw.loss[None]

    check(loss, start, found, eps=0.05)


def check(loss, at, found, eps):
    """Each component within 1 % of the central difference."""
    for k in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[k] = eps
        measured = (loss(at + step) - loss(at - step)) / (2 * eps)
        assert found[k] == pytest.approx(measured, rel=0.01)


def test_a_block_hits_its_target():
    throw = Throw(cells=24, particles=8, steps=40, target=(0.5, 0.4))
    first = throw.improve()
    for _ in range(15):
        last = throw.improve(rate=10.0)
    assert last < 1e-3 * first and np.allclose(throw.centre.to_numpy(), throw.target, atol=0.01)
    assert np.isfinite(throw.launch.grad.to_numpy()).all()


def test_warmth_is_found_by_its_gradient():
    """Against finite differences, and the loss falls."""
    from quadrants import distributed as qdist
    from quadrants.examples.warmth import Plate, spots

    plate = Plate(qdist.init(arch=qd.cfg.arch), cells=24, steps=8)
    plate.measure(spots(24))
    plate.gradient()
    slope = plate.u[0].grad.to_numpy().astype(np.float64)
    way = np.zeros(slope.shape, np.float32)
    way[2:-2, 2:-2] = np.random.default_rng(2).random((22, 22))

    def loss(step: float) -> float:
        plate.u[0].from_numpy(step * way)
        return plate.gradient()

    difference = (loss(0.05) - loss(-0.05)) / 0.1
    assert abs((slope * way).sum() - difference) < 2e-3 * abs(difference)
    plate.u[0].fill(0)
    losses = [plate.improve() for _ in range(30)]
    assert losses[-1] < 0.05 * losses[0]
