"""Augmented assignment and the targets of atomics (language.md 11.6)."""

from __future__ import annotations

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd


def test_augmented_assignment(arch):
    """11.6: conversion of the right side, elementwise on vectors, index expressions evaluated once."""
    f = qd.field(qd.i32, shape=4)
    g = qd.Vector.field(2, qd.f32, shape=2)
    counter = qd.field(qd.i32, shape=())

    @qd.func
    def tick():
        counter[None] += 1
        return counter[None]

    @qd.kernel
    def augment(out: qd.types.ndarray(qd.f64, 1)):
        for _ in range(1):
            x = 1
            x += 1.7
            y = 10
            y *= 1.5
            z = 7
            z /= 2
            w = 7
            w //= 2
            w **= 3
            s = 1
            s <<= 5
            s >>= 2
            b = 6
            b &= 3
            b |= 8
            b ^= 1
            r = 17
            r %= 5
            m = 10
            m -= 2.9
            out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7] = x, y, z, w, s, b, r, m
            f[0] += 1.7
            f[tick()] += 5
            f[tick()] *= 3
            f[tick()] -= 2
            out[8] = counter[None]
            g[0] += qd.Vector([1, 2])
            g[0] *= 2
            g[0] += 1
            g[1] -= g[0]
            v = qd.Vector([1, 2, 3])
            v += v
            v[1] += 10
            out[9] = v[0] * 100 + v[1] * 10 + v[2]

    out = qd.ndarray(qd.f64, shape=10)
    f[2] = 2
    augment(out)
    assert out.to_numpy().tolist() == [2, 15, 3, 27, 8, 11, 2, 8, 3, 346]
    assert f.to_numpy().tolist() == [1, 5, 6, -2]
    assert g.to_numpy().tolist() == [[3, 5], [-3, -5]]


def test_augmented_errors(arch):
    f = qd.field(qd.i32, shape=4)

    @qd.kernel
    def non_lvalue():
        qd.atomic_add(1 + f[0], 2)

    @qd.kernel
    def whole_field():
        qd.atomic_add(f, 2)

    @qd.kernel
    def matmul():
        a = qd.Matrix([[1, 2], [3, 4]])
        a @= a

    with raises(qd.QuadrantsSyntaxError, "cannot use a non-writable target as the first operand of"):
        non_lvalue()
    with raises(qd.QuadrantsSyntaxError):
        whole_field()
    with raises(qd.QuadrantsSyntaxError):
        matmul()


def test_swizzles_and_slices_with_effects_on_the_right(arch):
    """The right side changes memory, an index of the target, or the target: each component keeps its place."""
    v = qd.Vector.field(2, qd.i32, shape=3)
    z = qd.field(qd.i32, shape=())
    out = qd.field(qd.i32, shape=8)

    @qd.func
    def grow(x: qd.template()):
        x += 1
        return x

    @qd.func
    def into(place: qd.template(), n):
        place = qd.Vector([n, n + 1])

    @qd.kernel
    def run():
        v[0].yx += qd.Vector([qd.atomic_add(z[None], 1), 2])
        v[z[None] - 10].yx -= qd.Vector([grow(z[None]), 3])
        v[z[None] - 10].xy *= qd.Vector([grow(z[None]), 5])
        for _ in range(1):
            a = qd.Vector([1, 2, 3])
            a.zx *= qd.Vector([grow(a.z), 10])
            a[1:3] += qd.Vector([grow(a[1]), 100])
            for k in qd.static(range(3)):
                out[k] = a[k]
            n = 0
            m = qd.Matrix([[1, 2], [3, 4]])
            m[n, :] += qd.Vector([grow(n), 10])
            into(m[n, :], grow(n))
            for k in qd.static(range(4)):
                out[3 + k] = m[k // 2, k % 2]
            out[7] = n

    v[1], v[2], z[None] = [5, 6], [7, 8], 10
    run()
    assert v.to_numpy().tolist() == [[2, 10], [5 - 3, 6 - 12], [7 * 13, 8 * 5]] and z[None] == 13
    # a: z times its old value (4), x * 10; then y is read before it grows, and z + 100
    assert out.to_numpy().tolist() == [10, 5, 112, 2, 12, 2, 3, 2]


def bool_containers():
    """Something for each kind of memory that holds two u1, and how to look at it."""
    field, array, foreign = qd.field(qd.u1, shape=2), qd.ndarray(qd.u1, shape=2), np.zeros(2, bool)
    return [(field, field.to_numpy), (array, array.to_numpy), (foreign, foreign.copy)]


# What is left of (0, 1) where the right side counts as true: + and - of booleans wrap around at 2.
BOOLS = {"+=": [1, 0], "-=": [1, 0], "^=": [1, 0], "|=": [1, 1], "&=": [0, 1], "*=": [0, 1]}


@qd.kernel
def plus(a: qd.Tensor, y: qd.i32):
    for i in range(2):
        a[i] += 2
        a[i] += y
        a[i] += 2.5


@qd.kernel
def minus(a: qd.Tensor, y: qd.i32):
    for i in range(2):
        a[i] -= y


@qd.kernel
def exclusive(a: qd.Tensor, y: qd.i32):
    for i in range(2):
        a[i] ^= y


@qd.kernel
def either(a: qd.Tensor, y: qd.i32):
    for i in range(2):
        a[i] |= y


@qd.kernel
def both(a: qd.Tensor, y: qd.i32):
    for i in range(2):
        a[i] &= y


@qd.kernel
def product(a: qd.Tensor, y: qd.i32):
    for i in range(2):
        a[i] *= y


@pytest.mark.parametrize("kernel, op", list(zip((plus, minus, exclusive, either, both, product), BOOLS)))
def test_arrays_of_bools(arch, kernel, op):
    for container, look in bool_containers():
        container[1] = True
        kernel(container, 2)
        values = (look() if not isinstance(container, np.ndarray) else container).view(np.uint8).tolist()
        assert values == BOOLS["+=" if kernel is plus else op], (op, type(container))


def test_many_threads_change_one_bool(arch):
    """Every change counts: an odd number of them turns it round."""
    flag = qd.field(qd.u1, shape=())

    @qd.kernel
    def turn(n: qd.i32):
        for i in range(n):
            flag[None] += 2

    @qd.kernel
    def find(n: qd.i32):
        for i in range(n):
            flag[None] |= i == 7777

    turn(10001)
    assert flag[None] == 1
    turn(10001)
    assert flag[None] == 0
    find(7000)
    assert flag[None] == 0
    find(10000)
    assert flag[None] == 1
