"""Halo exchanges: which value each cell gets, the adjoint, gradients, and results that do not depend on the ranks."""

from __future__ import annotations

import itertools

import numpy as np
from on_ranks import main, refused, solo

import quadrants as qd
from quadrants import distributed as qdist

CASES = 60


def random_grid(rng, ranks: int):
    """A grid that can be cut for so many ranks."""
    while True:
        ndim = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(2, (40, 14, 9)[ndim - 1], ndim))
        halo = tuple((int(rng.integers(0, 4)), int(rng.integers(0, 4))) for _ in range(ndim))
        periodic = tuple(bool(p) for p in rng.integers(0, 2, ndim))
        try:
            return qdist.Grid(shape, halo, periodic)
        except ValueError:
            assert ranks > 1 or any(periodic)


def global_index(grid, axis: int):
    """Of each local cell, and whether a rank owns that cell."""
    at = grid.origin[axis] + np.arange(grid.local[axis])
    inside = (at >= 0) & (at < grid.shape[axis])
    return at % grid.shape[axis], inside | grid.periodic[axis]


def expected(grid, corners: bool, axes):
    """The number of the owner's cell, and where it is known after an exchange."""
    number, known, outside = np.zeros(grid.local), np.ones(grid.local, bool), np.zeros(grid.local, int)
    for axis, extent in enumerate(grid.shape):
        at, owned = global_index(grid, axis)
        row = [1] * len(grid.shape)
        row[axis] = -1
        number = number * extent + at.reshape(row)
        low = grid.halo[axis][0]
        local = np.arange(grid.local[axis])
        is_halo = (local < low) | (local >= low + grid.size[axis])
        known &= (owned & (~is_halo | (axis in axes))).reshape(row)
        outside += is_halo.reshape(row)
    return number, known & ((outside <= 1) | corners)


def block_of(grid):
    return tuple(slice(low, low + n) for (low, _), n in zip(grid.halo, grid.size))


def containers(grid, rng, k: int) -> tuple[list, int]:
    """Arrays of the grid, and how many numbers an element has. NumPy sees most kinds; kernels pack the others."""
    pair = qd.types.vector(2, qd.f32)
    if k in (3, 5):
        return [grid.field(qd.types.struct(a=qd.f64, b=pair), offset=k == 5)], 3
    if k in (11, 13):
        return [grid.field(qd.types.matrix(2, 2, qd.f32), layout=qd.Layout.SOA, offset=k == 13)], 4
    order = {1: "i", 2: "ji", 3: "kij"}[len(grid.shape)]
    kinds = [
        lambda: grid.field(qd.f32), lambda: grid.field(pair), lambda: grid.ndarray(qd.f64), lambda: grid.ndarray(pair),
        lambda: grid.field(qd.i32, order=order), lambda: grid.field(qd.f64, offset=True),
    ]  # fmt: skip
    return [kinds[i]() for i in rng.permutation(len(kinds))[: 1 + k % 3]], 0


def filled(part, grid, number):
    """Cells of the block get their number, and a component more; the halo -1."""
    values = np.full(part.shape + part.element, -1.0)
    components = np.arange(int(np.prod(part.element))).reshape(part.element) / 4
    owned = number[block_of(grid)].reshape(grid.size + (1,) * len(part.element)) + components
    values[block_of(grid)] = owned
    return values.astype(part.dtype), components


def test_each_halo_cell_has_the_value_of_its_owner(world):
    from quadrants.distributed import arrays

    for k in range(CASES):
        rng = np.random.default_rng(k)
        grid = random_grid(rng, world.size)
        given, _ = containers(grid, rng, k)
        corners = bool(rng.integers(0, 2))
        some = sorted(rng.permutation(len(grid.shape))[: 1 + k % len(grid.shape)].tolist()) if k % 4 == 0 else None
        number, known = expected(grid, corners, range(len(grid.shape)) if some is None else some)
        parts = arrays.all_parts(given)
        starts = [filled(part, grid, number) for part in parts]
        for part, (start, _) in zip(parts, starts):
            part.store(start)
        grid.exchange_halo(*given, axes=some, corners=corners)
        for part, (start, components) in zip(parts, starts):
            row = number.reshape(grid.local + (1,) * len(part.element)) + components
            wanted = np.where(known.reshape(grid.local + (1,) * len(part.element)), row.astype(part.dtype), start)
            assert np.array_equal(part.copy(), wanted), (k, grid, grid.periodic, corners, some, part.name)


