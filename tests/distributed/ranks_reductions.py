"""Sums and the like are those of Python and NumPy, whichever rank has what; ranks that differ or fail are told."""

from __future__ import annotations

import math

import numpy as np
from on_ranks import main, refused

import quadrants as qd
from quadrants import distributed as qdist

COMBINED = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max}


def test_integers_of_python_have_no_end(world):
    ranks = range(world.size)
    for scale in (1, -1, 2**31, -(2**32), 2**62, -(2**63), 2**63, 10**40):
        mine = [scale * (rank + 1) for rank in ranks]
        assert world.sum(mine[world.rank]) == sum(mine)
        assert world.allreduce(mine[world.rank], "prod") == math.prod(mine)
        assert world.allreduce(mine[world.rank], "min") == min(mine)
        assert world.allreduce(mine[world.rank], "max") == max(mine)
    one = [2**100 if rank == world.size - 1 else rank for rank in ranks]
    assert world.sum(one[world.rank]) == sum(one)
    assert type(world.sum(np.int64(3))) is int and type(world.sum(True)) is int
    assert world.sum(np.uint64(2**63)) == world.size * 2**63 and world.sum(True) == world.size


def holders(world):
    """Who has the NaN: nobody, each rank, and all of them."""
    return [(), *((rank,) for rank in range(world.size)), tuple(range(world.size))]


def test_nan_of_any_rank_is_nan(world):
    for who in holders(world):
        mine = math.nan if world.rank in who else world.rank + 1.0
        for op in COMBINED:
            expected = COMBINED[op]([math.nan if rank in who else rank + 1.0 for rank in range(world.size)])
            assert np.array_equal(world.allreduce(mine, op), expected, equal_nan=True), (op, who)


def test_nan_of_arrays_is_nan_where_it_is(world):
    makers = [lambda: qd.ndarray(qd.f32, (3, 2)), lambda: qd.field(qd.f64, (3, 2)), lambda: qd.field(qd.f16, (3, 2)),
              lambda: qd.field(qd.f32, (3, 2), order="ji")]  # fmt: skip
    for who in holders(world):
        parts = [np.arange(6.0).reshape(3, 2) * (1 - 2 * (rank % 2)) for rank in range(world.size)]
        for rank in who:
            parts[rank][rank % 3, 1] = math.nan
        for op in ("min", "max"):
            expected = COMBINED[op](parts, axis=0)
            found = world.allreduce(parts[world.rank], op)
            assert np.array_equal(found, expected, equal_nan=True), (op, who)
            for make in makers:
                array = make()
                array.from_numpy(parts[world.rank].astype(array.to_numpy().dtype))
                world.allreduce(array, op)
                assert np.array_equal(array.to_numpy(), expected, equal_nan=True), (op, who)


def test_infinities_are_no_nan(world):
    for op in ("min", "max"):
        for value in (math.inf, -math.inf):
            expected = COMBINED[op]([value, 1.0][: world.size])
            assert world.allreduce(1.0 if world.rank else value, op) == expected


def test_the_gradient_of_nan_goes_to_the_first_rank_that_has_it(world):
    x, loss = (qd.ndarray(qd.f64, (1,), needs_grad=True) for _ in range(2))

    @qd.kernel
    def use(x: qd.types.ndarray(ndim=1), loss: qd.types.ndarray(ndim=1)):
        for i in range(1):
            loss[0] += 2 * x[i]

    x.from_numpy(np.array([1.0 if world.rank == 0 else math.nan]))
    with qd.ad.Tape(loss):
        world.allreduce(x, "max")
        use(x, loss)
    assert x.grad[0] == 2 * world.size * (world.rank == min(1, world.size - 1))


def test_truth_values_are_combined_as_those_of_numpy(world):
    own = np.array([True, False, world.rank == 0, world.rank != 0])
    everyone = np.array([[True, False, rank == 0, rank != 0] for rank in range(world.size)])
    expected = {"sum": everyone.any(axis=0), "prod": everyone.all(axis=0)}
    for op in COMBINED:
        wanted = expected[{"sum": "sum", "max": "sum"}.get(op, "prod")]
        found = world.allreduce(own, op)
        assert found.dtype == bool and np.array_equal(found, wanted), op
        for make in (qd.field, qd.ndarray):
            array = make(qd.u1, (4,))
            array.from_numpy(own)
            assert np.array_equal(world.allreduce(array, op).to_numpy(), wanted), op


