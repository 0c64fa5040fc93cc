"""Random numbers by global cells: the same fields and particles on any number of ranks, and on a device."""

from __future__ import annotations

import numpy as np
from on_ranks import main, solo

import quadrants as qd
from quadrants import distributed as qdist

SHAPE = (37, 22)


@qd.kernel
def noise(u: qd.types.ndarray(dtype=qd.f32, ndim=2), seed: qd.i32, step: qd.i32, oi: qd.i32, oj: qd.i32):
    for i, j in u:
        u[i, j] = qd.random_at(seed, i + oi, j + oj, step)


@qd.kernel
def jump(u: qd.types.ndarray(dtype=qd.f32, ndim=2), step: qd.i32, oi: qd.i32, oj: qd.i32, i0: qd.i32, i1: qd.i32,
         j0: qd.i32, j1: qd.i32):  # fmt: skip
    """A step of a process that looks at a neighbour, drawn twice."""
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        chance = qd.random_at(5, i + oi, j + oj, step, 0)
        if chance < 0.5 + 0.1 * u[i, j]:
            u[i, j] += qd.random_at(5, i + oi, j + oj, step, 1) - 0.5


def filled(world, seed, step):
    grid = qdist.Grid(SHAPE, halo=0, world=world)
    u = grid.ndarray(qd.f32)
    noise(u, seed, step, *grid.origin)
    return grid.gather(u)


def walked(world):
    grid = qdist.Grid(SHAPE, halo=1, periodic=True, world=world)
    u = grid.ndarray(qd.f32)
    for step in range(20):
        jump(u, step, *grid.origin, *grid.box())
        grid.exchange_halo(u)
    return grid.gather(u)


def test_a_field_is_that_of_one_rank(world):
    found, walk = filled(world, 3, 0), walked(world)
    if world.rank == 0:
        assert np.array_equal(found, filled(solo(world), 3, 0)) and np.array_equal(walk, walked(solo(world)))
        assert len(np.unique(found)) == found.size and walk.std() > 0.3
        assert (
            not np.isin(found, filled(solo(world), 4, 0)).any() and not np.isin(found, filled(solo(world), 3, 1)).any()
        )


def test_no_two_ranks_share_numbers(world):
    grid = qdist.Grid(SHAPE, halo=0, world=world)
    u = grid.ndarray(qd.f32)
    noise(u, 3, 0, *grid.origin)
    drawn = np.concatenate([part.ravel() for part in world.allgather(u.to_numpy())])
    assert len(np.unique(drawn)) == drawn.size == np.prod(SHAPE)


def test_a_device_draws_the_same(world):
    """The last one, as it leaves the CPU. One rank compiles first, as the emulator takes long."""
    on_cpu = filled(solo(world), 3, 2)
    world = qdist.init(arch=qd.cuda, emulate=True)
    if world.rank == 0:
        filled(solo(world), 3, 2)
    world.barrier()
    found = filled(world, 3, 2)
    assert found is None or np.array_equal(found, on_cpu)


if __name__ == "__main__":
    main(globals())
