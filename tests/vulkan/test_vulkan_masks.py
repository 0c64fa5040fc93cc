"""Places in memory by a lowest bit, `x[(i & 1) * 8]`: NVIDIA's driver took the other one of the two at times."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.runtime import vulkan as backend

pytestmark = pytest.mark.cpu_only


@qd.kernel
def by_bits(x: qd.types.ndarray(), y: qd.types.ndarray()):
    for i in x:
        pair = qd.Vector([x[i], i]) & 1
        other = qd.Vector([i, x[i]]) & qd.Vector([1, 3])
        bit = x[i] & 1
        bit &= 1
        qd.atomic_add(y[pair[0] * 8 + pair[1]], 1)
        qd.atomic_add(y[2 + other[0] * 4 + other[1]], 10)
        qd.atomic_add(y[bit * 8 + 7], 100)


def wanted(x):
    y = np.zeros(20, np.int32)
    for i, number in enumerate(x.tolist()):
        y[(number & 1) * 8 + (i & 1)] += 1
        y[2 + (i & 1) * 4 + (number & 3)] += 10
        y[(number & 1) * 8 + 7] += 100
    return y


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int16, np.int64, np.uint64])
def test_masks_of_every_type(vulkan, monkeypatch, dtype):
    vulkan()
    monkeypatch.setattr(backend, "_NVIDIA", backend._chosen().about["vendor"])  # as it is there
    vulkan()
    x, y = np.arange(-7, 90).astype(dtype), np.zeros(20, np.int32)
    by_bits(x, y)
    assert (y == wanted(x)).all()
    assert "& 1" not in by_bits.source(x, y)


def test_two_values_of_a_condition_that_is_never_met(vulkan):
    """What a random program was cut down to."""
    vulkan()
    bits = qd.field(qd.i64, shape=(4, 4), offset=(3, 2))
    cells = qd.field(qd.i32, shape=(4, 6), offset=(0, -2))

    @qd.kernel
    def store(n: qd.u16, r: qd.f32, limits: qd.types.ndarray()):
        if qd.math.isnan(qd.u32(r) * 0.5):
            for s in qd.static(range(3)):
                cells[1 + s, 1 + s] *= qd.cast(qd.atomic_and(bits[3 + s, 3 + s], n), qd.i32)
        cells[qd.cast(bits[6, 3] & 1, qd.i16), -1] = qd.bit_shr(qd.i16(n <= n > limits[2]), 1)

    cells.fill(2)
    store(3, 3.0, np.full(12, 9))
    assert np.argwhere(cells.to_numpy() == 0).tolist() == [[0, 1]]
