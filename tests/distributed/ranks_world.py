"""What all ranks do together: reductions, whole arrays, seeds, and errors that name both sides."""

from __future__ import annotations

import sys

import numpy as np
from on_ranks import main, refused

import quadrants as qd
from quadrants import distributed as qdist


def test_numbers_arrays_and_fields_are_reduced(world):
    ranks = range(world.size)
    assert world.sum(world.rank + 0.5) == sum(ranks) + world.size / 2
    assert world.allreduce(world.rank + 1, "prod") == int(np.prod([r + 1 for r in ranks]))
    assert type(world.sum(1)) is int and type(world.sum(1.0)) is float
    given = np.arange(6, dtype=np.int16).reshape(2, 3) * (world.rank + 1)
    assert np.array_equal(world.allreduce(given, "max"), np.arange(6).reshape(2, 3) * world.size)
    assert given[0, 1] == world.rank + 1
    scalar, pairs, array = qd.field(qd.f32, ()), qd.Vector.field(2, qd.f64, 3), qd.ndarray(qd.i64, (4,))
    scalar[None], low = world.rank + 2, world.allreduce(world.rank + 2, "min")
    pairs.fill(world.rank)
    array.fill(1)
    assert world.allreduce(scalar, "min") is scalar and scalar[None] == low == 2
    assert (world.sum(pairs).to_numpy() == sum(ranks)).all()
    assert (world.sum(array).to_numpy() == world.size).all()


def test_the_next_kernel_uses_a_reduced_field_and_gradients_flow_back(world):
    """Each rank has part of a sum, and its loss is the square of the whole one."""
    part, total = qd.field(qd.f64, (), needs_grad=True), qd.field(qd.f64, (), needs_grad=True)
    loss = qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def begin():
        total[None] += 3 * part[None]

    @qd.kernel
    def square():
        loss[None] += total[None] ** 2

    part[None] = world.rank + 1
    with qd.ad.Tape(loss):
        begin()
        world.allreduce(total)
        square()
    whole = 3 * sum(range(1, world.size + 1))
    assert loss[None] == whole**2
    assert part.grad[None] == 3 * 2 * whole * world.size  # the losses of all ranks depend on each part
    for op, holder in (("max", world.size - 1), ("min", 0)):
        total[None] = 0
        with qd.ad.Tape(loss):
            begin()
            world.allreduce(total, op)
            square()
        assert loss[None] == (3 * (holder + 1)) ** 2
        assert part.grad[None] == (world.rank == holder) * 3 * 2 * 3 * (holder + 1) * world.size
    part[None], total[None] = 1, 0  # the first of equal ones
    with qd.ad.Tape(loss):
        begin()
        world.allreduce(total, "max")
        square()
    assert part.grad[None] == (world.rank == 0) * 18 * world.size
    try:
        with qd.ad.Tape(loss):
            world.allreduce(total, "prod")
    except qd.QuadrantsRuntimeError as error:
        assert "sum logarithms" in str(error)
    else:
        raise AssertionError("a product with gradients was recorded")


def test_the_same_ranks_give_the_same_bits(world):
    values = np.random.default_rng((3, world.rank)).normal(size=1000)
    assert world.sum(values).tobytes() == world.sum(values).tobytes()


