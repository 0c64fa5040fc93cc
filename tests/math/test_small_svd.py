"""svd and polar_decompose against their defining properties, over families of matrices that break naive methods."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

TOLERANCE = {"f32": {"rebuild": 1e-5, "orthogonal": 5e-5}, "f64": {"rebuild": 1e-12, "orthogonal": 1e-12}}
EPS = {"f32": 2.0**-23, "f64": 2.0**-52}


def rotations(rng, n, count):
    q, r = np.linalg.qr(rng.standard_normal((count, n, n)))
    q *= np.sign(np.einsum("kii->ki", r))[:, None, :]
    q[:, :, 0] *= np.sign(np.linalg.det(q))[:, None]
    return q


def with_singular_values(rng, n, count, values):
    u, v = rotations(rng, n, count), rotations(rng, n, count)
    return u @ np.diag(values[:n]) @ v.transpose(0, 2, 1)


def families(n, dt):
    rng = np.random.default_rng(5)
    tiny = EPS[dt]
    near = 1e-4 if dt == "f32" else 1e-9
    normal = rng.standard_normal((2000, n, n))
    special = [np.zeros((n, n)), np.eye(n), -np.eye(n), np.ones((n, n)), np.diag([0.0, 5.0, 0.0][:n])]
    special += [np.diag(np.roll([3.0, -2.0, 1.0][:n], k)) for k in range(n)]
    special += [np.triu(np.ones((n, n))), np.fliplr(np.eye(n)), np.outer(np.arange(n), np.ones(n))]
    return {
        "random": normal,
        "huge": normal * 1e12,
        "small": normal * 1e-12,
        "tiny": normal * 1e-30,
        "near equal": with_singular_values(rng, n, 500, [2.0 + near, 2.0, 2.0 - near]),
        "equal": with_singular_values(rng, n, 500, [2.0, 2.0, 2.0]),
        "rank deficient": with_singular_values(rng, n, 500, [3.0, 1.0, 0.0] if n == 3 else [3.0, 0.0]),
        "rank one": with_singular_values(rng, n, 500, [1.0, 0.0, 0.0]),
        "graded": with_singular_values(rng, n, 500, [1.0, np.sqrt(tiny), tiny]),
        "below rounding": with_singular_values(rng, n, 500, [1.0, tiny * 1e-2, tiny * 1e-3]),
        "special": np.array(special),
    }


def concatenated(n, dt):
    parts = families(n, dt)
    names = np.repeat(list(parts), [len(v) for v in parts.values()])
    data = np.concatenate(list(parts.values()))
    # What the kernel sees is the rounded matrix, so that is what has to be rebuilt.
    return names, (data.astype(np.float32).astype(np.float64) if dt == "f32" else data)


def assert_all(names, error, limit, what):
    worst = {name: float(error[names == name].max()) for name in dict.fromkeys(names)}
    bad = {name: value for name, value in worst.items() if not value <= limit}
    assert not bad, f"{what} exceeds {limit}: {bad}"


def relative(error, a):
    size = np.linalg.norm(a, axis=(1, 2))
    return np.abs(error).max(axis=(1, 2)) / np.where(size == 0, 1, size)


def orthogonality(q):
    return np.abs(q.transpose(0, 2, 1) @ q - np.eye(q.shape[1])).max(axis=(1, 2))


@pytest.fixture(params=[(2, "f32"), (2, "f64"), (3, "f32"), (3, "f64")], ids=lambda p: f"{p[0]}x{p[0]}-{p[1]}")
def case(request):
    return request.param


def run(batch, n, dt, data, op):
    dtype = getattr(qd, dt)

    @qd.kernel
    def svd(a: qd.types.ndarray(), u: qd.types.ndarray(), s: qd.types.ndarray(), v: qd.types.ndarray()):
        for i in a:
            u[i], s[i], v[i] = qd.svd(a[i], dtype)

    @qd.kernel
    def polar(a: qd.types.ndarray(), r: qd.types.ndarray(), p: qd.types.ndarray()):
        for i in a:
            r[i], p[i] = qd.polar_decompose(a[i], dtype)

    a = batch(dt, n, n, len(data), data)
    out = [batch(dt, n, n, len(data)) for _ in range(3 if op == "svd" else 2)]
    (svd if op == "svd" else polar)(a.array, *[o.array for o in out])
    assert np.array_equal(a.numpy(), data), "the input was modified"
    return [o.numpy() for o in out]


def test_svd(batch, case):
    n, dt = case
    names, a = concatenated(n, dt)
    u, s, v = run(batch, n, dt, a, "svd")
    limit = TOLERANCE[dt]
    assert_all(names, relative(u @ s @ v.transpose(0, 2, 1) - a, a), limit["rebuild"], "rebuild error")
    for name, q in (("U", u), ("V", v)):
        assert_all(names, orthogonality(q), limit["orthogonal"], f"{name}^T {name} - I")
    assert_all(names, np.abs(np.linalg.det(v) - 1), limit["orthogonal"], "det(V) - 1")
    d = np.einsum("kii->ki", s)
    assert not (s - d[:, :, None] * np.eye(n)).any(), "S has non-zero off-diagonals"
    assert (np.diff(np.abs(d), axis=1) <= 0).all() and (d[:, :-1] >= 0).all(), "S is not sorted"
    det_u = np.linalg.det(u)
    if n == 3:
        assert_all(names, np.abs(det_u - 1), limit["orthogonal"], "det(U) - 1")
        det_a = np.linalg.det(a[names == "random"])
        clear = np.abs(det_a) > 1e-4
        assert (np.sign(d[names == "random"][clear, 2]) == np.sign(det_a[clear])).all()
    else:
        assert (d >= 0).all()
        det_a = np.linalg.det(a[names == "random"])
        assert (np.sign(det_u[names == "random"]) == np.where(det_a < 0, -1, 1)).all()


def test_svd_singular_values_match_numpy(batch, case):
    n, dt = case
    names, a = concatenated(n, dt)
    _, s, _ = run(batch, n, dt, a, "svd")
    expected = np.linalg.svd(a, compute_uv=False)
    error = np.abs(np.abs(np.einsum("kii->ki", s)) - expected).max(axis=1) / np.maximum(expected[:, 0], 1e-300)
    assert_all(names, error, TOLERANCE[dt]["rebuild"], "singular value error")


def test_svd_golden(batch):
    data = np.array([np.zeros((3, 3)), -np.eye(3)])
    u, s, v = run(batch, 3, "f32", data, "svd")
    assert np.array_equal(u[0], np.eye(3)) and np.array_equal(v[0], np.eye(3)) and not s[0].any()
    assert np.array_equal(s[1], np.diag([1, 1, -1]))
    assert np.array_equal(u[1] @ s[1] @ v[1].T, -np.eye(3))


def test_polar(batch, case):
    n, dt = case
    names, a = concatenated(n, dt)
    r, p = run(batch, n, dt, a, "polar")
    limit = TOLERANCE[dt]
    assert_all(names, relative(r @ p - a, a), limit["rebuild"], "rebuild error")
    assert_all(names, orthogonality(r), limit["orthogonal"], "R^T R - I")
    assert_all(names, relative(p - p.transpose(0, 2, 1), a), limit["rebuild"], "asymmetry of P")
    if n == 3:
        assert_all(names, np.abs(np.linalg.det(r) - 1), limit["orthogonal"], "det(R) - 1")
    else:
        low = -np.linalg.eigvalsh((p + p.transpose(0, 2, 1)) / 2).min(axis=1)
        assert_all(names, low / np.maximum(np.linalg.norm(a, axis=(1, 2)), 1e-300), limit["rebuild"], "negative P")
        det_a = np.linalg.det(a[names == "random"])
        assert (np.sign(np.linalg.det(r[names == "random"])) == np.where(det_a < 0, -1, 1)).all()


def test_polar_golden(batch):
    r, _ = run(batch, 3, "f32", np.array([np.diag([-1.0, 2.0, 3.0])]), "polar")
    assert np.allclose(r[0], np.eye(3), atol=1e-6)
    r, p = run(batch, 2, "f32", np.zeros((1, 2, 2)), "polar")
    assert np.array_equal(r[0], np.eye(2)) and not p[0].any()


def test_subnormal_matrices(batch, case):
    """Where they are flushed they count as zero; where they are not they have factors too."""
    n, dt = case
    smallest = np.finfo(np.float32 if dt == "f32" else np.float64).tiny
    data = np.random.default_rng(2).standard_normal((50, n, n)) * smallest * 0.05
    u, s, v = run(batch, n, dt, data.astype(np.float32) if dt == "f32" else data, "svd")
    r, p = run(batch, n, dt, data.astype(np.float32) if dt == "f32" else data, "polar")
    for q in (u, v, r):
        assert orthogonality(q).max() < 1e-4
    for rebuilt in (u @ s @ v.transpose(0, 2, 1), r @ p):
        assert np.abs(rebuilt - data).max() < smallest


def test_nan_and_inf_terminate(batch):
    data = np.full((2, 3, 3), np.nan)
    data[1] = np.eye(3)
    data[1, 0, 2] = np.inf
    a = batch("f32", 3, 3, 2, data)
    s = batch("f32", 3, 3, 2)

    @qd.kernel
    def svd(a: qd.types.ndarray(), s: qd.types.ndarray()):
        for i in a:
            _, s[i], _ = qd.svd(a[i])

    svd(a.array, s.array)
    assert not np.isfinite(s.numpy()).all()


def test_default_dtype_and_integer_input(init):
    @qd.kernel
    def volume() -> qd.f64:
        _, S, _ = qd.svd(qd.Matrix([[2, 1, 0], [0, 3, 1], [1, 0, 1]]))
        return S.determinant()

    single = volume()
    assert np.float32(single) == single, "dt=None must compute in default_fp"
    assert abs(single - 7.0) < 1e-5
    init(default_fp=qd.f64)
    assert abs(volume() - 7.0) < 1e-13


def test_svd_at_kernel_top_level():
    @qd.kernel
    def rebuild(x: qd.f32) -> qd.types.matrix(3, 3, qd.f32):
        A = qd.Matrix([[x, 1.0, 2.0], [0.5, x, 1.0], [3.0, 2.0, x]])
        U, S, V = qd.svd(A)
        return U @ S @ V.transpose()

    assert np.allclose(rebuild(4.0).to_numpy(), [[4, 1, 2], [0.5, 4, 1], [3, 2, 4]], atol=1e-5)


def test_errors(compile_error):
    @qd.kernel
    def svd_tall():
        qd.svd(qd.Matrix([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))

    @qd.kernel
    def svd_four():
        qd.svd(qd.Matrix.identity(qd.f32, 4))

    @qd.kernel
    def svd_vector():
        qd.svd(qd.Vector([1.0, 2.0]))

    @qd.kernel
    def polar_four():
        qd.polar_decompose(qd.Matrix.identity(qd.f32, 4))

    @qd.kernel
    def svd_half():
        qd.svd(qd.Matrix.identity(qd.f32, 2), qd.f16)

    for kernel in (svd_tall, svd_four, svd_vector):
        compile_error(kernel, "SVD only supports 2×2 and 3×3 matrices.")
    compile_error(polar_four, "Polar decomposition only supports 2×2 and 3×3 matrices.")
    compile_error(svd_half, "computes in qd.f32 or qd.f64, got dt=f16")


def test_single_precision_stays_single_under_double_defaults(init, batch):
    init(default_fp=qd.f64)
    data = np.random.default_rng(1).standard_normal((200, 3, 3)).astype(np.float32).astype(np.float64)
    u, s, v = run(batch, 3, "f32", data, "svd")
    assert relative(u @ s @ v.transpose(0, 2, 1) - data, data).max() < 1e-5
    # Results that were computed in f64 and rounded at the end would be better than f32 arithmetic can be.
    assert orthogonality(u).max() > 2.0**-26


def test_doubles_are_computed_as_doubles(init):
    """Whatever default_fp is; the range of f32 would not do either."""
    init()
    errors = qd.field(qd.f64, 6)

    @qd.kernel
    def run(large: qd.f64):
        for _ in range(1):
            A = qd.Matrix([[large, 0.3], [0.1, 2.0]], dt=qd.f64)
            U, S, V = qd.svd(A)
            errors[0] = (U @ S @ V.transpose() - A).norm() / large
            R, P = qd.polar_decompose(A)
            errors[1] = (R @ P - A).norm() / large
            x = qd.solve(A, A @ qd.Vector([1.0, 1.0], dt=qd.f64))
            errors[2] = (x - 1.0).norm()
            B = A + A.transpose()
            w, _Q = qd.sym_eig(B)
            errors[3] = abs(w[0] + w[1] - B.trace()) / large
            errors[4] = (qd.make_spd(B) - B).norm() / large
            values, _vectors = qd.eig(B)
            errors[5] = abs(values[0, 0] + values[1, 0] - B.trace()) / large

    for large in (1.1, 1e39):
        run(large)
        assert (errors.to_numpy() < 4e-15).all(), errors.to_numpy()


def test_matrices_from_outside_of_the_kernel(init):
    """They are constants of it, of their own dtype."""
    init()
    m = qd.Matrix([[3.0, 0.0], [0.0, 2.0]])
    doubles = qd.Matrix([[3.0, 0.1], [0.1, 2.0]], dt=qd.f64)
    right = qd.Vector([3.0, 1.0])

    @qd.kernel
    def run(large: qd.f64) -> qd.types.vector(4, qd.f64):
        _U, S, _V = qd.svd(m)
        A = qd.Matrix([[large, 0.0], [0.0, 2.0]], dt=qd.f64)
        R, P = qd.polar_decompose(doubles)
        return qd.Vector([S[0, 0], S[1, 1], qd.solve(A, right)[0] * large, (R @ P - doubles).norm()], dt=qd.f64)

    found = run(1e39)
    assert np.allclose(found.to_numpy()[:3], [3, 2, 3]) and found[3] < 1e-6


def test_decompositions_are_for_kernels(arch):
    m = qd.Matrix([[1.0, 2.0], [3.0, 4.0]])
    for call in (
        lambda: qd.svd(m),
        lambda: qd.svd(m, qd.f32),
        lambda: qd.sym_eig(m),
        lambda: qd.polar_decompose(m),
        lambda: qd.solve(m, qd.Vector([1.0, 2.0])),
    ):
        with pytest.raises(AssertionError, match=r"numpy\.linalg on m\.to_numpy\(\)"):
            call()
