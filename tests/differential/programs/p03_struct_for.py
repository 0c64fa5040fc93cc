"""language.md 13.2, data.md 2.2: loops over fields, ndarrays, struct fields; grouped; permuted and offset layouts."""

import numpy as np
from kit import fails

ANY_OF = {
    "nested_field": (
        ["QuadrantsRuntimeError: cannot be nested inside a kernel"],
        "language.md 18: runtime errors are of the class of the package, a RuntimeError",
    )
}


def run(qd):
    f1 = qd.field(qd.i32, shape=7)
    f2 = qd.field(qd.i32, shape=(3, 5))
    f3 = qd.field(qd.i32, shape=(2, 3, 4))
    f0 = qd.field(qd.i32, shape=())
    fo = qd.field(qd.i32, shape=(2, 3), order="ji")
    fs = qd.field(qd.i32, shape=(3, 2), offset=(-1, 10))
    vf = qd.Vector.field(2, qd.i32, shape=(2, 2))
    s = qd.types.struct(a=qd.i32, b=qd.f32)
    sf = s.field(shape=4)
    nd = qd.ndarray(qd.i32, shape=(3, 2))

    @qd.kernel
    def loops(arr: qd.types.ndarray(dtype=qd.i32, ndim=2)):
        for i in f1:
            f1[i] = i + 1
        for i, j in f2:
            f2[i, j] = 10 * i + j
        for i, j, k in f3:
            f3[i, j, k] = 100 * i + 10 * j + k
        for idx in qd.grouped(f3):
            f3[idx] += idx.sum()
        for idx in qd.grouped(f0):
            f0[idx] += 5
        for i, j in fo:
            fo[i, j] = 10 * i + j
        for i, j in fs:
            fs[i, j] = 10 * i + j
        for i, j in vf:
            vf[i, j] = [i, j + 7]
        for i in sf:
            sf[i].a = i * i
            sf[i].b = i * 0.5
        for i, j in arr:
            arr[i, j] = 10 * i + j
        for idx in qd.grouped(arr):
            arr[idx] += 1000

    @qd.kernel
    def nested_ndarray(arr: qd.types.ndarray(dtype=qd.i32, ndim=2)) -> qd.i32:
        n = 0
        for _ in range(1):
            for i, j in arr:
                n += i * 2 + j
        return n

    @qd.kernel
    def nested_field():
        for i in range(3):
            for j in f1:
                f1[j] = i

    @qd.kernel
    def wrong_count():
        for i in f2:
            f2[i, 0] = 0

    @qd.kernel
    def no_container(x: qd.i32):
        for i in x:
            f1[i] = 0

    loops(nd)
    return {
        "f1": f1.to_numpy(),
        "f2": f2.to_numpy(),
        "f3": f3.to_numpy(),
        "f0": f0[None],
        "fo": fo.to_numpy(),
        "fs": [fs[i, j] for i in range(-1, 2) for j in range(10, 12)],
        "vf": vf.to_numpy(),
        "sf_a": sf.a.to_numpy(),
        "sf_b": sf.b.to_numpy(),
        "nd": nd.to_numpy(),
        "nested_ndarray": nested_ndarray(np.zeros((4, 3), np.int32)),
        "nested_field": fails(nested_field, "cannot be nested inside a kernel"),
        "wrong_count": fails(wrong_count, "Number of struct-for indices does not match"),
        "no_container": fails(lambda: no_container(3), "Cannot loop over the object"),
    }
