"""language.md 11, 12; matrix-math.md 7, 11, 17: real operators and functions against NumPy, special values included."""

import kernel_ops as ops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import (
    ON_REFERENCE,
    REALS,
    assert_close,
    assert_exact,
    binary_kernel,
    np_dtype,
    pairs,
    real_edges,
    reference,
    run_table,
    supported,
    unary_kernel,
)

import quadrants as qd

EXACT = {"f16": 1e-3, "f32": 3e-7, "f64": 1e-15}
N = 64


def _check(table, dtype: str, kernel, *operands, rtol: float, atol: float = 0.0) -> None:
    got = run_table(kernel, table, dtype, *operands)
    for row, values in zip(table, got, strict=True):
        want = reference(row, *operands).astype(values.dtype)
        assert_close(f"{row[0]} {dtype}", values, want, rtol, atol, *operands)


@pytest.mark.parametrize("dtype", ["f16", *REALS])
def test_arithmetic(arch, dtype: str) -> None:
    """+ - * / max min and the conditional over every pair of edge values, NaN and infinities among them."""
    table = supported(ops.REAL_BINARY, dtype)
    kernel = binary_kernel(table, dtype, dtype)
    _check(table, dtype, kernel, *pairs(real_edges(dtype)), rtol=EXACT[dtype])
    limit = {"f16": 100.0, "f32": 2.0**60, "f64": 2.0**500}[dtype]
    width = 8 * np_dtype(dtype).itemsize
    numbers = hnp.arrays(np_dtype(dtype), N, elements=st.floats(-limit, limit, width=width, allow_subnormal=False))

    @settings(max_examples=20, deadline=None, derandomize=True)
    @given(numbers, numbers)
    def generated(x, y):
        y = np.where(np.abs(y) < 1 / limit, np_dtype(dtype).type(1), y)
        _check(table, dtype, kernel, x, y, rtol=EXACT[dtype])

    generated()


@pytest.mark.parametrize("dtype", REALS)
def test_floor_division(arch, dtype: str) -> None:
    """// and % floor, raw_mod is fmod: exact for operands whose quotient is far from rounding."""
    x = np.arange(-40, 41, dtype=np_dtype(dtype)) * np_dtype(dtype).type(0.25)
    y = np.array([-8, -3, -2, -1.5, -1, -0.25, 0.25, 1, 1.5, 2, 3, 7], np_dtype(dtype))
    table = supported(ops.REAL_FLOOR, dtype)
    _check(table, dtype, binary_kernel(table, dtype, dtype), *pairs(x, y), rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("dtype", REALS)
def test_division_by_zero(arch, dtype: str) -> None:
    """x / 0 is an infinity of the sign of x, 0 / 0 NaN, x % 0 NaN."""
    table = [row for row in (*ops.REAL_BINARY, *ops.REAL_FLOOR) if row[0] in ("true_div", "modulo")]
    x = np.array([1, -1, 0, 5.5, np.inf, np.nan], np_dtype(dtype))
    _check(table, dtype, binary_kernel(table, dtype, dtype), x, np.zeros_like(x), rtol=0.0)


@pytest.mark.parametrize("dtype", ["f16", *REALS])
def test_comparisons(arch, dtype: str) -> None:
    """Ordered comparisons with NaN are false; `!=` with NaN is left open by the language."""
    x, y = pairs(real_edges(dtype))
    got = run_table(binary_kernel(ops.COMPARISON, dtype, "i32"), ops.COMPARISON, "i32", x, y)
    ordered = ~(np.isnan(x) | np.isnan(y))
    for row, values in zip(ops.COMPARISON, got, strict=True):
        keep = ordered if row[0] == "not_equal" else slice(None)
        assert_exact(f"{row[0]} {dtype}", values[keep], reference(row, x, y).astype(np.int32)[keep], x[keep], y[keep])


@pytest.mark.parametrize("dtype", ["f16", *REALS])
def test_exact_functions(arch, dtype: str) -> None:
    """-x, abs, floor, ceil, and round with halves away from zero."""
    table = supported(ops.REAL_EXACT_UNARY, dtype)
    x = np.concatenate([real_edges(dtype), np.arange(-8, 8.25, 0.25).astype(np_dtype(dtype))])
    x = x[np.abs(np.nan_to_num(x, posinf=0, neginf=0)) < 1e4]
    if dtype != "f16":  # whole or not, up to where all are
        large = 2.0 ** np.arange(14, 63)[:, None] * (1 + np.arange(0, 1, 0.01)) + 0.25
        x = np.concatenate([x, *(sign * large.astype(np_dtype(dtype)).ravel() for sign in (1, -1))])
    _check(table, dtype, unary_kernel(table, dtype, dtype), x, rtol=0.0)


@pytest.mark.parametrize("row", ops.REAL_FUNCTIONS, ids=lambda row: row[0])
def test_functions(arch, row: tuple) -> None:
    """Accuracy over the usual interval in every real type, and the values at special points."""
    low, high = row[3]
    rng = np.random.default_rng(1)
    for dtype in ("f16", *REALS):
        rtol, atol = ops.ACCURACY[dtype] or row[4:6]
        if dtype == "f16":
            low, high = max(low, -4.0), min(high, 4.0)
        x = rng.uniform(low, high, 20000).astype(np_dtype(dtype))
        x = np.concatenate([x, np.array([1.0, 0.5, 0.25], x.dtype)])
        table = [row[:3]]
        kernel = unary_kernel(table, dtype, dtype)
        got = run_table(kernel, table, dtype, x)[0]
        want = reference(table[0], x.astype(np.float64))
        assert_close(f"{row[0]} {dtype}", got, want, rtol, atol, x)
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 2.0, -2.0], np_dtype(dtype))
        got = run_table(kernel, table, dtype, special)[0]
        assert_close(f"{row[0]} {dtype}", got, reference(table[0], special), max(rtol, 1e-6), max(atol, 1e-6), special)