def test_whole_arrays_go_to_the_first_rank_and_back(world):
    pair = qd.types.vector(2, qd.f32)
    for k, (shape, halo) in enumerate([((13,), 2), ((9, 7), ((1, 2), (0, 1))), ((8, 5, 6), 1)]):
        grid = qdist.Grid(shape, halo)
        rng = np.random.default_rng(k)
        struct = qd.types.struct(a=qd.i32, b=pair)
        for array in (grid.field(qd.f32), grid.ndarray(pair), grid.field(struct), grid.field(qd.f64, offset=True)):
            parts = (
                {name: array.get_member_field(name) for name in array.keys} if hasattr(array, "keys") else {"": array}
            )
            for part in parts.values():
                part.fill(-3)
            wholes = {
                name: rng.integers(0, 99, (*shape, *part._element_shape)).astype(part.to_numpy().dtype)
                for name, part in parts.items()
            }
            mine = wholes if "" not in wholes else wholes[""]
            grid.scatter(mine if world.rank == 0 else None, array)
            found = grid.gather(array)
            assert (found is None) == (world.rank != 0)
            for name, part in parts.items():
                block = tuple(slice(low, low + n) for (low, _), n in zip(grid.halo, grid.size))
                inside = part.to_numpy()
                where = tuple(slice(b, b + n) for b, n in zip(grid.begin, grid.size))
                assert np.array_equal(inside[block], wholes[name][where])
                inside[block] = -3
                assert (inside == -3).all()
                if world.rank == 0:
                    assert np.array_equal(found if name == "" else found[name], wholes[name])
            for every in (1, 2, 3, shape[0], 50, tuple(range(1, len(shape) + 1))):
                found = grid.gather(array, every=every)
                assert (found is None) == (world.rank != 0)
                steps = every if isinstance(every, tuple) else (every,) * len(shape)
                for name in parts if found is not None else ():
                    wanted = wholes[name][tuple(slice(None, None, step) for step in steps)]
                    assert np.array_equal(found if name == "" else found[name], wanted), (shape, every)
            for axis, extent in enumerate(shape):
                for index in (0, extent // 2, extent - 1):
                    plane = grid.slice(array, axis, index)
                    assert (plane is None) == (world.rank != 0)
                    for name in parts if plane is not None else ():
                        values = plane if name == "" else plane[name]
                        assert np.array_equal(values, np.take(wholes[name], index, axis))


def test_matrices_have_the_shape_of_to_numpy(world):
    """On rank 0, and back; columns are also taken with their axis."""
    grid = qdist.Grid((9,), halo=1, periodic=True)
    for n, m in ((3, 1), (1, 3), (1, 1), (2, 2)):
        kind = qd.types.matrix(n, m, qd.f32)
        for u in (grid.field(kind), grid.field(kind, layout=qd.Layout.SOA), grid.ndarray(kind)):
            shape = (9, *u.to_numpy().shape[1:])
            whole = np.arange(9.0 * n * m).reshape(shape)
            for given in (whole, whole.reshape(9, n, m)):
                u.fill(0)
                grid.scatter(given, u)
                grid.exchange_halo(u)
                found, plane = grid.gather(u), grid.slice(u, 0, 4)
                if world.rank == 0:
                    assert found.shape == shape and np.array_equal(found, whole)
                    assert np.array_equal(plane, whole[4])
                assert np.array_equal(u.to_numpy()[0], whole[grid.begin[0] - 1])
        part = kind.field(shape=4)
        part.fill(world.rank)
        assert (world.sum(part).to_numpy() == sum(range(world.size))).all()


def test_what_rank_0_scatters_is_refused_on_all_ranks(world):
    grid = qdist.Grid((8, 8))
    u, struct = grid.field(qd.i32), grid.field(qd.types.struct(a=qd.f32, b=qd.f32))
    ones = np.ones((8, 8))
    wrong = [
        (u, None, TypeError, "takes an array of real numbers"),
        (u, 1j * ones, TypeError, "not of complex128"),
        (u, 3.0, ValueError, "takes (8, 8)"),
        (struct, {"a": ones}, ValueError, "one for 'b'"),
        (struct, ones, ValueError, "write a dictionary"),
    ]
    for array, whole, kind, text in wrong:
        refused(kind, text, lambda: grid.scatter(whole if world.rank == 0 else None, array))
    grid.scatter(1.7 * ones, u)
    assert world.sum(int(u[1, 1])) == world.size


def test_planes_that_are_not_there_are_refused(world):
    grid = qdist.Grid((8, 6), 0)
    u = grid.field(qd.f32)
    for axis, index, said in ((2, 0, "numbers 0 to 1"), (0, 8, "0 to 7"), (1, -1, "0 to 5"), (0, 0.5, "no cell")):
        try:
            grid.slice(u, axis, index)
        except ValueError as error:
            assert said in str(error)
        else:
            raise AssertionError(f"axis {axis}, index {index}")


def test_what_the_last_rank_alone_asks_wrongly_is_refused_on_all(world):
    """And what is asked next is answered: no rank waits for one that has raised."""
    grid, other = qdist.Grid((8, 8), 0), qdist.Grid((8, 8), 0)
    last = world.rank == world.size - 1
    u, target = grid.field(qd.i32), other.field(qd.i32)
    u.fill(world.rank)
    foreign = qd.field(qd.i32, (3,)) if last else u
    refused(ValueError, "is not of", lambda: grid.gather(foreign))
    refused(ValueError, "is not of", lambda: grid.slice(foreign, 0, 1))
    for wrong in (0, 1.5, (1, -1), (2, 2, 2), True):
        refused(ValueError, "every", lambda wrong=wrong: grid.gather(u, every=wrong if last else 2))
    refused(ValueError, "no cell of axis 1", lambda: grid.slice(u, 1, 8 if last else 7))
    if world.size > 1:
        refused(qd.QuadrantsRuntimeError, "gather the same cells", lambda: grid.gather(u, every=4 if last else 5))
        refused(qd.QuadrantsRuntimeError, "ask for the same plane", lambda: grid.slice(u, 0, 1 if last else 7))
    refused(ValueError, "is not of", lambda: grid.transfer(foreign, other, target))
    refused(ValueError, "do not fit", lambda: grid.transfer(u, other, other.field(qd.f32) if last else target))
    grid.transfer(u, other, target)
    whole, plane = other.gather(target), other.slice(target, 0, 7)
    assert world.rank > 0 or (whole.max() == world.size - 1 and np.array_equal(plane, whole[7]))


@qd.kernel
def add_squares(w: qd.types.ndarray(ndim=2), loss: qd.template(), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        loss[None] += w[i, j] * w[i, j]


def test_gradients_come_back_from_the_other_grid(world):
    """What is read behind two transfers of one array is differentiated twice."""
    grid, other = qdist.Grid((8, 6), 1, periodic=True), qdist.Grid((8, 6), 0, dims=(1, world.size))
    u, v, w = (one.ndarray(qd.f64, needs_grad=True) for one in (grid, other, other))
    loss = qd.field(qd.f64, (), needs_grad=True)
    start = np.random.default_rng(3).normal(size=(8, 6))
    grid.scatter(start, u)
    with qd.ad.Tape(loss):
        grid.transfer(u, other, v)
        grid.transfer(u, other, w)
        add_squares(v, loss, *other.box())
        add_squares(w, loss, *other.box())
    whole, left = grid.gather(u.grad), other.gather(v.grad)
    assert world.rank > 0 or (np.array_equal(whole, 4 * start) and not left.any())
    outside = u.grad.to_numpy()
    outside[tuple(slice(*grid.blocks.block_span(axis)) for axis in (0, 1))] = 0
    assert not outside.any()


@qd.kernel
def mirror(
    u: qd.types.ndarray(ndim=2), axis: qd.template(), high: qd.i32, n: qd.i32,
    i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32,
):  # fmt: skip
    """n: local cells of the axis. Cells behind a face get the values before it, the nearest first."""
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        at = qd.Vector([i, j])
        low = qd.static(2)
        at[axis] = 2 * (n - low) - 1 - at[axis] if high else 2 * low - 1 - at[axis]
        u[i, j] = u[at]


def test_what_is_behind_closed_faces_is_set_as_on_one_rank(world):
    """A mirror behind closed faces is what NumPy pads with, corners and ring included."""
    rng = np.random.default_rng(4)
    for periodic in ((False, False), (True, False), (False, True)):
        whole = rng.random((9, 10))
        grid = qdist.Grid((9, 10), halo=2, periodic=periodic)
        u = grid.ndarray(qd.f64)
        grid.scatter(whole, u)
        grid.exchange_halo(u)
        for axis, high, box in grid.closed_faces():
            mirror(u, axis, high, grid.local[axis], *box)
        modes = ["wrap" if ring else "symmetric" for ring in periodic]
        padded = np.pad(np.pad(whole, ((2, 2), (0, 0)), modes[0]), ((0, 0), (2, 2)), modes[1])
        mine = tuple(slice(begin, begin + n + 4) for begin, n in zip(grid.begin, grid.size))
        assert np.array_equal(u.to_numpy(), padded[mine])
        i0, i1 = next((box[:2] for axis, high, box in grid.closed_faces(offset=True) if axis == 0), (-2, 0))
        assert (i0, i1) in ((-2, 0), (9, 11))


def test_the_first_rank_of_a_host_is_before_the_others(world):
    import time

    ended = world.first(time.time)
    times = world.allgather((world.local_rank, ended))
    assert all(times[0][1] <= other for rank, other in times if rank)


def test_seeds_and_generators_are_of_the_rank(world):
    @qd.kernel
    def draw() -> qd.f32:
        return qd.random()

    drawn = world.allgather((draw(), float(world.rng().random()), float(world.rng().random())))
    assert len({kernel for kernel, _, _ in drawn}) == len({first for _, first, _ in drawn}) == world.size
    assert all(first == second for _, first, second in drawn)
    expected = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(world.rank,))).random()
    assert drawn[world.rank][1] == expected


