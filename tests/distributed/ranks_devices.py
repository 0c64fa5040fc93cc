"""What an engine carries between the memories of devices; on the CPU the same by the memory of hosts."""

from __future__ import annotations

import numpy as np
from on_ranks import main

import quadrants as qd
from quadrants import distributed as qdist
from quadrants.distributed import spaces

DTYPES = (qd.i8, qd.u8, qd.i16, qd.u16, qd.i32, qd.u32, qd.i64, qd.u64, qd.f16, qd.f32, qd.f64)
OPERATIONS = {"sum": np.sum, "min": np.min, "max": np.max, "prod": np.prod}


def of_device(world) -> bool:
    return spaces.of(world.engine) is not spaces.HOST


def test_the_engine_is_that_of_devices(world):
    qd.sync()
    on_cuda = qd.lang.impl.current_cfg().arch == qd.cuda and not qd.cfg.emulate
    assert of_device(world) == on_cuda
    assert (world.engine.name == "nccl") == (on_cuda and world.size > 1)


def test_numbers_of_every_type_are_combined(world):
    number = 1 + np.arange(6).reshape(2, 3) % 3 + world.rank % 2
    pair = qd.types.vector(3, qd.f32)
    for dtype in DTYPES:
        for op, combine in OPERATIONS.items():
            for make in (qd.field, qd.ndarray):
                x = make(dtype, (2, 3))
                x.from_numpy(number.astype(x.to_numpy().dtype))
                wanted = combine([*world.allgather(x.to_numpy())], axis=0)
                assert world.allreduce(x, op) is x
                assert np.array_equal(x.to_numpy(), wanted.astype(x.to_numpy().dtype)), (dtype, op)
    v = pair.field(shape=(2,))
    v.from_numpy(number.astype(np.float32))
    wanted = np.sum(world.allgather(number), axis=0)
    assert np.array_equal(world.sum(v).to_numpy(), wanted)


def test_halos_need_no_memory_of_the_host(world):
    grid = qdist.Grid((24, 10, 6), halo=1, periodic=True)
    pair = qd.types.vector(2, qd.f32)
    given = [grid.field(qd.f32), grid.ndarray(qd.f64), grid.field(pair, layout=qd.Layout.SOA), grid.ndarray(pair)]
    number = np.arange(24 * 10 * 6, dtype=np.float64).reshape(24, 10, 6)
    at = np.ix_(*[(np.arange(n) + o) % s for n, o, s in zip(grid.local, grid.origin, grid.shape)])
    wholes = [number, number, np.stack([number, -number], axis=-1), np.stack([number, -number], axis=-1)]
    for u, whole in zip(given, wholes):
        grid.scatter(whole, u)
    grid.exchange_halo(*given)  # compares what ranks exchange, once, by the host
    for u, whole in zip(given, wholes):
        u.fill(-1)
        grid.scatter(whole, u)
    control = getattr(world.engine, "control", None)
    kept = control and (control.exchange, control.prepare)
    if control is not None:
        control.exchange = control.prepare = None
    grid.exchange_halo(*given)
    grid.exchange_halo(*given, wait=False).wait()
    if control is not None:
        control.exchange, control.prepare = kept
    for u, whole in zip(given, wholes):
        assert np.array_equal(u.to_numpy(), whole[at].astype(u.to_numpy().dtype))


@qd.kernel
def heat(u: qd.types.ndarray(ndim=3), w: qd.types.ndarray(ndim=3), i0: qd.i32, i1: qd.i32, n1: qd.i32, n2: qd.i32):
    for i, j, k in qd.ndrange((i0, i1), (1, n1 - 1), (1, n2 - 1)):
        around = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
        w[i, j, k] = u[i, j, k] + 0.1 * (around - 6 * u[i, j, k])


def test_launches_and_messages_are_in_order(world):
    """500 steps without a wait: bit-equal to one rank."""
    shape, start = (40, 12, 9), np.random.default_rng(3).random((40, 12, 9))
    grid = qdist.Grid(shape, halo=(1, 0, 0), periodic=(True, False, False), dims=(world.size, 1, 1))
    u, w = grid.ndarray(qd.f64), grid.ndarray(qd.f64)
    grid.scatter(start, u)
    grid.scatter(start, w)
    for _ in range(500):
        grid.exchange_halo(u, axes=0)
        heat(u, w, grid.box()[0], grid.box()[1], shape[1], shape[2])
        u, w = w, u
    whole = grid.gather(u)
    if whole is not None:
        x, y = np.pad(start, ((1, 1), (0, 0), (0, 0)), mode="wrap"), np.empty((42, 12, 9))
        y[...] = x
        a, b = qd.ndarray(qd.f64, (42, 12, 9)), qd.ndarray(qd.f64, (42, 12, 9))
        for _ in range(500):
            x[0], x[-1] = x[-2], x[1]
            a.from_numpy(x)
            b.from_numpy(y)
            heat(a, b, 1, 41, 12, 9)
            x, y = b.to_numpy(), x
        assert np.array_equal(whole, x[1:-1])


if __name__ == "__main__":
    main(globals())
