"""Kernels whose loops are as long as an array says, and how often their launches look at it."""

from __future__ import annotations

import math

import numpy as np
from oracle import field

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]


def ints(values, dtype=qd.i32):
    made = qd.field(dtype, np.shape(values))
    made.from_numpy(np.array(values, dtype=np.int64))
    return made


def array(values, dtype=qd.i32):
    made = qd.ndarray(dtype, np.shape(values))
    made.from_numpy(np.array(values, dtype=np.int64))
    return made


def slope(x: float, trips: int) -> float:
    """d/dx of sin applied `trips` times."""
    d = 1.0
    for _ in range(trips):
        d *= math.cos(x)
        x = math.sin(x)
    return d


class Case:
    """A kernel whose loops have the lengths that `trips(k)` says, and how often its depths were looked for."""

    def __init__(self, kernel, x, y, args, trips):
        self.kernel, self.x, self.y, self.args, self.trips = kernel, x, y, args, trips
        self.kept = None

    def launch(self):
        self.x.grad.fill(0)
        self.y.grad.fill(1)
        self.kernel.grad(*self.args)

    def looks(self) -> int:
        """Launches, one, that had to look for depths; the gradient is checked."""
        before = self.misses()
        self.launch()
        got = self.x.grad.to_numpy()
        want = [slope(p, self.trips(k)) for k, p in enumerate(POINTS)]
        assert np.allclose(got, want, rtol=1e-12), (got, want)
        return self.misses() - before

    def misses(self) -> int:
        return sum(plan.kept.misses for plan in self.kernel.grad._plans)

    def hits(self) -> int:
        return sum(plan.kept.hits for plan in self.kernel.grad._plans)


def of_field(n):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[i]):
                v = qd.sin(v)
            y[i] = v

    return Case(k, x, y, (), lambda i: n[i])


def of_array(n):
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(a: qd.types.ndarray(ndim=1)):
        for i in x:
            v = x[i]
            for _ in range(a[i]):
                v = qd.sin(v)
            y[i] = v

    return Case(k, x, y, (n,), lambda i: n[i])
