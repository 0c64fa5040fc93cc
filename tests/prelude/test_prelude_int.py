"""Integer helpers against Python's integers, for every width and the extremes of each."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from prelude_kit import DTYPES, INTS, Library, integer_samples

from quadrants.ir.types import i8, i32, i64, primitive, u1, u8

COUNT = 400
EXPONENTS = tuple(primitive(name) for name in ("i8", "i32", "i64", "u8", "u64"))


def wrap(value: int, t) -> int:
    value &= (1 << t.bits) - 1
    return value - (1 << t.bits) if t.kind == "i" and value >> (t.bits - 1) else value


def pattern(value: int, t) -> int:
    return int(value) & ((1 << t.bits) - 1)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0


BINARY = {
    "floordiv": lambda a, b, t: a // b if b else 0,
    "floormod": lambda a, b, t: a % b if b else 0,
    "rawdiv": lambda a, b, t: truncated(a, b),
    "rawmod": lambda a, b, t: a - b * truncated(a, b) if b else 0,
    "min": lambda a, b, t: min(a, b),
    "max": lambda a, b, t: max(a, b),
}
SHIFTS = {
    "shl": lambda a, b, t: a << b,
    "shr": lambda a, b, t: a >> b,
    "bit_shr": lambda a, b, t: pattern(a, t) >> b,
}
UNARY = {"abs": lambda a, t: abs(a)}
COUNTS = {
    "popcnt": lambda a, t: pattern(a, t).bit_count(),
    "clz": lambda a, t: t.bits - pattern(a, t).bit_length(),
    "ffs": lambda a, t: (pattern(a, t) & -pattern(a, t)).bit_length(),
}


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "strict"])
def library(request, tmp_path_factory):
    lib = Library(fast_math=request.param)
    for t in DTYPES:
        if t.kind == "f":
            continue
        for op in (*BINARY, *SHIFTS):
            lib.export(lib.prelude.need("int", op, t), t, t, t)
        for op in UNARY:
            lib.export(lib.prelude.need("int", op, t), t, t)
        for op in COUNTS:
            lib.export(lib.prelude.need("int", op, t), i32, t)
        for exponent in EXPONENTS:
            lib.export(lib.prelude.need("int", "powi", t, exponent), t, t, exponent)
    return lib.build(tmp_path_factory.mktemp("int"))


def check(got, want):
    np.testing.assert_array_equal(got.astype(object), np.array(want, object))


@pytest.mark.parametrize("t", INTS, ids=str)
@pytest.mark.parametrize("op", BINARY)
def test_binary(library, op, t):
    a, b = (integer_samples(t, COUNT, seed) for seed in (1, 2))
    check(library(f"qd_{op}_{t}", a, b), [wrap(BINARY[op](int(x), int(y), t), t) for x, y in zip(a, b, strict=True)])


@pytest.mark.parametrize("t", INTS, ids=str)
@pytest.mark.parametrize("op", ["floordiv", "floormod", "rawdiv", "rawmod"])
def test_divisions_that_trap_in_hardware(library, op, t):
    a = np.array([t.min, t.max, 5, 0], t.numpy_name)
    zero = np.zeros(4, t.numpy_name)
    check(library(f"qd_{op}_{t}", a, zero), [0, 0, 0, 0])
    if t.kind == "i":
        want = [t.min, -t.max, -5, 0] if op.endswith("div") else [0, 0, 0, 0]
        check(library(f"qd_{op}_{t}", a, zero - 1), want)


@pytest.mark.parametrize("t", INTS, ids=str)
@pytest.mark.parametrize("op", SHIFTS)
def test_shifts(library, op, t):
    a = integer_samples(t, COUNT, 3)
    count = np.arange(COUNT) % t.bits
    check(
        library(f"qd_{op}_{t}", a, count),
        [wrap(SHIFTS[op](int(x), int(n), t), t) for x, n in zip(a, count, strict=True)],
    )


@pytest.mark.parametrize("t", INTS, ids=str)
def test_unary(library, t):
    a = integer_samples(t, COUNT, 4)
    for op, rule in UNARY.items():
        check(library(f"qd_{op}_{t}", a), [wrap(rule(int(x), t), t) for x in a])
    for op, rule in COUNTS.items():
        got = library(f"qd_{op}_{t}", a)
        assert got.dtype == np.int32
        check(got, [rule(int(x), t) for x in a])


@pytest.mark.parametrize("exponent", EXPONENTS, ids=str)
@pytest.mark.parametrize("t", INTS, ids=str)
def test_powers(library, t, exponent):
    a = integer_samples(t, COUNT, 5)
    n = integer_samples(exponent, COUNT, 6) >> (exponent.bits // 2)
    n[:9] = [0, 1, 2, 3, 5, 8, 13, 31, 32]
    a[0] = 0
    check(
        library(f"qd_powi_{t}_{exponent}", a, n),
        [wrap(pow(int(x), abs(int(k)), 1 << t.bits), t) for x, k in zip(a, n, strict=True)],
    )


def test_negative_exponents_lose_their_sign(library):
    check(library("qd_powi_i32_i32", [2, 2, 1], [-1, -3, -(2**31)]), [2, 8, 1])


def test_narrow_powers_wrap(library):
    check(library("qd_powi_u8_i32", [20], [2]), [144])
    check(library("qd_powi_i8_i32", [-3], [5]), [wrap((-3) ** 5, i8)])


def test_booleans(library):
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    check(library("qd_min_u1", a, b), list(map(operator.and_, a, b)))
    check(library("qd_max_u1", a, b), list(map(operator.or_, a, b)))
    check(library("qd_powi_u1_i32", a, b), [True, False, True, True])
    check(library("qd_popcnt_u1", a), [0, 0, 1, 1])
    check(library("qd_clz_u1", a), [1, 1, 0, 0])
    check(library("qd_ffs_u1", a), [0, 0, 1, 1])
    check(library("qd_shl_u1", a, b), [False, False, True, False])


def test_what_is_no_integer_function_is_an_error():
    prelude = Library().prelude
    for op, t in (("sin", i32), ("floordiv", primitive("f32")), ("sqrt", u8), ("isnan", u1)):
        with pytest.raises(ValueError, match=op):
            prelude.need("int", op, t)
    with pytest.raises(ValueError, match="no family 'integer'"):
        prelude.need("integer", "abs", i64)
