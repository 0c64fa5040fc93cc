"""What the lanes of a warp do together, in CUDA's words: every function names the lanes that take part."""

from __future__ import annotations

import numpy as np
import pytest
from simt_kit import kernel

DTYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
BLOCKS = pytest.mark.parametrize("block", [1, 16, 32, 45, 128])


def values_of(dtype, count):
    bits = np.random.default_rng(count).integers(0, 256, count * dtype().itemsize, dtype=np.uint8)
    return bits.view(dtype)  # any bit pattern, NaN with a payload too


def sources(function, lane, k, width):
    """The lane that each lane reads."""
    first = lane // width * width
    if function == "":
        return first + k % width
    if function == "_up":
        return np.where(lane - k < first, lane, lane - k)
    if function == "_down":
        return np.where(lane + k >= first + width, lane, lane + k)
    return np.where((lane ^ k) >= first + width, lane, lane ^ k)


@BLOCKS
@pytest.mark.parametrize("ctype", DTYPES)
def test_shuffles(ctype, block):
    functions, widths, steps = ("", "_up", "_down", "_xor"), (4, 16, 32), (0, 1, 3, 17, 31)
    calls = [(f, w, k) for f in functions for w in widths for k in steps]
    body = "".join(
        f"y[{n} * n + i] = __shfl{f}_sync(0xffffffffu, x[i], {k}, {w});\n" for n, (f, w, k) in enumerate(calls)
    )
    x = values_of(DTYPES[ctype], 2 * block)
    y = np.zeros((len(calls), 2, block), x.dtype)
    kernel(body, f"{ctype} *x, {ctype} *y, int n").run(x, y, np.int32(2 * block), grid=2, block=block)
    thread = np.arange(block)
    lane = thread % 32
    for (function, width, k), row in zip(calls, y):
        source = thread - lane + sources(function, lane, k, width)
        there = source < block  # a lane that the last warp lacks has no defined value
        expected = x.reshape(2, block)[:, source[there]]
        assert row[:, there].tobytes() == expected.tobytes(), (function, width, k)


def warps(x, block):
    """Rows of 32 lanes, the last one cut short."""
    return [x[k : k + 32] for k in range(0, block, 32)]


@BLOCKS
def test_votes(block):
    program = kernel(
        """int p = x[i];
        y[5 * i] = __ballot_sync(0xffffffffu, p); y[5 * i + 1] = __all_sync(0xffffffffu, p);
        y[5 * i + 2] = __any_sync(0xffffffffu, p); y[5 * i + 3] = __uni_sync(0xffffffffu, p);
        y[5 * i + 4] = __activemask();""",
        "int *x, unsigned *y",
    )
    rng = np.random.default_rng(block)
    for x in (rng.integers(0, 2, block), np.zeros(block), np.full(block, -3)):
        x = x.astype(np.int32)
        y = np.zeros((block, 5), np.uint32)
        program.run(x, y, block=block)
        for lanes, got in zip(warps(x, block), warps(y, block)):
            p = lanes != 0
            ballot = sum(1 << k for k in range(len(p)) if p[k])
            full = 2 ** len(p) - 1
            assert (got == [ballot, p.all(), p.any(), p.all() or not p.any(), full]).all()


