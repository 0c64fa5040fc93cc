"""Arrays and kernels that the tests of buffer views share."""

import numpy as np

import quadrants as qd
from quadrants import BufferView


def zeros(n: int = 32, dtype=None):
    return qd.ndarray(dtype or qd.f32, (n,))


def iota(n: int = 32):
    a = zeros(n)
    a.from_numpy(np.arange(n, dtype=np.float32))
    return a


@qd.kernel
def fill(v: BufferView[qd.f32], x: qd.f32):
    for i in range(v.size):
        v[i] = x


@qd.kernel
def touch_element(v: BufferView[qd.f32], i: qd.i32):
    for _ in range(1):
        v[i] = 1.0


@qd.func
def touch(v: BufferView[qd.f32], i: qd.i32):
    v[i] = 2.0