def test_errors_are_said_on_every_rank(world):
    grid = qdist.Grid((8, 8))
    wrong = [
        (lambda: qdist.Grid((8, 8), dims=(world.size + 1, 1)), ValueError, "Use dims=None"),
        (lambda: qdist.Grid((world.size, 8), halo=9, periodic=True), ValueError, "thinner than the halo"),
        (lambda: qdist.Grid((0, 8)), ValueError, "at least 1"),
        (lambda: qdist.Grid((8, 8), halo=-1), ValueError, "neither a number of cells"),
        (lambda: qdist.Grid((8, 8), periodic=(True,)), ValueError, "one for each"),
        (lambda: grid.exchange_halo(qd.field(qd.f32, (3, 3))), ValueError, "Make it by grid.field"),
        (lambda: grid.exchange_halo(3), TypeError, "a field, an ndarray or a tensor"),
        (lambda: grid.exchange_halo(grid.field(qd.f32), axes=2), ValueError, "numbers from 0 to 1"),
        (lambda: grid.box(inner=-1), ValueError, "at least 0"),
        (lambda: grid.shell(-1), ValueError, "at least 0"),
        (lambda: grid.field(qd.types.struct(a=qd.f32), order="ji"), TypeError, "write layout=qd.Layout.SOA"),
        (lambda: world.allreduce(1, "mean"), ValueError, "'sum', 'min', 'max', 'prod'"),
        (lambda: grid.scatter(np.zeros((8, 9)), grid.field(qd.f32)), ValueError, r"has shape (8, 9)"),
        (lambda: qdist.init(engine="mpj"), qd.QuadrantsRuntimeError, "keeps it"),
        (lambda: qdist.register_engine("single", None), ValueError, "choose another name"),
    ]
    for call, kind, text in wrong:
        try:
            call()
        except kind as error:
            assert text in str(error), (text, str(error))
        else:
            raise AssertionError(f"no {kind.__name__} that says {text!r}")


