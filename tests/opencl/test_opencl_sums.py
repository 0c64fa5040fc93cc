"""Sums and blocks behind a task that may fail: threads of a block do not leave before their barriers.

PoCL 3.1 then lets each of them do what is for the first one.
"""

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
    text = checked_then_summed.source(x, y, 300)
    assert "qd_over ? 0 : qd_count" in text or "chunk, blocks of 1" in text  # the second on processors


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


def test_a_block_behind_a_task_that_may_fail(arch):
    block = qd.simt.block

    @qd.kernel
    def blocks(x: qd.types.ndarray(qd.i32, 1), s: qd.types.ndarray(qd.i32, 1), most: qd.i32):
        for i in x:
            assert x[i] < most
        qd.loop_config(block_dim=64)
        for i in range(256):
            shared = block.SharedArray((64,), qd.i32)
            shared[i % 64] = x[i]
            block.sync()
            if block.thread_idx() == 0:
                for j in range(64):
                    qd.atomic_add(s[0], shared[j])
                qd.atomic_add(s[1], 1)
            block.sync()
            if block.thread_idx() == 0:
                qd.atomic_add(s[2], 1)

    x, s = qd.ndarray(qd.i32, (256,)), qd.ndarray(qd.i32, (3,))
    x.fill(1)
    blocks(x, s, 5)
    assert s.to_numpy().tolist() == [256, 4, 4]
    with pytest.raises(AssertionError):
        blocks(x, s, 1)
        qd.sync()
    assert s.to_numpy().tolist() == [256, 4, 4]
