"""Atomic operations, intrinsics, mathematics and output of emulated kernels, against NumPy."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simt_kit import kernel

from quadrants._ext import simt
from quadrants.toolchain.cc import CcOptions

FLAVOURS = pytest.mark.parametrize("flavour", ["cuda", "hip"])
CTYPES = {
    np.int32: "int",
    np.uint32: "unsigned",
    np.int64: "long long",
    np.uint64: "unsigned long long",
    np.float32: "float",
    np.float64: "double",
    np.uint16: "unsigned short",
}
INT32, WIDE = (np.int32, np.uint32), (np.int32, np.uint32, np.uint64)
ATOMICS = [
    ("atomicAdd", (np.int32, np.uint32, np.uint64, np.float32, np.float64), lambda old, x: old + x),
    ("atomicSub", INT32, lambda old, x: old - x),
    ("atomicMin", (*WIDE, np.int64), min),
    ("atomicMax", (*WIDE, np.int64), max),
    ("atomicAnd", WIDE, lambda old, x: old & x),
    ("atomicOr", WIDE, lambda old, x: old | x),
    ("atomicXor", WIDE, lambda old, x: old ^ x),
    ("atomicExch", (*WIDE, np.float32), lambda old, x: x),
    ("atomicInc", (np.uint32,), lambda old, x: old * 0 if old >= x else old + 1),
    ("atomicDec", (np.uint32,), lambda old, x: x if old == 0 or old > x else old - 1),
]


@FLAVOURS
@pytest.mark.parametrize("name, dtypes, new", ATOMICS, ids=[row[0] for row in ATOMICS])
def test_atomic_operations(flavour, name, dtypes, new):
    pairs = [(0, 5), (5, 0), (7, 7), (1, 2), (100, 3)]
    for dtype in dtypes:
        numbers = [dtype(v) for pair in pairs for v in pair]
        if np.issubdtype(dtype, np.integer):  # the ends of the range, where sums wrap
            numbers += [dtype(np.iinfo(dtype).max), dtype(3), dtype(np.iinfo(dtype).min), dtype(3)]
        x, y = np.array(numbers[::2], dtype), np.array(numbers[1::2], dtype)
        with np.errstate(over="ignore"):
            expected = np.array([new(a, b) for a, b in zip(x, y)], dtype)
        before, old, ctype = x.copy(), np.zeros_like(x), CTYPES[dtype]
        program = kernel(f"old[i] = {name}(x + i, y[i]);", f"{ctype} *x, {ctype} *y, {ctype} *old", flavour=flavour)
        program.run(x, y, old, block=len(x))
        assert (old == before).all() and (x == expected).all(), dtype


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint64, np.uint16])
def test_compare_and_swap(dtype):
    ctype = CTYPES[dtype]
    x, old = np.arange(8, dtype=dtype), np.zeros(8, dtype)
    kernel(f"old[i] = atomicCAS(x + i, ({ctype})3, ({ctype})90);", f"{ctype} *x, {ctype} *old").run(x, old, block=8)
    assert (old == np.arange(8)).all() and (x == np.where(np.arange(8) == 3, 90, np.arange(8))).all()


@FLAVOURS
@pytest.mark.parametrize("waits", ["", "__syncthreads();"])
def test_every_thread_gets_its_own_number(flavour, waits):
    count, numbers = np.zeros(1, np.int32), np.zeros(600, np.int32)
    program = kernel(f"x[i] = atomicAdd(n, 1); {waits}", "int *n, int *x", flavour=flavour)
    program.run(count, numbers, grid=6, block=100)
    assert count == 600 and (np.sort(numbers) == np.arange(600)).all()


def test_atomic_operations_of_hip():
    program = kernel(
        """__hip_atomic_fetch_max(x, 9.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __hip_atomic_fetch_add(n, 5, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        long long seen = 5;
        n[1] = __hip_atomic_compare_exchange_strong(n, &seen, 8ll, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                    __HIP_MEMORY_SCOPE_AGENT);
        n[2] = __hip_atomic_compare_exchange_strong(n, &seen, 1ll, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                    __HIP_MEMORY_SCOPE_AGENT);
        n[3] = seen; n[4] = __hip_atomic_load(n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        unsafeAtomicAdd(x, 0.5f); atomicMin(x + 1, -2.0f); atomicMin(n + 5, -7ll);""",
        "float *x, long long *n",
        flavour="hip",
    )
    x, n = np.zeros(2, np.float32), np.zeros(6, np.int64)
    program.run(x, n, block=1)
    assert x.tolist() == [9.5, -2.0] and n.tolist() == [8, 1, 0, 8, 8, -7]


def first(n):
    """One plus the position of the lowest set bit."""
    return (n & -n).bit_length()


@FLAVOURS
def test_bits(flavour):
    program = kernel(
        """unsigned long long v = x[i]; long long *o = y + 12 * i;
        o[0] = __popcll(v); o[1] = __clzll(v); o[2] = __ffsll(v); o[3] = __popc((unsigned)v); o[4] = __clz((int)v);
        o[5] = __ffs((int)v); o[6] = __brev((unsigned)v); o[7] = __mul64hi((long long)v, 12345678987654321ll);
        o[8] = __umul64hi(v, v); o[9] = __umulhi((unsigned)v, (unsigned)v);
        o[10] = __float_as_int(__int_as_float((int)v)); o[11] = __double_as_longlong(__longlong_as_double(v));""",
        "unsigned long long *x, long long *y",
        flavour=flavour,
    )
    numbers = [0, 1, 2**63, 2**64 - 1, 0x80000000, 0x123456789ABCDEF0, 0x7FF4000000000001, 0x7FA00001]
    y = np.zeros((len(numbers), 12), np.int64)
    program.run(np.array(numbers, np.uint64), y, block=len(numbers))
    for v, row in zip(numbers, y.tolist()):
        low, signed = v & 0xFFFFFFFF, v - (v >> 63 << 64)
        expected = [v.bit_count(), 64 - v.bit_length(), first(v), low.bit_count(), 32 - low.bit_length(), first(low)]
        expected += [int(f"{low:032b}"[::-1], 2), signed * 12345678987654321 >> 64]
        expected += [v * v >> 64, low * low >> 32, low - (low >> 31 << 32), signed]
        wrapped = [n - (n >> 63 << 64) for n in (n & 2**64 - 1 for n in expected)]
        assert row == wrapped, hex(v)


@FLAVOURS
def test_half_precision_rounds_as_numpy_does(flavour):
    bits = np.arange(65536, dtype=np.uint16)
    rng = np.random.default_rng(1)
    floats = np.concatenate([
        rng.integers(0, 2**32, 4096, dtype=np.uint32).view(np.float32),
        (rng.standard_normal(4096) * 2.0 ** rng.integers(-26, 17, 4096)).astype(np.float32),
        np.array([65519.99, 65520, 65504, 2**-24, 2**-25, 1.5 * 2**-25, np.inf, -np.inf, -0.0, 2049, 2051], np.float32),
    ])  # fmt: skip
    text = "y[i] = qd_from_half((unsigned short)i); if (i < n) h[i] = qd_to_half(x[i]);"
    program = kernel(text, "float *x, unsigned short *h, int n, float *y", flavour=flavour)
    halves, back = np.zeros(len(floats), np.uint16), np.zeros(65536, np.float32)
    program.run(floats, halves, np.int32(len(floats)), back, grid=64, block=1024)
    assert np.array_equal(back, bits.view(np.float16).astype(np.float32), equal_nan=True)
    with np.errstate(over="ignore"):
        expected = floats.astype(np.float16)
    assert np.array_equal(halves.view(np.float16), expected, equal_nan=True)
    same = ~np.isnan(floats)
    assert (halves[same] == expected.view(np.uint16)[same]).all()


@FLAVOURS
def test_mathematics(flavour):
    calls = ["sinf(a)", "rsqrtf(a)", "fminf(a, 1.f)", "__fdividef(a, 3.f)", "powf(a, 1.5f)", "max(a, 2.f)", "fabsf(-a)"]
    calls += ["sqrt(d)", "exp(-d)", "rsqrt(d)", "fma(d, d, 1.0)", "min(d, 1.0)", "atan2(d, 2.0)", "floor(d)"]
    body = "".join(f"y[{len(calls)} * i + {k}] = {call};" for k, call in enumerate(calls))
    x = np.random.default_rng(2).random(50) * 4 + 0.1
    y = np.zeros((50, len(calls)))
    kernel("float a = (float)x[i]; double d = x[i];" + body, "double *x, double *y", flavour=flavour).run(
        x, y, block=50
    )
    a = x.astype(np.float32).astype(float)
    single = [np.sin(a), a**-0.5, np.minimum(a, 1), a / 3, a**1.5, np.maximum(a, 2), a]
    double = [np.sqrt(x), np.exp(-x), x**-0.5, x * x + 1, np.minimum(x, 1), np.arctan2(x, 2), np.floor(x)]
    assert np.allclose(y[:, :7], np.array(single).T, rtol=1e-6) and np.allclose(
        y[:, 7:], np.array(double).T, rtol=1e-12
    )


@pytest.mark.parametrize("fast_math", [False, True])
def test_not_a_number_and_infinity_keep_their_meaning(fast_math):
    x, y = np.array([np.nan, np.inf, -np.inf, 1.0]), np.zeros((4, 4))
    body = "y[4 * i] = isnan(x[i]); y[4 * i + 1] = isinf(x[i]); y[4 * i + 2] = x[i] != x[i]; y[4 * i + 3] = x[i] < 2;"
    kernel(body, "double *x, double *y", options=CcOptions(fast_math=fast_math)).run(x, y, block=4)
    assert y.tolist() == [[1, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 1]]


@FLAVOURS
def test_the_clock_runs(flavour):
    x = np.zeros(64, np.int64)
    kernel("x[i] = clock64();", "long long *x", flavour=flavour).run(x, block=64)
    assert (np.diff(x) >= 0).all() and x[-1] > x[0]


@FLAVOURS
def test_output_goes_to_the_output_of_c(flavour, capfd):
    text = 'printf("%d %s %.2f %lld|", (int)i, "a", 0.5f * i, 1ll << 40);'
    kernel(text, "", flavour=flavour).run(grid=2, block=2)
    assert capfd.readouterr().out == "".join(f"{i} a {0.5 * i:.2f} {1 << 40}|" for i in range(4))


def test_output_can_be_kept(capfd):
    long = "x" * 3000
    program = kernel(f'printf("%d{long}\\n", (int)i);', "")
    simt.capture(True)
    try:
        program.run(block=3)
        assert simt.take_output() == "".join(f"{i}{long}\n" for i in range(3)) and simt.take_output() == ""
    finally:
        simt.capture(False)
    assert capfd.readouterr().out == ""


def test_a_forked_child_and_threads_can_launch():
    code = f"""
import os, sys, threading
sys.path[:0] = [{str(Path(__file__).parent)!r}]
import numpy as np
from simt_kit import kernel
program = kernel("__shared__ int s[64]; s[t] = i; __syncthreads(); x[i] = s[t ^ 1];", "int *x")
def check():
    for _ in range(50):
        x = np.zeros(640, np.int32)
        program.run(x, grid=10, block=64)
        assert (x == np.arange(640) ^ 1).all()
threads = [threading.Thread(target=check) for _ in range(4)]
for t in threads: t.start()
pid = os.fork()
if pid == 0:
    check()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
for t in threads: t.join()
"""
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=root, timeout=120, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_deep_calls_have_room():
    before = """
static __device__ __noinline__ int deep(int n) {
    volatile int room[1000];
    room[n % 1000] = n;
    __syncthreads();
    return n == 0 ? 0 : deep(n - 1) + room[n % 1000];
}
"""
    x = np.zeros(64, np.int32)
    kernel("x[t] = deep(100);", "int *x", before=before).run(x, block=64)
    assert (x == math.comb(101, 2)).all()
