"""language.md 3.5, 3.6, data.md 6, 9: qd.Tensor arguments of every kind, BufferViews and their slices."""

import numpy as np
from kit import fails, specialisations


def run(qd):
    @qd.kernel
    def scale(t: qd.Tensor, k: qd.i32):
        for i in range(t.shape[0]):
            t[i] *= k

    @qd.func
    def total(t: qd.Tensor):
        s = 0
        for i in range(t.shape[0]):
            s += t[i]
        return s

    @qd.kernel
    def summed(t: qd.Tensor) -> qd.i32:
        return total(t)

    @qd.kernel
    def fill_view(v: qd.BufferView[qd.i32], value: qd.i32):
        for i in range(v.shape[0]):
            v[i] = value + i

    @qd.kernel
    def inner_view(v: qd.BufferView[qd.i32]) -> qd.i32:
        w = v[1:3]
        u = v.subview(2, 2)
        u[0] += 100
        return w[0] * 1000 + w[1] + u.size

    @qd.kernel
    def make_view(a: qd.types.NDArray[qd.i32, 1]) -> qd.i32:
        v = qd.BufferView(a, 3, 4)
        v[0] = 77
        return v.size

    field = qd.field(qd.i32, shape=4)
    field.from_numpy(np.array([1, 2, 3, 4], np.int32))
    nd = qd.ndarray(qd.i32, shape=(5,))
    nd.fill(3)
    array = np.arange(6, dtype=np.int32)
    for t in (field, nd, array):
        scale(t, 10)
    sums = [summed(t) for t in (field, nd, array)]
    big = qd.ndarray(qd.i32, shape=(12,))
    fill_view(big[2:5], 10)
    fill_view(qd.BufferView(big, 8, 3), 50)
    fill_view(big[4:4], 99)
    fill_view(big[-1:], 7)
    first = big.to_numpy()
    inner = inner_view(big[2:8])
    made = make_view(big)
    return {
        "field": field.to_numpy(),
        "nd": nd.to_numpy(),
        "array": array,
        "sums": sums,
        "specialisations": specialisations(scale),
        "views": first,
        "inner": [inner, made],
        "after": big.to_numpy(),
        "sizes": [big[2:5].size, big[2:9][1:3].size, big[2:9].subview(1, 4).size],
        "step": fails(lambda: big[0:4:2], ""),
        "range": fails(lambda: qd.BufferView(big, 10, 5), ""),
        "element": fails(lambda: big[2:5][0], ""),
        "not_a_view": fails(lambda: fill_view(array, 1), "expects a BufferView"),
        "wrong_dtype": fails(lambda: fill_view(qd.ndarray(qd.f32, shape=(4,))[0:2], 1), ""),
    }
