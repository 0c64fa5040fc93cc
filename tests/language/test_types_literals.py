"""Types of literals, promotion, casts (language.md 10)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from language_kit import raises
from spec_kit import same_type, traced_helpers

import quadrants as qd

pytestmark = traced_helpers

TYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "u1", "f16", "f32", "f64")


def promoted(a: str, b: str) -> str:
    """The table of language.md 10.2, written out independently of the package."""
    if a == b:
        return a
    width = {t: int(t[1:]) for t in TYPES}
    real = [t for t in (a, b) if t[0] == "f"]
    if real:
        return max(real, key=width.get)
    if "u1" in (a, b):
        return a if b == "u1" else b
    if width[a] == width[b]:
        return "u" + a[1:]
    return max(a, b, key=width.get)


def test_promotion_table(arch):
    """Every pair of types: the width and kind of a sum, seen through what survives a store to f64 / i64."""
    pairs = list(itertools.product(TYPES, TYPES))
    dtypes = [(k, getattr(qd, a), getattr(qd, b), getattr(qd, promoted(a, b))) for k, (a, b) in enumerate(pairs)]

    @qd.kernel
    def table(out: qd.types.ndarray(qd.i32, 1)):
        for k, a, b, t in qd.static(dtypes):
            one = 1
            x = qd.cast(one, a)
            y = qd.cast(one, b)
            s = x + y
            s2 = qd.max(x, y)
            s3 = qd.select(one > 0, x, y)
            s4 = x if one > 0 else y
            qd.static_assert(same_type(s, t))
            qd.static_assert(same_type(s2, t))
            qd.static_assert(same_type(s3, t))
            qd.static_assert(same_type(s4, t))
            out[k] = qd.cast(s, qd.i32)

    out = qd.ndarray(qd.i32, shape=len(pairs))
    table(out)
    expected = [0 if promoted(a, b) == "u1" else 2 for a, b in pairs]
    assert out.to_numpy().tolist() == expected


def test_literals(arch):
    """10.1: default types, typed literals, NumPy numbers, Python arithmetic of literals."""
    np_int, np_float = np.int64(7), np.float32(0.5)

    @qd.kernel
    def literals(out: qd.types.ndarray(qd.f64, 1)):
        one = 1
        half = 0.5
        yes = True
        out[0] = qd.u32(3000000000)
        out[1] = 1 / 2
        out[2] = 2**-1
        out[3] = 7 // -2
        out[4] = np_int + one
        out[5] = np_float + one
        out[6] = (yes + yes) + 10 * (one > 0)
        out[7] = one / 2
        out[8] = half * 3
        out[9] = qd.f64(0.1)
        out[10] = qd.i8(-128)
        out[11] = qd.Vector([1, 2.5]).sum()
        out[12] = qd.Vector([1, 2.5], dt=qd.i32).sum()
        out[13] = 2147483647
        out[14] = -2147483648
        qd.static_assert(same_type(one + 0, qd.i32))
        qd.static_assert(same_type(half + 0, qd.f32))
        qd.static_assert(same_type(yes, qd.u1))
        qd.static_assert(same_type(one < 2, qd.u1))
        qd.static_assert(same_type(half + one, qd.f32))

    out = qd.ndarray(qd.f64, shape=15)
    literals(out)
    assert out.to_numpy().tolist() == [3e9, 0.5, 0.5, -4, 8, 1.5, 10, 0.5, 1.5, 0.1, -128, 3.5, 3, 2**31 - 1, -(2**31)]


@pytest.mark.runtime(default_ip=qd.i64, default_fp=qd.f64)
def test_defaults_of_init(arch):
    """10.1: literals follow default_ip and default_fp; loop indices and extents stay i32."""

    @qd.kernel
    def defaults(a: qd.types.ndarray(qd.i64, 1)):
        for i in range(1):
            x = 5000000000
            y = 0.1
            qd.static_assert(same_type(x, qd.i64))
            qd.static_assert(same_type(y, qd.f64))
            qd.static_assert(same_type(i, qd.i32))
            qd.static_assert(same_type(a.shape[0], qd.i32))
            qd.static_assert(same_type(int(y), qd.i64))
            qd.static_assert(same_type(float(x), qd.f64))
            a[0] = x
            a[1] = qd.cast(y * 1e17, qd.i64)
        for group in qd.grouped(a):
            qd.static_assert(same_type(group[0], qd.i32))

    a = qd.ndarray(qd.i64, shape=2)
    defaults(a)
    assert a.to_numpy().tolist() == [5000000000, 10**16]


def test_literal_errors(arch):
    """10.1: what is no number, out of range, or of the wrong kind."""

    @qd.kernel
    def too_large() -> qd.i32:
        return 3000000000

    @qd.kernel
    def too_large_for_type():
        x = qd.i8(128)  # noqa: F841

    @qd.kernel
    def float_of_int():
        x = qd.f32(3)  # noqa: F841

    @qd.kernel
    def int_of_float():
        x = qd.i32(3.0)  # noqa: F841

    @qd.kernel
    def of_vector():
        v = qd.Vector([1, 2])
        x = qd.f32(v)  # noqa: F841

    @qd.kernel
    def complex_number():
        x = 1j  # noqa: F841

    @qd.kernel
    def text():
        x = "text"  # noqa: F841

    @qd.kernel
    def some_bytes():
        x = b"bytes"  # noqa: F841

    for kernel, kind, fragment in (
        (too_large, qd.QuadrantsTypeError, r"exceeded the range of default_ip: i32; write qd.u32"),
        (too_large_for_type, qd.QuadrantsTypeError, "exceeded the range of specified dtype"),
        (float_of_int, qd.QuadrantsTypeError, "literals must be annotated with a"),
        (int_of_float, qd.QuadrantsTypeError, "literals must be annotated with a"),
        (of_vector, qd.QuadrantsSyntaxError, "A primitive type"),
        (complex_number, qd.QuadrantsTypeError, ""),
        (text, qd.QuadrantsTypeError, ""),
        (some_bytes, qd.QuadrantsTypeError, ""),
    ):
        with raises(kind, fragment):
            kernel()


def test_same_type_results_wrap(arch):
    """10.2: small integers keep their type and wrap; u1 arithmetic; signed with unsigned."""

    @qd.kernel
    def wraps(out: qd.types.ndarray(qd.i64, 1)):
        a = qd.u8(200)
        b = qd.u8(100)
        big = qd.i32(2147483647)
        yes = qd.cast(1, qd.u1)
        three = qd.i64(3)
        u = qd.u32(1)
        m = -1
        s = 0
        for i in range(4):
            s += i > 1
        out[0] = a + b
        out[1] = a + 100
        out[2] = qd.i8(100) + qd.i8(100)
        out[3] = big + 1
        out[4] = qd.i16(300) * qd.i16(300)
        out[5] = yes + yes
        out[6] = -yes
        out[7] = ~yes
        out[8] = s
        out[9] = m < u
        out[10] = three - qd.u32(4)
        out[11] = qd.u64(0) - qd.u64(1) == qd.u64(18446744073709551615)
        out[12] = qd.cast((m > 0) * 2.5 + (u > 0) * 2.5, qd.i64)
        out[13] = b - a
        out[14] = qd.abs(qd.i32(-2147483648))
        out[15] = -qd.i8(-128)

    out = qd.ndarray(qd.i64, shape=16)
    wraps(out)
    assert out.to_numpy().tolist() == [44, 300, -56, -(2**31), 24464, 0, 1, 0, 2, 0, -1, 1, 2, 156, -(2**31), -128]


def test_casts(arch):
    """10.3: cast, constructor calls, int / float / bool, bit_cast, elementwise."""

    @qd.kernel
    def casts(out: qd.types.ndarray(qd.f64, 1)):
        x = 2.7
        y = -2.7
        n = -129
        z = 0.0
        out[0] = qd.cast(x, qd.i32)
        out[1] = qd.cast(y, int)
        out[2] = qd.cast(n, qd.i8)
        out[3] = qd.i8(n)
        out[4] = qd.cast(n, qd.u1)
        out[5] = qd.cast(x, qd.u1)
        out[6] = bool(z)
        out[7] = int(y)
        out[8] = float(n)
        v = qd.cast(qd.Vector([1.5, -1.5]), qd.i32)
        out[9] = v[0] * 10 + v[1]
        out[10] = qd.bit_cast(qd.cast(x - 1.7, qd.f32), qd.u32) == 0x3F800000
        out[11] = qd.bit_cast(qd.i8(n + 128), qd.u8)
        out[12] = qd.cast(qd.u32(3000000000), qd.i32)
        t: qd.i32 = x
        out[13] = t
        t = 9.9
        out[14] = t
        out[15] = qd.cast(0.1, qd.f32)
        out[16] = qd.cast(0.3, qd.u1)

    out = qd.ndarray(qd.f64, shape=17)
    casts(out)
    expected = [2, -2, 127, 127, 1, 1, 0, -2, -129, 9, 1, 255, 3000000000 - 2**32, 2, 9, np.float64(np.float32(0.1)), 1]
    assert out.to_numpy().tolist() == expected


def test_bit_cast_errors(arch):
    @qd.kernel
    def widths(x: qd.f32) -> qd.i64:
        return qd.bit_cast(x, qd.i64)

    with raises(qd.QuadrantsTypeError, "same size"):
        widths(1.0)


def test_stores_convert_like_casts(arch):
    """10.3: parameters of funcs, fields, returns, typed locals."""
    f = qd.field(qd.i8, shape=3)

    @qd.func
    def takes(x: qd.i32) -> qd.f32:
        return x * 2

    @qd.kernel
    def stores() -> qd.i32:
        f[0] = 300
        f[1] = -1.9
        x = 2.9
        f[2] = takes(x)
        return takes(x) + 0.9

    assert stores() == 4
    assert f.to_numpy().tolist() == [44, -1, 4]
