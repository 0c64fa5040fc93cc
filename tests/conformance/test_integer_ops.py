"""language.md 10.2, 11: integer operators of every width against NumPy, at all pairs of edge values and at random."""

from __future__ import annotations

import kernel_ops as ops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from support import (
    INTS,
    assert_close,
    assert_exact,
    binary_kernel,
    int_edges,
    np_dtype,
    pairs,
    reference,
    run_table,
    supported,
    unary_kernel,
)

import quadrants as qd

N = 64


def _divisible(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs whose quotient exists: no zero divisor and no MIN / -1."""
    keep = y != 0
    if x.dtype.kind == "i":
        keep &= ~((x == np.iinfo(x.dtype).min) & (y == -1))
    return x[keep], y[keep]


def _check(table, dtype: str, x: np.ndarray, y: np.ndarray, kernel=None) -> None:
    kernel = kernel or binary_kernel(table, dtype, dtype)
    got = run_table(kernel, table, dtype, x, y)
    for row, values in zip(table, got, strict=True):
        assert_exact(f"{row[0]} {dtype}", values, reference(row, x, y).astype(x.dtype), x, y)


@pytest.mark.parametrize("dtype", INTS)
def test_arithmetic_and_bits(arch, dtype: str) -> None:
    """+ - * & | ^ max min and or select: results wrap in the operands' own type."""
    table = supported(ops.INT_BINARY, dtype)
    kernel = binary_kernel(table, dtype, dtype)
    _check(table, dtype, *pairs(int_edges(dtype)), kernel=kernel)
    numbers = hnp.arrays(np_dtype(dtype), N)

    @settings(max_examples=20, deadline=None, derandomize=True)
    @given(numbers, numbers)
    def generated(x, y):
        _check(table, dtype, x, y, kernel=kernel)

    generated()


@pytest.mark.parametrize("dtype", INTS)
def test_division(arch, dtype: str) -> None:
    """// and % floor, raw_div and raw_mod truncate, over every pair of edges that has a quotient."""
    table = supported(ops.INT_DIVISION, dtype)
    kernel = binary_kernel(table, dtype, dtype)
    _check(table, dtype, *_divisible(*pairs(int_edges(dtype))), kernel=kernel)
    numbers = hnp.arrays(np_dtype(dtype), N)

    @settings(max_examples=20, deadline=None, derandomize=True)
    @given(numbers, numbers)
    def generated(x, y):
        _check(table, dtype, *_divisible(x, y), kernel=kernel)

    generated()


@pytest.mark.parametrize("dtype", INTS)
def test_division_by_powers_of_two(arch, dtype: str) -> None:
    """// and % by each constant that is a power of two, of numbers and of vectors, at edges and around multiples."""
    bits, low = np.iinfo(np_dtype(dtype)).bits, np.iinfo(np_dtype(dtype)).min
    exponents = sorted({0, 1, 2, 5, bits // 2 - 1, bits // 2, bits - 3, bits - 2, bits - 1 - (low < 0)})
    near = [s * 2**k + d for k in exponents for s in (-1, 1) for d in (-1, 0, 1) if s * 2**k + d >= low]
    values = [*int_edges(dtype).tolist(), *(v for v in near if v <= np.iinfo(np_dtype(dtype)).max)]
    x, t = np.array(values, np_dtype(dtype)), getattr(qd, dtype)

    @qd.kernel
    def divide(x: qd.types.ndarray(), found: qd.types.ndarray()):
        for i in x:
            for k in qd.static(range(len(exponents))):
                found[i, k, 0] = x[i] // t(2 ** exponents[k])
                found[i, k, 1] = x[i] % t(2 ** exponents[k])
                both = qd.Vector([x[i], x[0]])
                found[i, k, 2] = (both // t(2 ** exponents[k]))[0]
                found[i, k, 3] = (both % t(2 ** exponents[k]))[0]

    found = np.zeros((len(x), len(exponents), 4), np_dtype(dtype))
    divide(x, found)
    assert ">>" in divide.source(x, found)
    expected = [[[v // 2**k, v % 2**k] * 2 for k in exponents] for v in values]
    np.testing.assert_array_equal(found, np.array(expected, np_dtype(dtype)))


@pytest.mark.parametrize("dtype", INTS)
def test_shifts(arch, dtype: str) -> None:
    """<<, >> and bit_shr by every legal count."""
    x, y = pairs(int_edges(dtype), np.arange(np.iinfo(np_dtype(dtype)).bits).astype(np_dtype(dtype)))
    _check(supported(ops.INT_SHIFT, dtype), dtype, x, y)


@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
@pytest.mark.parametrize("dtype", [t for t in INTS if np_dtype(t).itemsize < 4])
def test_small_types_are_shifted_as_numbers_of_32_bits(init, dtype: str, debug: bool) -> None:
    """Counts count modulo 32, and what leaves the type is lost: those from its width on give 0 or the sign."""
    init(debug=debug)
    x, y = pairs(int_edges(dtype), np.array([7, 8, 9, 15, 16, 17, 31, -1, -9, 32, 40]).astype(np_dtype(dtype)))

    @qd.kernel
    def shift(x: qd.types.ndarray(), y: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in x:
            out[0, i] = x[i] << y[i]
            out[1, i] = x[i] >> y[i]

    out = np.zeros((2, len(x)), np_dtype(dtype))
    shift(x, y, out)
    counts = y.astype(np.int64) & 31
    assert_exact(f"<< {dtype}", out[0], (x.astype(np.int64) << counts).astype(np_dtype(dtype)), x, y)
    assert_exact(f">> {dtype}", out[1], (x.astype(np.int64) >> counts).astype(np_dtype(dtype)), x, y)


@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
@pytest.mark.parametrize("dtype", [t for t in INTS if np_dtype(t).itemsize >= 4])
def test_counts_of_the_width_and_more(init, dtype: str, debug: bool) -> None:
    """Counts count modulo the width, constants as well as numbers that only the launch knows. Debug mode reports them,
    and ends a launch only where operands differ in type.
    """
    init(debug=debug)
    as_operand = getattr(qd, dtype)
    width = np_dtype(dtype).itemsize * 8
    counts = (0, 1, width - 1, width, width + 1, 2 * width + 3)

    @qd.kernel
    def shift(x: qd.types.ndarray(), y: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in x:
            for k, count in qd.static(enumerate(counts)):
                out[0, k, i] = x[i] << as_operand(count)
                out[1, k, i] = x[i] << y[k]

    x, y = int_edges(dtype), np.array(counts).astype(np_dtype(dtype))
    out = np.zeros((2, len(counts), len(x)), np_dtype(dtype))
    shift(x, y, out)
    with np.errstate(over="ignore"):
        want = np.stack([x << np_dtype(dtype).type(count % width) for count in counts])
    for found in out:
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("dtype", INTS)
def test_unary(arch, dtype: str) -> None:
    """-x, ~x, abs(x), not x; abs and - of the smallest value wrap."""
    table = supported(ops.INT_UNARY, dtype)
    x = int_edges(dtype)
    got = run_table(unary_kernel(table, dtype, dtype), table, dtype, x)
    for row, values in zip(table, got, strict=True):
        assert_exact(f"{row[0]} {dtype}", values, reference(row, x).astype(x.dtype), x)


@pytest.mark.parametrize("dtype", INTS)
def test_comparisons(arch, dtype: str) -> None:
    """The six comparisons at all pairs of edges."""
    x, y = pairs(int_edges(dtype))
    got = run_table(binary_kernel(ops.COMPARISON, dtype, "i32"), ops.COMPARISON, "i32", x, y)
    for row, values in zip(ops.COMPARISON, got, strict=True):
        assert_exact(f"{row[0]} {dtype}", values, reference(row, x, y).astype(np.int32), x, y)


@pytest.mark.parametrize("dtype", INTS)
def test_power(arch, dtype: str) -> None:
    """base ** exponent with non-negative exponents wraps in the base's type; 0 ** 0 is 1."""
    table = supported([("power", ops.power, np.power)], dtype)
    if not table:
        return
    x, y = pairs(int_edges(dtype), np.arange(0, 40, dtype=np_dtype(dtype)))
    want = np.array([pow(int(a), int(b), 1 << 64) for a, b in zip(x, y, strict=True)], np.uint64).astype(x.dtype)
    got = run_table(binary_kernel(table, dtype, dtype), table, dtype, x, y)
    assert_exact(f"power {dtype}", got[0], want, x, y)


@pytest.mark.parametrize("dtype", INTS)
def test_true_division_and_functions(arch, dtype: str) -> None:
    """/ converts integers to default_fp first; sqrt, exp and log of an integer are real."""
    table = [("true_div", ops.true_div, lambda a, b: a.astype(np.float32) / b.astype(np.float32))]
    x, y = pairs(int_edges(dtype))
    x, y = x[y != 0], y[y != 0]
    got = run_table(binary_kernel(table, dtype, "f32"), table, "f32", x, y)
    assert_close(f"true_div {dtype}", got[0], reference(table[0], x, y), 3e-7, 0.0, x, y)
    functions = [row[:3] for row in ops.REAL_FUNCTIONS if row[0] in ("sqrt", "exp", "log")]
    small = np.arange(1, 80, dtype=np_dtype(dtype))
    got = run_table(unary_kernel(functions, dtype, "f32"), functions, "f32", small)
    for row, values in zip(functions, got, strict=True):
        assert_close(f"{row[0]} {dtype}", values, reference(row, small.astype(np.float64)), 1e-5, 1e-6, small)
