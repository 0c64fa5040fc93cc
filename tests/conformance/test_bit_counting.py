"""matrix-math.md 13: popcnt, clz, ffs at every width and fns over masks, against Python integers."""

import numpy as np
import pytest
from support import INTS, ON_REFERENCE, REFERENCE_LACKS, assert_exact, int_edges, np_dtype

import quadrants as qd


def _counts(x: np.ndarray) -> np.ndarray:
    width = 8 * x.dtype.itemsize
    rows = []
    for value in x.tolist():
        bits = value & ((1 << width) - 1)
        lowest = (bits & -bits).bit_length()
        rows.append((bin(bits).count("1"), width - bits.bit_length(), lowest))
    return np.array(rows, np.int32).T


@pytest.mark.parametrize("dtype", INTS)
def test_counts(arch, dtype: str) -> None:
    """Results are i32, zero has no bits: popcnt 0, clz the width, ffs 0."""
    if ON_REFERENCE and ("clz", dtype) in REFERENCE_LACKS:
        return
    value_type = getattr(qd, dtype)

    @qd.kernel
    def count(x: qd.types.ndarray(dtype=value_type, ndim=1), out: qd.types.ndarray(dtype=qd.i32, ndim=2)):
        for i in range(x.shape[0]):
            out[0, i] = qd.math.popcnt(x[i])
            out[1, i] = qd.math.clz(x[i])
            out[2, i] = qd.math.ffs(x[i])
            out[3, i] = qd.math.popcnt(x[i]) - 100 < 0

    rng = np.random.default_rng(4)
    x = np.concatenate(
        [
            int_edges(dtype),
            rng.integers(0, 256, (500, np_dtype(dtype).itemsize), np.uint8).view(np_dtype(dtype)).ravel(),
        ]
    )
    out = np.zeros((4, len(x)), np.int32)
    count(x, out)
    for name, got, want in zip(("popcnt", "clz", "ffs"), out, _counts(x), strict=False):
        assert_exact(f"{name} {dtype}", got, want, x)
    assert out[3].all(), "popcnt is i32: popcnt - 100 is negative"


def _fns(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else 0xFFFFFFFF
    positions = range(base, 32) if offset > 0 else range(min(base, 31), -1, -1)
    found = [p for p in positions if mask >> p & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF


def test_fns(arch) -> None:
    """The n-th set bit up or down from a base, for many masks, bases and offsets."""

    @qd.kernel
    def nth(
        mask: qd.types.ndarray(dtype=qd.u32, ndim=1),
        base: qd.types.ndarray(dtype=qd.u32, ndim=1),
        offset: qd.types.ndarray(dtype=qd.i32, ndim=1),
        out: qd.types.ndarray(dtype=qd.u32, ndim=1),
    ):
        for i in range(mask.shape[0]):
            out[i] = qd.math.fns(mask[i], base[i], offset[i])

    rng = np.random.default_rng(6)
    masks = np.concatenate([np.array([0, 1, 22, 2**31, 2**32 - 1], np.uint32), rng.integers(0, 2**32, 20, np.uint32)])
    grid = [(int(m), b, o) for m in masks for b in (0, 1, 4, 17, 31) for o in (-33, -3, -2, -1, 0, 1, 2, 5, 32)]
    mask, base, offset = (
        np.array(column, t) for column, t in zip(zip(*grid, strict=True), (np.uint32, np.uint32, np.int32), strict=True)
    )
    out = np.zeros(len(grid), np.uint32)
    nth(mask, base, offset, out)
    assert_exact("fns", out, np.array([_fns(*row) for row in grid], np.uint32), mask, base, offset)
