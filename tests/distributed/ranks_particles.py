"""Particles: none is lost or doubled, orders are the same in each run, and sums on the grid are those of one rank."""

from __future__ import annotations

import numpy as np
from on_ranks import main, solo

import quadrants as qd
from quadrants import distributed as qdist

MOST = 20_000


@qd.kernel
def drift(x: qd.types.ndarray(), v: qd.types.ndarray(), n: qd.i32, dt: qd.f64):
    for i in range(n):
        x[i] += dt * v[i]


@qd.kernel
def to_grid(
    x: qd.types.ndarray(), v: qd.types.ndarray(), n: qd.i32, mass: qd.types.ndarray(ndim=2),
    momentum: qd.types.ndarray(ndim=2), ox: qd.i32, oy: qd.i32,
):  # fmt: skip
    """Quadratic splines, as of MPM: a particle reaches one cell down and two up."""
    for p in range(n):
        base = qd.floor(x[p] - 0.5, qd.i32)
        f = x[p] - base
        w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2]
        for i, j in qd.static(qd.ndrange(3, 3)):
            weight = w[i][0] * w[j][1]
            mass[base[0] + i - ox, base[1] + j - oy] += weight
            momentum[base[0] + i - ox, base[1] + j - oy] += weight * v[p]


def flock(world, shape, periodic, count, **more):
    """Particles of one rank's making, with numbers and velocities that follow from the numbers."""
    grid = qdist.Grid(shape, halo=((1, 2), (1, 2)), periodic=periodic, world=world)
    pair = qd.types.vector(2, qd.f64)
    p = qdist.Particles(grid, MOST, x=pair, v=pair, id=qd.i64, tag=qd.i8, **more)
    rng = np.random.default_rng(3)
    x, v = rng.uniform(0, 1, (count, 2)) * shape, rng.normal(size=(count, 2))
    if world.rank == world.size - 1:
        p.append(x=x, v=v, id=np.arange(count), tag=np.arange(count) % 100)
    p.migrate(p.x)
    return grid, p


def whole(world, p) -> dict[str, np.ndarray]:
    """All particles, by number."""
    parts = world.allgather({name: array.to_numpy()[: p.count] for name, array in p.arrays.items()})
    joined = {name: np.concatenate([part[name] for part in parts]) for name in p.arrays}
    return {name: values[np.argsort(joined["id"], kind="stable")] for name, values in joined.items()}


def assert_at_home(grid, p):
    cells = np.floor(p.x.to_numpy()[: p.count])
    for axis, (begin, end) in enumerate(grid.blocks.spans_of(grid.world.rank)):
        low = begin if grid.periodic[axis] or begin > 0 else -np.inf
        high = end if grid.periodic[axis] or end < grid.shape[axis] else np.inf
        assert ((cells[:, axis] >= low) & (cells[:, axis] < high)).all()


def test_a_million_moves_lose_and_double_nobody(world):
    moves, kept = 0, []
    for periodic, count, steps in ((True, MOST, 150 if world.size < 3 else 90), ((False, True), 1000, 20)):
        grid, p = flock(world, (24, 20), periodic, count)
        for _ in range(steps):
            drift(p.x, p.v, p.count, 6.0)
            moves += p.migrate(p.x)
        assert_at_home(grid, p)
        found = whole(world, p)
        assert np.array_equal(found["id"], np.arange(count)) and np.array_equal(found["tag"], np.arange(count) % 100)
        kept.append((periodic, count, steps, found))
    moved = world.sum(moves)
    assert moved >= (world.size > 1) * 1_000_000, moved
    for periodic, count, steps, found in kept if world.rank == 0 else ():
        _, one = flock(solo(world), (24, 20), periodic, count)
        for _ in range(steps):
            drift(one.x, one.v, one.count, 6.0)
            one.migrate(one.x)
        alone = whole(solo(world), one)
        assert np.array_equal(found["x"], alone["x"]) and np.array_equal(found["v"], alone["v"])


def test_the_order_on_a_rank_is_that_of_each_run(world):
    orders = []
    for _ in range(2):
        _, p = flock(world, (16, 16), True, 3000)
        for _ in range(10):
            drift(p.x, p.v, p.count, 1.0)
            p.migrate(p.x)
        orders.append(p.id.to_numpy()[: p.count])
    assert np.array_equal(*orders)


def deposited(world, steps):
    grid, p = flock(world, (18, 15), True, 4000)
    mass, momentum = grid.ndarray(qd.f64), grid.ndarray(qd.types.vector(2, qd.f64))
    for _ in range(steps):
        drift(p.x, p.v, p.count, 0.5)
        p.migrate(p.x)
    to_grid(p.x, p.v, p.count, mass, momentum, *grid.origin)
    grid.accumulate_halo(mass, momentum)
    grid.exchange_halo(mass, momentum)
    return grid.gather(mass), grid.gather(momentum)


