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


@kit.lanes
@pytest.mark.parametrize("decorator", [qd.func, qd.real_func])
def test_lanes_that_work_together_in_a_function_are_those_of_a_block(arch, decorator):
    size = subgroup.group_size()

    @decorator
    def total(x: qd.i32) -> qd.i32:
        return subgroup.reduce_all_add_tiled(x, size.bit_length() - 1)

    @decorator
    def around(x: qd.i32) -> qd.i32:
        return total(x) + 1

    def kernel(block_dim):
        @qd.kernel
        def k(out: qd.types.ndarray(qd.i32, 1)):
            qd.loop_config(block_dim=block_dim)
            for i in range(4 * size):
                out[i] = around(i)

        return k

    rows = np.arange(4 * size).reshape(4, size)
    for block_dim in (size, 2 * size):
        out = np.zeros(4 * size, np.int32)
        kernel(block_dim)(out)
        assert np.array_equal(out.reshape(4, size), np.broadcast_to(rows.sum(1, keepdims=True) + 1, rows.shape))
    with pytest.raises(qd.QuadrantsCompilationError, match=rf"loop_config\(block_dim={size}\) before the loop"):
        kernel(size // 2)(out)


@pytest.mark.runtime(exclude=("cpu", "opencl"), default_gpu_block_dim=4)
def test_blocks_of_a_loop_that_says_nothing_are_whole_subgroups(arch):
    size = subgroup.group_size()

    @qd.kernel
    def k(out: qd.types.ndarray(qd.i32, 1)):
        for i in range(4 * size):
            out[i] = subgroup.reduce_all_add(i)

    out = np.zeros(4 * size, np.int32)
    k(out)
    assert np.array_equal(out, np.repeat(np.arange(4 * size).reshape(4, size).sum(1), size))


@pytest.mark.runtime(exclude=("cpu",), default_gpu_block_dim=16)
def test_blocks_of_a_loop_that_says_nothing_are_as_large_as_asked(arch):
    """Threads that meet at barriers alone need no whole subgroups."""

    @qd.kernel
    def k(out: qd.types.ndarray(qd.i32, 1)):
        for i in range(64):
            mine = block.SharedArray((16,), qd.i32)
            mine[block.thread_idx()] = i
            block.sync()
            out[i] = mine[15 - block.thread_idx()]

    out = np.zeros(64, np.int32)
    k(out)
    assert np.array_equal(out.reshape(4, 16), np.arange(64).reshape(4, 16)[:, ::-1])
