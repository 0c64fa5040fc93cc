"""Throughput of memory-bound loops. Data is made on the device: it is too much to pass through the host."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import numpy as np

from . import Ceiling, Work, case, ceilings, differs

F32 = 4  # bytes
# Summands are multiples of a half whose partial sums stay small: their sum, n / 4096, is exact in f32 in any order.
SHIFT = 7.5


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

    @qd.kernel
    def start(x: arr, y: arr):
        for i in range(x.shape[0]):
            x[i] = i & 1023
            y[i] = 2 * (i & 1023)

    @qd.kernel
    def probe(y: arr, out: arr, stride: qd.i32):
        for k in range(out.shape[0]):
            out[k] = y[k * stride]

    def run(n: int) -> None:
        for _ in range(n):
            step(0.25, x, y)
        qd.sync()

    def check() -> str | None:
        start(x, y)
        run(1)
        stride = n_items >> 20 | 1
        index = np.arange(0, n_items, stride)
        seen = qd.ndarray(qd.f32, shape=index.shape)
        probe(y, seen, stride)
        return differs("y", seen.to_numpy(), 2.25 * (index & 1023))

    return Work(run, check)


@case("reduce_sum", "sum of 4 Mi f32 into one field cell", throughput=True, size=1 << 22)
@case(
    "gpu_reduce_sum", "sum of 2^28 f32 into a field cell", rows="gpu", unit="GB/s", target=1 / 1.3, rounds=5,
    batch_seconds=0.05, size=1 << 28, tiny=1 << 12, amount=lambda n: 1.0 * F32 * n,
)  # fmt: skip
def reduce_sum(qd, n_items: int) -> Work:
    x = qd.field(qd.f32, shape=n_items)
    total = qd.field(qd.f32, shape=())

    @qd.kernel
    def start():
        for i in x:
            x[i] = (i & 15) - SHIFT
            if i & 4095 == 0:
                x[i] += 1.0

    @qd.kernel
    def step():
        for i in x:
            total[None] += x[i]

    def run(n: int) -> None:
        for _ in range(n):
            step()
        qd.sync()

    def check() -> str | None:
        start()
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
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def start(x: arr):
        for i in range(x.shape[0]):
            x[i] = (i & 15) - SHIFT
            if i & 4095 == 0:
                x[i] += 1.0

    @qd.kernel
    def total(x: arr) -> qd.f32:
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i]
        return s

    def run(n: int) -> None:
        for _ in range(n):
            total(x)

    def check() -> str | None:
        start(x)
        return differs("total", total(x), n_items / 4096, rtol=0, atol=0)

    return Work(run, check)


@case("stencil_3d", "3-D 7-point stencil, 160^3 f32", throughput=True, size=160)
@case(
    "gpu_stencil_3d", "7-point stencil on fields, 512^3 f32", rows="gpu", unit="Gcell/s", target=1.0, rounds=5,
    batch_seconds=0.05, size=512, tiny=16, amount=_cells,
    ceilings=(Ceiling("RawKernel", ceilings.stencil, _cells, at_least=0.97),),
)  # fmt: skip
def stencil(qd, size: int) -> Work:
    a = qd.field(qd.f32, shape=(size, size, size))
    b = qd.field(qd.f32, shape=(size, size, size))
    planes = np.unique(np.linspace(1, size - 2, 24, dtype=np.int32))
    numbers = qd.field(qd.i32, shape=len(planes))
    seen = qd.field(qd.f32, shape=(len(planes), size, size))

    @qd.kernel
    def start():
        for i, j, k in a:
            a[i, j, k] = ((7 * i * j + 3 * j * k + 31 * i + 113 * k) & 1023) / 1024

    @qd.kernel
    def probe():
        for p, j, k in seen:
            seen[p, j, k] = b[numbers[p], j, k]

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
        start()
        run(1)
        numbers.from_numpy(planes)
        probe()

        def before(i: np.ndarray) -> np.ndarray:
            i, j, k = i[:, None, None], np.arange(size)[None, :, None], np.arange(size)
            return ((7 * i * j + 3 * j * k + 31 * i + 113 * k) & 1023) / 1024

        core = before(planes)
        near = (before(planes - 1) + before(planes + 1))[:, 1:-1, 1:-1] + core[:, :-2, 1:-1] + core[:, 2:, 1:-1]
        near = near + core[:, 1:-1, :-2] + core[:, 1:-1, 2:]
        return differs("b", seen.to_numpy()[:, 1:-1, 1:-1], 0.4 * core[:, 1:-1, 1:-1] + 0.1 * near)

    return Work(run, check)
