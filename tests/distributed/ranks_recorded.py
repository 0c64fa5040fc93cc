"""Steps that are recorded once and run again: by a device as one graph, elsewhere as they are."""

from __future__ import annotations

import numpy as np
from on_ranks import main, refused

import quadrants as qd
from quadrants import distributed as qdist

SHAPE = (24, 10, 8)


@qd.kernel
def diffuse(
    u: qd.types.ndarray(ndim=3), w: qd.types.ndarray(ndim=3), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32,
    k0: qd.i32, k1: qd.i32,
):  # fmt: skip
    for i, j, k in qd.ndrange((i0, i1), (j0, j1), (k0, k1)):
        around = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
        w[i, j, k] = u[i, j, k] + 0.125 * (around - 6 * u[i, j, k])


@qd.kernel
def weigh(u: qd.types.ndarray(ndim=3), total: qd.types.ndarray(), i0: qd.i32, i1: qd.i32):
    for i, j, k in qd.ndrange((i0, i1), (1, SHAPE[1] + 1), (1, SHAPE[2] + 1)):
        total[()] += u[i, j, k]


@qd.kernel
def clear(total: qd.types.ndarray()):
    total[()] = 0.0


@qd.kernel
def drawn(u: qd.types.ndarray(ndim=3)):
    for cell in qd.grouped(u):
        u[cell] = qd.random()


@qd.kernel
def largest(u: qd.types.ndarray(ndim=3)) -> qd.f64:
    found = 0.0
    for cell in qd.grouped(u):
        qd.atomic_max(found, u[cell])
    return found


@qd.kernel
def tells(u: qd.types.ndarray(ndim=3)):
    for i in range(1):
        print("told", u[i, 0, 0])


@qd.kernel
def copied(u: qd.types.ndarray(ndim=3), values: qd.types.ndarray()):
    for cell in qd.grouped(u):
        u[cell] = values[0]


def start(world, dims):
    grid = qdist.Grid(SHAPE, halo=1, periodic=True, dims=dims)
    u, w = grid.ndarray(qd.f64), grid.ndarray(qd.f64)
    whole = np.random.default_rng(3).integers(0, 1 << 20, SHAPE).astype(np.float64)
    grid.scatter(whole, u)
    return grid, u, w, whole


def wanted(whole: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        sides = [np.roll(whole, by, axis) for axis in range(3) for by in (1, -1)]
        around = sides[0] + sides[1] + sides[2] + sides[3] + sides[4] + sides[5]
        whole = whole + 0.125 * (around - 6 * whole)
    return whole


def assert_cells(grid, u, cells):
    found = grid.gather(u)
    assert found is None or np.allclose(found, cells, rtol=1e-13)


def test_steps_are_run_again(world):
    for dims in ((world.size, 1, 1), (1, 1, world.size), None):
        grid, u, w, whole = start(world, dims)
        box = grid.box()

        def two(grid=grid, u=u, w=w, box=box):
            grid.exchange_halo(u)
            diffuse(u, w, *box)
            grid.exchange_halo(w)
            diffuse(w, u, *box)

        again = world.record(two)
        assert_cells(grid, u, wanted(whole, 2))
        for _ in range(10):
            again()
        assert_cells(grid, u, wanted(whole, 22))
        grid.scatter(whole, u)  # other values, in the same places
        again()
        two()
        again()
        assert_cells(grid, u, wanted(whole, 6))


def test_exchanges_beside_kernels_are_run_again(world):
    grid, u, w, whole = start(world, (world.size, 1, 1))
    inner, shell = grid.box(inner=1), grid.shell(1)

    def two():
        for a, b in ((u, w), (w, u)):
            waiting = grid.exchange_halo(a, corners=False, wait=False)
            diffuse(a, b, *inner)
            waiting.wait()
            for box in shell:
                diffuse(a, b, *box)

    again = world.record(two)
    for _ in range(7):
        again()
    assert_cells(grid, u, wanted(whole, 16))


def test_sums_of_arrays_are_run_again(world):
    grid, u, w, whole = start(world, (world.size, 1, 1))
    total = qd.ndarray(qd.f64, ())

    def step():
        clear(total)
        weigh(u, total, 1, 1 + grid.size[0])
        world.allreduce(total)

    again = world.record(step)
    assert float(total.to_numpy()) == whole.sum()
    u.fill(2.0)
    again()
    assert float(total.to_numpy()) == 2 * whole.size


@qd.kernel
def squares(u: qd.types.ndarray(ndim=3), loss: qd.types.ndarray(), i0: qd.i32, i1: qd.i32):
    for i, j, k in qd.ndrange((i0, i1), (1, SHAPE[1] + 1), (1, SHAPE[2] + 1)):
        loss[()] += u[i, j, k] * u[i, j, k]


def test_a_tape_hears_what_is_run_again(world):
    grid = qdist.Grid(SHAPE, halo=1, periodic=True, dims=(world.size, 1, 1))
    u, w = (grid.ndarray(qd.f64, needs_grad=True) for _ in range(2))
    loss, box = qd.ndarray(qd.f64, (), needs_grad=True), grid.box()
    whole = np.random.default_rng(4).integers(0, 9, SHAPE).astype(np.float64)

    def step():
        grid.exchange_halo(u)
        diffuse(u, w, *box)

    grid.scatter(whole, u)
    again = world.record(step)
    for run in (again, again, lambda: world.record(step)):
        for array in (loss, u.grad, w.grad):
            array.fill(0.0)
        with qd.ad.Tape(loss=loss):
            run()
            squares(w, loss, 1, 1 + grid.size[0])
        again()  # behind the tape nobody hears
        assert_cells(grid, u.grad, 2 * wanted(whole, 2))  # the step is its own transpose


def test_what_needs_the_host_is_refused(world):
    grid, u, w, whole = start(world, (world.size, 1, 1))
    values = np.ones(3)
    if not hasattr(world.engine, "record"):
        assert world.record(lambda: largest(u))() == whole[grid.begin[0] : grid.begin[0] + grid.size[0]].max()
        return
    for function, said in (
        (lambda: drawn(w), "random numbers"), (lambda: largest(u), "results or failures"),
        (lambda: copied(w, values), "from or to the host"), (lambda: u.to_numpy(), "from or to the host"),
        (lambda: w.from_numpy(np.zeros(grid.local)), "from or to the host"),
    ):  # fmt: skip
        refused(qd.QuadrantsRuntimeError, said, lambda function=function: world.record(function))
    refused(qd.QuadrantsRuntimeError, "prints", lambda: world.record(lambda: tells(u)))
    if world.size > 1:
        refused(qd.QuadrantsRuntimeError, "by the host", lambda: world.record(lambda: world.sum(1.0)))
    box = grid.box()

    def two():
        grid.exchange_halo(u)
        diffuse(u, w, *box)
        grid.exchange_halo(w)
        diffuse(w, u, *box)

    grid.scatter(whole, u)
    again = world.record(two)
    again()
    assert_cells(grid, u, wanted(whole, 4))


def test_what_is_run_again_ends_with_its_runtime(world):
    grid, u, *_ = start(world, (world.size, 1, 1))
    again = world.record(lambda: grid.exchange_halo(u))
    again()
    qd.reset()
    refused(qd.QuadrantsRuntimeError, "", again)


if __name__ == "__main__":
    main(globals(), default_fp=qd.f64)
