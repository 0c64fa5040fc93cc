"""matrix-math.md 14: NaN and infinity tests, bounds with infinities, max and min with NaN, under both fast_math."""

import numpy as np
import pytest
from support import ON_REFERENCE, assert_exact, np_dtype, real_edges

import quadrants as qd


def _tests(v: np.ndarray) -> list[tuple[str, np.ndarray]]:
    with np.errstate(all="ignore"):
        rows = [
            ("isnan", np.isnan(v)),
            ("isinf", np.isinf(v)),
            ("not (abs < inf)", ~(np.abs(v) < np.inf)),
            ("< 1", v < 1),
            ("> 1", v > 1),
            ("== inf", v == np.inf),
            ("isnan(max(v, 0.5))", np.zeros(len(v), bool)),
            ("isnan(sqrt)", np.isnan(np.sqrt(v))),
            ("isinf(log(abs))", np.isinf(np.log(np.abs(v)))),
            ("isinf(2 v)", np.isinf(v * v.dtype.type(2))),
            ("sign", np.nan_to_num(np.sign(v))),
        ]
    return [row for row in rows if not (ON_REFERENCE and (row[0].startswith("isinf") or row[0] == "== inf"))]


@pytest.mark.parametrize("fast", [True, False], ids=["fast_math", "strict"])
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_tests_of_special_values(arch, dtype: str, fast: bool) -> None:
    """Each test against NumPy; never folded away, in the value's own type."""
    qd.init(arch=arch, fast_math=fast)
    value_type = getattr(qd, dtype)

    @qd.kernel
    def classify(x: qd.types.ndarray(dtype=value_type, ndim=1), out: qd.types.ndarray(dtype=qd.i32, ndim=2)):
        for i in range(x.shape[0]):
            v = x[i]
            out[0, i] = qd.math.isnan(v)
            out[1, i] = qd.math.isinf(v)
            out[2, i] = not (abs(v) < qd.math.inf)
            out[3, i] = v < 1.0
            out[4, i] = v > 1.0
            out[5, i] = v == qd.math.inf
            out[6, i] = qd.math.isnan(max(v, 0.5))
            out[7, i] = qd.math.isnan(qd.sqrt(v))
            out[8, i] = qd.math.isinf(qd.log(abs(v)))
            out[9, i] = qd.math.isinf(v * 2)
            out[10, i] = qd.cast(qd.math.sign(v), qd.i32)

    if ON_REFERENCE and dtype == "f16":
        return
    x = real_edges(dtype)
    out = np.zeros((11, len(x)), np.int32)
    classify(x, out)
    rows = dict(_tests(x))
    names = [
        "isnan",
        "isinf",
        "not (abs < inf)",
        "< 1",
        "> 1",
        "== inf",
        "isnan(max(v, 0.5))",
        "isnan(sqrt)",
        "isinf(log(abs))",
        "isinf(2 v)",
        "sign",
    ]
    for name, got in zip(names, out, strict=True):
        if name in rows:
            assert_exact(f"{name} {dtype}", got, rows[name].astype(np.int32), x)


@pytest.mark.parametrize("fast", [True, False], ids=["fast_math", "strict"])
def test_bounds_from_infinity(arch, fast: bool) -> None:
    """Running minimum and maximum that start at the infinities, of vectors, with a NaN among the values."""
    qd.init(arch=arch, fast_math=fast)

    @qd.kernel
    def bounds(x: qd.types.ndarray(dtype=qd.math.vec3, ndim=1)) -> tuple[qd.math.vec3, qd.math.vec3]:
        lo, hi = qd.math.vec3(qd.math.inf), qd.math.vec3(-qd.math.inf)
        if x.shape[0] > 0:
            for i in range(x.shape[0]):
                lo = min(lo, x[i])
                hi = max(hi, x[i])
        return lo, hi

    x = np.random.default_rng(8).normal(size=(100, 3)).astype(np.float32)
    x[17, 1] = np.nan
    lo, hi = bounds(x)
    np.testing.assert_array_equal(lo.to_numpy(), np.nanmin(x, axis=0))
    np.testing.assert_array_equal(hi.to_numpy(), np.nanmax(x, axis=0))
    lo, hi = bounds(np.zeros((0, 3), np.float32))
    assert np.isposinf(lo.to_numpy()).all() and np.isneginf(hi.to_numpy()).all()


def test_classification_of_vectors_and_integers(arch) -> None:
    """isnan and isinf work elementwise, and are false for integers."""

    @qd.kernel
    def elementwise(v: qd.math.vec3, n: qd.i32) -> qd.types.vector(8, qd.i32):
        a, b = qd.math.isnan(v), qd.math.isinf(v)
        return qd.Vector([qd.cast(a[0], qd.i32), a[1], a[2], b[0], b[1], b[2], qd.math.isnan(n), qd.math.isinf(n)])

    got = elementwise(qd.Vector([np.nan, np.inf, 1.0]), 2**30)
    assert got.to_list() == [1, 0, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_infinite_parameters(arch, dtype: str) -> None:
    """Scalars pass NaN, infinities and both zeros through a call and back."""
    value_type = getattr(qd, dtype)

    @qd.kernel
    def echo(x: value_type) -> value_type:
        return x

    for value in (np.nan, np.inf, -np.inf, 0.0, float(np.finfo(np_dtype(dtype)).max)):
        np.testing.assert_equal(echo(value), value)
