"""At the first use of an array neighbours compare what they exchange, however it comes in; later ones cost nothing."""

from __future__ import annotations

import gc

from on_ranks import main, refused

import quadrants as qd
from quadrants import distributed as qdist

KINDS = (qd.f64, qd.i64)  # of one size: one would be read as the other
OTHERS = "not exchange the same"


def grid_of(world):
    return qdist.Grid((4 * world.size, 6), halo=1, periodic=True, dims=(world.size, 1))


def own(world, values):
    """The second one on rank 1, the first one on others."""
    return values[world.rank == 1]


def makers(grid) -> list:
    struct = lambda kind: qd.types.struct(a=qd.f32, b=kind)  # noqa: E731
    return [
        lambda kind: grid.ndarray(kind),
        lambda kind: grid.field(kind),
        lambda kind: qd.wrap(grid.ndarray(kind)),
        lambda kind: grid.field(struct(kind)),
        lambda kind: grid.field(struct(kind)).b,
        lambda kind: grid.field(qd.types.vector(2, kind)),
        lambda kind: grid.ndarray(qd.types.matrix(2, 2, kind)),
        lambda kind: grid.field(qd.types.vector(2, kind), layout=qd.Layout.SOA),
    ]


def counted(grid) -> list:
    """What its exchanges compare from now on."""
    found: list = []
    exchanges = grid._exchanges
    compare = exchanges._compare

    def count(about):
        found.append(about)
        compare(about)

    exchanges._compare = count
    return found


def test_new_arrays_of_known_kinds_are_compared(world):
    grid = grid_of(world)
    for make in makers(grid):
        for kind in KINDS:
            grid.exchange_halo(make(kind))
            grid.accumulate_halo(make(kind))
        for call in (grid.exchange_halo, grid.accumulate_halo, lambda u: grid.exchange_halo(u, wait=False).wait()):
            new = make(own(world, KINDS))
            if world.size == 1:
                call(new)
            else:
                refused(qd.QuadrantsRuntimeError, OTHERS, lambda call=call, new=new: call(new))


def test_new_uses_of_known_arrays_are_compared(world):
    if world.size == 1:
        return
    grid = grid_of(world)
    u, v, w = (grid.ndarray(qd.f64) for _ in range(3))
    for array in (u, v):
        grid.exchange_halo(array)
        grid.accumulate_halo(array)
        for more in ({"axes": 0}, {"axes": 1}, {"corners": False}):
            grid.exchange_halo(array, **more)
    other = grid.field(qd.i64)
    grid.exchange_halo(other)
    cases = [
        (lambda: grid.exchange_halo(w), lambda: grid.accumulate_halo(w)),
        (lambda: grid.exchange_halo(w, axes=0), lambda: grid.exchange_halo(w, axes=1)),
        (lambda: grid.exchange_halo(w), lambda: grid.exchange_halo(w, corners=False)),
        (lambda: grid.exchange_halo(u, v), lambda: grid.exchange_halo(u, other)),
        (lambda: grid.exchange_halo(u, v), lambda: grid.exchange_halo(v, other)),
        (lambda: grid.exchange_halo(u, v), lambda: grid.exchange_halo(w)),
    ]
    for case in cases:
        refused(qd.QuadrantsRuntimeError, OTHERS, own(world, case))


def test_arrays_at_the_place_of_dead_ones_are_compared(world):
    grid = grid_of(world)
    for kind in KINDS:
        grid.exchange_halo(grid.ndarray(kind))
    known = grid.ndarray(qd.f64)
    place = id(known)
    grid.exchange_halo(known)
    del known
    gc.collect()
    kept = []
    for _ in range(200):
        kept.append(grid.ndarray(own(world, KINDS)))
        if id(kept[-1]) == place:
            break
    if world.size == 1:
        grid.exchange_halo(kept[-1])
    else:
        refused(qd.QuadrantsRuntimeError, OTHERS, lambda: grid.exchange_halo(kept[-1]))


def test_known_arrays_are_not_compared_again(world):
    """Nor where they come in new tensors, as members, or as gradients."""
    grid = grid_of(world)
    compared = counted(grid)
    u, x = grid.ndarray(qd.f64), grid.ndarray(qd.f64, needs_grad=True)
    s = grid.field(qd.types.struct(a=qd.f64, b=qd.types.vector(2, qd.f32)))
    m = grid.field(qd.types.vector(2, qd.f64), needs_grad=True)
    calls = [
        lambda: grid.exchange_halo(u),
        lambda: grid.exchange_halo(u, s),
        lambda: grid.exchange_halo(s.b),
        lambda: grid.exchange_halo(qd.wrap(x)),
        lambda: grid.exchange_halo.grad(x, m),
        lambda: grid.accumulate_halo(x.grad, m.grad, axes=1),
        lambda: grid.exchange_halo(m.get_scalar_field(1)),
    ]
    for turn in range(3):
        for call in calls:
            call()
            gc.collect()
        assert len(compared) == len(calls), (turn, compared)


