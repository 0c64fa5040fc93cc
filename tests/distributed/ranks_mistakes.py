"""Random exchanges, of which one rank does some otherwise: debug mode tells them on every rank, and only them."""

from __future__ import annotations

import os

import numpy as np
from on_ranks import main, refused

import quadrants as qd
from quadrants import distributed as qdist

ROUNDS = 160


def arrays_of(grid) -> list:
    """Groups of arrays that an exchange cannot tell apart by their elements."""
    struct = qd.types.struct(a=qd.f32, b=qd.f32)
    with_gradient = grid.ndarray(qd.f64, needs_grad=True)
    one, shape = grid.field(struct), tuple(grid.local)
    # Parts of arrays that the grid did not make are known by their wholes, and need no exchange before.
    own = qd.field(qd.f64, shape, needs_grad=True, needs_dual=True)
    vector = qd.Vector.field(2, qd.f32, shape=shape, needs_grad=True)
    components = [v.get_scalar_field(k) for v in (vector, vector.grad) for k in (0, 1)]
    return [
        [grid.ndarray(qd.f64), grid.field(qd.f64), with_gradient, with_gradient.grad, qd.wrap(grid.ndarray(qd.f64))],
        [qd.ndarray(qd.i32, grid.local), qd.field(qd.i32, grid.local), qd.ndarray(qd.i32, grid.local)],
        [one.a, one.b, grid.field(struct).a],
        [grid.field(qd.types.vector(2, qd.f32), layout=qd.Layout.SOA), grid.ndarray(qd.types.vector(2, qd.f32))],
        [own, own.grad, own.dual],
        components,
    ]


def drawn(rng, groups) -> dict:
    """An exchange: how, what by group and place, along which axes."""
    places = [(k, i) for k, group in enumerate(groups) for i in range(len(group))]
    chosen = rng.choice(len(places), rng.integers(1, 4), replace=False)
    axes = (None, 0, 1)[rng.integers(3)]
    return {
        "add": bool(rng.integers(2)),
        "what": [places[k] for k in chosen],
        "axes": axes,
        "corners": bool(rng.integers(2)),
    }


def mistaken(rng, groups, call: dict) -> dict:
    """The same but for one thing."""
    what = [*call["what"]]
    way = ("add", "axes", "corners", "order", "array")[rng.integers(5)]
    if way in ("add", "corners"):
        return {**call, way: not call[way]}
    if way == "axes":
        return {**call, "axes": 0 if call["axes"] != 0 else None}
    if way == "order" and len(what) > 1:
        return {**call, "what": [*what[1:], what[0]]}
    k = rng.integers(len(what))
    group = what[k][0]
    others = [(group, i) for i in range(len(groups[group])) if (group, i) not in what]
    return {**call, "what": [*what[:k], others[0], *what[k + 1 :]]} if others else {**call, "add": not call["add"]}


def done(grid, groups, call: dict) -> None:
    exchange = grid.accumulate_halo if call["add"] else grid.exchange_halo
    exchange(*(groups[k][i] for k, i in call["what"]), axes=call["axes"], corners=call["corners"])


def test_what_one_rank_does_otherwise_is_told(world):
    if world.size == 1:
        return
    world = qdist.init(arch=getattr(qd, os.environ.get("QD_RANKS_ARCH", "cpu")), debug=True)
    grid = qdist.Grid((4 * world.size, 6), halo=1, periodic=True, dims=(world.size, 1))
    groups = arrays_of(grid)
    # Those that the grid did not make are known by their first exchange, so all ranks have to agree about that.
    for array in groups[1]:
        grid.exchange_halo(array)
    rng = np.random.default_rng(11)
    for number in range(ROUNDS):
        call = drawn(rng, groups)
        wrong = mistaken(rng, groups, call)
        if number % 2:
            done(grid, groups, call)
            continue
        own = wrong if world.rank == 1 else call
        refused(qd.QuadrantsRuntimeError, "not exchange the same", lambda own=own: done(grid, groups, own))


if __name__ == "__main__":
    main(globals())
