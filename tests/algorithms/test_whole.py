"""All of `qd.algorithms` together: graphs, struct arguments, sizes of scratch in kernels."""

from dataclasses import dataclass

import numpy as np
import pytest

import quadrants as qd

al = qd.algorithms
N = 5000


def test_every_algorithm_in_graphs(arch):
    x, y, z, tmp, flags, found = (qd.field(qd.i32, N) for _ in range(6))
    out, count, number = qd.field(qd.i32, 4), qd.field(qd.i32, 1), qd.field(qd.i32, ())
    wanted = qd.field(qd.i32, 1)
    s = qd.field(qd.u32, al.sort_scratch_slots(N, 2))

    @qd.kernel(graph=True)
    def folds():
        for i in range(N):
            x[i] = (i * 7919) % 1009
            flags[i] = x[i] % 3 == 0
        for _ in range(1):
            number[()] = count[0]
        al.reduce_add(x, out, s, count[0], qd.i32, 2)
        al.exclusive_scan_max(x, y, s, count[0], qd.i32, 2)
        al.select(x, flags, found, num_out=wanted, scratch=s, n=0, log256_max_n=2)

    @qd.kernel(graph=True)
    def by_key():
        al.sort(x, tmp, x, tmp, s, number, qd.i32, False, 32, 2)
        al.reduce_by_key_add(x, x, tmp, z, found, s, count[0], qd.i32, 2)

    start = (np.arange(N) * 7919) % 1009
    for n in (N, 0, 1, 257, 4097):
        count[0] = n
        folds()
        by_key()
        ordered = np.sort(start[:n])
        keys, amounts = np.unique(ordered, return_counts=True)
        assert (out[0], found[0], wanted[0]) == (start[:n].sum(), len(keys), 0)
        np.testing.assert_array_equal(x.to_numpy()[:n], ordered)
        np.testing.assert_array_equal(y.to_numpy()[1:n], np.maximum.accumulate(start[:n])[:-1])
        np.testing.assert_array_equal(tmp.to_numpy()[: len(keys)], keys)
        np.testing.assert_array_equal(z.to_numpy()[: len(keys)], keys * amounts)


def test_an_algorithm_in_a_loop_of_a_graph(arch):
    x, y, s = qd.field(qd.i32, N), qd.field(qd.i32, N), qd.field(qd.u32, 64)
    flag = qd.ndarray(qd.i32, ())

    @qd.kernel(graph=True)
    def repeat(flag: qd.types.ndarray(qd.i32, ndim=0)):
        while qd.graph.do_while(flag):
            al.exclusive_scan_add(x, y, s, N, qd.i32, 2)
            for i in range(N):
                x[i] = y[i] % 7
            for _ in range(1):
                flag[()] = flag[()] - 1

    start = np.arange(N) % 5
    x.from_numpy(start.astype(np.int32))
    flag[()] = 3
    repeat(flag)
    for _ in range(3):
        start = (np.cumsum(start) - start) % 7
    np.testing.assert_array_equal(x.to_numpy(), start)


def test_arrays_may_be_members_of_a_struct(arch):
    @dataclass
    class Pairs:
        keys: qd.types.NDArray[qd.u64, 1]
        tmp: qd.types.NDArray[qd.u64, 1]
        scratch: qd.types.NDArray[qd.u32, 1]
        count: qd.types.NDArray[qd.i32, 0]

    @qd.func
    def ordered(p: Pairs):
        al.sort(
            p.keys, p.tmp, p.keys, p.tmp, p.scratch, p.count, key_dtype=qd.u64, has_values=False, end_bit=48,
            log256_max_n=2,
        )  # fmt: skip

    @qd.kernel(fastcache=True)
    def order(p: Pairs):
        ordered(p)

    keys = np.random.default_rng(0).integers(0, 2**48, N, dtype=np.uint64)
    pairs = Pairs(
        qd.ndarray(qd.u64, N), qd.ndarray(qd.u64, N), qd.ndarray(qd.u32, al.sort_scratch_slots(N, 2)),
        qd.ndarray(qd.i32, ()),
    )  # fmt: skip
    pairs.keys.from_numpy(keys)
    pairs.count[()] = N
    order(pairs)
    np.testing.assert_array_equal(pairs.keys.to_numpy(), np.sort(keys))


@pytest.mark.cpu_only
def test_slots_of_the_table():
    table = {
        0: (1, 1, 1, 1), 1: (1, 2, 1, 256), 256: (1, 257, 256, 256), 257: (2, 259, 259, 514),
        65536: (256, 65792, 65792, 65792), 65537: (259, 65796, 65796, 66051),
        1000000: (3923, 1003923, 1003923, 1004115),
    }  # fmt: skip
    for n, (fold, select, by_key, ordered) in table.items():
        assert al.reduce_scratch_slots(n) == al.exclusive_scan_scratch_slots(n) == fold
        assert (al.select_scratch_slots(n), al.reduce_by_key_scratch_slots(n)) == (select, by_key)
        assert al.sort_scratch_slots(n) == ordered
    assert (al.reduce_scratch_slots(1, 4), al.sort_scratch_slots(1, 3), al.sort_scratch_slots(257, 4)) == (3, 258, 516)
    assert al.reduce_scratch_slots(-3) == al.select_scratch_slots(-3) == al.reduce_by_key_scratch_slots(-3) == 1


def test_slots_in_kernels_are_those_of_the_host(arch):
    @qd.kernel
    def slots(n: qd.i32, out: qd.types.ndarray()):
        out[0] = al.select_scratch_slots(n)
        out[1] = al.reduce_by_key_scratch_slots(n)
        for depth in qd.static(range(1, 5)):
            out[2 * depth] = al.exclusive_scan_scratch_slots(n, depth)
            out[2 * depth + 1] = al.sort_scratch_slots(n, log256_max_n=depth)

    out = qd.ndarray(qd.i32, 10)
    for n in (-3, 0, 1, 256, 257, 65537, *np.random.default_rng(2).integers(0, 2_000_000, 20).tolist()):
        slots(n, out)
        expected = [al.select_scratch_slots(n), al.reduce_by_key_scratch_slots(n)]
        for depth in range(1, 5):
            expected += [al.exclusive_scan_scratch_slots(n, depth), al.sort_scratch_slots(n, depth)]
        assert out.to_numpy().tolist() == expected