def test_equal_arrays_in_another_order_are_not_the_same(world):
    """Nor an array and its gradient: what one halo gets would be of the other one."""
    if world.size == 1:
        return
    grid = grid_of(world)
    made = [lambda: grid.ndarray(qd.f64), lambda: grid.field(qd.f64), lambda: grid.field(qd.types.struct(a=qd.f64))]
    for make in made:
        u, w = make(), make()
        refused(qd.QuadrantsRuntimeError, OTHERS, lambda u=u, w=w: grid.exchange_halo(own(world, (u, w))))
        refused(qd.QuadrantsRuntimeError, OTHERS, lambda u=u, w=w: grid.exchange_halo(*own(world, ((u, w), (w, u)))))
    x = grid.ndarray(qd.f64, needs_grad=True)
    refused(qd.QuadrantsRuntimeError, OTHERS, lambda: grid.exchange_halo(own(world, (x, x.grad))))
    uneven = grid.ndarray(qd.f64, needs_grad=world.rank == 1)
    refused(qd.QuadrantsRuntimeError, OTHERS, lambda: grid.exchange_halo(uneven))


def test_components_are_told_apart(world):
    """Views of them are made anew at each use, or kept."""
    grid = grid_of(world)
    pair = qd.types.vector(2, qd.f64)
    s, t = grid.field(pair, needs_grad=True), grid.field(pair, layout=qd.Layout.SOA)
    others = [qd.Vector.field(2, qd.f64, grid.local) for _ in range(2)]
    kept = [f.get_scalar_field(1) for f in (s, others[0])] if world.rank == 1 else []
    compared = counted(grid)
    for _ in range(3):
        for field in (s, t, s.grad, *others):
            grid.exchange_halo(field)
            grid.exchange_halo(field.get_scalar_field(1))
        for k, field in enumerate((s, others[0])):
            grid.exchange_halo(kept[k] if kept else field.get_scalar_field(1))
    assert len(compared) == 10 and len(set(compared)) == 10, compared
    if world.size == 1:
        return
    pairs = [
        (lambda: s.get_scalar_field(0), lambda: t.get_scalar_field(0)),
        (lambda: s.get_scalar_field(0), lambda: s.grad.get_scalar_field(0)),
        (lambda: s.get_scalar_field(0), lambda: s.get_scalar_field(1)),
        (lambda: others[0].get_scalar_field(0), lambda: others[1].get_scalar_field(0)),
    ]
    for pair in pairs:
        refused(qd.QuadrantsRuntimeError, OTHERS, lambda p=pair: grid.accumulate_halo(own(world, p)()))


def test_arrays_that_the_grid_did_not_make_are_known_by_their_first_exchange(world):
    """Of these each rank may have made others before."""
    grid = grid_of(world)
    kept = [qd.ndarray(qd.f64, grid.local) for _ in range(world.rank)]
    u, w = (qd.ndarray(qd.f64, grid.local) for _ in range(2))
    for array in (u, w, u, w):
        grid.exchange_halo(array)
    if world.size > 1:
        refused(qd.QuadrantsRuntimeError, OTHERS, lambda: grid.accumulate_halo(own(world, (u, w))))
    grid.exchange_halo(u, w)
    assert len(kept) == world.rank


def test_all_axes_are_all_axes(world):
    grid = grid_of(world)
    u = grid.ndarray(qd.f64)
    for axes in (own(world, (None, (0, 1))), own(world, ([1, 0], (0, 1, 1)))):
        grid.exchange_halo(u, axes=axes)
        grid.accumulate_halo(u, axes=axes)


@qd.kernel
def add_up(u: qd.types.ndarray(ndim=2), loss: qd.types.ndarray(ndim=1)):
    for i, j in u:
        loss[0] += u[i, j] * u[i, j]


def test_tapes_and_recorded_steps_compare_once(world):
    grid = grid_of(world)
    compared = counted(grid)
    x, loss = grid.ndarray(qd.f64, needs_grad=True), qd.ndarray(qd.f64, (1,), needs_grad=True)
    for _ in range(3):
        with qd.ad.Tape(loss):
            grid.exchange_halo(x)
            add_up(x, loss)
        assert len(compared) == 2 and "(adjoint)" in compared[1], compared
    u = grid.ndarray(qd.f64)
    again = world.record(lambda: grid.exchange_halo(u))
    again()
    assert len(compared) == 3


if __name__ == "__main__":
    main(globals())
