"""The example `dam`: mass and momentum are kept over ranks, and the water is where one rank has it."""

from __future__ import annotations

import numpy as np
from on_ranks import main, solo

from quadrants.examples.dam import COLOURS, Water


def fallen(world, steps):
    """A square of water in the middle of the box, that no wall touches yet, after some steps of falling."""
    water = Water(world, 1500, 32)
    water.pour((0.3, 0.35), (0.4, 0.3))
    water.step(steps)
    return water


def density(water):
    """On the grid, on rank 0: mass and momentum of each cell."""
    water.deposit()
    return water.grid.gather(water.m), water.grid.gather(water.v)


def test_mass_is_kept_and_momentum_is_what_gravity_gave(world):
    steps = 60
    water = fallen(world, steps)
    assert world.sum(water.p.count) == water.count
    expected = np.array([0, -water.count * water.mass * water.gravity * water.dt * steps])
    assert np.abs(water.momentum() - expected).max() < 1e-12
    found = density(water)
    if world.rank == 0:
        mass, momentum = found
        assert abs(mass.sum() - water.count * water.mass) < 1e-13
        assert np.abs(momentum.sum(axis=(0, 1)) - expected).max() < 1e-12


def test_the_water_is_where_one_rank_has_it(world):
    """Through the fall of the dam: particles have met the floor, and moved between ranks."""
    waters = [Water(each, 2000, 32, dt=5e-4) for each in (world, solo(world))[: 2 if world.rank == 0 else 1]]
    for water in waters:
        water.pour((0.1, 0.1), (0.45, 0.6))
        water.step(500)
    momentum, (mass, flow) = waters[0].momentum(), density(waters[0])
    shares = world.allgather(waters[0].p.count)
    assert sum(shares) == 2000
    if world.rank == 0:
        one = waters[1]
        one_mass, one_flow = density(one)
        assert min(shares) < 2000 or world.size == 1
        assert np.abs(mass - one_mass).max() < 1e-11 * one_mass.max()
        assert np.abs(flow - one_flow).max() < 1e-11 * np.abs(one_flow).max()
        assert np.abs(momentum - one.momentum()).max() < 1e-12
        assert one.p.x.to_numpy()[:, 0].max() > 0.57, "the dam did not break"


def test_the_picture_has_the_colours_of_ranks(world):
    water = fallen(world, 1)
    image = water.image()
    if world.rank == 0:
        near = np.abs(image[:, :, None, :].astype(int) - COLOURS).max(axis=-1) < 12
        seen = near.any(axis=(0, 1))
        assert seen[: world.size].all() and not seen[world.size :].any()
    else:
        assert image is None


if __name__ == "__main__":
    main(globals())
