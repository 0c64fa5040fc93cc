"""An index is an i32 whose arithmetic wraps, also where it is a sum that could be part of an address."""

import numpy as np
import pytest

import quadrants as qd

SIZE = 8


def containers():
    blocked = qd.field(qd.i32)
    qd.root.dense(qd.i, 2).dense(qd.i, 4).place(blocked)
    plane = qd.field(qd.i32, shape=(SIZE, 1))
    offset = qd.field(qd.i32, shape=SIZE, offset=(-3,))
    vectors = qd.Vector.field(2, qd.i32, shape=SIZE)
    return blocked, plane, offset, vectors


@qd.kernel
def into_arrays(f: qd.types.ndarray(qd.i32, 1), g: qd.types.ndarray(qd.i32, 2), i: qd.i32, j: qd.i32):
    f[i * i] = 1
    f[i * i + 1] = 2
    f[j + j + 2] = 3
    f[j - 2147483647 - 1 + 3] = 4
    f[-j - j + 4] = 5
    f[3 * j + j + 5] = 6
    g[i * i + 6, j + j] = 7
    f[(i - 1) * i + i + 7] = 8


def test_arrays(arch):
    f, g = np.zeros(SIZE, np.int32), np.zeros((SIZE, 2), np.int32)
    into_arrays(f, g, 65536, -2147483648)
    assert f.tolist() == [1, 2, 3, 4, 5, 6, 0, 8] and g[6].tolist() == [7, 0]


def test_views(arch):
    f = qd.ndarray(qd.i32, shape=SIZE)

    @qd.kernel
    def write(v: qd.BufferView, i: qd.i32):
        v[i * i] = 1
        v[i * i - 1 + 2] = 2

    write(f[2:6], 65536)
    assert f.to_numpy().tolist() == [0, 0, 1, 2, 0, 0, 0, 0]


@pytest.mark.parametrize("which", range(4))
def test_fields(arch, which):
    x = containers()[which]
    first = -3 if which == 2 else 0

    @qd.kernel
    def write(i: qd.i32, j: qd.i32):
        for k in range(2):
            if qd.static(which == 1):
                x[i * i + k, 0] = 1 + k
                x[j + j + 2 + k, i * i] = 3 + k
            elif qd.static(which == 3):
                x[i * i + k][i * i + 1] = 1 + k
                x[j + j + 2 + k][j + j + 1] = 3 + k
            else:
                x[i * i + k + first] = 1 + k
                x[j + j + 2 + k + first] = 3 + k

    write(65536, -2147483648)
    got = x.to_numpy()
    got = got[:, 0] if which == 1 else got[:, 1] if which == 3 else got
    assert got.tolist() == [1, 2, 3, 4, 0, 0, 0, 0]


def test_one_less_than_any_index_is_no_sum_that_wraps(arch):
    """An axis has fewer indices than there are i32, so that it cannot wrap into one: stencils stay vectorised."""

    @qd.kernel
    def step(x: qd.types.ndarray(qd.i32, 2), y: qd.types.ndarray(qd.i32, 2), begin: qd.i32, end: qd.i32):
        for i, j in qd.ndrange((begin, end), (begin, end)):
            y[i, j] = x[i, j - 1] - x[i, j + 1]

    x = (np.arange(SIZE * SIZE, dtype=np.int32) ** 2).reshape(SIZE, SIZE)
    y = np.zeros_like(x)
    step(x, y, 1, SIZE - 1)
    assert (y[1:-1, 1:-1] == x[1:-1, :-2] - x[1:-1, 2:]).all() and not y[0].any()
    text = step.source(x, y, 1, SIZE - 1, arch="cuda")
    assert "((int64_t)j - 1)" in text and "(int64_t)(j - 1)" not in text
