"""Shared arrays belong to one block of iterations, also where a block of threads does many, and beside sums."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.runtime(exclude=("cpu",))
COUNTS = (256, 1024, 4096, 4096 + 256, 8192, 65536)


@qd.kernel
def sum_of_block(n: qd.i32) -> qd.i32:
    total = 0
    qd.loop_config(block_dim=256)
    for i in range(n):
        shared = qd.simt.block.SharedArray((256,), qd.i32)
        shared[i % 256] = i
        qd.simt.block.sync()
        total += shared[255 - i % 256] - i  # 0 in every block
        total += 1
    return total


def test_a_sum_beside_a_shared_array(arch):
    assert [sum_of_block(n) for n in COUNTS] == list(COUNTS)


def test_least_and_sums_of_cells_beside_a_shared_array(arch):
    total, least = qd.field(qd.i32, ()), qd.field(qd.i32, ())

    @qd.kernel
    def fold(x: qd.types.ndarray(qd.i32, 1)):
        qd.loop_config(block_dim=64)
        for i in x:
            shared = qd.simt.block.SharedArray((64,), qd.i32)
            shared[i % 64] = x[i]
            qd.simt.block.sync()
            other = shared[(i + 1) % 64]
            total[None] += other
            qd.atomic_min(least[None], other - i % 64)

    values = np.random.default_rng(4).integers(-9, 9, 64 * 300).astype(np.int32)
    least[None] = 10**6
    fold(values)
    near = np.roll(values.reshape(-1, 64), -1, axis=1).ravel()
    assert total[None] == values.sum()
    assert least[None] == (near - np.arange(64 * 300) % 64).min()


def test_a_length_that_only_the_device_knows(arch):
    many, y = qd.field(qd.i32, ()), qd.field(qd.i32, 64 * 1200)

    @qd.kernel
    def turn():
        qd.loop_config(block_dim=64)
        for i in range(many[None]):
            shared = qd.simt.block.SharedArray((64,), qd.i32)
            shared[i % 64] = i
            qd.simt.block.sync()
            y[i] = shared[63 - i % 64]

    for blocks in (1, 3, 1200):
        many[None] = 64 * blocks
        turn()
        i = np.arange(64 * blocks)
        assert (y.to_numpy()[: 64 * blocks] == i // 64 * 64 + 63 - i % 64).all()


def test_a_thread_knows_its_number_beside_a_sum(arch):
    y = qd.field(qd.i32, 64 * 1200)

    @qd.kernel
    def number() -> qd.i32:
        total = 0
        qd.loop_config(block_dim=64)
        for i in y:
            y[i] = qd.simt.block.global_thread_idx()
            total += 1
        return total

    assert number() == 64 * 1200
    assert (y.to_numpy() == np.arange(64 * 1200)).all()
