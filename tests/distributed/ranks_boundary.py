"""What is behind closed faces, set by the exchange: as on one rank, also beside kernels, and differentiated."""

from __future__ import annotations

import functools

import numpy as np
from on_ranks import main, refused, solo

import quadrants as qd
from quadrants import distributed as qdist

LOW = 2


@qd.kernel
def mirror_array(
    u: qd.types.ndarray(ndim=2), axis: qd.template(), high: qd.i32, i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32
):
    qd.loop_config(serialize=True)  # derivatives of a kernel that reads what it writes are of loops in order
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        at = qd.Vector([i, j])
        at[axis] = 2 * qd.Vector([i0, j0])[axis] - 1 - at[axis] if high else 2 * LOW - 1 - at[axis]
        u[i, j] = u[at]


@qd.kernel
def hold(
    u: qd.template(), v: qd.template(), axis: qd.i32, high: qd.i32, i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32
):
    """Of two fields: what is behind a face is told by the face and the global cell."""
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        u[i, j] = 1000.0 * axis + 100.0 * high + i
        v[i, j] = 1000.0 * axis + 100.0 * high + j


@qd.kernel
def step(u: qd.types.ndarray(ndim=2), w: qd.types.ndarray(ndim=2), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        w[i, j] = u[i, j] + 0.1 * (u[i - 1, j] * u[i - 2, j] + u[i + 2, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])


@qd.kernel
def total(u: qd.types.ndarray(ndim=2), loss: qd.types.ndarray(ndim=1), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        loss[0] += u[i, j] ** 2


def padded(whole, periodic):
    modes = ["wrap" if ring else "symmetric" for ring in periodic]
    return np.pad(np.pad(whole, ((2, 2), (0, 0)), modes[0]), ((0, 0), (2, 2)), modes[1])


def test_halos_are_those_that_numpy_pads(world):
    rng = np.random.default_rng(4)
    for periodic in ((False, False), (True, False), (False, True), (True, True)):
        whole = rng.random((9, 10))
        grid = qdist.Grid((9, 10), halo=2, periodic=periodic)
        for wait in (True, False):
            u = grid.ndarray(qd.f64)
            grid.scatter(whole, u)
            begun = grid.exchange_halo(u, wait=wait, boundary=mirror_array)
            if not wait:
                begun.wait()
            mine = tuple(slice(begin, begin + n + 4) for begin, n in zip(grid.begin, grid.size))
            assert np.array_equal(u.to_numpy(), padded(whole, periodic)[mine]), (periodic, wait)


def test_faces_of_the_axes_that_are_exchanged_alone(world):
    called = []
    grid = qdist.Grid((8, 8), halo=1)
    u = grid.field(qd.f32)
    grid.exchange_halo(u, axes=1, boundary=lambda array, *face: called.append((array is u, *face)))
    assert called == [(True, axis, high, *box) for axis, high, box in grid.closed_faces() if axis == 1]
    grid.exchange_halo(boundary=lambda *face: called.append(face))
    assert all(len(face) == 7 for face in called)


def test_fields_with_an_offset_have_boxes_of_global_cells(world):
    grid = qdist.Grid((10, 8), halo=1)
    u, v = grid.field(qd.f64, offset=True), grid.field(qd.f64, offset=True)
    grid.exchange_halo(u, v, boundary=hold)
    found = u.to_numpy(), v.to_numpy()
    for axis, high, box in grid.closed_faces():
        i0, i1, j0, j1 = box
        for k, array in enumerate(found):
            at = np.arange((i0, j0)[k], (i1, j1)[k]) + grid.origin[k]
            inner = (slice(i0, i1), slice(j0 + 1, j1 - 1)) if axis == 0 else (slice(i0 + 1, i1 - 1), slice(j0, j1))
            wanted = 1000.0 * axis + 100.0 * high + (at if axis == k else at[1:-1])
            shaped = wanted[:, None] if k == 0 else wanted[None, :]
            assert np.array_equal(array[inner], np.broadcast_to(shaped, array[inner].shape))


def slope(world, start, wait):
    grid = qdist.Grid(start.shape, halo=LOW, periodic=(False, True), world=world)
    levels = [grid.ndarray(qd.f64, needs_grad=True) for _ in range(5)]
    loss = qd.ndarray(qd.f64, (1,), needs_grad=True)
    grid.scatter(start, levels[0])
    with qd.ad.Tape(loss):
        for u, w in zip(levels, levels[1:]):
            begun = grid.exchange_halo(u, corners=False, wait=wait, boundary=mirror_array)
            if not wait:
                begun.wait()
            step(u, w, *grid.box(closed=True))
        total(levels[-1], loss, *grid.box(closed=True))
    return world.sum(float(loss.to_numpy()[0])), grid.gather(levels[0].grad)


def test_a_tape_gives_finite_differences(world):
    start = np.random.default_rng(3).random((12, 10))
    _, found = slope(world, start, True)
    _, beside = slope(world, start, False)
    if world.rank == 0:
        # Devices add up in any order.
        any_order = 0 if qd.lang.impl.current_cfg().arch == qd.cpu else 1e-14 * np.abs(found).max()
        assert np.abs(found - beside).max() <= any_order
        one = solo(world)
        assert np.abs(found - slope(one, start, True)[1]).max() < 1e-13 * np.abs(found).max()
        for at in ((0, 0), (0, 4), (1, 3), (11, 9), (10, 0), (5, 5)):
            moved = start.copy(), start.copy()
            moved[0][at] += 1e-6
            moved[1][at] -= 1e-6
            slopes = (slope(one, moved[0], True)[0] - slope(one, moved[1], True)[0]) / 2e-6
            assert abs(found[at] - slopes) < 1e-7 * np.abs(found).max(), (at, found[at], slopes)


def test_what_does_not_fit_is_refused(world):
    grid = qdist.Grid((8, 8))
    u, v = grid.field(qd.f64, needs_grad=True), grid.field(qd.f64, offset=True)
    refused(TypeError, "must be a kernel or function", lambda: grid.exchange_halo(u, boundary=1.0))
    refused(
        ValueError, "exchange arrays with offset=True and others apart", lambda: grid.exchange_halo(u, v, boundary=hold)
    )
    one_sided = qdist.Grid((8, 8), halo=((0, 1), 0))  # some blocks begin at the global cell 0, with and without offset
    u, v = one_sided.field(qd.f64), one_sided.field(qd.f64, offset=True)
    u.fill(world.rank)
    refused(ValueError, "offset=True and others apart", lambda: one_sided.exchange_halo(u, v, boundary=hold))
    assert (u.to_numpy() == world.rank).all(), "refused before anything is exchanged"
    u = grid.field(qd.f64, needs_grad=True)
    refused(
        qd.QuadrantsRuntimeError, "@qd.ad.grad_replaced",
        lambda: grid.exchange_halo.grad(u, boundary=lambda *face: None),
    )  # fmt: skip


@qd.data_oriented
class Walls:
    """Kernels and functions that are bound to it, and itself."""

    @qd.kernel
    def close(self, a: qd.template(), axis: qd.i32, high: qd.i32, begin: qd.i32, end: qd.i32):
        for i in range(begin, end):
            a[i] = 0.0

    def end(self, a, axis, high, *box):
        """Does nothing."""

    __call__ = end


def test_a_kernel_of_other_arguments_is_refused_on_all_ranks(world):
    """One rank in the middle has no closed face, and would wait for the others."""
    grid = qdist.Grid((4 * world.size,), dims=(world.size,))
    u, v = grid.field(qd.f32), grid.field(qd.f32)

    @qd.kernel
    def single(a: qd.template(), axis: qd.i32, high: qd.i32, begin: qd.i32, end: qd.i32):
        for i in range(begin, end):
            a[i] = 0.0

    for boundary in (single, lambda a, axis, high, begin, end: None):
        refused(TypeError, "called once with all arrays", lambda b=boundary: grid.exchange_halo(u, v, boundary=b))
    for boundary in (single, Walls().close, Walls().end, Walls(), functools.partial(Walls.end, None)):
        grid.exchange_halo(u, boundary=boundary)
    refused(TypeError, "called once with all arrays", lambda: grid.exchange_halo(u, v, boundary=Walls().close))


if __name__ == "__main__":
    main(globals(), default_fp=qd.f64)
