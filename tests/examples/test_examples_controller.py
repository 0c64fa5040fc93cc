"""The controller that learns to balance poles."""

from __future__ import annotations

import numpy as np
import pytest

from quadrants.examples.controller import HIDDEN, Balance


@pytest.fixture(autouse=True)
def runtime(init):
    init(random_seed=1)


def test_a_pole_without_a_force_falls_as_its_equation_says():
    balance = Balance(np.array([0.3]), steps=20, dt=0.001)
    balance.weight.fill(0.0)
    balance.run(20)
    # At rest, without a force: the angle grows by a t^2 / 2, with the acceleration of the start.
    cart, pole, half, sine, cosine = 1.0, 0.2, 0.5, np.sin(0.3), np.cos(0.3)
    acceleration = 9.8 * sine / (half * (4 / 3 - pole * cosine**2 / (cart + pole)))
    assert balance.state[20, 0][2] == pytest.approx(0.3 + acceleration * 0.02**2 / 2, rel=1e-3)


def test_the_gradient_is_that_of_finite_differences():
    balance = Balance(np.array([0.3, -0.2]), steps=10)
    balance.gradient(10)
    gradient = balance.weight.grad.to_numpy()
    weight = balance.weight.to_numpy()
    for h, k in ((0, 2), (HIDDEN - 1, 5)):
        losses = []
        for change in (0.01, -0.01):
            moved = weight.copy()
            moved[h, k] += change
            balance.weight.from_numpy(moved)
            losses.append(balance.gradient(10))
        assert gradient[h, k] == pytest.approx((losses[0] - losses[1]) / 0.02, rel=0.05, abs=1e-6)


@pytest.mark.slow
def test_it_learns_to_balance():
    balance = Balance(np.linspace(-0.3, 0.3, 4), steps=60)
    before = balance.upright(), balance.gradient(60)
    for _ in range(20):
        balance.improve()
    after = balance.upright(), balance.gradient(60)
    assert before[0] == 0.0 and after[0] == 1.0
    assert after[1] < 0.05 * before[1]
