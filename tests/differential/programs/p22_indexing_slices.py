"""matrix-math.md 5.1, 5.2: element access with constant, run-time and vector indices; slices, read and written."""

import numpy as np
from kit import fails

CORRECTED = {
    "f": (
        np.array([[0, 10, 20.5, 30], [0, 0, 5, 2.5], [17, 4, 5, 6]], np.float32),
        "matrix-math.md 5.1: `f[1][i] = 5` then `f[1][3] += 2.5`; the reference stores 2.5 at an unaligned address",
    )
}


def run(qd):
    f = qd.Vector.field(4, qd.f32, shape=3)
    m = qd.Matrix.field(3, 3, qd.f32, shape=2)
    out = qd.Matrix.field(3, 3, qd.f32, shape=6)

    @qd.kernel
    def access(i: qd.i32, u: qd.u8) -> qd.types.vector(6, qd.f32):
        v = qd.Vector([0.0, 0.0, 0.0, 0.0])
        for k in range(4):
            v[k] = 10 * k
        v[i] += 0.5
        a = qd.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
        a[i, 0] = -1
        a[1, i] *= 2
        index = qd.Vector([i, 1])
        f[0] = v
        f[1][i] = 5
        f[1][3] += 2.5
        f[i][u] = 9.0
        out[0] = a
        return qd.Vector([v[i], a[index], f[0][u], a[i - 1, i], v[u], (v * 2)[i]])

    @qd.kernel
    def slices(i: qd.i32):
        a = qd.Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        b = a
        b[0, :] = qd.Vector([10, 20, 30])
        b[:, 1] *= -1
        b[1:3, 1:3] = 0
        out[1] = b
        c = a
        c[i, :] = a[:, i]
        c[:, 0] += qd.Vector([100, 200, 300])
        out[2] = c
        d = qd.Matrix([[0, 0, 0], [0, 0, 0], [0, 0, 0]])
        d[0:2, 0:2] = a[1:3, 1:3]
        out[3] = d
        v = qd.Vector([1.0, 2.0, 3.0, 4.0])
        v[1:3] = 7
        v[0:4:2] += 10
        f[2][0:2] = v[2:4]
        f[2][2:4] = [5, 6]
        m[0][0, 0:3] = qd.Vector([1.0, 2.0, 3.0])
        m[1][:, 2] = v[0:3]
        m[1][:, 0] += 1
        e = a[0:3:2, 0:3:2]
        out[4] = qd.Matrix([[e[0, 0], e[0, 1], 0], [e[1, 0], e[1, 1], 0], [0, 0, 0]])
        row = a[i, :].dot(a[:, i])
        out[5] = qd.Matrix([[row, 0, 0], [0, 0, 0], [0, 0, 0]])

    @qd.kernel
    def count() -> qd.f32:
        a = qd.Matrix([[1.0, 2.0], [3.0, 4.0]])
        return a[0]

    @qd.kernel
    def real_index(x: qd.f32) -> qd.f32:
        v = qd.Vector([1.0, 2.0])
        return v[x]

    @qd.kernel
    def negative() -> qd.f32:
        v = qd.Vector([1.0, 2.0])
        return v[-1]

    @qd.kernel
    def runtime_slice(n: qd.i32) -> qd.f32:
        v = qd.Vector([1.0, 2.0, 3.0])
        return v[0:n].sum()

    @qd.kernel
    def slice_length():
        v = qd.Vector([1.0, 2.0, 3.0])
        v[0:2] = qd.Vector([1.0, 2.0, 3.0])

    @qd.kernel
    def element_on_container() -> qd.f32:
        return f[0, 1]

    values = access(2, 3)
    slices(1)
    return {
        "values": values.to_numpy(),
        "f": f.to_numpy(),
        "m": m.to_numpy(),
        "out": out.to_numpy(),
        "count": fails(count, "Expected 2 indices, got 1"),
        "real_index": fails(lambda: real_index(1.0), "indices must be integers"),
        "negative": fails(negative, "Negative indices are not supported"),
        "runtime_slice": fails(lambda: runtime_slice(2), "does not support variables in slice"),
        "slice_length": fails(slice_length, "cannot assign"),
        "element_on_container": fails(element_on_container, "Field with dim 1 accessed with indices of dim 2"),
        "shape": np.array(f.to_numpy().shape),
    }


BEYOND = {
    "unsigned_constant": (2.0, "matrix-math.md 5.1: an index may be a constant of any integer type"),
    "constant_past_end": ("QuadrantsIndexError: ", "matrix-math.md 5.1: a constant index out of range is an error"),
    "slice_past_end": ("QuadrantsIndexError: ", "matrix-math.md 5.2: a slice beyond the end is an error"),
}


def beyond(qd):
    @qd.kernel
    def unsigned_constant() -> qd.f32:
        v = qd.Vector([1.0, 2.0])
        return v[qd.u8(1)]

    @qd.kernel
    def constant_past_end() -> qd.f32:
        v = qd.Vector([1.0, 2.0])
        return v[5]

    @qd.kernel
    def slice_past_end() -> qd.f32:
        v = qd.Vector([1.0, 2.0])
        return v[0:5].sum()

    return {
        "unsigned_constant": unsigned_constant(),
        "constant_past_end": fails(constant_past_end),
        "slice_past_end": fails(slice_past_end),
    }
