"""language.md 13.2: `ndrange` with integers, pairs, axes, grouping, in tasks and nested loops, and on the host."""

import numpy as np
from kit import fails


def run(qd):
    a = qd.field(qd.i32, shape=(4, 5))
    b = qd.field(qd.i32, shape=(3, 4, 5))
    order = qd.field(qd.i32, shape=16)
    res = (3, 4)

    @qd.kernel
    def fill(n: qd.i32, m: qd.i32):
        for i, j in qd.ndrange(n, m):
            a[i, j] = 10 * i + j
        for i, j, k in qd.ndrange((1, 3), 4, (2, m)):
            b[i, j, k] = 100 * i + 10 * j + k
        for i, j in qd.ndrange((2, 1), 5):
            a[i, j] = -1
        for i, j in qd.ndrange(*res):
            b[i, j, 0] += 7
        for idx in qd.grouped(qd.ndrange(2, (3, 5))):
            a[idx] += 1000 * idx[0] + idx[1]

    @qd.kernel
    def visited():
        n = 0
        for _ in range(1):
            for i, j in qd.ndrange(2, 3, axes=(1, 0)):
                order[n] = 10 * i + j
                n += 1
            for i, j, k in qd.ndrange(2, 1, (4, 6), axes=(2, 1, 0)):
                order[n] = 100 * i + 10 * j + k
                n += 1
            for i, j in qd.ndrange(3, 3):
                if i == 1:
                    break
                order[n] = -(10 * i + j) - 1
                n += 1

    @qd.kernel
    def shadowing() -> qd.i32:
        i = 50
        for i, j in qd.ndrange(2, 2):
            i += 1
        return i

    @qd.kernel
    def top_axes() -> qd.i32:
        s = 0
        for i, j in qd.ndrange(3, 7, axes=(1, 0)):
            s += i * 100 + j
        return s

    @qd.kernel
    def bad_count():
        for i, j in qd.ndrange(2, 3, 4):
            a[i, j] = 0

    @qd.kernel
    def bad_float():
        for i in qd.ndrange(2.5):
            a[i, 0] = 0

    @qd.kernel
    def bad_axes():
        for i, j in qd.ndrange(2, 3, axes=(0, 0)):
            a[i, j] = 0

    @qd.kernel
    def bad_axes_length():
        for i, j in qd.ndrange(2, 3, axes=(0, 1, 2)):
            a[i, j] = 0

    @qd.kernel
    def bad_entry():
        for i, j in qd.ndrange(2, (1, 2, 3)):
            a[i, j] = 0

    @qd.kernel
    def numpy_bounds() -> qd.i32:
        s = 0
        for i in qd.ndrange(np.int64(6)):
            s += i
        return s

    fill(3, 5)
    visited()
    return {
        "a": a.to_numpy(),
        "b": b.to_numpy(),
        "order": order.to_numpy(),
        "shadowing": shadowing(),
        "top_axes": top_axes(),
        "numpy_bounds": numpy_bounds(),
        "host": [list(t) for t in qd.ndrange(2, 3, axes=(1, 0))],
        "host_plain": [list(t) for t in qd.ndrange(2, (4, 6))],
        "bad_count": fails(bad_count, "not equal to the dimension of the ndrange"),
        "bad_float": fails(bad_float, "should be an integer scalar"),
        "bad_axes": fails(bad_axes, "is not a permutation of"),
        "bad_axes_length": fails(bad_axes_length, "they must match"),
        "bad_entry": fails(bad_entry, "should be a scalar or a tuple/list like"),
    }
