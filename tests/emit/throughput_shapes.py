"""Kernels that wait for memory: several iterations a thread, tiles, vectors."""

import quadrants as qd

ARRAY = qd.types.ndarray(dtype=qd.f32, ndim=1)


@qd.kernel
def saxpy(a: qd.f32, x: ARRAY, y: ARRAY):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


@qd.kernel
def own(x: ARRAY, y: ARRAY):
    for i in range(3, x.shape[0]):
        k = i - 2
        y[i] += x[k] * x[k]


@qd.kernel
def wide(x: qd.types.ndarray(dtype=qd.f64, ndim=2), y: qd.types.ndarray(dtype=qd.f64, ndim=2)):
    for i, j in qd.ndrange(x.shape[0], x.shape[1]):
        if x[i, j] > y[i, j]:
            continue
        y[i, j] = 1.0


@qd.kernel
def filled(y: ARRAY):
    for i in range(y.shape[0]):
        y[i] = qd.cast(i % 7, qd.f32)


@qd.kernel
def guarded(x: ARRAY, y: ARRAY):
    for i in range(y.shape[0]):
        if i + 1 < x.shape[0]:
            y[i] = x[i + 1]


@qd.kernel
def gathered(x: ARRAY, y: ARRAY):
    for i in range(y.shape[0]):
        y[i] = x[qd.cast(x[i], qd.i32)]


@qd.kernel
def twice(x: ARRAY, y: ARRAY):
    for i in range(y.shape[0]):
        y[i] = x[i]
        y[i] = y[i] + x[i]


@qd.kernel
def chosen(x: ARRAY, y: ARRAY):
    qd.loop_config(block_dim=64)
    for i in range(y.shape[0]):
        y[i] = x[i]


@qd.kernel
def blur(a: qd.template(), b: qd.template()):
    for i, j, k in qd.ndrange((1, a.shape[0] - 1), (2, a.shape[1] - 2), (1, a.shape[2] - 1)):
        near = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 2, k] + a[i, j + 2, k]
        b[i, j, k] = near + a[i, j, k - 1] + a[i, j, k + 1]


@qd.kernel
def blur_grouped(a: qd.template(), b: qd.template()):
    for I in qd.grouped(a):
        if 0 < I.x < a.shape[0] - 1:
            b[I] = a[I + qd.Vector([1, 0])] - a[I - qd.Vector([1, 0])]


@qd.kernel
def plain_rows(a: qd.template(), b: qd.template()):
    for i, j in a:
        b[i, j] = a[i, j] + a[i, (j + 1) % 32]


@qd.kernel
def scattered(x: qd.template(), into: qd.template(), wide: qd.template()):
    for i in x:
        into[i % 3] += x[i]
        wide[i % 3] += qd.Vector([1.0, 2.0, 3.0, x[i].x])
        into[i % 2] -= x[i]


@qd.real_func
def squared(v: qd.f32) -> qd.f32:
    if v > 9.0:
        return 81.0
    return v * v


@qd.kernel
def through_function(x: qd.template(), y: qd.template()):
    for i in x:
        y[i] += squared(x[i])


@qd.real_func
def neighbour(x: ARRAY, i: qd.i32) -> qd.f32:
    return x[i + 1]


@qd.kernel
def through_memory(x: ARRAY, y: ARRAY):
    for i in range(y.shape[0]):
        y[i] = neighbour(x, i)


@qd.real_func
def advance(k: qd.ref(qd.i32)):
    k += 1


@qd.kernel
def through_reference(x: ARRAY, y: ARRAY):
    for i in range(y.shape[0] - 1):
        k = i
        advance(k)
        y[i] = x[k]


@qd.kernel
def long_sum(x: qd.template(), y: qd.template()):
    for i in x:
        v = x[i]
        for _ in qd.static(range(20)):
            v = v * v - 0.5
        y[i] = v
