"""`//` and `%` of real numbers: the rounded quotient rounded down, also next to whole numbers, under both fast_math."""

import numpy as np
import pytest

import quadrants as qd

# Elements times draws of one number each; those of the first rows are the stumbling blocks of approximations.
SHAPE = (8, 3000)
KNOWN = (
    (8.1, 0.1), (1.0, 0.1), (0.3, 0.1), (49.0, 49.0), (-8.1, 0.1), (8.1, -0.1), (6.0, 0.2), (-0.7, -0.1), (4.35, 0.01),
)  # fmt: skip
both_modes = pytest.mark.parametrize("fast", [True, False], ids=["fast_math", "strict"])
reals = pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])


def near_wholes(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers at and next to whole multiples of others, of every size, and others without relation to these."""
    real = np.dtype(f"f{int(dtype[1:]) // 8}").type
    rng = np.random.default_rng(11)
    b = (rng.uniform(0.5, 1, SHAPE) * 2.0 ** rng.integers(-4, 5, SHAPE) * rng.choice([-1, 1], SHAPE)).astype(real)
    k = np.trunc(2.0 ** rng.uniform(0, np.finfo(real).nmant - 5, SHAPE)) * rng.choice([-1, 1], SHAPE)
    with np.errstate(over="ignore"):
        a = (k * b).astype(real)
    toward = np.where(rng.random(SHAPE) < 0.5, real(np.inf), real(-np.inf)).astype(real)
    a = np.where(rng.random(SHAPE) < 0.6, np.nextafter(a, toward), a)
    a[-1] = rng.normal(size=SHAPE[1]) * 100
    a[0, : len(KNOWN)], b[0, : len(KNOWN)] = zip(*KNOWN, strict=True)
    usable = np.isfinite(a)
    return np.where(usable, a, real(1)), np.where(usable, b, real(1))


def floor_of_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Those of f16 are taken in f32, as the manual says."""
    wide = np.float32 if a.dtype == np.float16 else a.dtype
    with np.errstate(over="ignore"):
        return np.floor(a.astype(wide) / b.astype(wide))


def assert_fits(rests: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Each is a - b * (a // b) but for the rounding of the product, which a fused difference has not."""
    __tracebackhide__ = True
    wide = np.longdouble
    exact = a.astype(wide) - b.astype(wide) * floor_of_quotient(a, b).astype(wide)
    wanted = np.where(exact * np.sign(b) < 0, 0, exact)
    assert np.all(rests * np.sign(b) >= 0)
    assert np.all(np.abs(rests - wanted) <= np.spacing(np.maximum(np.abs(a), np.abs(b))))


@both_modes
@reals
def test_scalars_next_to_whole_numbers(arch, dtype: str, fast: bool) -> None:
    qd.init(arch=arch, fast_math=fast)
    value = getattr(qd, dtype)

    @qd.kernel
    def run(
        a: qd.types.ndarray(value, 2), b: qd.types.ndarray(value, 2), floors: qd.types.ndarray(value, 2),
        rests: qd.types.ndarray(value, 2),
    ):  # fmt: skip
        for i, j in a:
            floors[i, j] = a[i, j] // b[i, j]
            rests[i, j] = a[i, j] % b[i, j]

    a, b = near_wholes(dtype)
    floors, rests = np.zeros_like(a), np.zeros_like(a)
    run(a, b, floors, rests)
    np.testing.assert_array_equal(floors, floor_of_quotient(a, b).astype(a.dtype))
    assert_fits(rests, a, b)


@both_modes
@reals
def test_vectors_next_to_whole_numbers(arch, dtype: str, fast: bool) -> None:
    """By a vector and by a scalar; each gives what the elements give."""
    qd.init(arch=arch, fast_math=fast)
    value = getattr(qd, dtype)
    vec = qd.types.vector(SHAPE[0], value)

    @qd.kernel
    def run(a: qd.types.ndarray(vec, 1), b: qd.types.ndarray(vec, 1), out: qd.types.ndarray(vec, 2)):
        for j in a:
            out[0, j] = a[j] // b[j]
            out[1, j] = a[j] // b[j][0]
            out[2, j] = a[j] % b[j]

    a, b = (np.ascontiguousarray(x.T) for x in near_wholes(dtype))
    out = np.zeros((3, *a.shape), a.dtype)
    run(a, b, out)
    np.testing.assert_array_equal(out[0], floor_of_quotient(a, b).astype(a.dtype))
    by_first = floor_of_quotient(a, np.broadcast_to(b[:, :1], b.shape))
    np.testing.assert_array_equal(out[1], by_first.astype(a.dtype))
    assert_fits(out[2], a, b)


@both_modes
@pytest.mark.parametrize("divisor", [0.1, -0.7, 49.0, 3e38])
def test_by_a_constant(arch, divisor: float, fast: bool) -> None:
    qd.init(arch=arch, fast_math=fast)

    @qd.kernel
    def run(a: qd.types.ndarray(qd.f32, 1), out: qd.types.ndarray(qd.f32, 1)):
        for i in a:
            out[i] = a[i] // divisor

    by = np.float32(divisor)
    near = np.arange(-200, 200, dtype=np.float32) * (by if abs(by) < 1e6 else np.float32(1e35))
    a = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
    a = np.where((np.abs(a) < np.finfo(np.float32).tiny) | ~np.isfinite(a), by, a)
    out = np.zeros_like(a)
    run(a, out)
    np.testing.assert_array_equal(out, floor_of_quotient(a, np.broadcast_to(by, a.shape)))


@both_modes
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_at_the_ends(arch, dtype: str, fast: bool) -> None:
    """Quotients that are infinite, NaN or without a reciprocal of their divisor."""
    qd.init(arch=arch, fast_math=fast)
    value = getattr(qd, dtype)

    @qd.kernel
    def run(a: qd.types.ndarray(value, 1), b: qd.types.ndarray(value, 1), out: qd.types.ndarray(value, 1)):
        for i in a:
            out[i] = a[i] // b[i]

    real = np.dtype(f"f{int(dtype[1:]) // 8}").type
    most, least, inf, nan = np.finfo(real).max, np.finfo(real).tiny, real(np.inf), real(np.nan)
    values = [most, -most, most / 2, least, 3 * least, -least, inf, -inf, nan, real(0), real(1), real(-7)]
    a, b = (np.array(x, real).ravel() for x in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        quotient = a / b
        wanted = np.floor(quotient)
    small = (np.abs(quotient) < least) & (quotient != 0)  # counts as 0
    out = np.zeros_like(a)
    run(a, b, out)
    np.testing.assert_array_equal(out[~small], wanted[~small])
    assert set(out[small]) <= {0, -1}
