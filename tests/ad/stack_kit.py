"""A recurrence whose gradient needs a stack, and kernels that run it."""

from __future__ import annotations

import numpy as np

import quadrants as qd


@qd.func
def recur(start, trips):
    v = start
    for _ in range(trips):
        v = qd.sin(v) + 0.1
    return v


def slopes(points, trips: int, passes=True) -> np.ndarray:
    """Derivatives of `recur` at some points; 0 where `passes` is not set."""
    v, slope = np.array(points, dtype=np.float64), np.ones(len(points))
    for _ in range(trips):
        slope, v = slope * np.cos(v), np.sin(v) + 0.1
    return np.where(passes, slope, 0.0)


def recurrence(x, y):
    """y[i] = recur(x[i], n)"""

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = qd.sin(v) + 0.1
            y[i] = v

    return k


def gated(x, y, mark):
    """The same, added, where `mark[i]` is above one half."""

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            if mark[i] > 0.5:
                y[i] += recur(x[i], n)

    return k
