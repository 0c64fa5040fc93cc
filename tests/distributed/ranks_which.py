"""Which array, which particles: where they change places on one rank all ranks say so, and refuse nothing else."""

from __future__ import annotations

import gc
from functools import partial

import numpy as np
from on_ranks import main, refused

import quadrants as qd
from quadrants import distributed as qdist

WRONG = qd.QuadrantsRuntimeError
SAME = "not exchange the same"


def ring(world):
    return qdist.Grid((4 * world.size,), halo=1, periodic=True)


def swapped(world, pair):
    """The two, in the other order on the last rank of several."""
    return pair[::-1] if world.rank == world.size - 1 else pair


def told(world, words: str, pair, use, label: str = "") -> None:
    """The uses are refused on all ranks where one changes their order, and right where none does. label: what one of
    the arrays is called; of more than two ranks some have no neighbour that changes it.
    """
    if world.size > 1:

        def mixed():
            for each in swapped(world, pair):
                use(each)

        refused(WRONG, label if label and world.size == 2 else words, mixed)
    for each in pair:
        use(each)


def test_gradients_of_arrays_that_the_grid_did_not_make(world):
    grid = ring(world)
    for make in (qd.ndarray, qd.field):
        pair = [make(qd.f64, tuple(grid.local), needs_grad=True) for _ in "uv"]
        for array in pair:
            grid.exchange_halo(array)
        for number, array in enumerate(pair):
            array.grad.fill(number + 1)
        told(world, SAME, pair, lambda array: grid.exchange_halo(array.grad))
        assert all((array.grad.to_numpy() == number + 1).all() for number, array in enumerate(pair))


def test_gradients_and_duals_that_are_made_later(world):
    for lazy, name in ((qd.root.lazy_grad, "grad"), (qd.root.lazy_dual, "dual")):
        grid = ring(world)
        pair = [grid.field(qd.f64) for _ in "uv"]
        whole = grid.field(qd.types.vector(2, qd.f64))
        lazy()
        told(world, SAME, [getattr(u, name) for u in pair], grid.exchange_halo)
        parts = [getattr(whole, name).get_scalar_field(k) for k in (0, 1)]
        label = f"component 1 of {'gradient' if name == 'grad' else name} of array 2"
        told(world, SAME, parts, grid.exchange_halo, label)


def test_parts_of_an_array_that_the_grid_did_not_make(world):
    grid = ring(world)
    shape = tuple(grid.local)
    vector = qd.Vector.field(4, qd.f64, shape=shape)
    for k in (0, 2):
        parts = [vector.get_scalar_field(k), vector.get_scalar_field(k + 1)]
        told(world, SAME, parts, grid.exchange_halo, f"component {k + 1} of array 0 of those")
    struct = qd.types.struct(a=qd.f64, b=qd.f64).field(shape=shape, needs_grad=True)
    grid.exchange_halo(struct)
    gradients = [struct.a.grad, struct.grad.b]
    told(world, SAME, gradients, grid.exchange_halo, "gradient of array 2 of those")
    single = qd.field(qd.f64, shape, needs_grad=True)
    told(world, SAME, [single, single.grad], grid.exchange_halo, "gradient of array 3 of those")


def parts_of_wholes(grid) -> list:
    """Pairs of parts, and what they are of."""
    shape = tuple(grid.local)
    struct = grid.field(qd.types.struct(a=qd.f64, b=qd.f64), needs_grad=True)
    vectors = [make(qd.types.vector(2, qd.f64)) for make in (grid.field, lambda t: qd.field(t, shape))]
    singles = [make(qd.f64, needs_grad=True) for make in (grid.field, grid.ndarray)]
    known = [qd.ndarray(qd.f64, shape, needs_grad=True) for _ in "ab"]
    for array in known:
        grid.exchange_halo(array)
    return [
        ([struct.a, struct.b], struct),
        ([struct.a.grad, struct.b.grad], struct),
        *(([v.get_scalar_field(0), v.get_scalar_field(1)], v) for v in vectors),
        ([array.grad for array in singles], singles),
        ([array.grad for array in known], known),
    ]


def test_wholes_live_as_long_as_each_rank_likes(world):
    for kept in ("on the last rank", "nowhere"):
        grid = ring(world)
        pairs = parts_of_wholes(grid)
        wholes = [whole for _, whole in pairs] if kept != "nowhere" and world.rank == world.size - 1 else []
        pairs = [pair for pair, _ in pairs]
        if world.rank == 0:
            gc.collect()
        for pair in pairs:
            told(world, SAME, pair, grid.exchange_halo)
            told(world, "not gather the same", pair, grid.gather)
        del wholes
        for pair in pairs:
            grid.exchange_halo(*pair)


def test_structs_of_one_rank_alone_mean_nothing(world):
    grid = ring(world)
    x, y = (qd.field(qd.f64, shape=tuple(grid.local)) for _ in "xy")
    shown = qd.StructField({"x": x, "y": y}, {}) if world.rank == 0 else None
    told(world, SAME, [x, y], lambda array: grid.exchange_halo(array, x) if array is y else grid.exchange_halo(array))
    del shown
    grid.gather(x)


