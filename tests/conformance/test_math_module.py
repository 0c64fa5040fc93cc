"""matrix-math.md 12: the functions of qd.math on scalars and vectors against NumPy and complex arithmetic."""

import numpy as np
import pytest
from support import assert_close, np_dtype

import quadrants as qd

COUNT = 500


def _fract(x):
    return x - np.floor(x)


def _smoothstep(a, b, x):
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_scalar_functions(arch, dtype: str) -> None:
    """clamp sign radians degrees mix step smoothstep fract mod log2 over random numbers."""
    t = getattr(qd, dtype)
    qd.init(arch=arch, default_fp=t)

    @qd.kernel
    def functions(
        x: qd.types.ndarray(dtype=t, ndim=1),
        y: qd.types.ndarray(dtype=t, ndim=1),
        out: qd.types.ndarray(dtype=t, ndim=2),
    ):
        for i in range(x.shape[0]):
            a, b = x[i], y[i]
            out[0, i] = qd.math.clamp(a, -1.0, b)
            out[1, i] = qd.math.sign(a)
            out[2, i] = qd.math.radians(a)
            out[3, i] = qd.math.degrees(a)
            out[4, i] = qd.math.mix(a, b, 0.25)
            out[5, i] = qd.math.step(a, b)
            out[6, i] = qd.math.smoothstep(-1.0, b, a)
            out[7, i] = qd.math.fract(a)
            out[8, i] = qd.math.mod(a, b)
            out[9, i] = qd.math.log2(b)

    rng = np.random.default_rng(1)
    x = rng.uniform(-10, 10, COUNT).astype(np_dtype(dtype))
    y = rng.uniform(0.5, 4, COUNT).astype(np_dtype(dtype))
    x[:3] = 0, -1, 1
    out = np.zeros((10, COUNT), x.dtype)
    functions(x, y, out)
    a, b = x.astype(np.float64), y.astype(np.float64)
    want = [
        np.minimum(b, np.maximum(-1, a)), np.sign(a), np.radians(a), np.degrees(a), 0.75 * a + 0.25 * b, (b >= a) * 1.0,
        _smoothstep(-1, b, a), _fract(a), a - b * np.floor(a / b), np.log2(b),
    ]  # fmt: skip
    rtol, atol = {"f32": (1e-5, 3e-6), "f64": (1e-12, 1e-13)}[dtype]
    for k, (got, w) in enumerate(zip(out, want, strict=True)):
        assert_close(f"function {k} {dtype}", got, w.astype(got.dtype), rtol, atol, x, y)


