"""data.md 2, 3: offsets, orders, AOS and SOA, explicit trees, host access, bulk operations, export shapes."""

import numpy as np
from kit import fails


def run(qd):
    a = qd.field(qd.i32, shape=(2, 3), order="ji")
    b = qd.field(qd.f32, shape=(2, 3), offset=(-1, 10))
    d = qd.field(qd.f64, shape=())
    v = qd.Vector.field(3, qd.f32, shape=(2, 2), layout=qd.Layout.SOA)
    m = qd.Matrix.field(2, 1, qd.i32, shape=3)
    r = qd.Matrix.field(1, 3, qd.i32, shape=2)
    x, y = qd.field(qd.i32), qd.field(qd.f32)
    qd.root.dense(qd.ij, (4, 3)).place(x, y)
    z = qd.Vector.field(2, qd.i16)
    qd.root.dense(qd.i, 2).dense(qd.i, 3).place(z)

    @qd.kernel
    def fill():
        for i, j in a:
            a[i, j] = 10 * i + j
        for i, j in b:
            b[i, j] = i * 100 + j
        for i, j in v:
            v[i, j] = [i, j, i + j]
        for i, j in x:
            x[i, j] = i - j
            y[i, j] = i * 0.5 + j
        for i in z:
            z[i] = [i, -i]
        d[None] = 2.5

    fill()
    u8 = qd.field(qd.u8, shape=3)
    u8[0], u8[1], u8[2] = 300, -1, 7
    i8 = qd.field(qd.i8, shape=2)
    i8[0] = 300
    u64 = qd.field(qd.u64, shape=1)
    u64[0] = 2**64 - 1
    u1 = qd.field(qd.u1, shape=2)
    u1[0] = 5
    m[1] = [[4], [5]]
    m[2][1, 0] = 9
    r.from_numpy(np.arange(6, dtype=np.int32).reshape(2, 1, 3))
    copy = qd.field(qd.f64, shape=(2, 3))
    copy.copy_from(a)
    filled = qd.Vector.field(2, qd.f32, shape=2)
    filled.fill([1.5, 2.5])
    scalar = filled.get_scalar_field(1)
    scalar[0] = 9.0
    transposed = qd.field(qd.f32, shape=(3, 2))
    transposed.from_numpy(np.arange(6, dtype=np.float64).reshape(2, 3).T)
    proxy = v[1, 1]
    proxy[0] = 42.0

    def short_index():
        return a[0]

    return {
        "a": [a.to_numpy(), a[1, 2], list(a.shape)],
        "b": [b.to_numpy(), b[-1, 10], b[0, 12]],
        "d": [d[None], d[()], d.to_numpy()],
        "v": [v.to_numpy(), v[1, 0].to_list(), v[1, 1][0]],
        "m": [m.to_numpy(), m.to_numpy(keep_dims=True), m[2][1, 0]],
        "r": r.to_numpy(),
        "x": x.to_numpy(),
        "y": y.to_numpy(),
        "z": z.to_numpy(),
        "wraps": [u8.to_numpy(), i8[0], u64[0], u1[0]],
        "copy": copy.to_numpy(),
        "filled": filled.to_numpy(),
        "transposed": transposed.to_numpy(),
        "to_dtype": a.to_numpy(dtype=np.float32),
        "attributes": [str(v.dtype), v.n, v.m, list(v.shape), repr(a)],
        "short_index": fails(short_index, "Slicing is not supported on qd.field"),
        "slice": fails(lambda: u8[0:2], "slicing a qd.field is not supported"),
        "float_into_int": fails(lambda: u8.__setitem__(0, 1.5), ""),
        "wrong_shape": fails(lambda: a.from_numpy(np.zeros((3, 2), np.int32)), "does not match the numpy array shape"),
        "bad_order": fails(lambda: qd.field(qd.i32, (2, 3), order="jj"), "The axes in order must be different"),
        "bad_offset": fails(lambda: qd.field(qd.i32, (2, 3), offset=(1,)), "must be the same (2 != 1)"),
        "int_grad": fails(lambda: qd.field(qd.i32, 3, needs_grad=True), "is not supported for field with"),
    }