@pytest.mark.parametrize("dtype", REALS)
def test_atan2(arch, dtype: str) -> None:
    """All quadrants, the axes, and (0, 0), which is 0."""
    table = [("atan2", ops.atan2, np.arctan2)]
    x, y = pairs(np.array([-3, -1, -0.5, 0, 0.25, 1, 10], np_dtype(dtype)))
    rtol = {"f32": 1e-5, "f64": 1e-12}[dtype]
    got = run_table(binary_kernel(table, dtype, dtype), table, dtype, x, y)[0]
    assert_close(f"atan2 {dtype}", got, np.arctan2(x, y), rtol, 1e-7, x, y)


@pytest.mark.parametrize("dtype", REALS)
def test_power(arch, dtype: str) -> None:
    """Real exponents: pow with NaN for a negative base and a fraction; integer exponents of any sign."""
    rtol = {"f32": 1e-5, "f64": 1e-12}[dtype]
    table = [("power", ops.power, np.power)]
    x, y = pairs(
        np.array([0.1, 0.5, 1, 1.5, 2, 7.25], np_dtype(dtype)),
        np.array([-3.5, -1, 0, 0.5, 1, 2, 2.75], np_dtype(dtype)),
    )
    _check(table, dtype, binary_kernel(table, dtype, dtype), x, y, rtol=rtol)
    negative = np.array([-2.0, -0.5], np_dtype(dtype))
    _check(table, dtype, binary_kernel(table, dtype, dtype), negative, np.array([0.5, 2.5], np_dtype(dtype)), rtol=0.0)
    x, n = pairs(np.array([-2, -1.5, -0.5, 0.25, 1, 3], np_dtype(dtype)), np.arange(-6, 7).astype(np_dtype(dtype)))
    got = run_table(binary_kernel(table, dtype, dtype, right="i32"), table, dtype, x, n.astype(np.int32))[0]
    assert_close(f"power {dtype} i32", got, np.power(x, n), rtol, 0.0, x, n)


