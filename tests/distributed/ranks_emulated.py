"""Arrays of a device, here an emulated one: kernels pack what is exchanged, and it goes through the host."""

from __future__ import annotations

import numpy as np
from on_ranks import main

import quadrants as qd
from quadrants import distributed as qdist


def test_arrays_of_a_device_are_exchanged_through_the_host(world):
    world = qdist.init(arch=qd.cuda, emulate=True)
    grid = qdist.Grid((12, 10), periodic=True)
    pair, matrix = qd.types.vector(2, qd.f32), qd.types.matrix(2, 2, qd.f32)
    number = np.arange(120).reshape(12, 10)
    at = np.ix_(*[(np.arange(n) + o) % s for n, o, s in zip(grid.local, grid.origin, grid.shape)])
    makers = (
        (grid.field, qd.f32),
        (grid.ndarray, qd.f32),
        (grid.field, pair),
        (grid.ndarray, pair),
        (grid.ndarray, matrix),
    )
    for make, dtype in makers:
        real = dtype is qd.f32
        u = make(dtype, needs_grad=real)
        element = () if real else (2,) if dtype is pair else (2, 2)
        whole = np.broadcast_to(number.reshape(12, 10, *(1 for _ in element)), (12, 10, *element))
        grid.scatter(whole, u)
        grid.exchange_halo(u)
        assert np.array_equal(u.to_numpy(), whole[at])
        found = grid.gather(u)
        assert found is None or np.array_equal(found, whole)
        if real:
            u.grad.fill(1)
            grid.exchange_halo.grad(u)
            assert u.grad.to_numpy().sum() == np.prod(grid.local)
            assert (world.sum(u.grad).to_numpy()[0] == 0).all()


if __name__ == "__main__":
    main(globals())
