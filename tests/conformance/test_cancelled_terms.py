"""NaN and infinity as operands: single operations keep them under both fast_math, cancelling sums without it alone."""

import numpy as np
import pytest
from support import np_dtype

import quadrants as qd

VALUES = (0.0, 1.0, -1.0, 2.5, np.nan, np.inf, -np.inf)
dtypes = pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])


def operands(dtype: str) -> list[np.ndarray]:
    """All combinations of three values."""
    return [x.ravel().astype(np_dtype(dtype)) for x in np.meshgrid(VALUES, VALUES, VALUES)]


def compare(found: np.ndarray, wanted: list[np.ndarray]) -> None:
    """But for the sign of zero, and the last digits, which devices may round otherwise."""
    for k, (row, want) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_allclose(row, want, rtol=2e-3 if row.dtype == np.float16 else 1e-6, err_msg=f"row {k}")


@pytest.mark.parametrize("fast", [True, False], ids=["fast_math", "strict"])
@dtypes
def test_single_operations(arch, dtype: str, fast: bool) -> None:
    """Also where both operands are one number."""
    qd.init(arch=arch, fast_math=fast)
    value = getattr(qd, dtype)

    @qd.kernel
    def run(
        x: qd.types.ndarray(value, 1), y: qd.types.ndarray(value, 1), out: qd.types.ndarray(value, 2),
        truths: qd.types.ndarray(qd.i32, 2),
    ):  # fmt: skip
        for i in x:
            a, b = x[i], y[i]
            out[0, i] = a - a
            out[1, i] = a / a
            out[2, i] = a * 0.0
            out[3, i] = 0.0 * a + b
            out[4, i] = a + b
            out[5, i] = a - b
            out[6, i] = a * b
            out[7, i] = -a
            out[8, i] = abs(a)
            out[9, i] = qd.sqrt(a)
            out[10, i] = qd.exp(a)
            truths[0, i] = a == a
            truths[1, i] = a != b
            truths[2, i] = a <= b
            truths[3, i] = not a < b
            truths[4, i] = qd.math.isnan(a - b)
            truths[5, i] = qd.math.isinf(a * b)

    a, b, _ = operands(dtype)
    out, truths = np.zeros((11, len(a)), a.dtype), np.zeros((6, len(a)), np.int32)
    run(a, b, out, truths)
    with np.errstate(all="ignore"):
        zero = a.dtype.type(0)
        compare(
            out,
            [a - a, a / a, a * zero, zero * a + b, a + b, a - b, a * b, -a, np.abs(a), np.sqrt(a), np.exp(a)],
        )
        told = [a == a, a != b, a <= b, ~(a < b), np.isnan(a - b), np.isinf(a * b)]
    np.testing.assert_array_equal(truths, told)


@dtypes
def test_sums_whose_terms_cancel(arch, dtype: str) -> None:
    """With fast_math compilers may leave these terms out, and what they hold with them."""
    qd.init(arch=arch, fast_math=False)
    value = getattr(qd, dtype)

    @qd.kernel
    def run(
        x: qd.types.ndarray(value, 1), y: qd.types.ndarray(value, 1), z: qd.types.ndarray(value, 1),
        out: qd.types.ndarray(value, 2),
    ):  # fmt: skip
        for i in x:
            a, b, c = x[i], y[i], z[i]
            out[0, i] = a + b - a
            out[1, i] = a - (a + b)
            out[2, i] = (a + b) - (a + c)
            out[3, i] = a * c - a * c
            out[4, i] = (a - b) + b
            out[5, i] = a + a - a
            out[6, i] = a * b + a * c - a * b

    a, b, c = operands(dtype)
    out = np.zeros((7, len(a)), a.dtype)
    run(a, b, c, out)
    with np.errstate(all="ignore"):
        compare(
            out,
            [
                a + b - a, a - (a + b), (a + b) - (a + c), a * c - a * c, (a - b) + b, a + a - a,
                a * b + a * c - a * b,
            ],
        )  # fmt: skip


@pytest.mark.parametrize("fast", [True, False], ids=["fast_math", "strict"])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf], ids=str)
def test_sums_over_arrays(arch, special: float, fast: bool) -> None:
    qd.init(arch=arch, fast_math=fast)

    @qd.kernel
    def total(x: qd.types.ndarray(qd.f32, 1)) -> qd.f32:
        s = 0.0
        for i in x:
            s += x[i] * 2.0 - 1.0
        return s

    x = np.linspace(0, 1, 1000, dtype=np.float32)
    x[577] = special
    np.testing.assert_equal(total(x), special)