def test_mass_and_momentum_on_the_grid_are_those_of_one_rank(world):
    mass, momentum = deposited(world, 5)
    if world.rank == 0:
        one_mass, one_momentum = deposited(solo(world), 5)
        assert abs(mass.sum() - 4000) < 1e-9
        assert np.abs(mass - one_mass).max() < 1e-12 * 4000 and np.abs(momentum - one_momentum).max() < 1e-12 * 4000


def refused(call, kind=qd.QuadrantsRuntimeError) -> str:
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def test_only_numbers_of_particles_that_may_be_are_counts(world):
    p = qdist.Particles(qdist.Grid((8,), periodic=True), 10, x=qd.f64)
    p.append(x=np.full(3, 0.5))
    for number in (11, -1, 2.5, True):
        try:
            p.count = number
        except ValueError as error:
            assert "0 to 10" in str(error)
        else:
            raise AssertionError(number)
    assert p.count == 3
    p.count = 0
    p.append(x=np.full(10, 0.5))
    assert p.count == 10


def test_no_room_and_lost_positions_are_told_on_all_ranks_and_move_nobody(world):
    grid = qdist.Grid((8,), periodic=True)
    p = qdist.Particles(grid, 10, x=qd.f64, id=qd.i32)
    p.append(x=np.arange(6) + 8 / world.size * world.rank, id=np.arange(6))
    p.x[0], before = np.nan, p.id.to_numpy()
    assert "1 particles of rank 0" in refused(lambda: p.migrate(p.x))
    p.x.fill(0.5)
    if world.size > 1:
        said = refused(lambda: p.migrate(p.x))
        assert f"Rank 0 needs room for {6 * world.size} particles and has 10" in said
    assert p.count == 6 and np.array_equal(p.id.to_numpy(), before)
    assert "larger capacity" in refused(lambda: p.append(x=np.zeros(5), id=np.zeros(5)))


def test_what_is_no_particle_is_refused(world):
    grid = qdist.Grid((8, 8))
    pair = qd.types.vector(2, qd.f32)
    p = qdist.Particles(grid, 4, x=pair, m=qd.f32)
    assert "append takes all of x, m" in refused(lambda: p.append(x=np.zeros((1, 2))), ValueError)
    assert "m has shape (2,) where (1,)" in refused(lambda: p.append(x=np.zeros((1, 2)), m=np.zeros(2)), ValueError)
    assert "one for each axis" in refused(lambda: p.migrate(p.m), ValueError)
    assert "own arrays" in refused(lambda: p.migrate(grid.field(qd.f32)), ValueError)
    assert "at least 1" in refused(lambda: qdist.Particles(grid, 0, x=pair), ValueError)
    assert "name of Particles" in refused(lambda: qdist.Particles(grid, 4, count=pair), ValueError)
    assert "they have x, m" in refused(lambda: p.y, AttributeError)


def test_cells_have_an_edge_and_a_corner(world):
    grid = qdist.Grid((world.size * 4,))
    p = qdist.Particles(grid, 100, spacing=0.25, low=-2.0, x=qd.types.vector(1, qd.f32), id=qd.i32)
    if world.rank == 0:
        p.append(x=np.arange(world.size).reshape(-1, 1) - 1.9, id=np.arange(world.size))
    came = p.migrate(p.x)
    assert p.count == 1 and p.id[0] == world.rank and came == (world.rank > 0)


def test_wrapped_positions_are_in_cells_of_the_array(world):
    """By the formula of kernels, in the dtype of positions; a second time nothing changes."""
    rng = np.random.default_rng(8)
    for dtype in (qd.f32, qd.f64):
        for low, spacing, cells in ((0.0, 1 / 8, 8), (-0.1, 0.1, 5), (3.3, 0.7, 9), (1e6, 1e-3, 7)):
            grid = qdist.Grid((cells,), halo=0, periodic=True)
            p = qdist.Particles(grid, 20_000, spacing=spacing, low=low, x=dtype, id=qd.i32)
            number, edge = p.x.to_numpy().dtype.type, low + cells * spacing
            edges = (low + spacing * np.arange(cells + 1)).astype(number)
            beside = [*np.nextafter(edges, number(-np.inf)), *edges, *np.nextafter(edges, number(np.inf))]
            near = [low - 1e-9, low - 1e-17, low, edge, edge - 1e-9, edge - 1e-17, *beside]
            given = np.array([*near, *rng.uniform(low - 40 * spacing, edge + 40 * spacing, 2000)], number)
            if world.rank == 0:
                p.append(x=given, id=np.arange(len(given)))
            p.migrate(p.x)
            found = p.x.to_numpy()[: p.count]
            # Kernels, and CuPy, take subnormal numbers for 0.
            seen = np.where(np.abs(found) < np.finfo(number).tiny, number(0), found)
            cell = np.floor((seen - number(low)) / number(spacing))
            assert (cell >= grid.begin[0]).all() and (cell < grid.begin[0] + grid.size[0]).all(), (dtype, low)
            aside = np.abs(found.astype(np.float64) - given[p.id.to_numpy()[: p.count]])
            periods = np.round(aside / (edge - low))
            off = np.abs(aside - periods * (edge - low))
            assert off.max(initial=0) < 100 * np.finfo(number).eps * max(abs(low), edge)
            assert p.migrate(p.x) == 0 and np.array_equal(p.x.to_numpy()[: p.count], found)