def test_constant_powers(arch) -> None:
    """Constant exponents, whole and one half, also of negative bases."""
    exponents = (0, 1, 2, 3, -1, -2, 5, 8, 0.5, 3.0, -2.0, 1.0)

    @qd.kernel
    def powers(x: qd.types.ndarray(dtype=qd.f32, ndim=1), out: qd.types.ndarray(dtype=qd.f32, ndim=2)):
        for i in range(x.shape[0]):
            for k, e in qd.static(enumerate(exponents)):
                out[k, i] = x[i] ** e

    x = np.array([-2, -0.5, 0.25, 1, 3, 1.7], np.float32)
    out = np.zeros((len(exponents), len(x)), np.float32)
    powers(x, out)
    for k, e in enumerate(exponents):
        with np.errstate(invalid="ignore"):
            assert_close(f"x ** {e}", out[k], np.power(x, np.float32(e)), 2e-6, 0.0, x)


@pytest.mark.parametrize("dtype", REALS)
def test_signed_zeros_without_fast_math(arch, dtype: str) -> None:
    """With fast_math off the sign of zero is kept by negation, products, quotients and stores."""
    qd.init(arch=arch, fast_math=False)
    table = [row for row in (*ops.REAL_BINARY,) if row[0] in ("add", "sub", "mul", "true_div")]
    x, y = pairs(np.array([0.0, -0.0, 2.0, -2.0, np.inf, -np.inf], np_dtype(dtype)))
    got = run_table(binary_kernel(table, dtype, dtype), table, dtype, x, y)
    for row, values in zip(table, got, strict=True):
        want = reference(row, x, y)
        zero = want == 0
        assert_exact(f"sign of {row[0]} {dtype}", np.signbit(values[zero]), np.signbit(want[zero]), x[zero], y[zero])
        assert_close(f"{row[0]} {dtype}", values, want, 0.0, 0.0, x, y)


@pytest.mark.parametrize("dtype", REALS)
def test_frexp(arch, dtype: str) -> None:
    """qd.frexp gives a mantissa in [0.5, 1) and an i32 exponent that rebuild the number exactly."""
    if ON_REFERENCE:
        return
    value_type = getattr(qd, dtype)

    @qd.kernel
    def split(
        x: qd.types.ndarray(dtype=value_type, ndim=1),
        mantissa: qd.types.ndarray(dtype=value_type, ndim=1),
        exponent: qd.types.ndarray(dtype=qd.i32, ndim=1),
    ):
        for i in range(x.shape[0]):
            m, e = qd.frexp(x[i])
            mantissa[i] = m
            exponent[i] = e

    info = np.finfo(np_dtype(dtype))
    x = np.array([8.5, -8.5, 1, 0.5, 0, 0.1, -1000.25, info.max, info.tiny, 3e-20], np_dtype(dtype))
    mantissa, exponent = np.zeros_like(x), np.zeros(len(x), np.int32)
    split(x, mantissa, exponent)
    want, power = np.frexp(x)
    assert_exact(f"frexp mantissa {dtype}", mantissa, want, x)
    assert_exact(f"frexp exponent {dtype}", exponent, power.astype(np.int32), x)


def test_atan2_of_wide_vectors(arch) -> None:
    """atan2 of f64 vectors keeps double precision."""
    if ON_REFERENCE:
        return

    @qd.kernel
    def angles(y: qd.types.vector(3, qd.f64), x: qd.types.vector(3, qd.f64)) -> qd.types.vector(3, qd.f64):
        return qd.atan2(y, x)

    y, x = np.array([1.0, -2.0, 0.3]), np.array([3.0, -1.0, 0.7])
    np.testing.assert_allclose(angles(y, x).to_numpy(), np.arctan2(y, x), rtol=1e-12)


def test_several_arguments(arch) -> None:
    """max and min take any number of arguments of any types and promote over all of them."""

    @qd.kernel
    def several(a: qd.i32, b: qd.f32, c: qd.f64, d: qd.i64) -> qd.types.vector(5, qd.f64):
        return qd.Vector([max(a, b, c, d), min(a, b, c, d), max(c), qd.max(a, 2, d), qd.min(b, 0.5)])

    got = several(3, 2.5, -1.25, 7).to_list()
    assert got == [7, -1.25, -1.25, 7, 0.5]
