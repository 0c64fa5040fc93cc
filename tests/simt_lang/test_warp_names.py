"""Every function of `qd.simt.warp`, on a whole warp of 32 lanes."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.lang.simt import warp

ALL = 0xFFFFFFFF


@pytest.mark.runtime(exclude=("cpu", "opencl", "metal", "vulkan", "amdgpu"))
def test_shuffles_votes_and_matches(arch):
    ints, reals = qd.ndarray(qd.i32, (9, 32)), qd.ndarray(qd.f32, (3, 32))

    @qd.kernel
    def run(ints: qd.types.ndarray(qd.i32, 2), reals: qd.types.ndarray(qd.f32, 2)):
        qd.loop_config(block_dim=32)
        for i in range(32):
            mask = qd.u32(ALL)
            x = qd.cast(i, qd.f32) + 0.5
            ints[0, i] = warp.shfl_sync_i32(mask, i * i, (i + 3) % 32)
            ints[1, i] = warp.shfl_up_i32(mask, i * i, 2)
            ints[2, i] = warp.shfl_down_i32(mask, i * i, 3)
            ints[3, i] = warp.shfl_xor_i32(mask, i * i, 5)
            reals[0, i] = warp.shfl_sync_f32(mask, x, 7)
            reals[1, i] = warp.shfl_up_f32(mask, x, 1)
            reals[2, i] = warp.shfl_down_f32(mask, x, 4)
            ints[4, i] = qd.cast(warp.all_nonzero(mask, 1), qd.i32) * 2 + qd.cast(warp.all_nonzero(mask, i), qd.i32)
            ints[5, i] = qd.cast(warp.any_nonzero(mask, i), qd.i32) * 2 + qd.cast(warp.any_nonzero(mask, 0), qd.i32)
            ints[6, i] = qd.cast(qd.math.popcnt(warp.ballot(qd.cast(i % 4 == 1, qd.i32))), qd.i32)
            ints[7, i] = qd.cast(warp.match_any(mask, i % 2) & 3, qd.i32)
            ints[8, i] = qd.cast(warp.active_mask() == mask, qd.i32)
            warp.sync(mask)

    run(ints, reals)
    i = np.arange(32)
    found, real = ints.to_numpy(), reals.to_numpy()
    np.testing.assert_array_equal(found[0], ((i + 3) % 32) ** 2)
    np.testing.assert_array_equal(found[1], np.where(i >= 2, i - 2, i) ** 2)
    np.testing.assert_array_equal(found[2], np.where(i < 29, i + 3, i) ** 2)
    np.testing.assert_array_equal(found[3], (i ^ 5) ** 2)
    np.testing.assert_array_equal(real[0], np.full(32, 7.5))
    np.testing.assert_array_equal(real[1], np.where(i >= 1, i - 1, i) + 0.5)
    np.testing.assert_array_equal(real[2], np.where(i < 28, i + 4, i) + 0.5)
    np.testing.assert_array_equal(found[4:6], np.full((2, 32), 2))
    np.testing.assert_array_equal(found[6], np.full(32, 8))
    np.testing.assert_array_equal(found[7], np.where(i % 2 == 0, 1, 2))
    np.testing.assert_array_equal(found[8], np.ones(32))


@pytest.mark.runtime(exclude=("cpu", "opencl", "metal", "vulkan", "amdgpu"))
def test_all_lanes_are_compared(arch):
    out = qd.ndarray(qd.i32, (4, 32))

    @qd.kernel
    def run(out: qd.types.ndarray(qd.i32, 2)):
        qd.loop_config(block_dim=32)
        for i in range(32):
            mask = qd.u32(ALL)
            out[0, i] = qd.cast(warp.match_all(mask, 7) != 0, qd.i32)
            out[1, i] = qd.cast(warp.match_all(mask, i) != 0, qd.i32)
            out[2, i] = qd.cast(warp.unique(mask, 1) != 0, qd.i32)
            out[3, i] = qd.cast(warp.unique(mask, i) != 0, qd.i32)

    run(out)
    np.testing.assert_array_equal(out.to_numpy()[:2], [np.ones(32), np.zeros(32)])
    assert set(out.to_numpy()[2]) == {1} and len(set(out.to_numpy()[3])) == 1
