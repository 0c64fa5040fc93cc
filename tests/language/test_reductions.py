"""Atomics and the reductions that the compiler makes of them (language.md 11.6, 13.1): exact whatever stands beside."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.runtime(cpu_max_num_threads=7)
N = 5003


def test_sums_of_every_kind_of_place(arch):
    """Kernel variables, 0-d fields, constant cells of fields and ndarrays, vector components, several at once."""
    s0 = qd.field(qd.i32, shape=())
    cells = qd.field(qd.f64, shape=4)
    vectors = qd.Vector.field(3, qd.i32, shape=2)
    separate = qd.Vector.field(2, qd.i32)
    qd.root.dense(qd.i, 2).place(separate.get_scalar_field(0))
    qd.root.dense(qd.i, 2).place(separate.get_scalar_field(1))
    small = qd.field(qd.i16, shape=())
    flag = qd.field(qd.u8, shape=())
    byte = qd.field(qd.u8, shape=())

    @qd.kernel
    def sums(a: qd.types.ndarray(qd.i64, 1), grid: qd.types.ndarray(qd.i32, 2), out: qd.types.ndarray(qd.i64, 1)):
        t = qd.i64(0)
        v = qd.Vector([0, 0])
        u = qd.u32(0)
        for i in range(N):
            t += i
            t -= 1
            v += qd.Vector([1, i % 3])
            u -= qd.u32(1)
            s0[None] += i
            cells[1] += 0.5
            cells[2] -= i
            vectors[1][2] += 1
            vectors[0] += qd.Vector([1, 2, i % 2])
            separate[1] += qd.Vector([3, 4])
            small[None] += 7
            byte[None] += 1
            flag[None] |= i == 3000
            a[0] += 1
            a[1] -= i
            grid[2, 1] += 1
        out[0], out[1], out[2], out[3] = t, v[0], v[1], u

    a, out = qd.ndarray(qd.i64, shape=2), qd.ndarray(qd.i64, shape=4)
    grid = qd.ndarray(qd.i32, shape=(3, 2))
    sums(a, grid, out)
    total = N * (N - 1) // 2
    assert grid.to_numpy().tolist() == [[0, 0], [0, 0], [0, N]]
    assert out.to_numpy().tolist() == [total - N, N, sum(i % 3 for i in range(N)), 2**32 - N]
    assert s0[None] == total and cells.to_numpy().tolist() == [0, N / 2, -total, 0]
    assert vectors.to_numpy().tolist() == [[N, 2 * N, N // 2], [0, 0, N]]
    assert separate.to_numpy().tolist() == [[0, 0], [3 * N, 4 * N]]
    assert small[None] == (7 * N + 2**15) % 2**16 - 2**15 and byte[None] == N % 256 and flag[None] == 1
    assert a.to_numpy().tolist() == [N, -total]


def test_extrema_and_bits(arch):
    """min, max, and, or, xor; NaN among the values; cells that no iteration touches keep what they hold."""
    data = np.random.default_rng(5).normal(size=N).astype(np.float32)
    data[7] = np.nan
    f = qd.field(qd.f32, shape=N)
    f.from_numpy(data)
    ints = qd.field(qd.i32, shape=())

    @qd.kernel
    def extrema(cells: qd.types.ndarray(qd.f32, 1), bits: qd.types.ndarray(qd.u32, 1), never: qd.i32):
        low = 1e30
        high = -1e30
        for i in f:
            qd.atomic_min(low, f[i])
            qd.atomic_max(high, f[i])
            qd.atomic_max(cells[2], f[i])
            if i < never:
                qd.atomic_min(cells[3], f[i])
                qd.atomic_max(cells[1000000000], f[i])
                cells[1000000001] += 1
            qd.atomic_max(ints[None], (i * 7919) % N)
            bits[0] |= qd.u32(1) << qd.u32(i % 32)
            bits[1] &= ~(qd.u32(1) << qd.u32(i % 3))
            bits[2] ^= qd.cast(i, qd.u32)
        cells[0], cells[1] = low, high

    cells, bits = qd.ndarray(qd.f32, shape=4), qd.ndarray(qd.u32, shape=3)
    cells.from_numpy(np.array([0, 0, -5, np.nan], np.float32))
    bits.from_numpy(np.array([0, 2**32 - 1, 0], np.uint32))
    ints[None] = -3
    extrema(cells, bits, 0)
    low, high = np.nanmin(data), np.nanmax(data)
    assert cells.to_numpy()[:3].tolist() == [low, high, high] and math.isnan(cells[3])
    assert ints[None] == N - 1
    assert bits.to_numpy().tolist() == [2**32 - 1, 2**32 - 8, int(np.bitwise_xor.reduce(np.arange(N)))]


def test_what_is_no_reduction(arch):
    """Old values used, cells read or written beside the atomic, other operations and indices on the same array."""
    counter = qd.field(qd.i32, shape=())
    slots = qd.field(qd.i32, shape=N)
    bins = qd.field(qd.i32, shape=8)
    mixed = qd.field(qd.i32, shape=2)

    @qd.func
    def read():
        return mixed[1]

    @qd.kernel
    def scatter():
        for i in range(N):
            k = qd.atomic_add(counter[None], 1)
            slots[k] += 1
        for i in range(N):
            bins[i % 8] += 1
            bins[0] += 1
        for i in range(1):
            mixed[0] += 5
            bins[1] = mixed[0]
            mixed[1] += 3
            bins[2] = read()
            s = qd.atomic_sub(mixed[1], 1)
            bins[3] = s
        for i in range(N):
            mixed[0] += 1
            qd.atomic_max(mixed[0], 0)

    scatter()
    assert counter[None] == N and (slots.to_numpy() == 1).all()
    assert bins.to_numpy().tolist() == [N + len(range(0, N, 8)), 5, 3, 3, *(len(range(k, N, 8)) for k in range(4, 8))]
    assert mixed.to_numpy().tolist() == [5 + N, 2]


def test_reductions_in_nested_code(arch):
    """Conditional, inside inner loops and funcs, after continue; accumulation into the variable being read is exact."""

    @qd.func
    def add(x: qd.template(), value):
        x += value

    @qd.kernel
    def nested(out: qd.types.ndarray(qd.i64, 1)):
        a = qd.i64(0)
        b = qd.i64(0)
        c = qd.i64(0)
        d = 0
        for i in range(N):
            if i % 2:
                a += i
            for j in range(i % 4):
                if j == 2:
                    continue
                b += j + 1
            if i % 3 == 0:
                continue
            add(c, i)
            k = 0
            while k < i % 5:
                k += 1
                d += 1
        e = 1
        for i in range(1):
            e += e
        out[0], out[1], out[2], out[3], out[4] = a, b, c, d, e

    out = qd.ndarray(qd.i64, shape=5)
    nested(out)
    expected = [
        sum(i for i in range(N) if i % 2),
        sum(j + 1 for i in range(N) for j in range(i % 4) if j != 2),
        sum(i for i in range(N) if i % 3),
        sum(i % 5 for i in range(N) if i % 3),
        2,
    ]
    assert out.to_numpy().tolist() == expected


def test_atomics_return_the_old_value(arch):
    """Each operation, on a local, a kernel variable and memory; on vectors; with the value used in an expression."""
    f = qd.field(qd.i32, shape=8)
    v = qd.Vector.field(2, qd.f32, shape=1)

    @qd.kernel
    def olds(out: qd.types.ndarray(qd.i32, 1)):
        for i in range(8):
            f[i] = 12
        for _ in range(1):
            out[0] = qd.atomic_add(f[0], 3)
            out[1] = qd.atomic_sub(f[1], 3)
            out[2] = qd.atomic_min(f[2], 3)
            out[3] = qd.atomic_max(f[3], 30)
            out[4] = qd.atomic_and(f[4], 6)
            out[5] = qd.atomic_or(f[5], 3)
            out[6] = qd.atomic_xor(f[6], 5) + qd.atomic_xor(f[6], 5) * 100
            out[7] = qd.atomic_mul(f[7], 2)
            x = 5
            out[8] = qd.atomic_add(x, 2) * 10 + x
            old = qd.atomic_add(v[0], qd.Vector([1.5, 2.5]))
            out[9] = old[0] * 10 + v[0][1] * 2
            out[10] = qd.atomic_add(f[0], 1) + f[0]

    out = qd.ndarray(qd.i32, shape=11)
    olds(out)
    assert out.to_numpy().tolist() == [12, 12, 12, 12, 12, 12, 912, 12, 57, 5, 31]
    assert f.to_numpy().tolist() == [16, 9, 3, 30, 4, 15, 12, 24]
