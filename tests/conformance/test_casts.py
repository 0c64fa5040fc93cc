"""language.md 10.3, matrix-math.md 9: casts between all pairs of types, stores, and reinterpreted bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from support import ALL, INTS, ON_REFERENCE, assert_close, assert_exact, int_edges, np_dtype, real_edges

import quadrants as qd


def _inputs(source: str, target: str) -> np.ndarray:
    """Values of `source` whose cast to `target` is defined: reals in the range of an integer target."""
    if source == "u1":
        return np.array([False, True])
    if source[0] != "f":
        return int_edges(source)
    x = np.concatenate([real_edges(source), np.arange(-140, 300, 0.75).astype(np_dtype(source))])
    if target[0] == "f":
        return x
    if target == "u1":
        return x[np.isfinite(x)]
    info = np.iinfo(np_dtype(target))
    keep = np.isfinite(x)
    wide = np.where(keep, x, 0).astype(np.float64)
    return x[keep & (wide > max(info.min - 0.99, -1e15)) & (wide < min(info.max + 0.99, 1e15))]


def _numpy_cast(x: np.ndarray, target: str) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return x != 0 if target == "u1" else x.astype(np_dtype(target))


@pytest.mark.parametrize("source", ALL)
def test_all_casts(arch, source: str) -> None:
    """qd.cast to each of the twelve types, through `qd.cast`, by the type as a function, and by a store."""
    targets = [t for t in ALL if not (ON_REFERENCE and source[0] == "f" and t == "u1")]
    source_type = getattr(qd, source)

    def caster(target_type):
        @qd.kernel
        def cast_three_ways(
            x: qd.types.ndarray(dtype=source_type, ndim=1), out: qd.types.ndarray(dtype=target_type, ndim=2)
        ):
            for i in range(x.shape[0]):
                out[0, i] = qd.cast(x[i], target_type)
                out[1, i] = target_type(x[i])
                out[2, i] = x[i]

        return cast_three_ways

    for target in targets:
        x = _inputs(source, target)
        out = np.zeros((3, len(x)), np_dtype(target))
        caster(getattr(qd, target))(x, out)
        want = _numpy_cast(x, target)
        for row, way in zip(out, ("cast", "call", "store"), strict=True):
            if target[0] == "f":
                assert_close(f"{way} {source} to {target}", row, want, 0.0, 0.0, x)
            else:
                assert_exact(f"{way} {source} to {target}", row, want, x)


@pytest.mark.parametrize("source", INTS)
def test_random_integers(arch, source: str) -> None:
    """Narrowing keeps the low bits, widening the value, for generated integers."""
    source_type = getattr(qd, source)

    @qd.kernel
    def narrow(
        x: qd.types.ndarray(dtype=source_type, ndim=1),
        a: qd.types.ndarray(dtype=qd.i8, ndim=1),
        b: qd.types.ndarray(dtype=qd.u16, ndim=1),
        c: qd.types.ndarray(dtype=qd.i64, ndim=1),
        d: qd.types.ndarray(dtype=qd.f64, ndim=1),
    ):
        for i in range(x.shape[0]):
            a[i] = qd.cast(x[i], qd.i8)
            b[i] = qd.cast(x[i], qd.u16)
            c[i] = qd.cast(x[i], qd.i64)
            d[i] = qd.cast(x[i], qd.f64)

    @settings(max_examples=15, deadline=None, derandomize=True)
    @given(hnp.arrays(np_dtype(source), 64))
    def generated(x):
        outs = [np.zeros(64, t) for t in (np.int8, np.uint16, np.int64, np.float64)]
        narrow(x, *outs)
        for out in outs:
            assert_exact(f"{source} to {out.dtype}", out, x.astype(out.dtype), x)

    generated()


@pytest.mark.parametrize(
    "pair",
    [("i8", "u8"), ("i16", "u16"), ("i16", "f16"), ("f32", "u32"), ("f32", "i32"), ("f64", "i64"), ("u64", "f64")],
)
def test_bit_cast(arch, pair: tuple[str, str]) -> None:
    """qd.bit_cast keeps the bits, both ways."""
    a, b = (getattr(qd, name) for name in pair)

    @qd.kernel
    def reinterpret(
        x: qd.types.ndarray(dtype=a, ndim=1), y: qd.types.ndarray(dtype=b, ndim=1), z: qd.types.ndarray(dtype=a, ndim=1)
    ):
        for i in range(x.shape[0]):
            y[i] = qd.bit_cast(x[i], b)
            z[i] = qd.bit_cast(y[i], a)

    x = int_edges(pair[0]) if pair[0][0] != "f" else real_edges(pair[0])
    bits = np.dtype(f"uint{8 * x.dtype.itemsize}")
    if pair[1][0] == "f":
        keep = ~np.isnan(x.view(np_dtype(pair[1])))
        x = np.ascontiguousarray(x[keep])
        x = x[
            (x.view(np_dtype(pair[1])) == 0) | (np.abs(x.view(np_dtype(pair[1]))) >= np.finfo(np_dtype(pair[1])).tiny)
        ]
    else:
        x = x[~np.isnan(x)] if pair[0][0] == "f" else x
    y, z = np.zeros(len(x), np_dtype(pair[1])), np.zeros_like(x)
    reinterpret(x, y, z)
    assert_exact(f"bit_cast {pair}", y.view(bits), x.view(bits), x)
    assert_exact(f"bit_cast back {pair}", z.view(bits), x.view(bits), x)
