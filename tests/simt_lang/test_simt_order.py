"""Collectives keep their place: what stands before a barrier is read before it, and none is dropped or repeated."""

import numpy as np
import pytest
import simt_lang_kit as kit

import quadrants as qd
from quadrants.lang.simt import block, subgroup

pytestmark = kit.gpu


@qd.func
def swap_and_read(s, t, value):
    block.sync()
    s[t] = value
    block.sync()
    return s[t ^ 1]


@kit.lanes
@pytest.mark.lanes(8)
def test_operands_are_read_before_the_barriers_behind_them(arch):
    out = qd.field(qd.i32, (3, 32))
    seen = qd.field(qd.i32, 32)

    @qd.kernel
    def order():
        qd.loop_config(block_dim=32)
        for i in range(32):
            s = block.SharedArray((32,), qd.i32)
            s[i] = i
            block.sync()
            out[0, i] = s[i ^ 1] * 100 + swap_and_read(s, i, i + 50)
            out[1, i] = seen[i] + swap_and_read(s, i, i) + qd.atomic_add(seen[i], 7) + seen[i]
            if subgroup.any_true_tiled(i == 3, 3) and subgroup.all_true_tiled(i < 8, 3):
                out[2, i] = 1

    order()
    i = np.arange(32)
    np.testing.assert_array_equal(out.to_numpy(), [(i ^ 1) * 101 + 50, (i ^ 1) + 7, i < 8])


def test_unused_results_are_still_executed(arch):
    """A vote whose result nobody reads is a barrier all the same, in a func too."""
    out = qd.field(qd.i32, 64)

    @qd.func
    def wait(p):
        return block.sync_any_nonzero(p)

    @qd.kernel
    def use():
        qd.loop_config(block_dim=64)
        for i in range(64):
            s = block.SharedArray((64,), qd.i32)
            s[i] = i * 3
            block.sync_all_nonzero(i)
            out[i] = s[63 - i]
            wait(i)
            s[63 - i] = i
            wait(i)
            out[i] += s[i]

    use()
    i = np.arange(64)
    np.testing.assert_array_equal(out.to_numpy(), (63 - i) * 4)


def test_threads_see_one_anothers_writes(arch):
    """3: volatile loads of shared memory; barriers order device memory as well."""
    seen = kit.array(np.zeros(64, np.int32))
    out = kit.array(np.zeros(64, np.int32))

    @qd.kernel
    def hand_over(seen: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(64):
            flag = block.SharedArray((1,), qd.i32)
            if i == 0:
                flag[0] = 0
            seen[i] = i + 1
            block.sync()
            total = seen[(i + 32) % 64]
            if i == 40:
                flag[0] = 5
            block.sync()
            while qd.volatile_load(flag[0]) == 0:
                pass
            out[i] = total + qd.volatile_load(flag[0])

    hand_over(seen, out)
    np.testing.assert_array_equal(out.to_numpy(), (np.arange(64) + 32) % 64 + 6)


@pytest.mark.runtime(exclude=("cpu",), debug=True)
def test_in_debug_mode(arch):
    """Checks of bounds and overflow leave collectives where they are."""
    x = kit.array(np.arange(64, dtype=np.int32))

    @qd.kernel
    def use(x: qd.types.ndarray()):
        qd.loop_config(block_dim=64)
        for i in range(64):
            s = block.SharedArray((64,), qd.i32)
            s[i] = x[i]
            block.sync()
            assert s[i] >= 0
            x[i] = s[63 - i] + block.reduce_all_max(x[i], 64, qd.i32)

    use(x)
    np.testing.assert_array_equal(x.to_numpy(), 126 - np.arange(64))


def test_kernels_of_several_specialisations(arch):
    """Shared arrays and folds follow template arguments."""

    @qd.kernel
    def total(x: qd.types.ndarray(), dim: qd.template(), kind: qd.template()):
        qd.loop_config(block_dim=dim)
        for i in range(x.shape[0]):
            s = block.SharedArray((dim,), kind)
            s[i % dim] = x[i]
            block.sync()
            x[i] = s[dim - 1 - i % dim] + block.reduce_all_add(s[i % dim], dim, kind)

    for dim, name in ((64, "i32"), (128, "f32")):
        x = np.arange(256).astype({"i32": np.int32, "f32": np.float32}[name])
        data = kit.array(x)
        total(data, dim, getattr(qd, name))
        rows = x.reshape(-1, dim)
        np.testing.assert_array_equal(data.to_numpy().reshape(-1, dim), rows[:, ::-1] + rows.sum(1)[:, None])
