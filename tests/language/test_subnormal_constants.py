"""Constants below the normal range: 0 with their sign, as what a launch computes (see also matrix_operations)."""

from __future__ import annotations

import math

import pytest

import quadrants as qd
from quadrants.emit import dialects

TINY = 2.0**-126


def bits(x: float) -> tuple:
    return x, math.copysign(1.0, x)


@pytest.mark.runtime(exclude=("opencl", "vulkan"), fast_math=False)  # drivers need not flush; OpenCL has no f16
def test_constants_are_flushed_like_results(arch):
    f = qd.field(qd.f32, shape=12)
    d = qd.field(qd.f64, shape=2)
    h = qd.field(qd.f16, shape=1)
    captured = -3e-39

    @qd.kernel
    def run(big: qd.f32, half: qd.f32):
        f[0] = 1e-40
        f[1] = captured
        f[2] = 1e-40 * big
        f[3] = qd.f32(1e-40) * qd.f32(1e10)
        f[4] = 1.0 if qd.f32(1e-40) > 0 else 2.0
        f[5] = qd.Vector([1e-40, 1.0])[0]
        f[6] = 2e-38 * half * half
        f[7] = 1.1754942e-38  # the largest that is not normal
        f[8] = 1.17549435e-38  # the least normal
        f[9] = qd.cast(qd.f64(1e-39), qd.f32)
        f[10] = -qd.f32(-1e-40)
        f[11] = qd.bit_cast(qd.f32(1e-40), qd.i32)
        d[0] = qd.cast(qd.f32(1e-40), qd.f64)
        d[1] = qd.cast(1e-40, qd.f64)
        h[0] = 1e-7  # numbers of 16 bits are computed with in 32, where these are normal

    run(1e10, 0.25)
    assert [bits(x) for x in f.to_numpy().tolist()] == [
        bits(x) for x in (0.0, -0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, TINY, 0.0, 0.0, 0.0)
    ]
    assert d.to_numpy().tolist() == [0, 0] and h[0] > 0


@pytest.mark.runtime(default_fp=qd.f64, fast_math=False)
def test_constants_of_64_bits_where_the_arch_flushes_those(arch, arch_name):
    d = qd.field(qd.f64, shape=3)

    @qd.kernel
    def run():
        d[0] = 1e-310
        d[1] = -1e-310
        d[2] = 2.3e-308

    run()
    flushes = (
        "f64"
        in dialects.get(
            {"cpu": "c", "cuda": "cuda", "amdgpu": "hip", "opencl": "opencl", "vulkan": "glsl"}[arch_name]
        ).flushes
    )
    assert flushes is (arch_name == "cpu")
    small = 0.0 if flushes else 1e-310
    assert [bits(x) for x in d.to_numpy()] == [bits(small), bits(-small), bits(2.3e-308)]
