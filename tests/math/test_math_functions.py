"""`qd.math` against NumPy and the documented golden values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quadrants as qd

M = qd.math
vec2, vec3, mat2, mat4 = M.vec2, M.vec3, M.mat2, M.mat4


def close(value, expected, tolerance=1e-5):
    value = value.to_numpy() if hasattr(value, "to_numpy") else value
    assert np.allclose(value, expected, rtol=tolerance, atol=tolerance), (value, expected)


def elementwise(fn, count, *columns, out=qd.f32, args=qd.f32):
    """`fn` of `count` scalar arguments applied to arrays, through one kernel."""

    @qd.kernel
    def unary(r: qd.types.ndarray(), x: qd.types.ndarray()):
        for i in r:
            r[i] = fn(x[i])

    @qd.kernel
    def binary(r: qd.types.ndarray(), x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in r:
            r[i] = fn(x[i], y[i])

    @qd.kernel
    def ternary(r: qd.types.ndarray(), x: qd.types.ndarray(), y: qd.types.ndarray(), z: qd.types.ndarray()):
        for i in r:
            r[i] = fn(x[i], y[i], z[i])

    def array(dtype, data):
        a = qd.ndarray(dtype, len(columns[0]))
        if data is not None:
            a.from_numpy(np.asarray(data, dtype={qd.f32: np.float32, qd.f64: np.float64, qd.i32: np.int32}[dtype]))
        return a

    r = array(out, None)
    (unary, binary, ternary)[count - 1](r, *[array(args, c) for c in columns])
    return r.to_numpy()


def samples(*ranges, count=1000):
    rng = np.random.default_rng(4)
    return [rng.uniform(a, b, count).astype(np.float32) for a, b in ranges]


def test_clamp():
    x, lo, hi = samples((-5, 5), (-3, 0), (0, 3))
    close(elementwise(M.clamp, 3, x, lo, hi), np.clip(x, lo, hi))
    integers = elementwise(M.clamp, 3, [5, -5, 2, 1], [0, 0, 0, 4], [3, 3, 3, 2], out=qd.i32, args=qd.i32)
    assert integers.tolist() == [3, 0, 2, 2]

    @qd.kernel
    def tensors(v: vec3) -> vec3:
        return M.clamp(v, 0.0, 1.0) + M.clamp(v, qd.Vector([0.0, 0.0, 0.0]), 1.0)

    close(tensors(qd.Vector([-1.0, 0.5, 7.0])), [0, 1, 2])


def test_sign_step():
    assert elementwise(M.sign, 1, [-2.5, 0.0, 3.0, math.nan, -math.inf]).tolist() == [-1, 0, 1, 0, -1]
    assert elementwise(M.sign, 1, [-2, 0, 3], args=qd.i32).tolist() == [-1, 0, 1]
    assert elementwise(M.step, 2, [1.0, 1.0, 1.0], [0.5, 1.0, 2.0]).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "name, expected, ranges",
    [
        ("radians", np.radians, [(-720, 720)]),
        ("degrees", np.degrees, [(-10, 10)]),
        ("mix", lambda x, y, a: x * (1 - a) + y * a, [(-5, 5), (-5, 5), (-1, 2)]),
        ("fract", lambda x: x - np.floor(x), [(-9, 9)]),
        ("mod", lambda x, y: x - y * np.floor(x / y), [(-9, 9), (1, 2)]),
        ("log2", np.log2, [(0.01, 100)]),
    ],
)
def test_scalar_function(name, expected, ranges):
    x = samples(*ranges)
    close(elementwise(getattr(M, name), len(x), *x), expected(*[c.astype(np.float64) for c in x]))


def test_scalar_golden():
    close(elementwise(M.smoothstep, 3, [1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.25, -3.0, 3.0]), [0.84375, 0, 1])
    close(elementwise(M.fract, 1, [-1.25]), [0.75])
    close(elementwise(M.mod, 2, [-5], [3], args=qd.i32), [1.0])


def test_integer_fract_is_an_error(compile_error):
    @qd.kernel
    def run(n: qd.i32) -> qd.f32:
        return M.fract(n)

    compile_error(lambda: run(3), "takes real inputs only")


def test_vector_functions():
    @qd.kernel
    def run(a: vec3, b: vec3, r: qd.types.ndarray(dtype=vec3, ndim=1), s: qd.types.ndarray()):
        r[0] = M.cross(a, b)
        r[1] = M.normalize(a)
        r[2] = M.reflect(a, M.normalize(b))
        s[0] = M.dot(a, b)
        s[1] = M.length(a)
        s[2] = M.distance(a, b)
        s[3] = M.cross(a.xy, b.xy)

    a, b = np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0, -1.0])
    r, s = qd.ndarray(vec3, 3), qd.ndarray(qd.f32, 4)
    run(qd.Vector(a), qd.Vector(b), r, s)
    n = b / np.linalg.norm(b)
    close(r, [np.cross(a, b), a / np.linalg.norm(a), a - 2 * a.dot(n) * n])
    close(s, [a.dot(b), np.linalg.norm(a), np.linalg.norm(a - b), a[0] * b[1] - a[1] * b[0]])


def test_refract():
    @qd.kernel
    def run(x: vec2, eta: qd.f32) -> vec2:
        return M.refract(x, qd.Vector([0.0, 1.0]), eta)

    close(run(qd.Vector([0.6, -0.8]), 0.5), [0.3, -0.953939])
    assert run(qd.Vector([0.9, -0.43]), 2.0).to_numpy().tolist() == [0, 0]


def test_matrix_functions():
    @qd.kernel
    def det(m: M.mat3) -> qd.f32:
        return M.determinant(m)

    @qd.kernel
    def inverse(m: M.mat3) -> M.mat3:
        return M.inverse(m) @ M.eye(3)

    m = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 10]])
    close(det(qd.Matrix(m)), -3)
    close(inverse(qd.Matrix(m)), np.linalg.inv(m))


def test_transforms():
    @qd.kernel
    def run(which: qd.template(), a: qd.f32, b: qd.f32, c: qd.f32) -> mat4:
        return which(a, b, c)

    @qd.kernel
    def axis_rotation(axis: vec3, a: qd.f32) -> mat4:
        return M.rot_by_axis(axis, a)

    @qd.kernel
    def plane(a: qd.f32) -> mat2:
        return M.rotation2d(a)

    @qd.kernel
    def direction(a: qd.f32) -> vec2:
        return M.vdir(a)

    shift = np.eye(4)
    shift[:3, 3] = 1, 2, 3
    close(run(M.translate, 1, 2, 3), shift)
    close(run(M.scale, 1, 2, 3), np.diag([1, 2, 3, 1]))
    c, s = math.cos(0.3), math.sin(0.3)
    close(plane(0.3), [[c, -s], [s, c]])
    close(direction(0.3), [c, s])

    turn = run(M.rot_yaw_pitch_roll, 0.1, 0.2, 0.3).to_numpy()
    close(turn[0], [0.956425, 0.289629, -0.036957, 0])
    close(turn[2], [0.097843, -0.198669, 0.975170, 0])
    close(turn @ turn.T, np.eye(4))
    close(run(M.rotation3d, 0.52, -0.785, 1.046).to_numpy()[0], [0.050484, -0.613396, -0.788160, 0], 2e-3)
    close(run(M.rotation3d, 0.1, 0.2, 0.3), run(M.rot_yaw_pitch_roll, 0.3, 0.1, 0.2).to_numpy())

    close(axis_rotation(qd.Vector([0.0, 0.0, 2.0]), math.pi / 6).to_numpy()[0], [0.866025, 0.5, 0, 0])
    about = axis_rotation(qd.Vector([1.0, -2.0, 0.5]), 0.7).to_numpy()[:3, :3]
    u = np.array([1.0, -2.0, 0.5]) / np.linalg.norm([1.0, -2.0, 0.5])
    k = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    close(about.T, np.eye(3) + math.sin(0.7) * k + (1 - math.cos(0.7)) * k @ k)


def complex_map(fn, z, *more):
    data = qd.ndarray(vec2, len(z))
    data.from_numpy(np.stack([np.real(z), np.imag(z)], axis=1).astype(np.float32))
    other = qd.ndarray(vec2, len(z))
    if more:
        other.from_numpy(np.stack([np.real(more[0]), np.imag(more[0])], axis=1).astype(np.float32))
    two = bool(more)

    @qd.kernel
    def run(r: qd.types.ndarray(), w: qd.types.ndarray()):
        for i in r:
            if qd.static(two):
                r[i] = fn(r[i], w[i])
            else:
                r[i] = fn(r[i])

    run(data, other)
    r = data.to_numpy()
    return r[:, 0] + 1j * r[:, 1]


def test_complex():
    re, im, re2, im2 = samples((-2, 2), (-2, 2), (0.5, 2), (-2, 2), count=200)
    z, w = re + 1j * im, re2 + 1j * im2
    close(complex_map(M.cmul, z, w), z * w)
    close(complex_map(M.cdiv, z, w), z / w)
    close(complex_map(M.cconj, z), z.conj())
    close(complex_map(M.cinv, w), 1 / w)
    close(complex_map(M.csqrt, z), np.sqrt(z))
    close(complex_map(M.cexp, z), np.exp(z))
    close(complex_map(M.clog, w), np.log(w))


def test_complex_golden():
    @qd.kernel
    def power(z: vec2, n: qd.f32) -> vec2:
        return M.cpow(z, n)

    @qd.kernel
    def int_power(z: vec2, n: qd.i32) -> vec2:
        return M.cpow(z, n)

    close(power(qd.Vector([1.0, 1.0]), 3.0), [-2, 2])
    close(int_power(qd.Vector([1.0, 1.0]), 3), [-2, 2])
    assert power(qd.Vector([0.0, 0.0]), 2.0).to_numpy().tolist() == [0, 0]
    close(complex_map(M.cdiv, np.array([1 + 1j]), np.array([1j])), [1 - 1j])
    close(complex_map(M.csqrt, np.array([3 - 4j, 0])), [2 - 1j, 0])
    close(complex_map(M.cexp, np.array([1 + 1j])), [1.468694 + 2.287355j])
    close(complex_map(M.clog, np.array([-1 + 0j])), [3.141593j])
    assert np.isnan(complex_map(M.cinv, np.array([0j]))).all()


def nth_set_bit(mask, base, offset):
    """The definition of `fns`, bit by bit."""
    bits = [i for i in range(32) if mask >> i & 1]
    if offset == 0:
        return base if base in bits else 0xFFFFFFFF
    hits = [i for i in bits if i >= base] if offset > 0 else [i for i in reversed(bits) if i <= base]
    return hits[abs(offset) - 1] if abs(offset) <= len(hits) else 0xFFFFFFFF


def test_fns():
    rng = np.random.default_rng(9)
    mask = np.concatenate([rng.integers(0, 2**32, 400), [0, 2**32 - 1, 2**31, 1] * 25, [0b10110] * 100])
    mask = mask.astype(np.uint32)
    base = rng.integers(0, 34, len(mask)).astype(np.uint32)
    offset = rng.integers(-6, 7, len(mask)).astype(np.int32)
    out = np.zeros(len(mask), np.uint32)

    @qd.kernel
    def run(
        m: qd.types.ndarray(dtype=qd.u32, ndim=1),
        b: qd.types.ndarray(dtype=qd.u32, ndim=1),
        o: qd.types.ndarray(dtype=qd.i32, ndim=1),
        r: qd.types.ndarray(dtype=qd.u32, ndim=1),
    ):
        for i in range(m.shape[0]):
            r[i] = M.fns(m[i], b[i], o[i])

    run(mask, base, offset, out)
    expected = [nth_set_bit(int(m), int(b), int(o)) for m, b, o in zip(mask, base, offset, strict=True)]
    assert out.tolist() == expected


def test_f64_is_kept():
    @qd.kernel
    def run(x: qd.f64) -> qd.f64:
        return M.clamp(x, 0.0, 1.0) + M.mix(x, x, 0.5) + M.fract(x)

    assert abs(run(0.1) - 0.3) < 1e-15


def test_names_and_reexports():
    shared = [qd.acos, qd.asin, qd.atan2, qd.ceil, qd.cos, qd.exp, qd.floor, qd.log, qd.max, qd.min, qd.pow, qd.round]
    shared += [qd.sin, qd.sqrt, qd.tan, qd.tanh]
    for function in shared:
        assert function in vars(M).values()
    assert M.pi == math.pi and M.e == math.e and math.isinf(M.inf) and math.isnan(M.nan)


def test_randn_moments():
    count = 200_000

    @qd.kernel
    def draw(r: qd.types.ndarray(), d: qd.types.ndarray()):
        for i in range(count):
            r[i] = qd.randn()
            d[i] = qd.randn(qd.f64)

    single, double = qd.ndarray(qd.f32, count), qd.ndarray(qd.f64, count)
    draw(single, double)
    for x in (single.to_numpy().astype(np.float64), double.to_numpy()):
        assert np.isfinite(x).all()
        moments = [x.mean(), (x**2).mean() - 1, (x**3).mean(), (x**4).mean() - 3]
        # About five standard errors of each sample moment.
        assert np.all(np.abs(moments) < np.array([1, 1.5, 4, 10]) * 5 / math.sqrt(count)), moments
        assert abs((np.abs(x) < 1).mean() - 0.6827) < 0.006
    assert (double.to_numpy().astype(np.float32) != double.to_numpy()).mean() > 0.9


def test_randn_rejects_other_dtypes(compile_error):
    @qd.kernel
    def run() -> qd.f32:
        return qd.randn(qd.i32)

    compile_error(run, "qd.randn supports dt=qd.f32 and dt=qd.f64, got i32")


@pytest.mark.parametrize("fast_math", [True, False])
def test_step_of_nan_is_zero(init, fast_math):
    """Neither side of the edge: the value in front of it."""
    init(fast_math=fast_math)
    nan = float("nan")

    @qd.kernel
    def run(edge: qd.f32, x: qd.f32) -> qd.types.vector(4, qd.f32):
        both = qd.math.step(qd.Vector([edge, 1.0]), x)
        return qd.Vector([qd.math.step(edge, x), qd.math.step(nan, x), both.x, both.y])

    assert run(nan, 1.0).to_list() == [0, 0, 0, 1]
    assert run(1.0, nan).to_list() == [0, 0, 0, 0]
    assert run(1.0, 1.0).to_list() == [1, 0, 1, 1]
    assert run(1.0, 0.5).to_list() == [0, 0, 0, 0]