def test_what_whole_arrays_are_moved(world):
    grid, other = ring(world), qdist.Grid((4 * world.size,), halo=2)
    pair = [qd.field(qd.f64, tuple(grid.local), needs_grad=True) for _ in "uv"]
    goals = [other.ndarray(qd.f64, needs_grad=True) for _ in "st"]
    for array in pair:
        grid.gather(array)
    told(world, "not gather the same", pair, grid.gather)
    told(world, "not ask for the same plane", pair, lambda array: grid.slice(array, 0, 1))
    told(world, "not scatter to the same", pair, lambda array: grid.scatter(np.ones(grid.shape), array))
    told(world, "not transfer the same", goals, lambda goal: grid.transfer(pair[0], other, goal))
    told(world, "not transfer the same gradients", goals, lambda goal: grid.transfer.grad(pair[0], other, goal))
    told(world, "not transfer the same gradients", pair, lambda array: grid.transfer.grad(array, other, goals[0]))


def test_what_is_loaded_into_what(world):
    grid = ring(world)
    u, v = grid.field(qd.f64), grid.ndarray(qd.f64)
    u.fill(1)
    v.fill(2)
    # The order in which a rank names them means nothing.
    qdist.save("which", grid, dict(swapped(world, [("u", u), ("v", v)])), step=3)
    qdist.save("other", grid, {"u": v, "v": u}, step=3)
    if world.size > 1:
        last = world.rank == world.size - 1
        arrays, name, one = {"u": v, "v": u} if last else {"u": u, "v": v}, "v" if last else "u", v if last else u
        for wrong in (arrays, {name: u}, {"u": one}):
            refused(WRONG, "not load the same", lambda wrong=wrong: qdist.load("which", grid, wrong))
        folder = "other" if last else "which"
        refused(WRONG, "not load the same", lambda: qdist.load(folder, grid, {"u": u}))
    assert qdist.load("which", grid, dict(swapped(world, [("u", v), ("v", u)]))) == 3
    if world.rank == 0:
        assert (u.to_numpy()[1:-1] == 2).all() and (v.to_numpy()[1:-1] == 1).all()


def test_which_particles(world):
    grid, far = ring(world), qdist.Grid((4 * world.size,), halo=2, periodic=True)
    pair = [qdist.Particles(grid, 64, x=qd.f64, v=qd.f64, id=qd.i32) for _ in "pq"]
    for number, p in enumerate(pair):
        place = grid.begin[0] + np.arange(4.0) + 0.5
        p.append(x=place, v=place, id=np.arange(4) + 10 * number)
    told(world, "not migrate the same", pair, lambda p: p.migrate(p.x))
    told(world, "not count the same particles", pair, lambda p: p.histogram(p.x))
    told(world, "not make the same ghosts", pair, lambda p: p.ghosts(p.x, within=1.0))
    p = pair[0]
    told(world, "not count the same particles", [p.x, p.v], p.histogram)
    told(world, "not migrate the same", [p.x, p.v], p.migrate)
    told(world, "not migrate the same", [grid, far], lambda to: p.migrate(p.x, to=to))
    assert sorted(p.id.to_numpy()[: p.count]) == [0, 1, 2, 3]


def test_ghosts_in_debug_mode(world):
    if world.size == 1:
        return
    world = qdist.init(arch=qd.cpu, debug=True)
    grid = ring(world)
    pair = [qdist.Particles(grid, 64, x=qd.f64) for _ in "pq"]
    for p in pair:
        p.append(x=grid.begin[0] + np.arange(4.0) + 0.5)
    lists = [p.ghosts(p.x, within=1.0) for p in pair]
    for what in ("refresh", "accumulate"):
        k = swapped(world, [0, 1])[0]
        use = partial(getattr(lists[k], what), pair[k].x)
        refused(WRONG, f"not {what} the same ghosts", use)
        other = "accumulate" if what == "refresh" and world.rank == 0 else "refresh" if world.rank == 0 else what
        refused(WRONG, f"not {other} the same ghosts", partial(getattr(lists[0], other), pair[0].x))


def test_a_boundary_that_is_wrong_on_one_rank(world):
    def right(u, axis, high, begin, end):
        pass

    def short(u):
        pass

    grid = qdist.Grid((4 * world.size,), halo=1)
    last = world.rank == world.size - 1
    for bad, kind in ((short, TypeError), (3, TypeError)):
        u = grid.field(qd.f64)
        own, expected = (bad, kind) if last else (right, WRONG)
        refused(expected, "", lambda u=u, own=own: grid.exchange_halo(u, boundary=own))
        grid.exchange_halo(u, boundary=right)
        # Only those at a face need one.
        grid.exchange_halo(u, boundary=right if grid.closed_faces() else None)
    offset, plain = grid.field(qd.f64, offset=last), grid.field(qd.f64)
    refused(ValueError if last else WRONG, "", lambda: grid.exchange_halo(offset, plain, boundary=lambda *_: None))


if __name__ == "__main__":
    main(globals())
