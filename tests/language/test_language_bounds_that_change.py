"""Loops that change what their bounds were read from: how many iterations there are is settled when they begin."""

import numpy as np
import pytest

import quadrants as qd

COUNT = 300


def filled(kind):
    if kind == "struct":
        n = qd.Struct.field({"a": qd.f32, "count": qd.i32}, shape=2)
        n.count.fill(COUNT)
        return n
    n = {
        "scalar": lambda: qd.field(qd.i32, 2),
        "vector": lambda: qd.Vector.field(2, qd.i32, 2),
        "matrix": lambda: qd.Matrix.field(2, 2, qd.i16, 2),
    }[kind]()
    n.fill(COUNT)
    return n


@pytest.mark.parametrize("kind", ["scalar", "vector", "matrix", "struct"])
@pytest.mark.parametrize("loop", ["range", "ndrange"])
def test_the_bound_of_a_loop_that_overwrites_it(arch, kind, loop):
    n = filled(kind)
    done = qd.field(qd.i32, 2 * COUNT)

    @qd.func
    def bound():
        found = 0
        if qd.static(kind == "scalar"):
            found = n[1]
        elif qd.static(kind == "vector"):
            found = n[1][1]
        elif qd.static(kind == "matrix"):
            found = n[1][1, 0]
        else:
            found = n[1].count
        return found

    @qd.kernel
    def scalars():
        for i in range(n[1]):
            n[1] = 2 + i % 2
            done[i] += 1

    @qd.kernel
    def vectors():
        for i in range(n[1][1]):
            n[1][1] = 2 + i % 2
            done[i] += 1

    @qd.kernel
    def matrices():
        for i in range(n[1][1, 0]):
            n[1].fill(2 + i % 2)
            done[i] += 1

    @qd.kernel
    def structs():
        for i in range(n[1].count):
            n[1].count = 2 + i % 2
            done[i] += 1

    @qd.kernel
    def products():
        for i, j in qd.ndrange(bound(), 2):
            if qd.static(kind == "struct"):
                n[1].count = 1
            else:
                n[1] = 1
            done[2 * i + j] += 1

    wanted = np.zeros(2 * COUNT, np.int32)
    if loop == "range":
        {"scalar": scalars, "vector": vectors, "matrix": matrices, "struct": structs}[kind]()
        wanted[:COUNT] = 1
    else:
        products()
        wanted[:] = 1
    np.testing.assert_array_equal(done.to_numpy(), wanted)