def test_the_adjoint_passes_the_dot_product_test(world):
    for k in range(CASES):
        rng = np.random.default_rng(1000 + k)
        grid = random_grid(rng, world.size)
        corners, own = bool(rng.integers(0, 2)), np.random.default_rng((k, world.rank))
        make = grid.ndarray if k % 2 else grid.field
        x, y = make(qd.f64, needs_grad=True), make(qd.f64)
        start, weight = own.normal(size=grid.local), own.normal(size=grid.local)
        x.from_numpy(start)
        y.from_numpy(weight)
        x.grad.from_numpy(weight)
        grid.exchange_halo(x, corners=corners)
        left = world.sum(float((x.to_numpy() * weight).sum()))
        grid.exchange_halo.grad(x, corners=corners)
        right = world.sum(float((x.grad.to_numpy() * start).sum()))
        assert abs(left - right) <= 1e-13 * max(1, abs(left), world.sum(float(np.abs(weight * start).sum()))), (
            k,
            left,
            right,
        )
        grid.accumulate_halo(y, corners=corners)
        assert np.array_equal(y.to_numpy(), x.grad.to_numpy()), (k, grid)


def test_accumulated_halos_and_their_gradient(world):
    """Ones everywhere: a cell counts how many ranks have it. The gradient of that gives each its owner's."""
    grid = qdist.Grid((9, 8), halo=((1, 2), (1, 1)), periodic=(True, False))
    element = qd.types.struct(mass=qd.f64, momentum=qd.types.vector(2, qd.f64))
    p = element.field(shape=grid.local, needs_grad=True)
    p.mass.fill(1)
    p.momentum.fill(2)
    grid.accumulate_halo(p)
    mass, momentum = grid.gather(p.mass), grid.gather(p.momentum)
    copies = world.sum(float(np.prod(grid.local) - outside_cells(grid)))
    if world.rank == 0:
        assert mass.sum() == copies and (momentum == 2 * mass[..., None]).all()
    assert not p.mass.to_numpy()[0, 1:-1].any()
    p.mass.grad.from_numpy(np.full(grid.local, float(world.rank)))
    grid.accumulate_halo.grad(p)
    peer = grid.blocks.neighbour(0, 0)
    assert (p.mass.grad.to_numpy()[0, 1:-1] == peer).all()


def test_an_array_is_given_once(world):
    grid = qdist.Grid((8,), periodic=True)
    u, struct = grid.ndarray(qd.f64), grid.field(qd.types.struct(a=qd.f64, b=qd.types.vector(2, qd.f64)))
    for given in ((u, u), (struct, struct.a), (struct.b, struct)):
        refused(ValueError, "is given twice", lambda: grid.accumulate_halo(*given))
        refused(ValueError, "is given twice", lambda: grid.exchange_halo(*given))
    grid.accumulate_halo(struct.a, struct.b, u)
    refused(ValueError, "None stands for all", lambda: grid.exchange_halo(u, axes=()))


def outside_cells(grid) -> int:
    """Local cells that nobody owns."""
    owned = [global_index(grid, axis)[1] for axis in range(len(grid.shape))]
    return int(np.prod(grid.local) - np.prod([part.sum() for part in owned]))


@qd.kernel
def heat_field(u: qd.template(), w: qd.template(), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        w[i, j] = u[i, j] + 0.2 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])


@qd.kernel
def heat_ndarray(
    u: qd.types.ndarray(ndim=2), w: qd.types.ndarray(ndim=2), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32
):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        w[i, j] = u[i, j] + 0.2 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])


def heat(world, start, step, make, dtype, periodic, offset=False):
    more = {"offset": True} if offset else {}
    grid = qdist.Grid(start.shape, halo=1, periodic=periodic, world=world)
    u, w = (getattr(grid, make)(dtype, **more) for _ in range(2))
    for array in (u, w):
        grid.scatter(start, array)
    for _ in range(50):
        grid.exchange_halo(u)
        step(u, w, *grid.box(**more))
        u, w = w, u
    return grid.gather(u)


def test_stencils_are_bit_equal_to_those_of_one_rank(world):
    start = np.random.default_rng(5).normal(size=(37, 26))
    ways = (heat_field, "field", False), (heat_ndarray, "ndarray", False), (heat_field, "field", True)
    cases = [
        (step, make, dtype, periodic, offset)
        for (step, make, offset), dtype, periodic in itertools.product(ways, (qd.f32, qd.f64), (False, (True, False)))
    ]
    wholes = [heat(world, start, *case) for case in cases]
    for case, whole in zip(cases, wholes if world.rank == 0 else ()):
        one = heat(solo(world), start, *case[:-1])
        assert np.array_equal(whole, one), (case, np.abs(whole - one).max())


