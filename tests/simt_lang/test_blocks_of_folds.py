"""The threads of a block that folds are for are those of the loop, wherever the folds are."""

import numpy as np
import pytest
import simt_lang_kit as kit

import quadrants as qd
from quadrants.lang.simt import block, subgroup


@kit.lanes
def test_the_block_of_a_fold_is_that_of_the_loop(arch):
    """Where the loop says nothing it is what the fold says, and else both have to say the same."""
    size = 2 * subgroup.group_size()

    @qd.kernel
    def unsaid(out: qd.types.ndarray(qd.i32, 1)):
        for i in range(4 * size):
            out[i] = block.reduce_all_add(i, size, qd.i32)

    @qd.kernel
    def other(out: qd.types.ndarray(qd.i32, 1)):
        qd.loop_config(block_dim=2 * size)
        for i in range(4 * size):
            out[i] = block.inclusive_add(i, size, qd.i32)

    @qd.kernel
    def two(out: qd.types.ndarray(qd.i32, 1)):
        for i in range(4 * size):
            out[i] = block.inclusive_add(i, size, qd.i32) + block.reduce_all_max(i, 2 * size, qd.i32)

    out = np.zeros(4 * size, np.int32)
    unsaid(out)
    assert np.array_equal(out, np.repeat(np.arange(4 * size).reshape(4, size).sum(1), size))
    for kernel in (other, two):
        with pytest.raises(qd.QuadrantsCompilationError, match=r"blocks of this loop have \d+ threads"):
            kernel(out)


@kit.lanes
@pytest.mark.parametrize(("decorator", "subgroups"), [(qd.func, 1), (qd.func, 2), (qd.real_func, 1)])
def test_the_block_of_a_fold_in_a_function_is_that_of_the_loop(arch, decorator, subgroups):
    size = subgroups * subgroup.group_size()

    @decorator
    def total(x: qd.i32) -> qd.i32:
        return block.reduce_all_add(x, size, qd.i32)

    @qd.func
    def twice(x):
        return 2 * total(x)

    @qd.kernel
    def unsaid(out: qd.types.ndarray(qd.i32, 1)):
        for i in range(6 * size):
            mine = block.SharedArray((size,), qd.i32)
            mine[block.thread_idx()] = i
            block.sync()
            out[i] = twice(mine[size - 1 - block.thread_idx()]) + block.thread_idx()

    @qd.kernel
    def other(out: qd.types.ndarray(qd.i32, 1)):
        qd.loop_config(block_dim=4 * size)
        for i in range(4 * size):
            out[i] = twice(i)

    @qd.kernel
    def both(out: qd.types.ndarray(qd.i32, 1)):
        for i in range(4 * size):
            out[i] = twice(i) + block.reduce_all_add(i, 2 * size, qd.i32)

    out = np.zeros(6 * size, np.int32)
    unsaid(out)
    rows = np.arange(6 * size).reshape(6, size)
    assert np.array_equal(out.reshape(6, size), 2 * rows.sum(1, keepdims=True) + np.arange(size))
    for kernel in (other, both):
        with pytest.raises(qd.QuadrantsCompilationError, match=r"blocks of (this|the) loop have \d+"):
            kernel(out)
