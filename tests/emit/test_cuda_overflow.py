"""Signed arithmetic wraps in CUDA text, whose compiler would assume that it never overflows; indices stay plain."""

from __future__ import annotations

import re

import numpy as np
import pytest
from emit_kit import require_nvrtc

import quadrants as qd
from quadrants.toolchain import nvrtc


@qd.kernel
def compare(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1)):
    for i in x:
        y[i] = x[i] + 1 > x[i]


@qd.kernel
def halve(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1)):
    for i in x:
        y[i] = qd.raw_div(x[i] * 2, 2)


@qd.kernel
def magnitude(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1)):
    for i in x:
        y[i] = abs(x[i]) >= 0


@qd.kernel
def negative(x: qd.types.ndarray(qd.i64, 1), y: qd.types.ndarray(qd.i32, 1)):
    for i in x:
        y[i] = (-x[i] < 0) == (x[i] > 0)


@qd.kernel
def counting(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1)):
    for i in x:
        s = x[i]
        s += 1
        y[i] = s > x[i]


@qd.kernel
def vectors(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1)):
    for i in x:
        v = qd.Vector([x[i], 0])
        y[i] = (v + 1)[0] > v[0]


@qd.kernel
def bound(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1)):
    for i in x:
        for _ in range(x[i], x[i] + 1):
            y[i] = 1


@qd.func
def successor(x):
    return x + 1


@qd.kernel
def through_a_function(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1)):
    for i in x:
        y[i] = successor(x[i]) > x[i]


def ints(dtype=np.int32):
    return np.zeros(8, dtype)


def text_of(kernel, *args) -> str:
    return kernel.source(*args, arch="cuda")


@pytest.mark.parametrize("kernel", [compare, halve, magnitude, negative, counting, vectors, bound, through_a_function])
def test_the_compiler_does_not_fold_what_overflow_decides(arch, kernel):
    """Every one of these is a constant, or x itself, where overflow is excluded."""
    require_nvrtc()
    text = text_of(kernel, ints(np.int64 if kernel is negative else np.int32), ints())
    ptx = nvrtc.compile(text, kernel.fn.__name__, "compute_90", ("--minimal",)).decode()
    body = ptx[ptx.index(".entry") :]
    compares = {
        halve: r"shl\.b32|shf|shr\.s32|bfe\.s32|mul\.lo|szext",
        negative: r"neg\.s64[^;]*;\s*shr\.u64",
        magnitude: r"(abs|neg)\.s32[^;]*;(?s:.)*(setp|shr)",
        bound: r"setp\.\w+\.s32\s+%p\d+, %r\d+, (2147483647|%r\d+);[^@]*@%p\d+ bra[^@]*ld\.global|, 2147483647;",
    }
    pattern = compares.get(kernel, r", (-?2147483648|2147483647|-9223372036854775808);")
    assert re.search(pattern, body), body


@qd.kernel
def plain(n: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray()):
    for i in range(1, n):
        left = i - 1
        y[i] = x[left] + x[i + 1] + x[2 * i]
        if left + 1 < n:
            y[left] = 0.0
        for j in range(4):
            k = 3 * j + 2
            y[k] = x[i + k - 5]


def test_what_cannot_overflow_into_the_array_is_plain(arch):
    """`i + k` may wrap, and without wrapping `i + k - 5` could be a cell of an array of 2^31 - 1."""
    text = text_of(plain, 3, np.zeros(8, np.float32), np.zeros(8, np.float32))
    task = text[text.index("__global__") :]
    wraps = "x[(int32_t)((uint32_t)i + k) - 5]"
    for piece in ("left = i - 1;", "x[i + 1]", "x[2 * i]", "left + 1 < n", "k = 3 * j + 2", wraps):
        assert piece in task
    assert "uint32_t)" not in task.split("qd_p;", 1)[1].replace(wraps, "")


@qd.kernel
def spelled(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i64, 1), z: qd.types.ndarray(qd.u16, 1)):
    for i in x:
        a = x[i]
        a += 1
        a -= x[i]
        x[i] = a * x[i] - 3
        x[i] = -(a + 1)
        y[i] = (y[i] + 1) * y[i]
        z[i] = z[i] * z[i]


def test_spellings(arch):
    text = text_of(spelled, ints(), ints(np.int64), ints(np.uint16))
    for line in (
        "a += 1u;",
        "a -= (uint32_t)x[i];",
        "x[i] = (int32_t)((uint32_t)a * x[i] - 3u);",
        "x[i] = qd_neg_i32((int32_t)(a + 1u));",
        "y[i] = (int64_t)((y[i] + 1ull) * y[i]);",
        "z[i] = (uint16_t)((uint32_t)z[i] * z[i]);",
    ):
        assert line in text


@qd.kernel
def guises(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i64, 1), z: qd.types.ndarray(qd.u16, 1)):
    for i in x:
        zero = 0
        a = x[i]
        x[i] = 0 - a
        x[i] = zero - a
        x[i] = a * -1
        x[i] = -1 * a
        x[i] = a // -1
        x[i] = ~a + 1
        x[i] = ~(a - 1)
        x[i] *= -1
        y[i] = 0 - y[i]


def test_negatives_are_found_in_every_guise(arch):
    """ptxas forgets some, where helpers do not hide them; of 64 bits none."""
    text = text_of(guises, ints(), ints(np.int64), ints(np.uint16))
    task = text[text.index("__global__") :]
    assert task.count("= qd_neg_i32(a);") == 7 and "x[i] = qd_neg_i32(x[i]);" in task
    assert "y[i] = (int64_t)(0 - (uint64_t)y[i]);" in task or "y[i] = (int64_t)(0ull - y[i]);" in task
    assert "not.b32" in text


@qd.kernel
def shifts(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i64, 1)):
    for i in x:
        x[i] = x[i] << 3
        x[i] = x[i] >> (i & 7)
        x[i] = x[i] << x[i]
        y[i] = y[i] >> y[i]


def test_counts_of_shifts_are_taken_modulo_the_width(arch):
    text = text_of(shifts, ints(), ints(np.int64))
    assert "x[i] << 3;" in text and "x[i] >> (i & 7);" in text
    assert "x[i] << (x[i] & 31);" in text and "y[i] >> (y[i] & 63);" in text
