"""The example `dam` in one process; on several ranks it is tested in tests/distributed/ranks_dam.py."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants import distributed as qdist
from quadrants.examples.dam import WALL, Water

pytestmark = pytest.mark.cpu_only


def test_water_falls_stays_in_the_box_and_comes_to_the_other_side():
    water = Water(qdist.init(arch=qd.cpu, random_seed=1), 1000, 32)
    water.pour((0.1, 0.1), (0.3, 1000 * water.volume / 0.3))
    height = water.p.x.to_numpy()[:, 1].mean()
    water.step(3000)
    x = water.p.x.to_numpy()
    assert np.isfinite(x).all() and x.min() > (WALL - 1) / 32 and x.max() < 1 - (WALL - 1) / 32
    assert x[:, 0].max() > 0.8 and x[:, 1].mean() < 0.8 * height
    volume = water.p.J.to_numpy().mean()
    assert abs(volume - 1) < 0.1, "water keeps its volume"


@pytest.mark.parametrize("gravity", [0.0, 9.8])
def test_momentum_is_that_of_gravity(gravity):
    water = Water(qdist.init(arch=qd.cpu), 500, 32, gravity=gravity)
    water.pour((0.4, 0.4), (0.2, 0.2))
    water.step(50)
    expected = -500 * water.mass * gravity * 50 * water.dt
    assert np.abs(water.momentum() - [0, expected]).max() < 1e-13


def test_a_device_gives_the_same():
    found = []
    for options in ({"arch": qd.cpu}, {"arch": qd.cuda, "emulate": True}):
        water = Water(qdist.init(**options), 500, 32)
        water.pour((0.4, 0.4), (0.2, 0.2))
        water.step(20)
        found.append((water.p.x.to_numpy(), water.momentum()))
    (x, momentum), (other_x, other_momentum) = found
    assert np.abs(x - other_x).max() < 1e-12 and np.abs(momentum - other_momentum).max() < 1e-13
