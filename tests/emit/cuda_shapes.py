"""Kernels whose loops differ: bounds, ranks, reductions, results, and names that CUDA C++ has itself."""

from __future__ import annotations

import quadrants as qd


@qd.func
def rsqrt(x: qd.f32) -> qd.f32:
    return x * 2


@qd.func
def norm(x: qd.f32, y: qd.f32) -> qd.f32:
    return x + y


@qd.kernel
def shadows(threadIdx: qd.i32, args: qd.f32, frame: qd.f32, min: qd.f32) -> qd.f32:
    lane = args + frame
    warpSize = rsqrt(norm(lane, min))
    for blockIdx in range(threadIdx):
        warpSize += blockIdx
    return warpSize


@qd.kernel
def bounds(n: qd.i32, m: qd.i32, x: qd.types.ndarray()):
    for i in range(n & 7, n | 8):
        x[i] += 1
    for i, j in qd.ndrange((n - 1, m + 1), (-2, 2)):
        x[i + j] += 1
    for i in range(x.shape[0] - 1):
        x[i] += 1


@qd.kernel
def scalar(x: qd.template()):
    for i in x:
        if x[i] > 1:
            continue
        x[i] += 1


@qd.kernel
def reductions(x: qd.types.ndarray(), low: qd.types.ndarray(), bits: qd.types.ndarray()) -> qd.f32:
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
        qd.atomic_min(low[0], x[i])
        qd.atomic_or(bits[0], 1 << i)
    return total


@qd.kernel
def crowded(x: qd.types.ndarray(dtype=qd.f32, ndim=1), n: qd.i32):
    qd.loop_config(block_dim=512, resident_blocks=2)
    for i in x:
        x[i] += 1.0
    qd.loop_config(block_dim=64, resident_blocks=2)
    for i in range(n):
        x[i] *= 2.0
    for i in x:
        x[i] -= 1.0
