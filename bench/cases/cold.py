"""Cold compilation: the first call of kernels in a fresh process with the disk cache off."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import numpy as np

from . import Work, case, differs
from .mpm import Mpm

N = 64


@case("cold_first", "cold first kernel", kind="fresh", target=1.0, rounds=5)
@case("gpu_cold_first", "cold first kernel", rows="gpu", kind="fresh", target=0.8, rounds=4)
def cold_first(qd) -> Work:
    x = qd.ndarray(qd.f32, shape=(N,))

    @qd.kernel
    def fill(x: qd.types.ndarray(dtype=qd.f32, ndim=1), scale: qd.f32):
        for i in range(x.shape[0]):
            x[i] = scale * i + 1.0

    def run(n: int) -> None:
        fill(x, 0.5)
        qd.sync()

    return Work(run, lambda: differs("x", x.to_numpy(), 0.5 * np.arange(N) + 1.0))


def _small_kernels(qd, k: int):
    """Six small kernels of different shape; `k` is baked into each of them."""
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def scale_add(x: arr):
        for i in range(N):
            x[i] = x[i] * 0.5 + k

    @qd.kernel
    def smooth(x: arr):
        for i in range(1, N - 1):
            x[i] = 0.25 * (x[i - 1] + 2.0 * x[i] + x[i + 1]) + k

    @qd.kernel
    def branch(x: arr):
        for i in range(N):
            if i % 2 == 0:
                x[i] += k
            else:
                x[i] -= k

    @qd.kernel
    def inner(x: arr):
        for i in range(N):
            s = 0.0
            for j in range(8):
                s += qd.sin(j * 0.25) * k
            x[i] = s

    @qd.kernel
    def vectors(x: arr):
        for i in range(N):
            v = qd.Vector([x[i], 1.0, 2.0])
            w = v.cross(qd.Vector([0.5, k * 1.0, 3.0]))
            x[i] = w.dot(v) + w.norm()

    @qd.kernel
    def loop_until(x: arr):
        for i in range(N):
            v = i + 100.0
            steps = 0
            while v > 1.0 and steps < 20:
                v *= 0.5
                steps += 1
            x[i] = steps + k

    return [scale_add, smooth, branch, inner, vectors, loop_until]


@case("cold_30", "30 small kernels cold", kind="fresh", target=0.5, rounds=3)
@case("gpu_warm_30", "30 small kernels from the disk cache", rows="gpu", kind="warm", target=None, rounds=2)
@case("gpu_cold_30", "30 small kernels cold", rows="gpu", kind="fresh", target=0.7, rounds=3)
def cold_thirty(qd) -> Work:
    x = qd.ndarray(qd.f32, shape=(N,))
    kernels = [kernel for k in range(1, 6) for kernel in _small_kernels(qd, k)]

    def run(n: int) -> None:
        for kernel in kernels:
            kernel(x)
        qd.sync()

    # The last kernel halves 100 + i until it is at most 1: 7 steps up to 128, else 8; plus the baked k = 5.
    want = np.where(100 + np.arange(N) <= 128, 7, 8) + 5
    return Work(run, lambda: differs("x", x.to_numpy(), want))


@case("cold_9_products", "nine unrolled 6x6 products cold", kind="fresh", unit="s", target=0.1, rounds=2)
@case(
    "gpu_cold_9_products", "nine unrolled 6x6 products cold", rows="gpu", kind="fresh", unit="s", target=0.1, rounds=1
)
def cold_products(qd) -> Work:
    rng = np.random.default_rng(7)
    data = rng.uniform(-0.5, 0.5, (N, 10, 6, 6)).astype(np.float32)
    m = qd.Matrix.field(6, 6, qd.f32, shape=(N, 10))
    out = qd.Matrix.field(6, 6, qd.f32, shape=N)
    m.from_numpy(data)

    @qd.kernel
    def product():
        for i in range(N):
            p = m[i, 0]
            for k in qd.static(range(1, 10)):
                p = p @ m[i, k]
            out[i] = p

    def run(n: int) -> None:
        product()
        qd.sync()

    def check() -> str | None:
        want = data[:, 0].astype(np.float64)
        for k in range(1, 10):
            want = want @ data[:, k]
        return differs("products", out.to_numpy(), want, rtol=1e-3, atol=1e-5)

    return Work(run, check)


@case("cold_mpm88", "2-D MPM cold compile", kind="fresh", target=0.5, rounds=3)
def cold_mpm(qd) -> Work:
    sim = Mpm(qd, particles=1024, grid=64, dt=2e-4)

    def run(n: int) -> None:
        sim.substep()
        qd.sync()

    return Work(run, lambda: sim.check_first_step())
