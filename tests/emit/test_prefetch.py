"""The hint that memory will be written soon, which sorts on the host use."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.lang.control import prefetch


@qd.kernel
def moved(x: qd.types.ndarray(dtype=qd.i32, ndim=1), v: qd.types.ndarray(dtype=qd.types.vector(3, qd.f32), ndim=1)):
    for i in range(8):
        prefetch(x[qd.min(i + 1, 7)])
        prefetch(v[i])
        x[i] += i


@pytest.mark.cpu_only
def test_the_host_fetches_and_computes_the_same():
    qd.init(arch=qd.cpu)
    x, v = np.arange(8, dtype=np.int32), np.zeros((8, 3), np.float32)
    moved(x, v)
    assert (x == 2 * np.arange(8)).all()
    assert moved.source(x, v).count("    qd_memory_prefetch(") == 2


@pytest.mark.cpu_only
def test_an_index_that_is_out_of_range_is_told_as_any_other():
    qd.init(arch=qd.cpu, debug=True)

    @qd.kernel
    def behind(x: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in range(8):
            prefetch(x[i + 1])

    with pytest.raises(qd.QuadrantsAssertionError, match="8"):
        behind(np.zeros(8, np.int32))


@pytest.mark.cpu_only
@pytest.mark.parametrize("arch", ["cuda", "amdgpu", "metal", "opencl", "vulkan"])
def test_devices_do_without(arch):
    qd.init(arch=qd.cpu)
    text = moved.source(np.zeros(8, np.int32), np.zeros((8, 3), np.float32), arch=arch)
    assert "prefetch" not in text
