"""Throughput of memory-bound loops."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import numpy as np

from . import Work, case, differs


@case("saxpy", "saxpy, 4 Mi f32", throughput=True)
def saxpy(qd) -> Work:
    n_items = 1 << 22
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
        data = np.arange(n_items, dtype=np.float32) % 1024
        x.from_numpy(data)
        y.from_numpy(2 * data)
        run(1)
        return differs("y", y.to_numpy(), 2.25 * data)

    return Work(run, check)


@case("reduce_sum", "sum of 4 Mi f32 into one field cell", throughput=True)
def reduce_sum(qd) -> Work:
    n_items = 1 << 22
    x = qd.field(qd.f32, shape=n_items)
    total = qd.field(qd.f32, shape=())
    x.from_numpy((np.arange(n_items) % 16).astype(np.float32))

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
        # 2^22 values of mean 7.5: the sum in f32 depends on the order; one part in 1e-3 covers a sequential sum.
        return differs("total", total[None], 7.5 * n_items, rtol=1e-3)

    return Work(run, check)


@case("stencil_3d", "3-D 7-point stencil, 160^3 f32", throughput=True)
def stencil(qd) -> Work:
    size = 160
    a = qd.field(qd.f32, shape=(size, size, size))
    b = qd.field(qd.f32, shape=(size, size, size))
    data = np.random.default_rng(3).uniform(0, 1, (size, size, size)).astype(np.float32)
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
        core = data[1:-1, 1:-1, 1:-1]
        near = data[:-2, 1:-1, 1:-1] + data[2:, 1:-1, 1:-1] + data[1:-1, :-2, 1:-1]
        near = near + data[1:-1, 2:, 1:-1] + data[1:-1, 1:-1, :-2] + data[1:-1, 1:-1, 2:]
        return differs("b", b.to_numpy()[1:-1, 1:-1, 1:-1], 0.4 * core + 0.1 * near)

    return Work(run, check)