def test_what_ranks_exchange_is_compared(world):
    """The second rank has another dtype: every neighbour of it is told, with both sides."""
    if world.size == 1:
        return
    grid = qdist.Grid((4 * world.size,))
    u = grid.field(qd.f64 if world.rank == 1 else qd.f32)
    said = ""
    try:
        grid.exchange_halo(u)
    except qd.QuadrantsRuntimeError as error:
        said = str(error)
    near = world.rank in (0, 1, 2)
    assert ("float32" in said and "float64" in said and "rank 1: exchange 1 of grid" in said) == near, said
    assert "do not exchange the same" in said


def test_what_is_no_array_of_one_rank_is_told_to_its_neighbours(world):
    if world.size == 1:
        return
    grid = qdist.Grid((4 * world.size,))
    wrong = world.rank == 1
    u = qd.field(qd.f32, (3,)) if wrong else grid.field(qd.f32)
    kind, text = (ValueError, "Make it by grid.field") if wrong else (qd.QuadrantsRuntimeError, "not exchange the same")
    refused(kind, text, lambda: grid.exchange_halo(u))
    assert world.sum(1) == world.size


def test_a_grid_that_differs_is_told_on_every_rank(world):
    if world.size == 1:
        return
    refused(ValueError, "at least 1", lambda: qdist.Grid((8, 0 if world.rank == 1 else 8)))
    said = ""
    try:
        qdist.Grid((8, 9 if world.rank == 1 else 8))
    except qd.QuadrantsRuntimeError as error:
        said = str(error)
    assert "(8, 9)" in said and "(8, 8)" in said, said


def test_exchanges_in_another_order_are_told_in_debug_mode(world):
    if world.size == 1:
        return
    world = qdist.init(arch=qd.cpu, debug=True)
    grid = qdist.Grid((4 * world.size,), periodic=True)
    u, v = grid.field(qd.f32), qd.Vector.field(2, qd.f32, grid.local)
    for array in (u, v):
        grid.exchange_halo(array)
    said = ""
    try:
        grid.exchange_halo(v if world.rank == 0 else u)
    except qd.QuadrantsRuntimeError as error:
        said = str(error)
    neighbours = world.rank in (0, 1, world.size - 1)
    assert ("float32[2]" in said and "exchange 3 of grid" in said) == neighbours, said
    equal = [grid.field(qd.f32), grid.field(qd.f32), *(qd.field(qd.f32, grid.local) for _ in range(2))]
    for array in equal:
        grid.exchange_halo(array)
    for one, other in ((0, 1), (2, 3)):
        grid.exchange_halo(equal[one])
        refused(
            qd.QuadrantsRuntimeError,
            "not exchange the same",
            lambda k=one + (world.rank == 1): grid.exchange_halo(equal[k]),
        )
        refused(
            qd.QuadrantsRuntimeError, "not exchange the same",
            lambda k=other if world.rank else one: grid.exchange_halo(equal[k], equal[one + other - k]),
        )  # fmt: skip


