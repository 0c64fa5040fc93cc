"""The kernels whose text is kept under golden/: a vector update with a sum, and a small material point method."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import quadrants as qd


@qd.kernel
def saxpy(n: qd.i32, a: qd.f32, x: qd.types.ndarray(), y: qd.types.ndarray()) -> qd.f32:
    """y += a x; returns the sum of y."""
    total = 0.0
    for i in range(n):
        y[i] += a * x[i]
        total += y[i]
    return total


@qd.data_oriented
class Particles:
    """Particles that carry momentum to a grid and back (APIC), without stress."""

    def __init__(self, count: int, cells: int):
        self.dx = 1 / cells
        self.dt = 1e-3
        self.x = qd.Vector.field(2, qd.f32, shape=count)
        self.v = qd.Vector.field(2, qd.f32, shape=count)
        self.C = qd.Matrix.field(2, 2, qd.f32, shape=count)
        self.momentum = qd.Vector.field(2, qd.f32, shape=(cells, cells))
        self.mass = qd.field(qd.f32, shape=(cells, cells))

    @qd.func
    def weights(self, offset):
        """Quadratic B-spline weights of the three nearest nodes, one a column."""
        return qd.Matrix.cols([0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1) ** 2, 0.5 * (offset - 0.5) ** 2])

    @qd.kernel
    def step(self, gravity: qd.f32):
        """Scatter to the grid, update it, gather."""
        for p in self.x:
            base = qd.cast(self.x[p] / self.dx - 0.5, qd.i32)
            offset = self.x[p] / self.dx - base
            w = self.weights(offset)
            for i, j in qd.static(qd.ndrange(2, 2)):
                corner = qd.Vector([i, j])
                weight = w[0, i] * w[1, j]
                self.momentum[base + corner] += weight * (self.v[p] + self.C[p] @ ((corner - offset) * self.dx))
                self.mass[base + corner] += weight
        for i, j in self.mass:
            if self.mass[i, j] > 0:
                self.momentum[i, j] /= self.mass[i, j]
                self.momentum[i, j][1] -= gravity * self.dt
        for p in self.x:
            cell = qd.cast(self.x[p] / self.dx, qd.i32)
            self.v[p] = self.momentum[cell]
            self.x[p] += self.dt * self.v[p] + 1e-6 * (qd.random() - 0.5)


GOLDEN = Path(__file__).resolve().parent / "golden"


def golden_texts() -> dict:
    """File name -> text of both kernels in C, CUDA, HIP and Metal, with default options but four threads."""
    qd.init(arch=qd.cpu, offline_cache=False, cpu_max_num_threads=4)
    try:
        x = np.zeros(8, np.float32)
        particles = Particles(64, 16)
        calls = {"saxpy": (saxpy, (8, 2.0, x, x.copy())), "mpm": (Particles.step, (particles, 9.8))}
        return {
            f"{name}.{suffix}": kernel.source(*args, arch=dialect)
            for name, (kernel, args) in calls.items()
            for suffix, dialect in (("c", "c"), ("cu", "cuda"), ("hip", "hip"), ("metal", "metal"))
        }
    finally:
        qd.reset()


PAGE = GOLDEN.parents[2] / "docs" / "guide" / "gpu.md"


def shown_in_docs(text: str) -> str:
    """The part of the CUDA text of the material point method that PAGE shows: functions and tasks."""
    return text[text.index("/* Quadratic B-spline weights") : text.index("/* Launches, in order:")].strip()
