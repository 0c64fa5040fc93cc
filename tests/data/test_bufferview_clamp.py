"""Views whose indices are limited: `qd.BufferView[dtype, "clamp"]`."""

import numpy as np
import pytest
from view_kit import iota

import quadrants as qd
from quadrants import BufferView


def test_clamped_views(arch) -> None:
    """ "clamp" limits indices to the ndarray, not to the view."""

    @qd.kernel
    def read(v: BufferView[qd.f32, "clamp"], i: qd.i32) -> qd.f32:  # noqa: F821 - "clamp" is no forward reference
        return v[i]

    a = iota()
    assert [read(a[8:12], i) for i in (-100, -8, -1, 0, 3, 4, 23, 24, 1000)] == [0, 0, 7, 8, 11, 12, 31, 31, 31]


@pytest.mark.parametrize(
    ("dtype", "indices"),
    [
        (qd.i32, (2**31 - 5, 2**31 - 4, 2**31 - 3, 2**31 - 1, -(2**31), -5, -4, -3, 5, 6, 7)),
        (qd.u32, (0, 6, 2**31 - 3, 2**31 - 2, 2**31, 2**32 - 4, 2**32 - 1)),
        (qd.i64, (2**31 - 1, 2**32, 2**63 - 1, -(2**31) - 4, -(2**63))),
        (qd.u64, (1, 2**32, 2**64 - 1)),
        (qd.i16, (-(2**15), 2**15 - 1)),
        (qd.u8, (1, 255)),
    ],
)
def test_clamped_views_where_the_offset_leaves_i32(arch, dtype, indices) -> None:
    """An index is limited by its value: adding the offset of the view takes none from one end to the other."""

    @qd.kernel
    def swap(v: BufferView[qd.i32, "clamp"], i: dtype) -> qd.i32:  # noqa: F821 - "clamp" is no forward reference
        old = v[i]
        v.subview(1, 2)[i] = 77
        return old

    a = qd.ndarray(qd.i32, 10)
    for i in indices:
        a.from_numpy(np.arange(10, dtype=np.int32))
        assert swap(a[3:6], i) == min(max(3 + i, 0), 9)
        assert a.to_numpy().tolist().index(77) == min(max(4 + i, 0), 9)
