"""Vectors that are added to cells by threads that go different ways. The numbers are whole, so that sums are exact."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

CELLS = 61


def mixed(n):
    """A number from a number, on whatever bits."""
    n = n * 1664525 + 1013904223
    return (n >> 7) & 1023


@qd.func
def hashed(n):
    m = n * 1664525 + 1013904223
    return (m >> 7) & 1023


def wanted(count: int, width: int, contended: bool) -> np.ndarray:
    found = np.zeros((CELLS, width))
    for i in range(count):
        for trip in range(mixed(i) % 7):
            h = mixed(i * 7 + trip)
            if h & 3 == 0:
                continue
            if h & 127 == 5:
                break
            cell = h % 3 if contended else h % CELLS
            found[cell] += [(k + 1) * (1 + trip) for k in range(width)]
        if i % 5 == 2:
            found[i % CELLS] += [k - 1 for k in range(width)]
    return found


@pytest.mark.parametrize("contended", [False, True])
@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("place", ["field", "aos", "struct", "ndarray"])
def test_vectors_are_added_as_wholes(arch, place, width, contended):
    vector = qd.types.vector(width, qd.f32)
    if place == "field":
        x = qd.Vector.field(width, qd.f32, shape=CELLS)
    elif place == "aos":
        x, beside = qd.Vector.field(width, qd.f32), qd.field(qd.f32)
        qd.root.dense(qd.i, CELLS).place(beside, x)
    elif place == "struct":
        x = qd.types.struct(a=qd.f32, v=vector).field(shape=CELLS).v
    else:
        x = qd.ndarray(vector, (CELLS,))
    first, second = (qd.Vector([float(f(k)) for k in range(width)]) for f in (lambda k: k + 1, lambda k: k - 1))

    @qd.func
    def one(x: qd.template(), i):
        for trip in range(hashed(i) % 7):
            h = hashed(i * 7 + trip)
            if h & 3 == 0:
                continue
            if h & 127 == 5:
                break
            x[h % 3 if qd.static(contended) else h % CELLS] += first * (1.0 + trip)
        if i % 5 == 2:
            x[i % CELLS] += second

    @qd.kernel
    def of_field(count: qd.i32):
        for i in range(count):
            one(x, i)

    @qd.kernel
    def of_ndarray(y: qd.types.ndarray(ndim=1), count: qd.i32):
        for i in range(count):
            one(y, i)

    if place == "ndarray":
        of_ndarray(x, 3000)
    else:
        of_field(3000)
    assert np.array_equal(x.to_numpy(), wanted(3000, width, contended))


def test_one_iteration_adds_a_vector(arch):
    """And an odd number of them: one has no neighbour."""
    x = qd.Vector.field(2, qd.f32, shape=3)

    @qd.kernel
    def add(count: qd.i32):
        for i in range(count):
            x[i % 2] += qd.Vector([1.0, 10.0])

    for count in (1, 3, 33, 129):
        x.fill(0)
        add(count)
        even, odd = (count + 1) // 2, count // 2
        assert np.array_equal(x.to_numpy(), [[even, 10 * even], [odd, 10 * odd], [0, 0]])
