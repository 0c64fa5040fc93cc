"""Random numbers: range, moments, bits, and independence across seeds, launches, tasks, iterations and draws."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from prelude_kit import Library

from quadrants.ir.types import f16, f32, f64, i32, i64, u8, u32, u64

DRAWN = (f16, f32, f64, i32, u32, i64, u64)
COUNT = 200_000


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    lib = Library()
    begin = lib.prelude.need("random", "begin")
    for kind, dtypes in (("draw", DRAWN), ("normal", (f32, f64))):
        for t in dtypes:
            name = lib.prelude.need("random", kind, t)
            lib.text(f"""
void {kind}_{t}({lib.prelude.type(t)} *r, uint64_t seed, uint64_t launch, uint64_t task,
                long first, long iterations, long draws) {{
    for (long i = 0; i < iterations; ++i) {{
        qd_rng rng = {begin}(seed, launch, task, first + i);
        for (long k = 0; k < draws; ++k)
            r[i * draws + k] = {name}(&rng);
    }}
}}""")
    return lib.build(tmp_path_factory.mktemp("random"))


def draw(library, t, kind="draw", seed=0, launch=0, task=0, first=0, iterations=COUNT, draws=1):
    out = np.zeros((iterations, draws), t.numpy_name)
    u, n = ctypes.c_uint64, ctypes.c_long
    getattr(library.native, f"{kind}_{t}")(
        ctypes.c_void_p(out.ctypes.data), u(seed), u(launch), u(task), n(first), n(iterations), n(draws)
    )
    return out


def uniform(library, **where):
    return draw(library, f64, **where).ravel()


@pytest.mark.parametrize("shape", [(COUNT, 1), (1, COUNT), (400, 500)], ids=["iterations", "draws", "both"])
@pytest.mark.parametrize("t", [f16, f32, f64], ids=str)
def test_reals_are_uniform_below_one(library, t, shape):
    x = draw(library, t, iterations=shape[0], draws=shape[1]).astype(np.float64).ravel()
    assert x.min() >= 0 and x.max() < 1
    for k in (1, 2, 3, 4):  # five standard deviations of the sample moment, and the bias of f16's 2^-12
        deviation = np.sqrt((1 / (2 * k + 1) - 1 / (k + 1) ** 2) / x.size)
        assert abs((x**k).mean() - 1 / (k + 1)) < 5 * deviation + (2**-11 if t is f16 else 0)
    counts = np.bincount((x * 256).astype(int), minlength=256)
    chi2 = ((counts - x.size / 256) ** 2 / (x.size / 256)).sum()
    assert 255 - 5 * np.sqrt(510) < chi2 < 255 + 5 * np.sqrt(510)


def test_reals_use_all_their_bits(library):
    for t, digits in ((f32, 24), (f64, 53)):
        x = draw(library, t, iterations=5000).astype(np.longdouble).ravel() * 2.0**digits
        assert np.all(x == np.floor(x))
        low = x.astype(np.uint64)
        for bit in range(digits):
            assert 0.45 < ((low >> np.uint64(bit)) & np.uint64(1)).mean() < 0.55


@pytest.mark.parametrize("t", [i32, u32, i64, u64], ids=str)
def test_integers_use_every_bit(library, t):
    x = draw(library, t, iterations=20000).ravel().view(f"u{t.size}")
    bits = ((x[:, None] >> np.arange(t.bits, dtype=x.dtype)) & x.dtype.type(1)).astype(float)
    assert np.abs(bits.mean(0) - 0.5).max() < 5 * 0.5 / np.sqrt(len(x))
    correlation = np.corrcoef(bits.T) - np.eye(t.bits)
    assert np.abs(correlation).max() < 6 / np.sqrt(len(x))


def neighbours(library):
    base = dict(seed=3, launch=5, task=2, first=7, iterations=1, draws=COUNT)
    for key in ("seed", "launch", "task", "first"):
        for distance in (1, 2, 256, 1 << 31):
            yield f"{key}+{distance}", uniform(library, **base), uniform(library, **{**base, key: base[key] + distance})


def test_streams_are_independent(library):
    """Correlation of streams whose coordinates differ by little, at lags 0 to 3."""
    for what, x, y in neighbours(library):
        for lag in range(4):
            r = np.corrcoef(x[lag:], y[: len(y) - lag])[0, 1]
            assert abs(r) < 5 / np.sqrt(COUNT), (what, lag, r)


@pytest.mark.parametrize("axis", ["iterations", "draws", "launches", "seeds", "tasks"])
def test_successive_numbers_are_independent(library, axis):
    n = 20000
    if axis in ("iterations", "draws"):
        x = uniform(library, iterations=n if axis == "iterations" else 1, draws=n if axis == "draws" else 1)
    else:
        x = np.concatenate(
            [uniform(library, iterations=1, **{axis[:-1] if axis != "launches" else "launch": k}) for k in range(n)]
        )
    for lag in (1, 2, 3, 8, 64, 1024):
        assert abs(np.corrcoef(x[lag:], x[:-lag])[0, 1]) < 5 / np.sqrt(n - lag), lag
    pairs = np.histogram2d(x[0::2], x[1::2], bins=16, range=[[0, 1], [0, 1]])[0]
    chi2 = ((pairs - n / 512) ** 2 / (n / 512)).sum()
    assert 255 - 5 * np.sqrt(510) < chi2 < 255 + 5 * np.sqrt(510)


def test_numbers_do_not_repeat(library):
    together = np.concatenate([draw(library, u64, launch=k, iterations=1000, draws=10).ravel() for k in range(50)])
    assert len(np.unique(together)) == together.size
    launches = [draw(library, f32, launch=k, iterations=1)[0, 0] for k in range(10)]
    assert len(set(launches)) >= 9


def test_numbers_depend_on_coordinates_alone(library):
    whole = draw(library, u64, seed=9, launch=4, task=1, iterations=100, draws=3)
    for first in (0, 13, 60):
        part = draw(library, u64, seed=9, launch=4, task=1, first=first, iterations=20, draws=3)
        np.testing.assert_array_equal(part, whole[first : first + 20])


def test_the_stream_is_fixed(library):
    """The numbers of a seed are part of what users rely on; a change here changes everybody's results."""
    assert [int(x) for x in draw(library, u64, iterations=1, draws=3)[0]] == [
        int(reference(0, 0, 0, 0, k)) for k in (1, 2, 3)
    ]
    assert int(draw(library, u64, seed=2**64 - 1, launch=7, task=3, first=11, iterations=1)[0, 0]) == reference(
        2**64 - 1, 7, 3, 11, 1
    )


