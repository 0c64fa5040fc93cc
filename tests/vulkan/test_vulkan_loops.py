"""Loops in tasks whose threads do not fill a vector of llvmpipe's, whose loops wait for lanes without a thread."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only  # the fixture starts the arch
INTS = qd.types.ndarray(dtype=qd.i32, ndim=1)
VALUES = np.ones(256, np.int32)
VALUES[[0, 3, 8, 16, 24, 32, 64]] = 0


@qd.func
def walked(a: qd.template()):
    c = 5
    while (c & 7) != 0:
        while a[c] > 0:
            c -= 1
        c += 32
    return c


@qd.kernel
def serialised(a: INTS, o: INTS):
    qd.loop_config(serialize=True)
    for t in range(o.shape[0]):
        o[t] = walked(a)


@qd.kernel
def at_the_top(a: INTS, o: INTS):
    t = 0
    while t < o.shape[0]:
        c = 5
        while (c & 7) != 0:
            while a[c] > 0:
                c -= 1
            c += 32
        o[t] = c
        t += 1


@pytest.mark.parametrize("kernel", [serialised, at_the_top])
def test_loops_of_one_thread(vulkan, kernel):
    vulkan()
    o = np.zeros(5, np.int32)
    kernel(VALUES, o)
    qd.sync()
    assert (o == 64).all()


@pytest.mark.parametrize("block", [1, 2, 4, 8, 64])
def test_loops_in_small_blocks(vulkan, block):
    vulkan()

    @qd.kernel
    def k(a: INTS, o: INTS):
        qd.loop_config(block_dim=block)
        for i in range(o.shape[0] // 2):
            for t in range(2):
                o[2 * i + t] = walked(a)

    for n in (1, 3, 20):
        o = np.zeros(2 * n, np.int32)
        k(VALUES, o)
        assert (o == 64).all()


def test_small_blocks_that_work_together_are_small(vulkan):
    vulkan()

    @qd.kernel
    def k(o: INTS):
        qd.loop_config(block_dim=8)
        for i in range(o.shape[0]):
            o[i] = qd.simt.block.thread_idx()

    o = np.zeros(32, np.int32)
    k(o)
    assert o.tolist() == list(range(8)) * 4
