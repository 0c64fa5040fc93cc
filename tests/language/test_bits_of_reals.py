"""Integers that are the bits of real numbers, in what reads, changes and writes memory: their type is an integer's."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import quadrants as qd

OPS = {
    "add": operator.add, "sub": operator.sub, "xor": operator.xor, "or": operator.or_, "and": operator.and_,
    "max": max, "min": min,
}  # fmt: skip


def fields(layout, dtype):
    """Of 8 integers and as many f32, in cells of their own, in those of one another, and in blocks of two cells."""
    x, f = qd.field(dtype), qd.field(qd.f32)
    if layout == "own":
        for one in (x, f):
            qd.root.dense(qd.i, 8).place(one)
    else:
        cells = qd.root.dense(qd.i, 8) if layout == "together" else qd.root.dense(qd.i, 4).dense(qd.i, 2)
        cells.place(x, f)
    x.fill(5)
    f.fill(1.5)
    return x, f


@pytest.mark.parametrize("layout", ["own", "together", "blocks"])
@pytest.mark.parametrize("op", OPS)
def test_atomics(arch, op, layout):
    (x, f), update = fields(layout, qd.i32), getattr(qd, f"atomic_{op}")

    @qd.kernel
    def of_argument(a: qd.f32):
        for i in x:
            update(x[i], qd.bit_cast(a * 7.75, qd.i32))

    @qd.kernel
    def of_array():
        for i in x:
            update(x[i], qd.bit_cast(f[i] * 7.75, qd.i32))

    bits = [int(np.float32(number).view(np.int32)) for number in (7.75, 1.5 * 7.75)]
    of_argument(1.0)
    of_array()
    wanted = OPS[op](OPS[op](5, bits[0]), bits[1]) % 2**32
    assert x.to_numpy().view(np.uint32).tolist() == [wanted] * 8


@pytest.mark.parametrize("layout", ["own", "blocks"])
@pytest.mark.runtime(exclude=("metal",))  # which has no f64
def test_wide_ones(arch, layout):
    x, _ = fields(layout, qd.u64)

    @qd.kernel
    def run(a: qd.f64):
        for i in x:
            x[i] += qd.bit_cast(a * 7.75, qd.u64)

    run(1.0)
    assert x.to_numpy().tolist() == [5 + int(np.float64(7.75).view(np.uint64))] * 8


def test_a_task_of_one_thread(arch):
    x, _ = fields("own", qd.i32)

    @qd.kernel
    def run(a: qd.f32, n: qd.i32):
        bits = qd.bit_cast(a * 7.75, qd.i32)
        qd.loop_config(serialize=True)
        for i in range(n):
            x[i] ^= bits
            bits += 1

    run(1.0, 8)
    bits = int(np.float32(7.75).view(np.int32))
    assert x.to_numpy().tolist() == [5 ^ (bits + k) for k in range(8)]
