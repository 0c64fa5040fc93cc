"""What the lanes of a wave do together, in HIP's words: those that are at the same point of the program take part."""

from __future__ import annotations

import numpy as np
import pytest
from simt_kit import kernel

BLOCKS = pytest.mark.parametrize("block", [1, 32, 64, 100, 256])
ALL = 2**64 - 1


def hip(body, parameters, **more):
    return kernel(body, parameters, flavour="hip", **more)


@BLOCKS
def test_shuffles_reach_all_lanes(block):
    program = hip(
        """y[5 * i] = __shfl(x[i], 63 - t % 64); y[5 * i + 1] = __shfl_up(x[i], 32);
        y[5 * i + 2] = __shfl_down(x[i], 40); y[5 * i + 3] = __shfl_xor(x[i], 33);
        y[5 * i + 4] = __shfl(x[i], 5, 16);""",
        "double *x, double *y",
    )
    x, y = np.random.default_rng(1).random(block), np.zeros((block, 5))
    program.run(x, y, block=block)
    thread = np.arange(block)
    lane, base = thread % 64, thread // 64 * 64
    sources = [
        63 - lane,
        np.where(lane < 32, lane, lane - 32),
        np.where(lane + 40 > 63, lane, lane + 40),
        lane ^ 33,
        lane // 16 * 16 + 5,
    ]
    for source, got in zip(sources, y.T):
        source = base + source
        there = source < block
        assert (got[there] == x[source[there]]).all()


@BLOCKS
def test_votes(block):
    program = hip(
        """y[4 * i] = __ballot(x[i]); y[4 * i + 1] = __all(x[i]); y[4 * i + 2] = __any(x[i]);
        y[4 * i + 3] = __activemask();""",
        "int *x, unsigned long long *y",
    )
    for x in (np.arange(block) % 3 == 0, np.zeros(block), np.ones(block)):
        y = np.zeros((block, 4), np.uint64)
        program.run(x.astype(np.int32), y, block=block)
        for begin in range(0, block, 64):
            p = [bool(v) for v in x[begin : begin + 64]]
            ballot = sum(v << k for k, v in enumerate(p))
            assert (y[begin : begin + 64] == np.array([ballot, all(p), any(p), 2 ** len(p) - 1], np.uint64)).all()


def test_halves_of_a_wave_in_different_branches():
    program = hip(
        """int v = t;
        if (t < 32) { for (int k = 16; k; k /= 2) v += __shfl_xor(v, k, 32); }
        else { for (int n = 0; n < 2; ++n) for (int k = 16; k; k /= 2) v = max(v, __shfl_xor(v, k, 32)); }
        x[t] = v; y[t] = __ballot(t & 1);""",
        "int *x, unsigned long long *y",
    )
    x, y = np.zeros(64, np.int32), np.zeros(64, np.uint64)
    program.run(x, y, block=64)
    assert (x[:32] == 31 * 16).all() and (x[32:] == 63).all() and (y == 0xAAAAAAAAAAAAAAAA).all()


FIRST = "__device__ static {how} int first(int v) {{ return __shfl(v, 0); }}\n"
SUM = """__device__ static {how} int sum(int v) {{
    for (int k = 32; k; k /= 2) v += __shfl_xor(v, k);
    return v;
}}
"""


@pytest.mark.parametrize("how", ["inline", "__noinline__", "__forceinline__"])
@pytest.mark.parametrize("order", [(FIRST, SUM), (SUM, FIRST)])
def test_lanes_meet_again_behind_a_branch(how, order):
    # The order of the functions in the text must not matter: the upper half waits in `sum` while the lower one is still
    # in its branch.
    program = hip(
        "int v = t; if (t < 32) { v = first(v) + 1; v += first(v); } x[t] = sum(v);",
        "int *x",
        before="".join(order).format(how=how),
    )
    x = np.zeros(64, np.int32)
    program.run(x, block=64)
    assert (x == 32 * 2 + sum(range(32, 64))).all()


def test_loops_of_different_lengths_meet_at_their_end():
    program = hip(
        """int n = t % 4, together = 0;
        while (n-- > 0) together += __popcll(__activemask());
        x[t] = together; y[t] = __popcll(__activemask());""",
        "int *x, int *y",
    )
    x, y = np.zeros(64, np.int32), np.zeros(64, np.int32)
    program.run(x, y, block=64)
    assert (x == np.array([0, 48, 48 + 32, 48 + 32 + 16])[np.arange(64) % 4]).all() and (y == 64).all()


def test_a_loop_until_all_agree():
    program = hip(
        """int left = t % 7, rounds = 0;
        while (__any(left > 0)) { --left; ++rounds; }
        x[t] = rounds;""",
        "int *x",
    )
    x = np.zeros(128, np.int32)
    program.run(x, block=128)
    assert (x == 6).all()


def test_lanes_that_left_are_not_waited_for():
    program = hip(
        "if (t % 2) __builtin_amdgcn_endpgm(); x[t] = __ballot(1); __syncthreads(); y[t] = t;",
        "unsigned long long *x, int *y",
    )
    x, y = np.zeros(70, np.uint64), np.zeros(70, np.int32)
    program.run(x, y, block=70)
    assert (x[:64:2] == 0x5555555555555555).all() and (x[64::2] == 0b010101).all() and not x[1::2].any()
    assert (y == np.where(np.arange(70) % 2, 0, np.arange(70))).all()


def test_memory_passes_between_lanes_at_the_barrier_of_a_wave():
    program = hip(
        """x[i] = i; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront"); __builtin_amdgcn_wave_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront"); y[i] = x[i ^ 40];""",
        "int *x, int *y",
    )
    x, y = np.full(128, -1, np.int32), np.zeros(128, np.int32)
    program.run(x, y, block=128)
    assert (y == np.arange(128) ^ 40).all()


def test_intrinsics_of_the_compiler():
    program = hip(
        """x[t] = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
        x[t] += 100 * __lane_id(); x[t] += 10000 * __builtin_amdgcn_ds_bpermute(4 * (t ^ 1), t);""",
        "int *x",
    )
    x = np.zeros(128, np.int32)
    program.run(x, block=128)
    lane = np.arange(128) % 64
    assert (x == 101 * lane + 10000 * (np.arange(128) ^ 1)).all()
