"""Real helpers against NumPy, with the toolchain's fast and strict flags, NaN and infinity included."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from prelude_kit import REALS, Library, real_samples

from quadrants.ir.types import f16, f32, f64, i8, i32, u1, u64

COUNT = 4000
BINARY = ("floordiv", "floormod", "rawdiv", "rawmod", "min", "max", "atan2", "pow")
EXACT = ("abs", "floor", "ceil", "round", "sign", "sqrt")
ROUNDED = ("rsqrt", "sin", "cos", "tan", "asin", "acos", "tanh", "exp", "log")
# Relative tolerance: f64 against itself allows a few units in the last place.
TOLERANCE = {f16: 1e-3, f32: 1e-6, f64: 1e-14}


def wide_reference(t, op, x, *rest):
    """The reference value, computed in f64 (f16, f32) or longdouble (f64)."""
    wide = np.longdouble if t is f64 else np.float64
    with np.errstate(all="ignore"):
        return op(x.astype(wide), *(y.astype(wide) for y in rest))


def round_half_away(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


REFERENCE = {
    "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "round": round_half_away,
    "sign": lambda x: np.nan_to_num(np.sign(x)),
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "tanh": np.tanh, "exp": np.exp, "log": np.log, "atan2": np.arctan2, "pow": np.power,
    "rawmod": np.fmod, "min": np.fmin, "max": np.fmax, "rawdiv": np.divide,
}  # fmt: skip


def build(folder, fast_math, simd):
    lib = Library(fast_math=fast_math, simd=simd)
    names = {}
    for t in REALS:
        for op in BINARY:
            names[op, t] = lib.prelude.need("float", op, t)
            lib.export(names[op, t], t, t, t)
        for op in (*EXACT, *ROUNDED, "frexp_mantissa"):
            names[op, t] = lib.prelude.need("scalar", op, t)
            lib.export(names[op, t], t, t)
        for op in ("isnan", "isinf"):
            names[op, t] = lib.prelude.need("float", op, t)
            lib.export(names[op, t], u1, t)
        names["frexp_exponent", t] = lib.prelude.need("float", "frexp_exponent", t)
        lib.export(names["frexp_exponent", t], i32, t)
        for exponent in (i8, i32, u64):
            names["powi", t, exponent] = lib.prelude.need("float", "powi", t, exponent)
            lib.export(names["powi", t, exponent], t, t, exponent)
    lib.names = names
    return lib.build(folder)


VECTORS = pytest.mark.skipif(platform.machine() != "x86_64", reason="libmvec has these on x86-64")


@pytest.fixture(scope="module", params=["fast", "strict", pytest.param("simd", marks=VECTORS)])
def library(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("float"), request.param != "strict", request.param == "simd")


def close(got, want, tolerance, absolute=0.0):
    __tracebackhide__ = True
    with np.errstate(over="ignore"):
        want = want.astype(np.float64) if want.dtype == np.longdouble else want
        limit = np.abs(want) > np.finfo(got.dtype).max
    np.testing.assert_allclose(got[~limit], want[~limit], rtol=tolerance, atol=absolute)
    assert np.all(np.abs(got[limit]) >= 0.999 * np.finfo(got.dtype).max)


@pytest.mark.parametrize("t", REALS, ids=str)
@pytest.mark.parametrize("op", EXACT)
def test_exact_functions(library, op, t):
    x = real_samples(t, COUNT, 1)
    with np.errstate(invalid="ignore"):
        want = (
            REFERENCE[op](x).astype(t.numpy_name)
            if op != "round"
            else wide_reference(t, round_half_away, x).astype(t.numpy_name)
        )
    got = library(library.names[op, t], x)
    if op == "sqrt" and library.options.fast_math:
        close(got, want, TOLERANCE[t])
    else:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("t", REALS, ids=str)
def test_round_near_halves(library, t):
    digits = {f16: 10, f32: 23, f64: 52}[t]
    base = np.concatenate([np.arange(0, 40) / 4, 2.0 ** np.arange(-3, digits + 2)]).astype(t.numpy_name)
    beside = [np.nextafter(base, np.asarray(s, base.dtype)) for s in (-np.inf, np.inf)]
    x = np.concatenate([base, *beside, base + np.asarray(0.5, base.dtype)])
    x = np.concatenate([x, -x, np.asarray([np.inf, -np.inf, np.nan], x.dtype)])
    want = np.where(np.abs(x) >= 2.0**digits, x, np.copysign(np.floor(np.abs(x.astype(np.longdouble)) + 0.5), x))
    np.testing.assert_array_equal(library(library.names["round", t], x), want.astype(t.numpy_name))


@pytest.mark.parametrize("t", REALS, ids=str)
@pytest.mark.parametrize("op", ROUNDED)
def test_rounded_functions(library, op, t):
    x = real_samples(t, COUNT, 2)
    if op in ("sin", "cos", "tan"):
        x = np.where(np.abs(x) > 1e4, np.asarray(1, x.dtype), x)
    want = wide_reference(t, REFERENCE[op], x)
    smallest = float(np.finfo(t.numpy_name).tiny)
    close(library(library.names[op, t], x), want, TOLERANCE[t] * (4 if op == "tan" else 1), absolute=smallest)


@pytest.mark.parametrize("t", REALS, ids=str)
def test_special_values(library, t):
    inf, nan = np.inf, np.nan
    cases = {
        "exp": ([inf, -inf, 0, nan], [inf, 0, 1, nan]),
        "log": ([inf, 0, 1, -1, nan], [inf, -inf, 0, nan, nan]),
        "sqrt": ([inf, 0, 4, -1, nan], [inf, 0, 2, nan, nan]),
        "rsqrt": ([inf, 0, 4, -1, nan], [0, inf, 0.5, nan, nan]),
        "tanh": ([inf, -inf, 1000, -1000, nan], [1, -1, 1, -1, nan]),
        "sin": ([inf, nan, 0], [nan, nan, 0]),
        "asin": ([2, -2, 0], [nan, nan, 0]),
        "acos": ([2, -2, 1], [nan, nan, 0]),
        "sign": ([inf, -inf, nan, 0], [1, -1, 0, 0]),
        "floor": ([inf, -inf, nan, -0.5], [inf, -inf, nan, -1]),
    }
    for op, (x, want) in cases.items():
        x, want = x * 20, want * 20  # enough for the vectorised loop to take them
        np.testing.assert_array_equal(
            library(library.names[op, t], np.array(x)), np.array(want, t.numpy_name), err_msg=op
        )


@pytest.mark.parametrize("t", REALS, ids=str)
@pytest.mark.parametrize("op", ["min", "max"])
def test_min_and_max_prefer_numbers_to_nan(library, op, t):
    x, y = real_samples(t, COUNT, 3), real_samples(t, COUNT, 4)
    x[:40] = np.nan
    y[20:60] = np.nan
    np.testing.assert_array_equal(library(library.names[op, t], x, y), REFERENCE[op](x, y))


@pytest.mark.parametrize("t", REALS, ids=str)
@pytest.mark.parametrize("op", ["atan2", "pow", "rawmod", "rawdiv"])
def test_two_operands(library, op, t):
    x, y = real_samples(t, COUNT, 5), real_samples(t, COUNT, 6)
    if op == "rawmod":
        with np.errstate(invalid="ignore"):
            want = np.fmod(x, y)
    else:
        want = wide_reference(t, REFERENCE[op], x, y)
    close(library(library.names[op, t], x, y), want, TOLERANCE[t] * 2, absolute=float(np.finfo(t.numpy_name).tiny))


@pytest.mark.parametrize("t", REALS, ids=str)
def test_floor_division(library, t):
    x, y = real_samples(t, COUNT, 7), real_samples(t, COUNT, 8)
    with np.errstate(all="ignore"):
        quotient = x / y if t is not f16 else x.astype(np.float32) / y.astype(np.float32)
        want = np.floor(quotient)
        remainder = x - y * want
    got_div, got_mod = library(library.names["floordiv", t], x, y), library(library.names["floormod", t], x, y)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got_div, want.astype(t.numpy_name))
    finite = np.isfinite(remainder) & np.isfinite(y) & (np.abs(want) < 1e3)
    assert np.all(got_mod[finite] * np.sign(y[finite]) >= 0), "the remainder has the sign of the divisor"
    assert np.all(np.abs(got_mod[finite] / 1.001) <= np.abs(y[finite]))
    np.testing.assert_array_equal(np.isnan(got_mod), np.isnan(remainder))


@pytest.mark.parametrize("t", REALS, ids=str)
def test_floor_division_of_multiples_is_exact(library, t):
    n = np.arange(1, 200)
    for k in (1, 2, 3, 7):
        np.testing.assert_array_equal(library(library.names["floordiv", t], n * k, n), np.full(n.shape, k))
        np.testing.assert_array_equal(library(library.names["floormod", t], n * k, n), np.zeros(n.shape))


@pytest.mark.parametrize("divisor", [3.0, 5.0, 7.0, 49.0, 0.7109375, -3.0])
def test_floor_division_by_one_divisor(divisor, tmp_path):
    """No compiler makes a multiplication by the rounded reciprocal of it."""
    for t in (f32, f64):
        lib = Library(fast_math=True)
        name, mod = (lib.prelude.need("float", op, t) for op in ("floordiv", "floormod"))
        number = lib.prelude.spelling.number(float(np.asarray(divisor, t.numpy_name)), t)
        scalar = lib.prelude.type(t)
        for stem, function in (("div", name), ("mod", mod)):
            body = f"static {scalar} {stem}({scalar} x) {{ return {function}(x, {number}); }}"
            lib.text(body)
            lib.export(stem, t, t)
        lib.build(tmp_path)
        k = np.arange(-5000, 5000).astype(t.numpy_name)
        x = k * np.asarray(divisor, t.numpy_name)
        exact = x.astype(np.longdouble) == k.astype(np.longdouble) * np.longdouble(np.asarray(divisor, t.numpy_name))
        assert exact.sum() > 1000
        np.testing.assert_array_equal(lib("div", x)[exact], k[exact])
        np.testing.assert_array_equal(lib("mod", x)[exact], np.zeros(exact.sum()))


@pytest.mark.parametrize("t", (f32, f64), ids=str)
def test_tiny_negative_numbers_floor_to_minus_one(library, t):
    x, y = np.array([-1e-20, -1e-20, 1e-20, 1e-20]), np.array([1.0, 3, -1, -3])
    np.testing.assert_array_equal(library(library.names["floordiv", t], x, y), [-1, -1, -1, -1])
    np.testing.assert_allclose(library(library.names["floormod", t], x, y), [1, 3, -1, -3])


@pytest.mark.parametrize("t", REALS, ids=str)
def test_signs_of_remainders(library, t):
    x, y = np.array([7, -7, 7, -7, 7.5, -7.5]), np.array([3, 3, -3, -3, -2, 2])
    np.testing.assert_array_equal(library(library.names["floordiv", t], x, y), [2, -3, -3, 2, -4, -4])
    np.testing.assert_array_equal(library(library.names["floormod", t], x, y), [1, 2, -2, -1, -0.5, 0.5])
    np.testing.assert_array_equal(library(library.names["rawmod", t], x, y), [1, -1, 1, -1, 1.5, -1.5])
    one, zero = np.ones(1), np.zeros(1)
    assert np.isinf(library(library.names["floordiv", t], one, zero))[0]
    assert np.isnan(library(library.names["floormod", t], one, zero))[0]


@pytest.mark.parametrize("t", REALS, ids=str)
def test_nan_and_infinity_are_told_by_bits(library, t):
    x = real_samples(t, COUNT, 9)
    quiet = {
        f16: (np.uint16, 0xFE01, 0x7C01),
        f32: (np.uint32, 0xFFC00001, 0x7F800001),
        f64: (np.uint64, 0xFFF8 << 48 | 1, (0x7FF0 << 48) | 1),
    }
    bits, *patterns = quiet[t]
    x[:2] = np.array(patterns, bits).view(x.dtype)
    np.testing.assert_array_equal(library(library.names["isnan", t], x), np.isnan(x))
    np.testing.assert_array_equal(library(library.names["isinf", t], x), np.isinf(x))


@pytest.mark.parametrize("t", REALS, ids=str)
def test_frexp(library, t):
    x = real_samples(t, COUNT, 10)
    x = x[np.isfinite(x)]
    mantissa, exponent = np.frexp(x)
    np.testing.assert_array_equal(library(library.names["frexp_mantissa", t], x), mantissa)
    np.testing.assert_array_equal(library(library.names["frexp_exponent", t], x), exponent)


@pytest.mark.parametrize("t", REALS, ids=str)
@pytest.mark.parametrize("exponent", [i8, i32, u64], ids=str)
def test_integer_powers(library, t, exponent):
    x = np.array([-2.0, -2, -2, 0, 0, 1.5, 1.5, 1, 3, -1])
    n = np.array([2, 3, 0, 0, 5, 7, 1, 100, 5, 33])
    np.testing.assert_allclose(library(library.names["powi", t, exponent], x, n), x**n, rtol=TOLERANCE[t])
    if exponent.kind == "i":
        got = library(library.names["powi", t, exponent], [-2.0, -2, 0, 1, 2], [-2, -3, -1, exponent.min, -1])
        np.testing.assert_array_equal(got, [0.25, -0.125, np.inf, 1, 0.5])


def test_vector_functions_are_used(tmp_path):
    """Loops over these functions call libmvec, whole vectors at a time."""
    lib = build(tmp_path, True, True)
    for op in (b"sinf", b"cosf", b"expf", b"logf", b"tanhf", b"acos", b"tan", b"powf", b"atan2"):
        assert b"_ZGV" in lib.binary and b"v_" + op + b"\0" in lib.binary, op


def test_an_old_libmvec_gets_only_what_it_has():
    lib = Library(simd=(2, 31))
    for op in ("sin", "tanh"):
        lib.prelude.need("float", op, f32)
    assert '__attribute__((simd("notinbranch"))) extern float sinf(float);' in lib.source()
    assert "\nextern float tanhf(float);" in "\n" + lib.source()


def test_what_is_no_real_function_is_an_error():
    prelude = Library().prelude
    for op, t in (("popcnt", f32), ("sin", i32), ("isnan", i32), ("atan", f64)):
        with pytest.raises(ValueError, match=op):
            prelude.need("float", op, t)
