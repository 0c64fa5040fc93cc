"""data.md 4, 5; language.md 3.4: ndarrays, NumPy arguments in C and F order, elements, annotation errors."""

import numpy as np
from kit import fails


def run(qd):
    arr = qd.types.ndarray
    a = qd.ndarray(qd.f32, shape=(2, 3))
    v = qd.Vector.ndarray(3, qd.f32, shape=4)
    m = qd.Matrix.ndarray(2, 2, qd.i64, shape=(2,))

    @qd.kernel
    def fill(x: arr(dtype=qd.f32, ndim=2), v: arr(dtype=qd.math.vec3, ndim=1), m: arr(), n: qd.i32):
        for i, j in x:
            x[i, j] += i * 10 + j + n
        for i in v:
            v[i] += qd.Vector([i, 1.0, n])
            v[i].y *= 2
        for i in range(m.shape[0]):
            m[i][0, 1] += n

    @qd.kernel
    def generic(x: arr(), y: qd.types.NDArray[qd.i32, 1]) -> qd.f32:
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i]
            y[i] = x.shape[0] * 10 + len(x.shape)
        return s

    @qd.kernel
    def shapes(x: arr(dtype=qd.f32, ndim=3)) -> qd.types.vector(3, qd.i32):
        a, b, c = x.shape
        return qd.Vector([a, b, c])

    @qd.kernel
    def zero_dim(x: arr(dtype=qd.i32, ndim=0)):
        x[None] += 5

    @qd.kernel
    def clamped(x: arr(dtype=qd.i32, ndim=1, boundary="clamp"), i: qd.i32) -> qd.i32:
        return x[i]

    @qd.kernel
    def trips(x: arr(dtype=qd.f32, ndim=1)) -> qd.i32:
        n = 0
        for i in x:
            n += 1
        return n

    @qd.kernel
    def wrong_count(x: arr(dtype=qd.f32, ndim=2)) -> qd.f32:
        return x[0]

    @qd.kernel
    def negative(x: arr(dtype=qd.f32, ndim=2)) -> qd.f32:
        return x[0, -1]

    fill(a, v, m, 1)
    fill(a, v, m, 2)
    c_order = np.ones((2, 3), np.float32)
    f_order = np.asfortranarray(np.ones((2, 3), np.float32))
    elements = np.zeros((4, 3), np.float32)
    matrices = np.zeros((2, 2, 2), np.float64)
    fill(c_order, elements, m, 5)
    fill(f_order, v, m, 5)
    y = np.zeros(3, np.int32)
    sums = [generic(np.arange(3, dtype=t), y) for t in (np.float32, np.float64, np.int8, np.uint16)]
    scalar = np.array(7, np.int32)
    zero_dim(scalar)
    numbers = np.arange(4, dtype=np.int32)
    readonly = np.zeros((2, 3), np.float32)
    b = qd.ndarray(qd.i32, shape=3)
    b.fill(7)
    b[1] = -1
    c = qd.ndarray(qd.i32, shape=3)
    c.copy_from(b)
    c.from_numpy(np.array([[1, 2, 3], [4, 5, 6]], np.int32)[:, ::-1][1])
    return {
        "a": a.to_numpy(),
        "v": [v.to_numpy(), v[1].to_list()],
        "m": m.to_numpy(),
        "c_order": c_order,
        "f_order": np.ascontiguousarray(f_order),
        "elements": elements,
        "matrices": matrices,
        "sums": sums,
        "y": y,
        "shapes": shapes(np.zeros((2, 5, 7), np.float32)).to_numpy(),
        "scalar": scalar,
        "clamped": [clamped(numbers, i) for i in (-5, 0, 2, 100)],
        "trips": [trips(np.zeros(0, np.float32)), trips(np.zeros(5, np.float32))],
        "b": [b.to_numpy(), b[1], list(b.shape), str(b.dtype), repr(b)],
        "c": c.to_numpy(),
        "repr": [repr(v), repr(m)],
        "wrong_dtype": fails(
            lambda: wrong_count(np.zeros((2, 2))), "required array has dtype=f32, array with dtype=f64 is provided"
        ),
        "wrong_ndim": fails(lambda: wrong_count(np.zeros(2, np.float32)), "required array has ndim="),
        "nd_dtype": fails(lambda: wrong_count(qd.ndarray(qd.i32, (2, 2))), "Expect element type"),
        "nd_ndim": fails(lambda: wrong_count(qd.ndarray(qd.f32, (2,))), "required ndim="),
        "strided": fails(lambda: trips(np.zeros(8, np.float32)[::2]), "Non contiguous numpy arrays"),
        "list": fails(lambda: trips([1.0]), "Invalid type for argument"),
        "wrong_count": fails(lambda: wrong_count(readonly), "Array with dim 2 accessed with indices of dim 1"),
        "negative": fails(lambda: negative(readonly), "Negative indices are not supported"),
        "host_count": fails(lambda: a[0], "2d ndarray indexed with 1d indices"),
        "bad_shape": fails(lambda: qd.ndarray(qd.f32, shape=(2, 0)), "is not a valid shape for ndarray"),
        "mismatch": fails(
            lambda: a.from_numpy(np.zeros((3, 2), np.float32)), "Mismatch shape: (2, 3) expected, but (3, 2) provided"
        ),
        "boundary": fails(lambda: arr(dtype=qd.f32, ndim=1, boundary="wrap"), ""),
    }