def test_whole_arrays_and_particles_of_other_kinds_are_told(world):
    """Without debug mode, too: one rank would read what another one has as something else."""
    if world.size == 1:
        return
    grid = qdist.Grid((4 * world.size, 8), dims=(world.size, 1))
    other = qdist.Grid((4 * world.size, 8), dims=(1, world.size))
    odd = world.rank == 1
    kinds = [(grid.field(qd.i64), grid.field(qd.f64)), (grid.ndarray(qd.f64), grid.ndarray(qd.f64))]
    targets = [other.field(qd.i64), other.field(qd.f64)]
    whole = np.ones(grid.shape)
    error = qd.QuadrantsRuntimeError
    for pair in kinds:
        mine = pair[odd]
        refused(error, "gather the same cells", lambda u=mine: grid.gather(u))
        refused(error, "ask for the same plane", lambda u=mine: grid.slice(u, 0, 1))
        refused(error, "scatter to the same array", lambda u=mine: grid.scatter(whole, u))
    refused(error, "transfer the same", lambda: grid.transfer(kinds[0][odd], other, targets[odd]))
    refused(error, "transfer the same", lambda: grid.transfer(kinds[1][odd], other, targets[1]))
    vector = qd.types.vector(2, qd.f64)
    made = "make the same particles"
    refused(error, made, lambda: qdist.Particles(grid, 9, x=vector, a=qd.i64 if odd else qd.f64))
    refused(error, made, lambda: qdist.Particles(grid, 9, spacing=1.0 + odd, x=vector))
    names = ("b", "a") if odd else ("a", "b")
    refused(error, made, lambda: qdist.Particles(grid, 9, x=vector, **dict.fromkeys(names, qd.f64)))
    refused(ValueError, "at least 1", lambda: qdist.Particles(grid, 0 if odd else 9, x=vector))
    p = qdist.Particles(grid, 9 + world.rank, x=vector)
    assert p.migrate(p.x) == 0


def test_a_root_that_is_no_rank_is_refused(world):
    for call in (world.bcast, world.gather):
        for root in (world.size, -1, "x", 0.5):
            refused(
                ValueError, f"root={root!r}: ranks are whole numbers from 0 to", lambda c=call, r=root: c(1, root=r)
            )


def test_arrays_of_an_earlier_runtime_are_refused(world):
    """Also where a plan was made for them."""
    grid = qdist.Grid((8,), periodic=True)
    u = grid.field(qd.f32)
    grid.exchange_halo(u)
    qdist.init(arch=qd.cpu)
    try:
        grid.exchange_halo(u)
    except qd.QuadrantsRuntimeError as error:
        assert "is dead" in str(error)
    else:
        raise AssertionError("a dead field was exchanged")


def test_nothing_is_imported_that_the_engine_does_not_need(world):
    needed = {"single": None, "mpi4py": "mpi4py", "torch": "torch"}[world.engine.name]
    assert {"mpi4py", "torch", "cupy"} & {*sys.modules} == {needed} - {None}


def test_arrays_of_every_kind_go_to_other_blocks(world):
    """Back and forth between even cuts and others, cells are what they were."""
    grid = qdist.Grid((16, 9), halo=((1, 2), 0), dims=(world.size, 1))
    weights = np.zeros(16)
    weights[2 * world.size :] = 1
    other = grid.rebalanced(weights, above=0.0)
    assert sum(n for (n,) in world.allgather((other.size[0],))) == 16
    pair, struct = qd.types.vector(2, qd.f32), qd.types.struct(a=qd.i32, b=qd.types.vector(3, qd.i8))
    makers = (
        lambda g: g.field(qd.f64), lambda g: g.ndarray(pair), lambda g: g.field(struct),
        lambda g: g.field(pair, layout=qd.Layout.SOA), lambda g: g.field(qd.u16, offset=True),
    )  # fmt: skip
    for k, make in enumerate(makers):
        first, second, third = make(grid), make(other), make(grid)
        content = np.random.default_rng(k).integers(0, 99, (16, 9, 4))
        parts = {name: first.get_member_field(name) for name in first.keys} if hasattr(first, "keys") else {"": first}
        whole = {
            n: content[..., : int(np.prod(p._element_shape))].reshape(16, 9, *p._element_shape)
            for n, p in parts.items()
        }
        given = whole if "" not in whole else whole[""]
        grid.scatter(given if world.rank == 0 else None, first)
        grid.transfer(first, other, second)
        other.transfer(second, grid, third)
        for found in (other.gather(second), grid.gather(third)):
            for name in whole if world.rank == 0 else ():
                assert np.array_equal(found if name == "" else found[name], whole[name])


if __name__ == "__main__":
    main(globals())
