"""Throughput of memory-bound loops."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import numpy as np

from . import Ceiling, Work, case, ceilings, differs, some_of

F32 = 4  # bytes


def _cells(size: int) -> float:
    return float(size - 2) ** 3


@case("saxpy", "saxpy, 4 Mi f32", throughput=True, size=1 << 22)
@case(
    "gpu_saxpy", "saxpy on ndarrays, 2^28 f32", rows="gpu", unit="GB/s", target=1.0, rounds=5, batch_seconds=0.05,
    size=1 << 28, tiny=1 << 12, amount=lambda n: 3.0 * F32 * n,
    ceilings=(
        Ceiling("RawKernel", ceilings.saxpy, lambda n: 3.0 * F32 * n, at_least=0.97),
        Ceiling("copy", ceilings.copy, lambda n: 2.0 * F32 * n),
    ),
)  # fmt: skip
def saxpy(qd, n_items: int) -> Work:
    x = qd.ndarray(qd.f32, shape=(n_items,))
    y = qd.ndarray(qd.f32, shape=(n_items,))
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def step(a: qd.f32, x: arr, y: arr):
        for i in range(x.shape[0]):
            y[i] = a * x[i] + y[i]

    def run(n: int) -> None:
        for _ in range(n):
            step(0.25, x, y)
        qd.sync()

    def check() -> str | None:
        data = (np.arange(n_items, dtype=np.int32) & 1023).astype(np.float32)
        x.from_numpy(data)
        y.from_numpy(2 * data)
        run(1)
        return differs("y", some_of(y.to_numpy()), 2.25 * some_of(data))

    return Work(run, check)


@case("reduce_sum", "sum of 4 Mi f32 into one field cell", throughput=True, size=1 << 22)
@case(
    "gpu_reduce_sum", "sum of 2^28 f32 into a field cell", rows="gpu", unit="GB/s", target=1 / 1.3, rounds=5,
    batch_seconds=0.05, size=1 << 28, tiny=1 << 12, amount=lambda n: 1.0 * F32 * n,
)  # fmt: skip
def reduce_sum(qd, n_items: int) -> Work:
    x = qd.field(qd.f32, shape=n_items)
    total = qd.field(qd.f32, shape=())
    # Multiples of a half whose partial sums stay small, so that the sum is exact in f32 in any order.
    index = np.arange(n_items, dtype=np.int32)
    x.from_numpy((index & 15) - np.float32(7.5) + (index & 4095 == 0))

    @qd.kernel
    def step():
        for i in x:
            total[None] += x[i]

    def run(n: int) -> None:
        for _ in range(n):
            step()
        qd.sync()

    def check() -> str | None:
        total[None] = 0.0
        run(1)
        return differs("total", total[None], n_items / 4096, rtol=0, atol=0)

    return Work(run, check)


@case(
    "gpu_reduce_return", "sum of 2^28 f32, returned", rows="gpu", unit="GB/s", target=1 / 1.3, rounds=5,
    batch_seconds=0.05, size=1 << 28, tiny=1 << 12, amount=lambda n: 1.0 * F32 * n,
)  # fmt: skip
def reduce_return(qd, n_items: int) -> Work:
    x = qd.ndarray(qd.f32, shape=(n_items,))
    index = np.arange(n_items, dtype=np.int32)
    x.from_numpy((index & 15) - np.float32(7.5) + (index & 4095 == 0))

    @qd.kernel
    def total(x: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.f32:
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i]
        return s

    def run(n: int) -> None:
        for _ in range(n):
            total(x)

    return Work(run, lambda: differs("total", total(x), n_items / 4096, rtol=0, atol=0))


@case("stencil_3d", "3-D 7-point stencil, 160^3 f32", throughput=True, size=160)
@case(
    "gpu_stencil_3d", "7-point stencil on fields, 512^3 f32", rows="gpu", unit="Gcell/s", target=1.0, rounds=5,
    batch_seconds=0.05, size=512, tiny=16, amount=_cells,
    ceilings=(Ceiling("RawKernel", ceilings.stencil, _cells, at_least=0.97),),
)  # fmt: skip
def stencil(qd, size: int) -> Work:
    a = qd.field(qd.f32, shape=(size, size, size))
    b = qd.field(qd.f32, shape=(size, size, size))
    data = np.random.default_rng(3).random((size, size, size), dtype=np.float32)
    a.from_numpy(data)

    @qd.kernel
    def step(src: qd.template(), dst: qd.template()):
        for i, j, k in qd.ndrange((1, size - 1), (1, size - 1), (1, size - 1)):
            near = src[i - 1, j, k] + src[i + 1, j, k] + src[i, j - 1, k]
            near += src[i, j + 1, k] + src[i, j, k - 1] + src[i, j, k + 1]
            dst[i, j, k] = 0.4 * src[i, j, k] + 0.1 * near

    def run(n: int) -> None:
        for _ in range(n):
            step(a, b)
        qd.sync()

    def check() -> str | None:
        run(1)
        planes = np.unique(np.linspace(1, size - 2, 24, dtype=np.int64))
        core = data[planes]
        near = (data[planes - 1] + data[planes + 1])[:, 1:-1, 1:-1] + core[:, :-2, 1:-1] + core[:, 2:, 1:-1]
        near = near + core[:, 1:-1, :-2] + core[:, 1:-1, 2:]
        return differs("b", b.to_numpy()[planes][:, 1:-1, 1:-1], 0.4 * core[:, 1:-1, 1:-1] + 0.1 * near)

    return Work(run, check)
