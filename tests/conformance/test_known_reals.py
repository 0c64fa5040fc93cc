"""Operations on real numbers that are known while a kernel is compiled: each is rounded, as it is at run time."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd


@qd.kernel
def halves(out: qd.types.ndarray(qd.f16, ndim=1)):
    out[0] = qd.f16(7.5) ** 3
    out[1] = qd.f16(2048.0) + qd.f16(1.0) - qd.f16(2048.0)
    out[2] = qd.f16(0.1) * qd.f16(0.1) * qd.f16(0.3)
    out[3] = qd.f16(2049.0) + qd.f16(2.0)
    out[4] = qd.max(qd.f16(0.1), qd.f16(0.2)) * qd.f16(0.7)
    out[5] = (qd.Vector([qd.f16(0.1), qd.f16(0.2)]) * qd.f16(0.7))[1]


@qd.kernel
def singles(out: qd.types.ndarray(qd.f32, ndim=1)):
    out[0] = qd.f32(16777216.0) + qd.f32(1.0) - qd.f32(16777216.0)
    out[1] = qd.f32(0.1) * qd.f32(0.1)
    out[2] = qd.f32(3e38) * qd.f32(10.0) * qd.f32(1e-10)
    out[3] = qd.select(qd.f32(0.1) > qd.f32(0.05), qd.f32(0.1), qd.f32(0.2)) * qd.f32(0.1)
    out[4] = qd.cast(qd.f64(0.1), qd.f32) * qd.f32(0.1)
    out[5] = qd.cast(qd.i32(16777217), qd.f32) - qd.f32(16777216.0)
    if qd.cast(qd.f64(0.1000000001), qd.f32) == qd.f32(0.1):
        out[6] = 1.0
    out[7] = -qd.f32(0.1) * qd.f32(0.1) + qd.f32(0.01)


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_each_operation_rounds(init, dtype):
    init(fast_math=False)
    h, s = np.float16, np.float32
    with np.errstate(over="ignore"):
        if dtype == "f16":
            want = [
                h(7.5) * h(7.5) * h(7.5),
                0,
                h(0.1) * h(0.1) * h(0.3),
                h(2049) + h(2),
                h(0.2) * h(0.7),
                h(0.2) * h(0.7),
            ]
        else:
            want = [0, s(0.1) * s(0.1), s(np.inf), s(0.1) * s(0.1), s(0.1) * s(0.1), 0, 1, -s(0.1) * s(0.1) + s(0.01)]
    out = np.zeros(len(want), h if dtype == "f16" else s)
    (halves if dtype == "f16" else singles)(out)
    np.testing.assert_array_equal(out, np.array(want, out.dtype))