def test_arrays_in_the_order_of_other_machines_are_combined(world):
    for dtype in (">i4", ">f8", ">u2"):
        for op in COMBINED:
            found = world.allreduce(np.array([1, 2, 3 + world.rank], dtype), op)
            parts = [[1, 2, 3 + rank] for rank in range(world.size)]
            assert found.dtype.isnative and np.array_equal(found, COMBINED[op](parts, axis=0)), (dtype, op)


def test_integers_of_arrays_are_those_of_their_type(world):
    large = np.array([2**64 - 1 - world.rank, 1], np.uint64)
    assert world.allreduce(large, "max")[0] == 2**64 - 1 and world.allreduce(large, "min")[1] == 1
    assert world.allreduce(np.full(2, 100, np.int8)).tolist() == [(100 * world.size + 128) % 256 - 128] * 2


def test_what_is_no_number_is_refused(world):
    for wrong in ([1, 2], 1j, np.complex64(1), np.array([1j]), "a", None, np.array(["a"]), np.array([None])):
        refused(TypeError, "a NumPy array of truth values, integers or reals", lambda x=wrong: world.allreduce(x))
    assert world.sum(1) == world.size


def test_ranks_that_combine_other_things_are_told_in_debug_mode(world):
    if world.size == 1:
        return
    world = qdist.init(arch=qd.cpu, debug=True)
    last = world.rank == world.size - 1
    field = qd.field(qd.f32, (3 if last else 4,))
    calls = [
        (lambda: world.allreduce(2.0, "max" if last else "sum"), "'max' of a float", "'sum' of a float"),
        (lambda: world.sum(1 if last else 1.0), "of an int", "of a float"),
        (lambda: world.sum(np.ones(4, np.int64 if last else np.float64)), "array of int64", "array of float64"),
        (lambda: world.sum(np.ones((2, 3) if last else (3, 2))), "(2, 3)", "(3, 2)"),
        (lambda: world.sum(field), "float32 (3,)", "float32 (4,)"),
        (lambda: world.bcast(1, root=int(last)), "bcast with root=1", "bcast with root=0"),
        (lambda: world.gather(1, root=int(last)), "gather with root=1", "gather with root=0"),
    ]
    for call, mine, other in calls:
        refused(qd.QuadrantsRuntimeError, mine, call)
        refused(qd.QuadrantsRuntimeError, other, call)
        assert world.sum(1) == world.size


def test_sums_of_small_integers_wrap(world):
    """In every part of an array, which libraries add up by vectors and one by one."""
    for dtype, largest in ((qd.i8, 127), (qd.u8, 255), (qd.i16, 32767), (qd.u16, 65535)):
        for count in (3, 20, 100):
            array = qd.field(dtype, count)
            array.fill(largest)
            world.sum(array)
            given = np.full((world.size, count), largest, array.to_numpy().dtype)
            assert np.array_equal(array.to_numpy(), given.sum(axis=0, dtype=given.dtype)), (dtype, count)
            assert np.array_equal(world.sum(given[0]), array.to_numpy())


def test_a_kernel_that_does_not_compile_fails_on_every_rank(world):
    @qd.kernel
    def wrong(n: qd.i32):
        for i in range(n):
            print(nowhere)  # noqa: F821

    refused(qd.QuadrantsCompilationError, "nowhere", lambda: world.first(wrong, 3))
    assert world.bcast("next") == "next" and world.first(max, 1, 2) == 2


def test_an_error_of_one_rank_is_that_of_all(world):
    class Strange(Exception):
        """Other ranks cannot read it."""

        def __init__(self, one, two):
            super().__init__(f"{one} {two}")

    def fails():
        raise Strange("a", "strange one")

    refused(Exception, "a strange one", lambda: world.first(fails))
    assert world.sum(1) == world.size
    refused(Exception, "a strange one", lambda: world.first(lambda: fails() if world.rank == world.size - 1 else 1))
    assert world.sum(1) == world.size


if __name__ == "__main__":
    main(globals())
