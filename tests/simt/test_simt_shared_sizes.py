"""Shared memory of one task is no part of another one's."""

import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only


@pytest.fixture
def emulated():
    qd.init(arch=qd.amdgpu, emulate=True)
    yield
    qd.reset()


def test_declared_memory_of_one_task_and_given_memory_of_another(emulated):
    x = qd.field(qd.i32, 64)

    @qd.kernel
    def run():
        qd.loop_config(block_dim=64)
        for i in range(64):
            few = qd.simt.block.SharedArray((4000,), qd.i32)
            few[i] = i
            qd.simt.block.sync()
            x[i] = few[63 - i]
        qd.loop_config(block_dim=64)
        for i in range(64):
            many = qd.simt.block.SharedArray((14000,), qd.i32)
            many[i] = x[i]
            qd.simt.block.sync()
            x[i] += many[63 - i]

    run()
    assert (x.to_numpy() == 63).all()
