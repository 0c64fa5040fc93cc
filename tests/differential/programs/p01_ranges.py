"""language.md 13.2: every form of `range`, at top level and nested, with empty and run-time extents."""

import numpy as np


def run(qd):
    out = qd.field(qd.i32, shape=(8, 16))

    @qd.kernel
    def top(n: qd.i32, a: qd.i32, b: qd.i32):
        for i in range(10):
            out[0, i] = i + 1
        for i in range(n):
            out[1, i] = i * i
        for i in range(a, b):
            out[2, i + 4] = i
        for i in range(b, a):
            out[3, 0] = 99
        for i in range(-3, 3):
            out[4, i + 3] = -i
        for i in range(n - 2, n + 2):
            for j in range(i):
                out[5, i] += j

    @qd.kernel
    def counted(n: qd.i32) -> qd.i32:
        total = 0
        for _ in range(n):
            for j in range(3):
                for k in range(j, 3):
                    total += k
        return total

    @qd.kernel
    def bounds_once() -> qd.i32:
        steps = 0
        n = 4
        if n > 0:
            for _i in range(n):
                n = 100
                steps += 1
        return steps * 1000 + n

    @qd.kernel
    def from_memory(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in range(x[0]):
            out[6, i] = x[1] + i
        for i in range(x[1] - x[0], x[1]):
            out[7, i] = i

    top(5, -4, 3)
    from_memory(np.array([3, 7], np.int32))
    return {
        "out": out.to_numpy(),
        "counted": [counted(0), counted(1), counted(1000), counted(-5)],
        "bounds_once": bounds_once(),
    }
