"""Ghosts of particles: sums over neighbours are those of one rank, and owners get what is added to ghosts."""

from __future__ import annotations

import numpy as np
from on_ranks import main, refused

import quadrants as qd
from quadrants import distributed as qdist

REACH = 0.9


@qd.kernel
def gather(x: qd.types.ndarray(), m: qd.types.ndarray(), rho: qd.types.ndarray(), n: qd.i32, whole: qd.i32):
    for i in range(n):
        found = 0.0
        for j in range(whole):
            d = (x[i] - x[j]).norm()
            if d < REACH:
                found += m[j] * (1 - d / REACH) ** 2
        rho[i] = found


@qd.kernel
def push(x: qd.types.ndarray(), f: qd.types.ndarray(), n: qd.i32, whole: qd.i32):
    """Each pair once: by the particle of this rank that is before the other one, or before its ghost."""
    for i in range(n):
        for j in range(i + 1, whole):
            r = x[i] - x[j]
            if r.norm() < REACH:
                # Of a ghost, its owner's rank sees the same pair: each gives half.
                share = 1.0 if j < n else 0.5
                f[i] += share * r
                f[j] -= share * r


def flock(world, shape, periodic, count, dtype=qd.f64):
    grid = qdist.Grid(shape, periodic=periodic, world=world)
    point = qd.types.vector(len(shape), dtype)
    p = qdist.Particles(
        grid, 20 * count + 500, spacing=0.5, low=-1.0, x=point, f=point, m=qd.f64, rho=qd.f64, id=qd.i32
    )
    rng = np.random.default_rng(11)
    edge = 0.5 * np.array(shape)
    x, m = rng.uniform(-1.0, edge - 1.0, (count, len(shape))), rng.random(count)
    if world.rank == 0:
        p.append(x=x, f=np.zeros_like(x), m=m, rho=np.zeros(count), id=np.arange(count))
    p.migrate(p.x)
    return grid, p, x, m


def by_number(world, p, array):
    parts = world.allgather((p.id.to_numpy()[: p.count], array.to_numpy()[: p.count]))
    numbers = np.concatenate([ids for ids, _ in parts])
    return np.concatenate([values for _, values in parts])[np.argsort(numbers)]


def differences(x, shape, periodic):
    """From each particle to the nearest image of each."""
    r = x[:, None] - x[None]
    for axis, ring in enumerate(periodic):
        if ring:
            period = 0.5 * shape[axis]
            r[..., axis] -= period * np.round(r[..., axis] / period)
    return r


def test_sums_over_neighbours_are_those_of_one_rank(world):
    for shape, periodic, count in (
        ((12, 9), (True, False), 150), ((12, 9), (False, False), 150), ((10, 10), (True, True), 150),
        ((8, 6, 7), (True, False, True), 200), ((30,), (True,), 60),
    ):  # fmt: skip
        grid, p, x, m = flock(world, shape, periodic, count)
        ghosts = p.ghosts(p.x, within=REACH)
        gather(p.x, p.m, p.rho, p.count, p.count + ghosts.count)
        r = np.linalg.norm(differences(x, shape, periodic), axis=-1)
        wanted = np.where(r < REACH, m[None] * (1 - r / REACH) ** 2, 0).sum(axis=1)
        assert np.allclose(by_number(world, p, p.rho), wanted, rtol=1e-12), (shape, periodic)
        assert world.sum(ghosts.count) > 0 or (world.size == 1 and not any(periodic))


def test_lists_are_kept_while_particles_move_a_little(world):
    shape, periodic = (12, 10), (True, False)
    grid, p, x, m = flock(world, shape, periodic, 150)
    ghosts = p.ghosts(p.x, within=REACH + 0.4)
    rng, before = np.random.default_rng(5), ghosts.count
    for _ in range(4):
        moved = rng.uniform(-0.05, 0.05, x.shape)
        x = x + moved
        held = p.x.to_numpy()
        held[: p.count] += moved[p.id.to_numpy()[: p.count]]
        p.x.from_numpy(held)
        ghosts.refresh(p.x)
        gather(p.x, p.m, p.rho, p.count, p.count + ghosts.count)
        r = np.linalg.norm(differences(x, shape, periodic), axis=-1)
        wanted = np.where(r < REACH, m[None] * (1 - r / REACH) ** 2, 0).sum(axis=1)
        assert np.allclose(by_number(world, p, p.rho), wanted, rtol=1e-12) and ghosts.count == before


