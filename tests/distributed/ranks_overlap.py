"""Exchanges that go on beside kernels: the same halos, stencils and gradients, and what is done wrong is said."""

from __future__ import annotations

import numpy as np
from on_ranks import main, refused, solo
from ranks_halo import containers, expected, filled, random_grid

import quadrants as qd
from quadrants import _logging
from quadrants import distributed as qdist


@qd.kernel
def step(u: qd.types.ndarray(ndim=2), w: qd.types.ndarray(ndim=2), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        w[i, j] = u[i, j] + 0.2 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j] * u[i, j])


def test_each_halo_cell_has_the_value_of_its_owner_after_waiting(world):
    from quadrants.distributed import arrays

    for k in range(40):
        rng = np.random.default_rng(500 + k)
        grid = random_grid(rng, world.size)
        given, _ = containers(grid, rng, k)
        corners = bool(rng.integers(0, 2))
        number, known = expected(grid, corners, range(len(grid.shape)))
        parts = arrays.all_parts(given)
        starts = [filled(part, grid, number) for part in parts]
        for part, (start, _) in zip(parts, starts):
            part.store(start)
        grid.exchange_halo(*given, corners=corners, wait=False).wait()
        for part, (start, components) in zip(parts, starts):
            row = number.reshape(grid.local + (1,) * len(part.element)) + components
            wanted = np.where(known.reshape(grid.local + (1,) * len(part.element)), row.astype(part.dtype), start)
            assert np.array_equal(part.copy(), wanted), (k, grid, grid.periodic, corners, part.name)


def advance(grid, u, w, overlapped: bool, corners: bool):
    """One step, with the exchange before it or beside it."""
    if not overlapped:
        grid.exchange_halo(u, corners=corners)
        step(u, w, *grid.box())
        return
    waiting = grid.exchange_halo(u, corners=corners, wait=False)
    step(u, w, *grid.box(inner=1))
    waiting.wait()
    for box in grid.shell(1):
        step(u, w, *box)


def stepped(world, overlapped: bool, periodic, corners: bool):
    grid = qdist.Grid((23, 18), periodic=periodic, world=world)
    u, w = grid.ndarray(qd.f64), grid.ndarray(qd.f64)
    grid.scatter(np.random.default_rng(2).random(grid.shape), u)
    grid.scatter(np.random.default_rng(2).random(grid.shape), w)
    for _ in range(30):
        advance(grid, u, w, overlapped, corners)
        u, w = w, u
    return grid.gather(u)


def test_an_overlapped_stencil_is_bit_equal_to_that_of_one_rank(world):
    for periodic in (True, False, (False, True)):
        for corners in (True, False):
            found = stepped(world, True, periodic, corners)
            if world.rank == 0:
                assert np.array_equal(found, stepped(solo(world), False, periodic, corners)) and found.std() > 0


def slope(world, overlapped: bool):
    """Of the sum of squares after six steps."""
    grid = qdist.Grid((12, 10), periodic=True, world=world)
    levels = [grid.ndarray(qd.f64, needs_grad=True) for _ in range(7)]
    loss = qd.ndarray(qd.f64, (1,), needs_grad=True)

    @qd.kernel
    def total(u: qd.types.ndarray(ndim=2), loss: qd.types.ndarray(ndim=1), i0: qd.i32, i1: qd.i32, j0: qd.i32,
              j1: qd.i32):  # fmt: skip
        for i, j in qd.ndrange((i0, i1), (j0, j1)):
            loss[0] += u[i, j] ** 2

    grid.scatter(np.random.default_rng(3).random(grid.shape), levels[0])
    with qd.ad.Tape(loss):
        for u, w in zip(levels, levels[1:]):
            advance(grid, u, w, overlapped, corners=False)
        total(levels[-1], loss, *grid.box())
    return grid.gather(levels[0].grad)


def test_a_tape_gives_the_gradient_of_one_rank(world):
    found = slope(world, True)
    if world.rank == 0:
        one = slope(solo(world), False)
        assert np.abs(found - one).max() < 1e-13 * np.abs(one).max() and one.std() > 0


