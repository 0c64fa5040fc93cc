"""Sums over a loop behind a task that may fail: threads of a block do not leave before their barriers (PoCL 3.1 then lets
each of them do what is for the first one)."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.runtime(exclude=("cpu", "cuda", "amdgpu", "metal", "vulkan"), debug=True)


@qd.kernel
def checked_then_summed(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.f32, 2), most: qd.i32) -> qd.f32:
    for i in x:
        assert x[i] < most
    total = 0.0
    for i, j in y:
        total += y[i, j]
    return total


def test_the_sum_is_that_of_the_loop(arch):
    x, y = np.arange(300, dtype=np.int32), np.ones(64 * 33, np.float32).reshape(64, 33)
    for most in (300, 1000):
        assert checked_then_summed(x, y, most) == y.sum()
    assert "qd_over ? 0 : qd_count" in checked_then_summed.source(x, y, 300)


def test_behind_a_failure_nothing_is_summed(arch):
    total = qd.field(qd.f32, ())

    @qd.kernel
    def summed(x: qd.types.ndarray(qd.i32, 1), most: qd.i32):
        for i in x:
            assert x[i] < most
        for i in x:
            total[None] += qd.f32(x[i])

    with pytest.raises(AssertionError):
        summed(np.arange(300, dtype=np.int32), 299)
        qd.sync()
    assert total[None] == 0
    summed(np.arange(300, dtype=np.int32), 300)
    assert total[None] == sum(range(300))
