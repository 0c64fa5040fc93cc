"""`qd.algorithms.reduce_by_key_add` against a loop of the host, alone and after `sort`."""

import numpy as np
import pytest
from algorithms.algorithms_kit import GUARD, content, counter, guarded

import quadrants as qd

al = qd.algorithms
SIZES = (0, 1, 2, 255, 256, 257, 2047, 2048, 2049, 16385, 40000)


def reducer(dtype, levels):
    @qd.kernel
    def fold(
        k: qd.types.ndarray(), v: qd.types.ndarray(), ko: qd.types.ndarray(), vo: qd.types.ndarray(),
        runs: qd.types.ndarray(), s: qd.types.ndarray(), n: qd.types.ndarray(),
    ):  # fmt: skip
        al.reduce_by_key_add(k, v, ko, vo, runs, s, n=n[()], value_dtype=dtype, log256_max_n=levels)

    return fold


def check(kernel, key, value, keys):
    n = len(keys)
    values = np.random.default_rng(n).integers(0, 9, n)
    k, v = guarded(getattr(qd, key), n, keys), guarded(getattr(qd, value), n, values)
    ko, vo = guarded(getattr(qd, key), n), guarded(getattr(qd, value), n)
    runs, s = guarded(qd.i32, 1), guarded(qd.u32, al.reduce_by_key_scratch_slots(n))
    kernel(k, v, ko, vo, runs, s, counter(n))
    content(s)
    heads = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if n else np.zeros(0, int)
    count = len(heads)
    assert content(runs)[0] == count
    np.testing.assert_array_equal(content(ko)[:count], keys[heads])
    assert (content(ko)[count:] == GUARD).all()
    np.testing.assert_array_equal(content(vo)[:count], np.add.reduceat(values, heads) if n else [])
    assert (content(vo)[count:] == 0).all()


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_runs_of_every_length_across_tiles(arch, levels):
    kernel = reducer(qd.i32, levels)
    for n in SIZES if levels < 4 else (0, 1, 300):
        if n <= 256**levels:
            lengths = np.random.default_rng(n).integers(1, 9, n + 1)
            check(kernel, "i32", "i32", np.repeat(np.arange(n + 1) % 5, lengths)[:n].astype(np.int32))


def test_one_run_and_none_longer_than_one(arch):
    kernel = reducer(qd.i32, 2)
    check(kernel, "i32", "i32", np.zeros(9000, np.int32))
    check(kernel, "i32", "i32", np.arange(9000, dtype=np.int32))


@pytest.mark.parametrize("value", ["i32", "u32", "f32"])
@pytest.mark.parametrize("key", ["i32", "u32", "f32"])
def test_keys_and_values_of_every_type(arch, key, value):
    check(reducer(getattr(qd, value), 2), key, value, (np.arange(5000) // 7).astype(f"<{key[0]}4"))


def test_every_nan_is_a_run_of_its_own(arch):
    keys = np.array([1, np.nan, np.nan, 2, 2, np.nan], np.float32)
    check(reducer(qd.f32, 1), "f32", "f32", keys)


def test_sorted_keys_give_the_sum_of_every_key(arch):
    n = 9000
    k, tk, ko, v, tv, vo = (qd.field(qd.i32, n) for _ in range(6))
    s, count, runs = qd.field(qd.u32, al.sort_scratch_slots(n, 2)), qd.field(qd.i32, ()), qd.field(qd.i32, 1)

    @qd.kernel
    def sums():
        al.sort(k, tk, v, tv, s, count, qd.i32, True, 32, 2)
        al.reduce_by_key_add(k, v, ko, vo, runs, s, count[()], qd.i32, 2)

    keys = np.random.default_rng(1).integers(-300, 300, n).astype(np.int32)
    k.from_numpy(keys)
    v.from_numpy(np.arange(n, dtype=np.int32))
    count[None] = n
    sums()
    different, places = np.unique(keys, return_inverse=True)
    assert runs[0] == len(different)
    np.testing.assert_array_equal(ko.to_numpy()[: runs[0]], different)
    np.testing.assert_array_equal(vo.to_numpy()[: runs[0]], np.bincount(places, np.arange(n)).astype(int))


@pytest.mark.cpu_only
@pytest.mark.parametrize("what", ["key", "value"])
def test_other_types_are_refused(arch, what):
    k, v = qd.field(qd.i64 if what == "key" else qd.i32, 4), qd.field(qd.f64, 4)
    out, s = qd.field(qd.i32, 4), qd.field(qd.u32, 8)

    @qd.kernel
    def fold():
        al.reduce_by_key_add(k, v, out, s, out, s, 4, qd.i32 if qd.static(what == "key") else qd.f64, 1)

    with pytest.raises(qd.QuadrantsCompilationError, match=f"{what} dtype .64 not supported"):
        fold()