def packed_slope(world, overlapped: bool):
    """Of members of structs, whose cells kernels pack."""
    grid = qdist.Grid((12, 10), periodic=True, world=world)
    cell = qd.types.struct(a=qd.f64, b=qd.f64)
    levels = [grid.field(cell, needs_grad=True) for _ in range(4)]
    loss = qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def mix(u: qd.template(), w: qd.template(), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
        for i, j in qd.ndrange((i0, i1), (j0, j1)):
            w[i, j].a = u[i - 1, j].a * u[i, j + 1].b + 0.5 * u[i, j].b
            w[i, j].b = u[i + 1, j].b - 0.25 * u[i, j - 1].a

    @qd.kernel
    def total(u: qd.template(), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
        for i, j in qd.ndrange((i0, i1), (j0, j1)):
            loss[None] += u[i, j].a * u[i, j].b

    start = np.random.default_rng(4).random((2, *grid.shape))
    grid.scatter({"a": start[0], "b": start[1]}, levels[0])
    with qd.ad.Tape(loss):
        for u, w in zip(levels, levels[1:]):
            waiting = grid.exchange_halo(u, corners=False, wait=not overlapped)
            if overlapped:
                waiting.wait()
            mix(u, w, *grid.box())
        total(levels[-1], *grid.box())
    return grid.gather(levels[0].grad)


def test_a_tape_records_nothing_of_what_packs(world):
    found = packed_slope(world, True)
    if world.rank == 0:
        one = packed_slope(solo(world), False)
        for name in "ab":
            assert np.abs(found[name] - one[name]).max() < 1e-13 * np.abs(one[name]).max() and one[name].std() > 0


def test_what_is_under_way_is_waited_for_once(world):
    grid = qdist.Grid((16, 16), periodic=True)
    u = grid.ndarray(qd.f32)
    u.fill(world.rank + 1)
    waiting = grid.exchange_halo(u, corners=False, wait=False)
    refused(qd.QuadrantsRuntimeError, "under way: call wait()", lambda: grid.exchange_halo(u, corners=False))
    refused(qd.QuadrantsRuntimeError, "under way: call wait()", lambda: grid.scatter(np.zeros((16, 16)), u))
    refused(qd.QuadrantsRuntimeError, "under way: call wait()", lambda: world.allreduce(u))
    waiting.wait()
    waiting.wait()
    other = grid.ndarray(qd.f32)
    first, second = grid.exchange_halo(u, wait=False), grid.exchange_halo(other, wait=False)
    second.wait()
    first.wait()
    assert (u.to_numpy()[1:-1, 1:-1] == world.rank + 1).all() and u.to_numpy().min() >= 1
    assert grid.exchange_halo(wait=False).wait() is None


def test_no_other_exchange_of_what_is_under_way_runs(world):
    grid = qdist.Grid((16, 16), periodic=True)
    u, struct = grid.ndarray(qd.f32), grid.field(qd.types.struct(a=qd.f32, b=qd.f32))
    u.fill(1)
    for given, others in ((u, [u]), (struct, [struct, struct.a, struct.b]), (struct.b, [struct, struct.b])):
        waiting = grid.exchange_halo(given, wait=False)
        for other in others:
            for call in (
                lambda: grid.accumulate_halo(other),
                lambda: grid.exchange_halo(other, axes=0),
                lambda: grid.exchange_halo(other, wait=False),
                lambda: grid.transfer(other, grid, other),
                lambda: qdist.Grid((16, 16), periodic=True).exchange_halo(other),
            ):
                refused(qd.QuadrantsRuntimeError, "is under way: call wait()", call)
        waiting.wait()
        for other in others:
            grid.exchange_halo(other)
    assert (u.to_numpy() == 1).all()
    waiting = grid.exchange_halo(struct.a, wait=False)
    grid.exchange_halo(struct.b)
    waiting.wait()


def test_what_is_dropped_is_waited_for_and_said(world):
    grid = qdist.Grid((16, 16), periodic=True)
    u = grid.ndarray(qd.f32)
    u.fill(0)
    grid.scatter(np.ones(grid.shape), u)
    said, kept = [], _logging.warn
    _logging.warn = said.append
    try:
        grid.exchange_halo(u, wait=False)
    finally:
        _logging.warn = kept
    assert len(said) == 1 and "was dropped: keep it, and call its wait()" in said[0]
    assert (u.to_numpy() == 1).all()


if __name__ == "__main__":
    main(globals())
