"""What a name is bound to is a copy, also where an item of a list was a value that nothing else held."""

from __future__ import annotations

import numpy as np

import quadrants as qd


@qd.func
def add_to_an_item(p: qd.template()):
    v = p[0]
    v += 1
    return p[0]


@qd.func
def add_to_an_item_of_all(p: qd.template()):
    v = p[0]
    v += 1
    return p


@qd.func
def add_to_a_vector(p: qd.template()):
    v = p["w"]
    v[0] += 1
    return p["w"][0] + v[0]


def test_items_of_template_arguments_stay(arch):
    @qd.kernel
    def items(n: qd.i64, x: qd.types.ndarray(qd.i32, ndim=1)):
        x[0] = add_to_an_item((qd.cast(n, qd.i32),))
        x[1] = add_to_an_item([qd.i32(n) * 2])
        x[2] = add_to_an_item_of_all((qd.cast(n, qd.i32), 5))[0]
        x[add_to_an_item_of_all((qd.cast(n, qd.i32),))[0] + 3] = 7
        x[4] = add_to_a_vector({"w": qd.Vector([qd.i32(n), 1]) + 1})
        parts = (qd.cast(n, qd.i32), 2)
        first = parts[0]
        first += 1
        x[5] = parts[0]

    x = np.full(8, -1, np.int32)
    items(0, x)
    assert x.tolist() == [0, 0, 0, 7, 3, 0, -1, -1]


def test_extents_of_views_stay(arch):
    @qd.kernel
    def extents(b: qd.BufferView[qd.i32], a: qd.i32, x: qd.types.ndarray(qd.i32, ndim=1)):
        w = b[a : a + 4]
        n = w.shape[0]
        n += 5
        x[0], x[1] = w.shape[0], n

    x = qd.ndarray(qd.i32, (2,))
    extents(qd.ndarray(qd.i32, (16,))[2:14], 3, x)
    assert x.to_numpy().tolist() == [4, 9]
