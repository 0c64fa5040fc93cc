"""Launch latency: a loop of 16 iterations, so that nearly all of the time is the way into the kernel and back."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import numpy as np

from . import Work, case, differs

N = 16
GPU = {"rows": "gpu", "unit": "us", "target": 0.4, "limit_seconds": 3e-6, "rounds": 5}


@case("launch_none", "launch, no argument", unit="us", target=0.25)
@case("gpu_launch_none", "launch, no argument", **GPU)
def launch_none(qd) -> Work:
    x = qd.field(qd.f32, shape=N)

    @qd.kernel
    def step():
        for i in range(N):
            x[i] = x[i] * 0.5 + 1.0

    calls = 0

    def run(n: int) -> None:
        nonlocal calls
        calls += n
        for _ in range(n):
            step()
        qd.sync()

    def check() -> str | None:
        run(200)
        return differs("x", x.to_numpy(), np.full(N, 2.0, np.float32))

    return Work(run, check)


@case("launch_4_scalars", "launch, 4 scalars", unit="us", target=0.25)
@case("gpu_launch_4_scalars", "launch, 4 scalars", **GPU)
def launch_scalars(qd) -> Work:
    x = qd.field(qd.f32, shape=N)

    @qd.kernel
    def step(a: qd.f32, b: qd.f32, c: qd.i32, d: qd.i32):
        for i in range(N):
            x[i] = a * i + b + c - d

    def run(n: int) -> None:
        for _ in range(n):
            step(0.5, 2.0, 7, 3)
        qd.sync()

    def check() -> str | None:
        return differs("x", x.to_numpy(), 0.5 * np.arange(N, dtype=np.float32) + 6.0)

    return Work(run, check)


@case("launch_4_ndarrays", "launch, 4 ndarrays", unit="us", target=0.25, limit_seconds=2e-6)
def launch_ndarrays(qd) -> Work:
    arrays = [qd.ndarray(qd.f32, shape=(N,)) for _ in range(4)]
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def step(a: arr, b: arr, c: arr, d: arr):
        for i in range(N):
            a[i] = b[i] + c[i] + d[i] + 1.0

    def run(n: int) -> None:
        a, b, c, d = arrays
        for _ in range(n):
            step(a, b, c, d)
        qd.sync()

    def check() -> str | None:
        for k, array in enumerate(arrays):
            array.fill(float(k))
        run(1)
        return differs("a", arrays[0].to_numpy(), np.full(N, 7.0, np.float32))

    return Work(run, check)


@case("gpu_launch_3_ndarrays", "launch, 3 ndarrays", **GPU)
def launch_three_ndarrays(qd) -> Work:
    arrays = [qd.ndarray(qd.f32, shape=(N,)) for _ in range(3)]
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def step(a: arr, b: arr, c: arr):
        for i in range(N):
            a[i] = b[i] + c[i] + 1.0

    def run(n: int) -> None:
        a, b, c = arrays
        for _ in range(n):
            step(a, b, c)
        qd.sync()

    def check() -> str | None:
        for k, array in enumerate(arrays):
            array.fill(float(k))
        run(1)
        return differs("a", arrays[0].to_numpy(), np.full(N, 4.0, np.float32))

    return Work(run, check)


@case("gpu_round_trip", "launch and qd.sync", rows="gpu", unit="us", target=None, rounds=5)
def round_trip(qd) -> Work:
    x = qd.ndarray(qd.f32, shape=(N,))

    @qd.kernel
    def step(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in range(N):
            x[i] = x[i] * 0.5 + 1.0

    def run(n: int) -> None:
        for _ in range(n):
            step(x)
            qd.sync()

    def check() -> str | None:
        run(200)
        return differs("x", x.to_numpy(), np.full(N, 2.0, np.float32))

    return Work(run, check)


@case("launch_16_ndarrays", "launch, 16 ndarrays", unit="us", target=0.25)
@case("gpu_launch_16_ndarrays", "launch, 16 ndarrays", **GPU)
def launch_many_ndarrays(qd) -> Work:
    arrays = [qd.ndarray(qd.f32, shape=(N,)) for _ in range(16)]
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def step(
        a: arr, b: arr, c: arr, d: arr, e: arr, f: arr, g: arr, h: arr,
        p: arr, q: arr, r: arr, s: arr, t: arr, u: arr, v: arr, w: arr,
    ):  # fmt: skip
        for i in range(N):
            left = b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i]
            right = p[i] + q[i] + r[i] + s[i] + t[i] + u[i] + v[i] + w[i]
            a[i] = left + right

    def run(n: int) -> None:
        a, b, c, d, e, f, g, h, p, q, r, s, t, u, v, w = arrays
        for _ in range(n):
            step(a, b, c, d, e, f, g, h, p, q, r, s, t, u, v, w)
        qd.sync()

    def check() -> str | None:
        for k, array in enumerate(arrays):
            array.fill(float(k))
        run(1)
        return differs("a", arrays[0].to_numpy(), np.full(N, 120.0, np.float32))

    return Work(run, check)
