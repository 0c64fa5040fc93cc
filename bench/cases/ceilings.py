"""CUDA kernels written by hand, run through CuPy: what the GPU gives on the work of a case."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from . import Work, differs, some_of

Launch = Callable[[], None]

_SAXPY = r"""
extern "C" __global__ void one(long n, float a, const float *x, float *y) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void four(long n, float a, const float4 *x, float4 *y) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 u = x[i], v = y[i];
    y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
}
"""

_STENCIL = r"""
extern "C" __global__ void stencil(int n, const float *__restrict__ a, float *__restrict__ b) {
    int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, i = blockIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= n - 1 || j >= n - 1 || k >= n - 1) return;
    long p = ((long)i * n + j) * n + k, row = n, plane = (long)n * n;
    float near = a[p - plane] + a[p + plane] + a[p - row] + a[p + row] + a[p - 1] + a[p + 1];
    b[p] = 0.4f * a[p] + 0.1f * near;
}
"""

_RECURRENCE = r"""
extern "C" __global__ void values(long n, const float *x, float *grad) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float kept[16], v = x[i];
    #pragma unroll
    for (int k = 0; k < 16; ++k) { kept[k] = v; v = sinf(v) * 1.01f + 0.1f; }
    float g = 2.0f * v;
    #pragma unroll
    for (int k = 15; k >= 0; --k) g *= 1.01f * cosf(kept[k]);
    grad[i] += g;
}
extern "C" __global__ void slopes(long n, const float *x, float *grad) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float slope = 1.0f, v = x[i];
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        float s, c;
        sincosf(v, &s, &c);
        slope *= 1.01f * c;
        v = s * 1.01f + 0.1f;
    }
    grad[i] += 2.0f * v * slope;
}
"""


def _work(cp, launch: Launch, check: Callable[[], str | None]) -> Work:
    def run(n: int) -> None:
        for _ in range(n):
            launch()
        cp.cuda.Device().synchronize()

    return Work(run, check)


def _fastest(cp, variants: list[Launch]) -> Launch:
    """The variant with the shortest of three runs of ten launches."""

    def seconds(launch: Launch) -> float:
        spent = []
        for _ in range(4):  # the first one compiles
            start = time.perf_counter()
            for _ in range(10):
                launch()
            cp.cuda.Device().synchronize()
            spent.append(time.perf_counter() - start)
        return min(spent)

    return min(variants, key=seconds)


def copy(cp, n: int) -> Work:
    """A copy of n f32 on the device, by the driver."""
    source, target = cp.arange(n, dtype=cp.float32), cp.zeros(n, cp.float32)
    return _work(
        cp,
        lambda: target.data.copy_from_device_async(source.data, source.nbytes, cp.cuda.Stream.null),
        lambda: differs("copy", some_of(target).get(), some_of(source).get()),
    )


def saxpy(cp, n: int) -> Work:
    """`y = a x + y` on n f32 (a multiple of 4): the best of scalar and vector accesses and of three block sizes."""
    data = (cp.arange(n, dtype=cp.int32) & 1023).astype(cp.float32)
    x, y = data.copy(), 2 * data
    module = cp.RawModule(code=_SAXPY)
    a = np.float32(0.25)

    def variant(name: str, width: int, block: int) -> Launch:
        kernel, items = module.get_function(name), n // width
        arguments = (np.int64(items), a, x, y)
        return lambda: kernel((-(-items // block),), (block,), arguments)

    launch = _fastest(cp, [variant(name, w, b) for name, w in (("one", 1), ("four", 4)) for b in (128, 256, 512)])

    def check() -> str | None:
        y[...] = 2 * data
        launch()
        return differs("y", some_of(y).get(), some_of(2.25 * data).get())

    return _work(cp, launch, check)


def stencil(cp, n: int) -> Work:
    """The 7-point stencil on n^3 f32, one thread a cell: the best of five block shapes."""
    mixed = cp.arange(n**3, dtype=cp.uint32) * cp.uint32(2654435761) >> cp.uint32(8)
    a = (mixed.astype(cp.float32) / (1 << 24)).reshape(n, n, n)
    b = cp.zeros_like(a)
    kernel = cp.RawKernel(_STENCIL, "stencil")

    def variant(width: int, height: int) -> Launch:
        grid = (-(-n // width), -(-n // height), n)
        return lambda: kernel(grid, (width, height), (np.int32(n), a, b))

    launch = _fastest(cp, [variant(w, h) for w, h in ((32, 4), (32, 8), (64, 4), (128, 2), (256, 1))])

    def check() -> str | None:
        launch()
        c = a[:, 1:-1, 1:-1]
        near = c[:-2] + c[2:] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1] + a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:]
        want = (0.4 * c[1:-1] + 0.1 * near).ravel()
        return differs("b", some_of(b[1:-1, 1:-1, 1:-1].ravel()).get(), some_of(want).get())

    return _work(cp, launch, check)


def recurrence(cp, n: int) -> Work:
    """The derivative of 16 trips of v = sin(v) * 1.01 + 0.1 for n f32, the trips known to the compiler: the best of
    values kept in registers and of slopes, which need nothing kept, and of three block sizes.
    """
    x = cp.linspace(0, 1, n, dtype=cp.float32)
    grad = cp.zeros(n, cp.float32)
    module = cp.RawModule(code=_RECURRENCE, options=("--ftz=true", "--fmad=true"))

    def variant(name: str, block: int) -> Launch:
        kernel = module.get_function(name)
        return lambda: kernel((-(-n // block),), (block,), (np.int64(n), x, grad))

    launch = _fastest(cp, [variant(name, block) for name in ("values", "slopes") for block in (128, 256, 512)])

    def check() -> str | None:
        grad[...] = 0
        launch()
        v = some_of(x).get().astype(np.float64)
        slope = np.ones_like(v)
        for _ in range(16):
            slope *= 1.01 * np.cos(v)
            v = np.sin(v) * 1.01 + 0.1
        return differs("grad", some_of(grad).get(), 2 * v * slope, rtol=1e-3, atol=1e-5)

    return _work(cp, launch, check)
