"""`parallel_sort` and `PrefixSumExecutor`, which older programs call from the host."""

import numpy as np
import pytest

import quadrants as qd
from quadrants.errors import QuadrantsIndexError

al = qd.algorithms


def fields(dtype, n, offset=None):
    return [qd.field(dtype, n) if offset is None else qd.field(dtype, n, offset=offset) for _ in range(2)]


@pytest.mark.parametrize("dtype", ["i32", "f32"])
@pytest.mark.parametrize("n", [1, 2, 3, 256, 1000])
def test_parallel_sort_of_keys_and_values(arch, dtype, n):
    keys, values = fields(getattr(qd, dtype), n)
    start = np.random.default_rng(n).permutation(n).astype(f"<{dtype[0]}4")
    keys.from_numpy(start)
    values.from_numpy(start * 2)
    with pytest.warns(DeprecationWarning, match="qd.algorithms.sort"):
        assert al.parallel_sort(keys, values) is None
    np.testing.assert_array_equal(keys.to_numpy(), np.arange(n))
    np.testing.assert_array_equal(values.to_numpy(), np.arange(n) * 2)


@pytest.mark.parametrize("offset", [-128, 128])
def test_parallel_sort_of_fields_that_begin_elsewhere(arch, offset):
    keys, _ = fields(qd.i32, 500, offset)
    keys.from_numpy(np.arange(500, dtype=np.int32)[::-1] % 77)
    with pytest.warns(DeprecationWarning):
        al.parallel_sort(keys)
    np.testing.assert_array_equal(keys.to_numpy(), np.sort(np.arange(500) % 77))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_parallel_sort_refuses_other_arguments(arch):
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="must be a field of numbers, not"):
        al.parallel_sort(qd.ndarray(qd.i32, 4))
    with pytest.raises(QuadrantsIndexError, match="one axis, and has 2"):
        al.parallel_sort(qd.field(qd.i32, (2, 2)))
    with pytest.raises(qd.QuadrantsRuntimeError, match="values has 3 elements, and keys 4"):
        al.parallel_sort(qd.field(qd.i32, 4), qd.field(qd.i32, 3))


@pytest.mark.parametrize("offset", [None, -128, 128])
@pytest.mark.parametrize("n", [1, 512, 4096, 40000])
def test_prefix_sums_are_inclusive_and_the_executor_is_reusable(arch, n, offset):
    with pytest.warns(DeprecationWarning, match="exclusive_scan_add"):
        executor = al.PrefixSumExecutor(n)
    assert executor.sorting_length == n
    for x in fields(qd.i32, n + 3, offset):
        start = np.random.default_rng(n).integers(0, 100, n + 3).astype(np.int32)
        x.from_numpy(start)
        executor.run(x)
        np.testing.assert_array_equal(x.to_numpy(), np.concatenate([np.cumsum(start[:n]), start[n:]]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_prefix_sums_refuse_other_arguments(arch):
    with pytest.raises(RuntimeError, match="Only qd.i32 type is supported for prefix sum."):
        al.PrefixSumExecutor(4).run(qd.field(qd.f32, 4))
    with pytest.raises(qd.QuadrantsRuntimeError, match="length must be at least 1, got 0"):
        al.PrefixSumExecutor(0)
    with pytest.raises(qd.QuadrantsRuntimeError, match="input_arr has 3 elements"):
        al.PrefixSumExecutor(4).run(qd.field(qd.i32, 3))