@BLOCKS
def test_matches(block):
    program = kernel(
        """int all, n; double d = x[i];
        y[4 * i] = __match_any_sync(0xffffffffu, x[i]); y[4 * i + 1] = __match_all_sync(0xffffffffu, x[i], &all);
        y[4 * i + 2] = all; y[4 * i + 3] = __match_any_sync(0xffffffffu, d);""",
        "long long *x, unsigned *y",
    )
    for x in (np.arange(block, dtype=np.int64) // 3 << 33, np.full(block, 7, np.int64)):
        y = np.zeros((block, 4), np.uint32)
        program.run(x, y, block=block)
        for lanes, got in zip(warps(x, block), warps(y, block)):
            same = lanes[:, None] == lanes
            any_ = (same << np.arange(len(lanes))).sum(axis=1)
            everyone = 2 ** len(lanes) - 1 if same.all() else 0
            assert (got == np.stack([any_, any_ * 0 + everyone, any_ * 0 + (everyone != 0), any_], axis=1)).all()


def test_parts_of_a_warp_in_different_branches():
    program = kernel(
        """unsigned mask = t < 8 ? 0x000000ffu : t < 20 ? 0x000fff00u : 0xfff00000u;
        int v = t;
        if (t < 8) { for (int k = 0; k < 3; ++k) v += __shfl_sync(mask, v, 0); }
        else if (t < 20) { v = __ballot_sync(mask, t & 1); }
        else { for (int k = 0; k < 5; ++k) v = __shfl_xor_sync(mask, v, 1); __syncwarp(mask); }
        x[t] = v; y[t] = __ballot_sync(0xffffffffu, 1);""",
        "int *x, unsigned *y",
    )
    x, y = np.zeros(32, np.int32), np.zeros(32, np.uint32)
    program.run(x, y)
    lane = np.arange(32)
    expected = np.where(lane < 8, lane, np.where(lane < 20, 0xAAA00, lane ^ 1))
    assert (x == expected).all() and (y == 0xFFFFFFFF).all()


def test_lanes_that_go_round_more_often_than_the_others_get_no_answer():
    program = kernel(
        "int v = t; for (unsigned k = 0; k <= t / 30; ++k) v = __shfl_xor_sync(mask, v, 1); __syncwarp(mask);",
        "unsigned mask",
    )
    with pytest.raises(
        RuntimeError,
        match=r"its warps cannot go on: threads 0-29, 32-59 wait in __syncwarp\(0xf+\); "
        r"threads 30, 31, 60-63 wait in __shfl_xor_sync\(0xf+\)",
    ):
        program.run(np.uint32(0xFFFFFFFF), block=64)


def test_warps_of_a_block_need_not_agree():
    program = kernel(
        """int n = t / 32 + 1, v = t;
        for (int k = 0; k < n; ++k) { v = __shfl_down_sync(0xffffffffu, v, 1); __syncwarp(); }
        if (t / 32 == 2) return;
        x[t] = v;""",
        "int *x",
    )
    x = np.zeros(128, np.int32)
    program.run(x, block=128)
    thread = np.arange(128)
    down = np.minimum(thread + thread // 32 + 1, thread // 32 * 32 + 31)
    assert (x == np.where(thread // 32 == 2, 0, down)).all()


def test_memory_passes_between_lanes_at_the_barrier_of_a_warp():
    program = kernel("x[i] = i; __syncwarp(); y[i] = x[i ^ 5];", "int *x, int *y")
    x, y = np.full(64, -1, np.int32), np.zeros(64, np.int32)
    program.run(x, y, block=64)
    assert (y == np.arange(64) ^ 5).all()


def test_lanes_that_are_together():
    program = kernel(
        "if (t % 4 == 1) x[t] = __activemask(); else x[t] = __activemask(); y[t] = __activemask();",
        "unsigned *x, unsigned *y",
    )
    x, y = np.zeros(16, np.uint32), np.zeros(16, np.uint32)
    program.run(x, y, block=16)
    assert (x == np.where(np.arange(16) % 4 == 1, 0x2222, 0xDDDD)).all() and (y == 65535).all()


def test_lanes_that_ended_are_not_waited_for():
    program = kernel(
        "if (t >= n) return; x[t] = __ballot_sync(0xffffffffu, 1); y[t] = __shfl_sync(0xffffffffu, t, 31);",
        "unsigned *x, unsigned *y, unsigned n",
    )
    x, y = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    program.run(x, y, np.uint32(10))
    assert (x[:10] == 1023).all() and (y[:10] == 0x7FF4DEAD).all() and not x[10:].any()