def test_what_is_added_to_ghosts_comes_to_their_owners(world):
    for shape, periodic in (((12, 9), (True, False)), ((10, 10), (True, True)), ((12, 9), (False, False))):
        grid, p, x, _ = flock(world, shape, periodic, 150)
        ghosts = p.ghosts(p.x, within=REACH)
        span = slice(p.count, p.count + ghosts.count)
        push(p.x, p.f, p.count, p.count + ghosts.count)
        ghosts.accumulate(p.f)
        r = differences(x, shape, periodic)
        near = (np.linalg.norm(r, axis=-1) < REACH) & ~np.eye(len(x), dtype=bool)
        wanted = np.where(near[..., None], r, 0).sum(axis=1)
        assert np.allclose(by_number(world, p, p.f), wanted, rtol=0, atol=1e-12)
        assert not p.f.to_numpy()[span].any()


def test_images_have_the_values_of_their_owners(world):
    grid, p, x, m = flock(world, (10, 10), True, 100, qd.f32)
    ghosts = p.ghosts(p.x, within=1.5)
    span = slice(p.count, p.count + ghosts.count)
    ids, places = p.id.to_numpy()[span], p.x.to_numpy()[span]
    aside = (places - x[ids].astype(np.float32)) / 5.0
    assert np.allclose(aside, np.round(aside), atol=1e-5) and np.array_equal(p.m.to_numpy()[span], m[ids])
    begin, end = np.array(grid.begin) * 0.5 - 1.0, (np.array(grid.begin) + grid.size) * 0.5 - 1.0
    assert ((places >= begin - 1.5 - 1e-5) & (places <= end + 1.5 + 1e-5)).all()
    assert world.size > 1 or np.abs(np.round(aside)).sum(axis=1).min() >= 1


def test_what_does_not_fit_is_refused_on_all_ranks(world):
    grid, p, x, _ = flock(world, (10, 10), True, 100)
    for wrong in (0, -1.0, np.nan, "1", None):
        refused(ValueError, "must be a positive number", lambda wrong=wrong: p.ghosts(p.x, wrong))
    refused(ValueError, "the period of an axis", lambda: p.ghosts(p.x, 5.5))
    refused(ValueError, "positions have 2 real numbers", lambda: p.ghosts(p.m, 0.5))
    refused(ValueError, "own arrays", lambda: p.ghosts(grid.ndarray(qd.f64), 0.5))
    ghosts = p.ghosts(p.x, 0.5)
    refused(ValueError, "at least one", ghosts.accumulate)
    refused(ValueError, "own arrays", lambda: ghosts.refresh(grid.ndarray(qd.f64)))
    wider = p.ghosts(p.x, 1.0)
    refused(qd.QuadrantsRuntimeError, "or other ghosts made", lambda: ghosts.refresh(p.x))
    wider.refresh(p.x)
    ghosts = wider
    p.migrate(p.x)
    refused(qd.QuadrantsRuntimeError, "particles were appended or migrated, or other ghosts made", ghosts.refresh)
    refused(
        qd.QuadrantsRuntimeError,
        "particles were appended or migrated, or other ghosts made",
        lambda: ghosts.accumulate(p.f),
    )
    small = qdist.Particles(grid, 60, spacing=0.5, low=-1.0, x=qd.types.vector(2, qd.f64))
    mine = x[world.rank :: world.size][:10]
    small.append(x=mine)
    small.migrate(small.x)
    refused(qd.QuadrantsRuntimeError, "needs room for", lambda: small.ghosts(small.x, 5.0))


def test_ghosts_that_differ_are_told_on_all_ranks(world):
    if world.size == 1:
        return
    _, p, _, _ = flock(world, (10, 10), True, 100)
    first = world.rank == 0
    refused(qd.QuadrantsRuntimeError, "within=0.5", lambda: p.ghosts(p.x, 0.5 if first else 1.0))
    refused(qd.QuadrantsRuntimeError, "within=1.0", lambda: p.ghosts(p.x, 0.5 if first else 1.0))
    refused(ValueError, "the period of an axis", lambda: p.ghosts(p.x, 0.5 if first else 99.0))
    refused(ValueError, "positions have 2 real numbers", lambda: p.ghosts(p.m if first else p.x, 0.5))
    assert world.sum(1) == world.size


def test_arrays_that_differ_are_told_in_debug_mode(world):
    if world.size == 1:
        return
    world = qdist.init(arch=qd.cpu, default_fp=qd.f64, debug=True)
    _, p, _, _ = flock(world, (10, 10), True, 100)
    first = world.rank == 0
    ghosts = p.ghosts(p.x, 0.5)
    refused(qd.QuadrantsRuntimeError, "refresh the same ghosts", lambda: ghosts.refresh(p.x if first else p.f))
    refused(qd.QuadrantsRuntimeError, "accumulate the same", lambda: ghosts.accumulate(p.m if first else p.f))
    ghosts.refresh(p.x)
    if first:
        p.append(**{name: array.to_numpy()[:1] for name, array in p.arrays.items()})
    refused(qd.QuadrantsRuntimeError, "particles were appended", lambda: ghosts.refresh(p.x))
    assert world.sum(1) == world.size


if __name__ == "__main__":
    main(globals(), default_fp=qd.f64)