def reference(seed, launch, task, iteration, k):
    mask = (1 << 64) - 1

    def mix(x):
        x &= mask
        x = (x ^ x >> 32) * 0xE9846AF9B1A615D & mask
        x = (x ^ x >> 32) * 0xE9846AF9B1A615D & mask
        return x ^ x >> 28

    key = mix(seed + 0x9E3779B97F4A7C15)
    key = mix(key ^ (launch + 0xBF58476D1CE4E5B9) & mask)
    key = mix(key ^ (task + 0x94D049BB133111EB) & mask)
    return mix(mix(key ^ iteration) + 0x9E3779B97F4A7C15 * k)


@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_normal_numbers(library, t):
    x = draw(library, t, "normal").astype(np.float64).ravel()
    assert np.isfinite(x).all()
    n = np.sqrt(COUNT)
    assert abs(x.mean()) < 5 / n
    assert abs((x**2).mean() - 1) < 5 * np.sqrt(2) / n
    assert abs((x**3).mean()) < 5 * np.sqrt(15) / n
    assert abs((x**4).mean() - 3) < 5 * np.sqrt(96) / n
    assert abs((np.abs(x) < 1).mean() - 0.682689) < 5 * 0.47 / n
    again = draw(library, t, "normal", iterations=1, draws=COUNT).ravel()
    assert abs(np.corrcoef(again[1:], again[:-1])[0, 1]) < 5 / n


def test_types_without_random_numbers_are_errors():
    prelude = Library().prelude
    for kind, t in (("draw", u8), ("normal", f16), ("normal", i32)):
        with pytest.raises(ValueError, match="random numbers have the types"):
            prelude.need("random", kind, t)