STEPS = 12


@qd.func
def burnt_cell(u: qd.template(), i: qd.i32, j: qd.i32):
    total = qd.cast(0.0, qd.f64)
    for a, b in qd.static(qd.ndrange((-1, 2), (-1, 2))):
        total += u[i + a, j + b] * (1.0 + 0.1 * a + 0.05 * b)
    return qd.sin(total / 9) + 0.1 * u[i, j] * u[i, j]


@qd.kernel
def burn_field(u: qd.template(), w: qd.template(), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        w[i, j] = burnt_cell(u, i, j)


@qd.kernel
def burn_ndarray(
    u: qd.types.ndarray(ndim=2), w: qd.types.ndarray(ndim=2), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32
):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        w[i, j] = burnt_cell(u, i, j)


@qd.kernel
def energy_field(u: qd.template(), loss: qd.template(), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        loss[None] += u[i, j] ** 2


@qd.kernel
def energy_ndarray(
    u: qd.types.ndarray(ndim=2), loss: qd.types.ndarray(ndim=1), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32
):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        loss[0] += u[i, j] ** 2


def burnt(world, start, periodic, make="ndarray", steps=STEPS):
    """Energy after some steps, and its gradient by the start."""
    grid = qdist.Grid(start.shape, halo=1, periodic=periodic, world=world)
    u = [getattr(grid, make)(qd.f64, needs_grad=True) for _ in range(steps + 1)]
    burn, energy = (burn_field, energy_field) if make == "field" else (burn_ndarray, energy_ndarray)
    loss = getattr(qd, make)(qd.f64, () if make == "field" else (1,), needs_grad=True)
    grid.scatter(start, u[0])
    with qd.ad.Tape(loss):
        for k in range(steps):
            grid.exchange_halo(u[k])
            burn(u[k], u[k + 1], *grid.box())
        energy(u[steps], loss, *grid.box(closed=True))
    return world.sum(float(loss.to_numpy().sum())), grid.gather(u[0].grad)


def test_a_tape_gives_the_gradient_of_one_rank(world):
    start = np.random.default_rng(6).normal(size=(12, 11))
    cases = (False, "ndarray", STEPS), (True, "ndarray", STEPS), ((True, False), "field", 2)
    results = [burnt(world, start, *case) for case in cases]
    for case, (value, gradient) in zip(cases, results if world.rank == 0 else ()):
        one, whole = burnt(solo(world), start, *case)
        assert abs(value - one) <= 1e-14 * abs(one)
        assert np.abs(gradient - whole).max() <= 1e-14 * np.abs(whole).max(), np.abs(gradient - whole).max()


def test_a_tape_gives_finite_differences(world):
    start = np.random.default_rng(8).normal(size=(9, 9))
    way = np.random.default_rng(9).normal(size=(9, 9))
    _, gradient = burnt(world, start, True)
    step = 1e-5
    above, below = (burnt(world, start + sign * step * way, True)[0] for sign in (1, -1))
    if world.rank == 0:
        slope = (above - below) / (2 * step)
        assert abs((gradient * way).sum() - slope) <= 1e-7 * abs(slope), ((gradient * way).sum(), slope)


def test_what_moves_through_kernels_has_the_gradient_of_what_numpy_sees(world):
    """A struct in a tape, whose members need packing."""
    grid = qdist.Grid((8, 6), halo=1, periodic=True)
    s = qd.types.struct(a=qd.f64, b=qd.f64).field(shape=grid.local, needs_grad=True)
    loss = qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def total(i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
        for i, j in qd.ndrange((i0, i1), (j0, j1)):
            loss[None] += s[i - 1, j - 1].a * 3 + s[i, j].b

    with qd.ad.Tape(loss):
        grid.exchange_halo(s)
        total(*grid.box())
    a, b = grid.gather(s.a.grad), grid.gather(s.b.grad)
    if world.rank == 0:
        assert (a == 3).all() and (b == 1).all()


def test_duals_are_exchanged_as_values(world):
    grid = qdist.Grid((6, 4), periodic=True)
    u = qd.field(qd.f64, grid.local, needs_dual=True)
    u.dual.fill(-1)
    u.dual.from_numpy(np.where(np.pad(np.ones(grid.size), 1) > 0, 5.0, 0.0))
    grid.exchange_halo(u.dual)
    assert (u.dual.to_numpy() == 5).all()


if __name__ == "__main__":
    main(globals())
