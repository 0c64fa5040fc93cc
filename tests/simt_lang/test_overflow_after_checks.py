"""A failed check beside others: no overflow is reported of the values that threads which it ended would have given."""

import numpy as np
import pytest

import quadrants as qd
from quadrants.lang.simt import block, subgroup

pytestmark = pytest.mark.runtime(exclude=("cpu",), debug=True)
N = 128


@qd.kernel
def total(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1), by: qd.i32):
    qd.loop_config(block_dim=128)
    for i in range(N):
        y[i] = block.reduce_all_add(x[i + by], N, qd.i32)


@qd.kernel
def by_shuffles(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1), by: qd.i32):
    qd.loop_config(block_dim=128)
    for i in range(N):
        other = subgroup.shuffle(x[i + by], qd.u32(0))
        y[i] = other * 512 + (other << 9) - (-other - x[i])


@qd.kernel
def through_memory(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1), by: qd.i32):
    qd.loop_config(block_dim=128)
    for i in range(N):
        shared = block.SharedArray((N,), qd.i32)
        shared[i] = x[i + by]
        block.sync()
        y[i] = shared[N - 1 - i] * 1000


KERNELS = pytest.mark.parametrize("kernel", [total, by_shuffles, through_memory], ids=lambda kernel: kernel.__name__)


def skip_without_lanes(kernel) -> None:
    """OpenCL C 1.2 has no subgroups."""
    if kernel is by_shuffles and qd.cfg.arch == qd.opencl:
        pytest.skip("needs subgroups")


@KERNELS
def test_only_the_failed_check_is_told(arch, kernel, capfd):
    skip_without_lanes(kernel)
    x, y = np.full(N, 2**10, np.int32), np.zeros(N, np.int32)
    with pytest.raises(AssertionError, match="Out of bound access to ndarray"):
        kernel(x, y, 3 - N)
        qd.sync()
    assert "overflow" not in capfd.readouterr().out


@KERNELS
def test_overflows_without_a_failed_check_are(arch, kernel, capfd):
    """After a launch that failed, too."""
    skip_without_lanes(kernel)
    x, y = np.full(N, 2**24, np.int32), np.zeros(N, np.int32)
    with pytest.raises(AssertionError, match="Out of bound access to ndarray"):
        kernel(x, y, 3 - N)
        qd.sync()
    capfd.readouterr()
    kernel(x, y, 0)
    qd.sync()
    assert "overflow detected in" in capfd.readouterr().out
