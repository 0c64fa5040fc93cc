"""Updates of cells that belong to one iteration are plain; all others stay atomic."""

from __future__ import annotations

import re

import numpy as np
import pytest

import quadrants as qd

F32 = qd.types.ndarray(qd.f32, 1)


@qd.func
def other_cell(x: qd.template(), i):
    return x[i + 1]


@qd.kernel
def own(x: F32):
    for i in x:
        x[i] += 1.0
        x[i] *= x[i]


@qd.kernel
def own_rows(x: qd.types.ndarray(qd.f32, 2)):
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            x[i, k] += x[i, 0]


@qd.kernel
def own_by_name(x: qd.types.ndarray(qd.f32, 2)):
    for at in qd.grouped(x):
        i, j = at[0], at[1]
        x[at] += 1.0
        x[i, j] -= 2.0


@qd.kernel
def own_vectors(x: qd.types.ndarray(qd.types.vector(3, qd.f32), 1)):
    for i in x:
        x[i] += qd.Vector([1.0, 2.0, 3.0])
        x[i][1] += x[i][0]


@qd.kernel
def own_with_another_read(x: F32, y: F32):
    for i in range(x.shape[0] - 1):
        x[i] += y[i + 1]


@qd.kernel
def neighbour_read(x: F32):
    for i in range(x.shape[0] - 1):
        x[i] += x[i + 1]


@qd.kernel
def swapped(x: qd.types.ndarray(qd.f32, 2)):
    for i, j in x:
        x[i, j] += x[j, i]


@qd.kernel
def one_axis_of_two(x: F32):
    for i, j in qd.ndrange(4, 4):
        x[i] += 1.0


@qd.kernel
def read_in_a_function(x: F32):
    for i in range(x.shape[0] - 1):
        x[i] += other_cell(x, i)


@qd.kernel
def arguments_that_may_overlap(x: F32, y: F32):
    for i in x:
        x[i] += 1.0
        y[i] += 1.0


@qd.kernel
def one_cell_for_all(x: F32, y: F32):
    for i in x:
        x[i] += 1.0
        y[0] += 1.0


@qd.kernel
def a_name_that_changes(x: F32):
    for i in x:
        k = i
        if x[i] > 3.0:
            k += 1
        x[k] += 1.0


def line(n: int = 8):
    return np.zeros(n, np.float32)


def square():
    return np.zeros((4, 4), np.float32)


@pytest.mark.parametrize(
    "kernel, args",
    [
        (own, (line(),)),
        (own_rows, (square(),)),
        (own_by_name, (square(),)),
        (own_vectors, (np.zeros((4, 3), np.float32),)),
        (own_with_another_read, (line(), line())),
    ],
)
def test_plain(arch, kernel, args):
    for dialect in ("c", "cuda"):
        assert "qd_atomic" not in kernel.source(*args, arch=dialect)


@pytest.mark.parametrize(
    "kernel, args",
    [
        (neighbour_read, (line(),)),
        (swapped, (square(),)),
        (one_axis_of_two, (line(),)),
        (read_in_a_function, (line(),)),
        (arguments_that_may_overlap, (line(), line())),
        (a_name_that_changes, (line(),)),
    ],
)
def test_atomic(arch, kernel, args):
    assert "qd_atomic" in kernel.source(*args, arch="cuda")


def test_beside_a_reduction_into_what_may_overlap(arch):
    text = one_cell_for_all.source(line(), line(), arch="cuda")
    assert re.search(r"qd_atomic_add\w*\(&x\[", text), text


def test_fields_are_memory_of_their_own(arch):
    x, y = qd.field(qd.f32, shape=8), qd.field(qd.f32, shape=8)

    @qd.kernel
    def both(a: qd.template(), b: qd.template()):
        for i in a:
            a[i] += 1.0
            b[i] += a[i]

    @qd.kernel
    def shifted(a: qd.template(), b: qd.template()):
        for i in range(7):
            a[i] += 1.0
            b[i + 1] += 1.0

    assert "qd_atomic" not in both.source(x, y, arch="cuda")
    assert "a[i] += 1.0f" not in shifted.source(x, x, arch="cuda")
    both(x, y)
    assert (x.to_numpy() == 1).all() and (y.to_numpy() == 1).all()


def test_an_array_may_be_a_view_of_a_field(arch):
    x, y = qd.field(qd.f32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def beside(f: qd.template(), a: F32):
        for i in f:
            f[i] += 1
            a[7 - i] += 1.0

    assert "qd_atomic_add" in (text := beside.source(x, line(), arch="cuda")) and "&f[i]" in text
    assert "f[i] += 1" in beside.source(y, line(), arch="cuda")


def test_results(arch):
    x = np.arange(8, dtype=np.float32)
    own(x)
    assert np.array_equal(x, (np.arange(8, dtype=np.float32) + 1) ** 2)
    v = np.zeros((4, 3), np.float32)
    own_vectors(v)
    assert np.array_equal(v, np.tile(np.array([1, 3, 3], np.float32), (4, 1)))
