"""Gradients through particles that change their rank: those of one rank, and of finite differences."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager

import numpy as np
from on_ranks import main, refused, solo

import quadrants as qd
from quadrants import distributed as qdist

REACH = 0.7
pair = qd.types.vector(2, qd.f64)


@qd.kernel
def drift(x: qd.types.ndarray(), v: qd.types.ndarray(), n: qd.i32, dt: qd.f64):
    for i in range(n):
        x[i] += dt * v[i]


@qd.kernel
def pull(x: qd.types.ndarray(), v: qd.types.ndarray(), n: qd.i32, dt: qd.f64):
    """Not linear in positions: the derivative needs those that there were."""
    for i in range(n):
        v[i] += dt * qd.sin(x[i])


@qd.kernel
def weigh(x: qd.types.ndarray(), m: qd.types.ndarray(), n: qd.i32, total: qd.types.ndarray()):
    for i in range(n):
        total[()] += m[i] * (x[i][0] ** 2 + 2 * qd.cos(x[i][1]))


@qd.kernel
def density(x: qd.types.ndarray(), m: qd.types.ndarray(), rho: qd.types.ndarray(), n: qd.i32, whole: qd.i32):
    for i in range(n):
        for j in range(whole):
            r = x[i] - x[j]
            d = r.dot(r)
            if d < REACH**2:
                rho[i] += m[j] * (1 - d / REACH**2) ** 2


@qd.kernel
def give(x: qd.types.ndarray(), m: qd.types.ndarray(), f: qd.types.ndarray(), n: qd.i32, whole: qd.i32):
    """Each particle adds to its neighbours."""
    for i in range(n):
        for j in range(whole):
            r = x[i] - x[j]
            d = r.dot(r)
            if d < REACH**2:
                f[j] += m[i] ** 2 * (1 - d / REACH**2) ** 2


@qd.kernel
def squares(values: qd.types.ndarray(), m: qd.types.ndarray(), n: qd.i32, total: qd.types.ndarray()):
    for i in range(n):
        total[()] += m[i] * values[i] ** 2


def flock(world, count=60, shape=(9, 8), periodic=(True, False), **more):
    """Particles and their order: entry k of the result of `whole` is particle k."""
    grid = qdist.Grid(shape, periodic=periodic, world=world)
    p = qdist.Particles(
        grid, 40 * count, spacing=0.5, low=-1.0, needs_grad=True, x=pair, v=pair, m=qd.f64, rho=qd.f64, f=qd.f64,
        id=qd.i32,
    )  # fmt: skip
    rng = np.random.default_rng(5)
    start = {
        "x": rng.uniform(-1.0, 0.5 * np.array(shape) - 1.0, (count, 2)), "v": rng.normal(size=(count, 2)),
        "m": rng.random(count), **more,
    }  # fmt: skip
    if world.rank == 0:
        p.append(**start, rho=np.zeros(count), f=np.zeros(count), id=np.arange(count))
    return p, start


def whole(world, p, array) -> np.ndarray:
    """Of all particles, by number."""
    parts = world.allgather((p.id.to_numpy()[: p.count], array.to_numpy()[: p.count]))
    numbers = np.concatenate([ids for ids, _ in parts])
    assert len(numbers) == len(set(numbers))
    return np.concatenate([values for _, values in parts])[np.argsort(numbers)]


def slopes(world, p, total, steps, tape: bool):
    """The loss of all ranks, or its gradients by particle."""
    if not tape:
        steps()
        return world.sum(float(total.to_numpy()))
    with qd.ad.Tape(total):
        steps()
    return {name: whole(world, p, getattr(p, name).grad) for name in ("x", "v", "m")}


def moving(world, tape: bool, **more):
    """Loss and gradients of three steps. Positions lie in other entries, and on other ranks, behind each."""
    p, start = flock(world, **more)
    total = qd.ndarray(qd.f64, (), needs_grad=True)

    def steps():
        p.migrate(p.x)
        for _ in range(3):
            drift(p.x, p.v, p.count, 0.6)
            p.migrate(p.x)
        weigh(p.x, p.m, p.count, total)

    found = slopes(world, p, total, steps, tape)
    for name in ("x", "v", "m") if tape else ():
        assert np.array_equal(whole(world, p, getattr(p, name)), start[name])  # as before the first migration
    return found


def assert_slopes(found, start, loss, rng):
    for name, slope in found.items():
        along = rng.normal(size=slope.shape)
        h = 1e-6
        high, low = (loss(**{name: start[name] + sign * h * along}) for sign in (1, -1))
        assert abs((high - low) / (2 * h) - (slope * along).sum()) < 1e-6 * max(1, np.abs(slope * along).sum()), name


def test_gradients_go_back_with_the_particles(world):
    found, one = moving(world, True), moving(solo(world), True)
    for name in found:
        assert np.allclose(found[name], one[name], rtol=1e-13, atol=1e-13), name
        assert name == "v" or np.abs(found[name]).min() > 0
    _, start = flock(world)
    assert_slopes(found, start, lambda **more: moving(world, False, **more), np.random.default_rng(1))


def test_what_was_read_before_a_migration_is_brought_back(world):
    """`pull` reads positions that `migrate` overwrites; nothing else does."""

    def run(world, tape, **more):
        p, _ = flock(world, **more)
        total = qd.ndarray(qd.f64, (), needs_grad=True)

        def steps():
            pull(p.x, p.v, p.count, 0.3)
            p.migrate(p.x)
            pull(p.x, p.v, p.count, 0.3)
            p.migrate(p.v)
            weigh(p.v, p.m, p.count, total)

        return slopes(world, p, total, steps, tape)

    found = run(world, True)
    _, start = flock(world)
    assert_slopes(found, start, lambda **more: run(world, False, **more), np.random.default_rng(2))


def sums(world, tape, **more):
    """Densities by ghosts that are refreshed twice, and what they give back to their owners."""
    p, _ = flock(world, **more)
    total = qd.ndarray(qd.f64, (), needs_grad=True)

    def steps():
        p.migrate(p.x)
        ghosts = p.ghosts(p.x, within=REACH)
        density(p.x, p.m, p.rho, p.count, p.count + ghosts.count)
        give(p.x, p.m, p.f, p.count, p.count + ghosts.count)
        ghosts.accumulate(p.f)
        ghosts.refresh(p.f)
        density(p.x, p.f, p.rho, p.count, p.count + ghosts.count)
        squares(p.rho, p.m, p.count, total)
        p.migrate(p.v, to=p.grid)
        weigh(p.v, p.m, p.count, total)

    return slopes(world, p, total, steps, tape)


def test_ghosts_give_gradients_to_their_owners(world):
    found, one = sums(world, True), sums(solo(world), True)
    for name in found:
        assert np.allclose(found[name], one[name], rtol=1e-10, atol=1e-10), name
    _, start = flock(world)
    assert_slopes(found, start, lambda **more: sums(world, False, **more), np.random.default_rng(3))


def test_gradients_add_up_from_tape_to_tape(world):
    """Those that are there go with their particles, and come back with them."""
    p, start = flock(world)
    for tape in range(3):
        total = qd.ndarray(qd.f64, (), needs_grad=True)
        with qd.ad.Tape(total):
            p.migrate(p.x)
            weigh(p.v, p.m, p.count, total)
        found = whole(world, p, p.m.grad)
        assert np.allclose(found, (tape + 1) * (start["v"][:, 0] ** 2 + 2 * np.cos(start["v"][:, 1])), rtol=1e-12)


def warned(function) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    return [str(one.message) for one in found if "data access rule" in str(one.message)]


@contextmanager
def debugging():
    """A world in debug mode."""
    arch = getattr(qd, os.environ.get("QD_RANKS_ARCH", "cpu"))
    try:
        yield qdist.init(arch=arch, debug=True)
    finally:
        qdist.init(arch=arch, ad_stack_experimental_enabled=True)


def test_debug_mode_knows_what_is_brought_back(world):
    with debugging() as world:
        for between, told in ((True, False), (False, True)):
            p, _ = flock(world)
            p.migrate(p.x)
            total = qd.ndarray(qd.f64, (), needs_grad=True)

            def steps(p=p, total=total, between=between):
                with qd.ad.Tape(total):
                    for _ in range(2):
                        weigh(p.x, p.m, p.count, total)
                        if between:
                            p.migrate(p.x)
                        drift(p.x, p.v, p.count, 0.3)

            assert bool(warned(steps)) == told and p.count > 0


@qd.kernel
def squared(u: qd.types.ndarray(ndim=1), total: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        total[()] += u[i] ** 2


def test_debug_mode_tells_what_is_overwritten_and_needed(world):
    """Exchanges and sums bring nothing back, as kernels do not."""
    with debugging() as world:
        grid = qdist.Grid((4 * world.size,), periodic=True)
        for overwrite in (grid.exchange_halo, grid.accumulate_halo, world.allreduce, lambda u: None):
            u, total = grid.ndarray(qd.f64, needs_grad=True), qd.ndarray(qd.f64, (), needs_grad=True)
            u.from_numpy(np.arange(1.0, grid.local[0] + 1))

            def steps(u=u, total=total, overwrite=overwrite):
                with qd.ad.Tape(total):
                    squared(u, total, grid.local[0])
                    overwrite(u)

            kept = u.to_numpy()
            told = warned(steps)
            assert bool(told) == (not np.array_equal(kept, u.to_numpy())), overwrite


def test_an_exchange_that_overwrites_fails_itself(world):
    with debugging() as world:
        grid = qdist.Grid((4 * world.size,), periodic=True)
        u, v = (grid.ndarray(qd.f64, needs_grad=True) for _ in range(2))
        total = qd.ndarray(qd.f64, (), needs_grad=True)
        u.from_numpy(np.arange(1.0, grid.local[0] + 1))
        with qd.ad.Tape(total, validation=True):
            squared(u, total, grid.local[0])
            refused(qd.QuadrantsAssertionError, "was overwritten after `squared`", lambda: grid.accumulate_halo(u))
            grid.exchange_halo(v)


def test_gradients_of_several_ranks_are_not_checked_by_differences(world):
    grid = qdist.Grid((12,), periodic=True)
    u, loss = grid.field(qd.f64, needs_grad=True), qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def products():
        for i in range(1, grid.local[0] - 1):
            loss[None] += u[i] * u[i - 1] * u[i + 1]

    grid.scatter(np.arange(1.0, 13.0), u)

    def steps():
        with qd.ad.Tape(loss, grad_check=[u]):
            grid.exchange_halo(u)
            products()

    if world.size > 1:
        refused(qd.QuadrantsRuntimeError, "is for one rank", steps)
    else:
        steps()


def near(p, total):
    ghosts = p.ghosts(p.x, within=REACH)
    density(p.x, p.m, p.rho, p.count, p.count + ghosts.count)
    squares(p.rho, p.m, p.count, total)


def shared(p, total):
    ghosts = p.ghosts(p.x, within=REACH)
    give(p.x, p.m, p.f, p.count, p.count + ghosts.count)
    ghosts.accumulate(p.f)
    squares(p.f, p.m, p.count, total)


def joined(p, total):
    """One more particle, which the way back of the migration before undoes."""
    corner = (np.array(p.grid.blocks.begin) + 0.5) * 0.5 - 1.0  # of this block
    p.append(x=[corner], v=np.ones((1, 2)), m=[2.0], rho=[0.0], f=[0.0], id=[1000 + p.grid.world.rank])
    weigh(p.x, p.m, p.count, total)


def test_gradients_of_tapes_add_up_whoever_lay_in_the_entries(world):
    """Particles leave entries, and ghosts and particles that are new come to them, with no gradient of their own."""
    for body in (near, shared, joined):
        p, _ = flock(world)
        total = qd.ndarray(qd.f64, (), needs_grad=True)
        first = {}
        for turn in range(1, 5):
            for array in (p.rho, p.f, p.rho.grad, p.f.grad):  # of results, which would be counted again
                array.fill(0)
            with qd.ad.Tape(total):
                p.migrate(p.x)
                body(p, total)
            for name in ("x", "m"):
                found = whole(world, p, getattr(p, name).grad)
                assert np.allclose(found, turn * first.setdefault(name, found), rtol=1e-12), (body, turn, name)
                assert np.abs(found).max() > 0
            if turn == 2:
                p.migrate(p.x)
        drift(p.x, p.v, p.count, 0.6)
        p.migrate(p.x)
        for name in ("x", "v", "m"):
            assert not getattr(p, name).grad.to_numpy()[p.count :].any(), (body, name)


def test_gradients_of_ghosts_that_nobody_collects_are_dropped(world):
    """What `accumulate` gives to ghosts is for kernels that ran before it, not for later tapes, nor for who comes."""
    p, _ = flock(world)
    p.migrate(p.x)
    ghosts, total = p.ghosts(p.x, within=REACH), qd.ndarray(qd.f64, (), needs_grad=True)

    def given():
        with qd.ad.Tape(total):
            give(p.x, p.m, p.f, p.count, p.count + ghosts.count)
            ghosts.accumulate(p.f)
            squares(p.f, p.m, p.count, total)

    def read():
        with qd.ad.Tape(total):
            ghosts.refresh(p.f)
            squares(p.f, p.m, p.count + ghosts.count, total)
        return p.f.grad.to_numpy()[: p.count]

    given()
    left = p.f.grad.to_numpy()
    assert world.sum(float(np.abs(left[p.count :]).sum())) > 0
    left[: p.count] = 0
    p.f.grad.from_numpy(left)
    found = read()
    p.f.grad.fill(0)
    assert np.array_equal(found, read())
    given()
    p.append(x=[[0.0, 0.0]], v=[[0.0, 0.0]], m=[1.0], rho=[0.0], f=[0.0], id=[1000])
    assert p.f.grad.to_numpy()[p.count - 1] == 0


def test_particles_without_gradients_are_brought_back(world):
    """A kernel before a migration has a derivative by something else, which needs the positions that it read."""
    grid = qdist.Grid((9, 8), periodic=True, world=world)
    p = qdist.Particles(grid, 100, x=pair, m=qd.f64)
    rng = np.random.default_rng(world.rank)
    x, m = rng.uniform(0, 8, (20, 2)), rng.random(20)
    p.append(x=x, m=m)
    total = qd.ndarray(qd.f64, (), needs_grad=True)
    scale = qd.ndarray(qd.f64, (), needs_grad=True)
    scale.fill(2.0)

    @qd.kernel
    def scaled(x: qd.types.ndarray(), n: qd.i32, scale: qd.types.ndarray(), total: qd.types.ndarray()):
        for i in range(n):
            total[()] += scale[()] ** 2 * x[i][0]

    with qd.ad.Tape(total):
        scaled(p.x, p.count, scale, total)
        p.migrate(p.x)
        scaled(p.x, p.count, scale, total)
    after = world.sum(float(scale.grad.to_numpy()))
    assert abs(after - 2 * 4.0 * world.sum(float(x[:, 0].sum()))) < 1e-9
    assert p.count == 20 and np.array_equal(p.x.to_numpy()[:20], x) and not p.x.has_grad()
    refused(ValueError, "True or False", lambda: qdist.Particles(grid, 10, needs_grad="x", x=pair))


if __name__ == "__main__":
    main(globals(), ad_stack_experimental_enabled=True)