def test_integer_arguments(arch) -> None:
    """clamp keeps integers, sign and mod of integers are real."""

    @qd.kernel
    def integers(a: qd.i32, b: qd.i32) -> tuple[qd.i32, qd.f32, qd.f32, qd.f32]:
        return qd.math.clamp(a, 0, b), qd.math.sign(a), qd.math.mod(a, b), qd.math.degrees(a)

    for a in (-5, 0, 2, 7):
        clamp, sign, mod, degrees = integers(a, 3)
        assert (clamp, sign, mod) == (min(3, max(0, a)), np.sign(a), a % 3)
        assert degrees == pytest.approx(np.degrees(a), rel=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_vector_functions(arch, n: int) -> None:
    """length distance dot normalize mix clamp reflect refract of random vectors."""
    t = qd.types.vector(n, qd.f32)

    @qd.kernel
    def functions(a: t, b: t, eta: qd.f32) -> tuple[qd.f32, qd.f32, qd.f32, t, t, t, t, t]:
        normal = qd.math.normalize(b)
        unit = qd.math.normalize(a)
        return (
            qd.math.length(a), qd.math.distance(a, b), qd.math.dot(a, b), unit, qd.math.mix(a, b, 0.3),
            qd.math.clamp(a, -0.5, 0.5), qd.math.reflect(a, normal), qd.math.refract(unit, normal, eta),
        )  # fmt: skip

    rng = np.random.default_rng(n)
    for _ in range(20):
        a, b, eta = (
            rng.normal(size=n).astype(np.float32),
            rng.normal(size=n).astype(np.float32),
            float(rng.uniform(0.3, 2)),
        )
        unit, normal = a / np.linalg.norm(a), b / np.linalg.norm(b)
        cosine = unit @ normal
        k = 1 - eta**2 * (1 - cosine**2)
        bent = np.zeros(n) if k < 0 else eta * unit - (eta * cosine + np.sqrt(max(k, 0))) * normal
        if abs(k) < 1e-3:
            continue
        want = [
            np.linalg.norm(a),
            np.linalg.norm(a - b),
            a @ b,
            unit,
            0.7 * a + 0.3 * b,
            np.clip(a, -0.5, 0.5),
            a - 2 * (a @ normal) * normal,
            bent,
        ]
        for got, w in zip(functions(a, b, eta), want, strict=True):
            np.testing.assert_allclose(got if isinstance(got, float) else got.to_numpy(), w, rtol=2e-4, atol=2e-4)


def test_complex_numbers(arch) -> None:
    """cmul cdiv cconj cinv csqrt cexp clog cpow against Python's complex numbers, principal branches."""
    m, v = qd.math, qd.math.vec2

    @qd.kernel
    def functions(a: v, b: v, n: qd.f32) -> tuple[v, v, v, v, v, v, v, v]:
        return m.cmul(a, b), m.cdiv(a, b), m.cconj(a), m.cinv(a), m.csqrt(a), m.cexp(a), m.clog(a), m.cpow(a, n)

    rng = np.random.default_rng(3)
    for _ in range(30):
        a, b = rng.uniform(-2, 2, (2, 2)).astype(np.float32)
        n = float(np.float32(rng.uniform(-2, 3)))
        p, q = complex(*a), complex(*b)
        angle = np.angle(p)
        want = [
            p * q,
            p / q,
            p.conjugate(),
            1 / p,
            np.sqrt(p),
            np.exp(p),
            np.log(p),
            abs(p) ** n * np.exp(1j * n * angle),
        ]
        for k, (got, w) in enumerate(zip(functions(a, b, n), want, strict=True)):
            np.testing.assert_allclose(
                got.to_numpy(), [w.real, w.imag], rtol=2e-4, atol=2e-4, err_msg=f"{k}: {p} {q} {n}"
            )


def _yaw_pitch_roll(h, p, b):
    ch, sh, cp, sp, cb, sb = np.cos(h), np.sin(h), np.cos(p), np.sin(p), np.cos(b), np.sin(b)
    return np.array(
        [
            [ch * cb + sh * sp * sb, sb * cp, -sh * cb + ch * sp * sb, 0],
            [-ch * sb + sh * sp * cb, cb * cp, sb * sh + ch * sp * cb, 0],
            [sh * cp, -sp, ch * cp, 0],
            [0, 0, 0, 1],
        ]
    )


def _rodrigues(axis, angle):
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    m = np.eye(4)
    m[:3, :3] = (np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross).T
    return m


def test_transforms(arch) -> None:
    """translate scale rotation2d rot_by_axis rot_yaw_pitch_roll rotation3d eye vdir at random angles."""
    m, mat4 = qd.math, qd.math.mat4

    @qd.kernel
    def functions(
        v: qd.math.vec3, axis: qd.math.vec3
    ) -> tuple[mat4, mat4, qd.math.mat2, mat4, mat4, mat4, qd.math.mat3, qd.math.vec2]:
        return (
            m.translate(v[0], v[1], v[2]), m.scale(v[0], v[1], v[2]), m.rotation2d(v[0]), m.rot_by_axis(axis, v[1]),
            m.rot_yaw_pitch_roll(v[0], v[1], v[2]), m.rotation3d(v[0], v[1], v[2]), m.eye(3), m.vdir(v[2]),
        )  # fmt: skip

    rng = np.random.default_rng(7)
    for _ in range(10):
        x, y, z = v = rng.uniform(-3, 3, 3).astype(np.float32)
        axis = rng.normal(size=3).astype(np.float32)
        translate = np.eye(4)
        translate[:3, 3] = v
        want = [
            translate, np.diag([x, y, z, 1]), np.array([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]]),
            _rodrigues(axis.astype(np.float64), float(y)), _yaw_pitch_roll(x, y, z), _yaw_pitch_roll(z, x, y),
            np.eye(3), np.array([np.cos(z), np.sin(z)]),
        ]  # fmt: skip
        for k, (got, w) in enumerate(zip(functions(v, axis), want, strict=True)):
            np.testing.assert_allclose(got.to_numpy(), w, rtol=1e-4, atol=1e-5, err_msg=str(k))