def test_blocks_are_cut_where_the_particles_are(world):
    """Of particles that lie low, each rank gets nearly its share, and fields go with the cuts."""
    grid = qdist.Grid((40, 12), halo=1, periodic=(False, True), dims=(world.size, 1))
    pair = qd.types.vector(2, qd.f64)
    p = qdist.Particles(grid, MOST, x=pair, id=qd.i64)
    rng = np.random.default_rng(9)
    x = np.stack([40 * rng.random(8000) ** 3, 12 * rng.random(8000)], axis=1)
    if world.rank == 0:
        p.append(x=x, id=np.arange(8000))
    p.migrate(p.x)
    found = p.histogram(p.x)
    assert np.array_equal(found, np.bincount(x[:, 0].astype(int), minlength=40))
    assert np.array_equal(p.histogram(p.x, axis=1), np.bincount(x[:, 1].astype(int), minlength=12))
    u, whole = grid.field(qd.f32), rng.random((40, 12)).astype(np.float32)
    grid.scatter(whole, u)

    even = grid.rebalanced(found, above=world.size + 1.0)
    assert even is grid
    other = grid.rebalanced(found)
    assert (other is grid) == (world.size == 1)
    w = other.field(qd.f32)
    grid.transfer(u, other, w)
    gathered = other.gather(w)
    assert world.rank != 0 or np.array_equal(gathered, whole)
    p.migrate(p.x, to=other)
    assert p.grid is other and world.sum(p.count) == 8000
    assert_at_home(other, p)
    assert p.count <= 1.2 * 8000 / world.size + found.max()
    if world.rank == 0:
        assert all(end - begin >= 1 for begin, end in zip(other.blocks.cuts[0], other.blocks.cuts[0][1:]))
    other.exchange_halo(w)
    again = qdist.Grid(grid.shape, 1, grid.periodic, grid.dims, cuts={0: other.blocks.cuts[0]})
    assert again.local == other.local


def test_cuts_and_transfers_that_do_not_fit_are_refused(world):
    grid = qdist.Grid((12, 4), halo=2, dims=(world.size, 1))
    u = grid.field(qd.f32)
    assert "12 weights" not in refused(lambda: grid.rebalanced([1] * 5), ValueError)
    assert "not negative" in refused(lambda: grid.rebalanced([-1] * 12), ValueError)
    assert "axes 0 to 1" in refused(lambda: qdist.Grid((12, 4), 2, cuts={2: [0, 12]}), ValueError)
    wrong = {0: [0] * world.size + [12]} if world.size > 1 else {0: [0, 11]}
    assert "cuts of axis 0" in refused(lambda: qdist.Grid((12, 4), 2, dims=(world.size, 1), cuts=wrong), ValueError)
    assert "do not fit those of the target" in refused(lambda: grid.transfer(u, grid, grid.field(qd.i32)), ValueError)
    small = qdist.Grid((10, 4), halo=2, dims=(world.size, 1))
    assert "of shape (10, 4)" in refused(lambda: grid.transfer(u, small, small.field(qd.f32)), ValueError)
    p = qdist.Particles(grid, 4, x=qd.types.vector(2, qd.f32))
    assert "do not fit" in refused(lambda: p.migrate(p.x, to=small), ValueError)
    assert "axis=2" in refused(lambda: p.histogram(p.x, 2), ValueError)


def test_positions_that_are_no_numbers_and_dead_particles_are_refused_on_all_ranks(world):
    grid = qdist.Grid((12, 4), halo=1, dims=(world.size, 1))
    p = qdist.Particles(grid, 4, x=qd.types.vector(2, qd.f32), id=qd.i32)
    if world.rank == world.size - 1:
        p.append(id=np.arange(3), x=np.array([[5, 1], [np.nan, 1], [1, np.inf]]))
    for call in (lambda: p.histogram(p.x), lambda: p.ghosts(p.x, within=1.0), lambda: p.migrate(p.x)):
        assert "2 particles" in refused(call, qd.QuadrantsRuntimeError)
    wrong = p.id if world.rank == world.size - 1 else p.x
    for call in (lambda: p.histogram(wrong), lambda: p.ghosts(wrong, within=1.0), lambda: p.migrate(wrong)):
        assert "and p.id has not" in refused(call, ValueError)
    qdist.init(arch=qd.cpu)
    for call in (lambda: p.histogram(p.x), lambda: p.ghosts(p.x, within=1.0), lambda: p.migrate(p.x)):
        assert "is dead" in refused(call, qd.QuadrantsRuntimeError)


if __name__ == "__main__":
    main(globals())
