"""sym_eig, make_spd, eig and solve against their defining properties."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

REBUILD = {"f32": 1e-5, "f64": 1e-12}


def symmetric_families(n):
    rng = np.random.default_rng(11)
    a = rng.standard_normal((500, n, n))
    a = (a + a.transpose(0, 2, 1)) / 2
    q = np.linalg.qr(rng.standard_normal((200, n, n)))[0]

    def spectrum(values):
        m = q @ np.diag(np.resize(values, n)) @ q.transpose(0, 2, 1)
        return (m + m.transpose(0, 2, 1)) / 2

    special = [np.zeros((n, n)), np.eye(n), -np.eye(n), np.ones((n, n)), np.diag(np.arange(n)[::-1] - 1.0)]
    return np.concatenate(
        [a, a * 1e12, a * 1e-12, spectrum([2.0, 2.0001]), spectrum([0.0, 1.0]), spectrum([1.0, 1e-6, -1.0]), special]
    )


def rounded(a, dt):
    return a.astype(np.float32).astype(np.float64) if dt == "f32" else a


def relative(error, a):
    size = np.linalg.norm(a, axis=(1, 2))
    return (np.abs(error).reshape(len(a), -1).max(axis=1) / np.where(size == 0, 1, size)).max()


def eigen(batch, a, dt):
    dtype, n = getattr(qd, dt), a.shape[1]

    @qd.kernel
    def run(a: qd.types.ndarray(), w: qd.types.ndarray(), v: qd.types.ndarray()):
        for i in a:
            w[i], v[i] = qd.sym_eig(a[i], dtype)

    x, w, v = batch(dt, n, n, len(a), a), batch(dt, n, 0, len(a)), batch(dt, n, n, len(a))
    run(x.array, w.array, v.array)
    return w.numpy(), v.numpy()


def nearest_psd(batch, a, dt):
    dtype, n = getattr(qd, dt), a.shape[1]

    @qd.kernel
    def run(a: qd.types.ndarray(), p: qd.types.ndarray()):
        for i in a:
            p[i] = qd.make_spd(a[i], dtype)

    x, p = batch(dt, n, n, len(a), a), batch(dt, n, n, len(a))
    run(x.array, p.array)
    return p.numpy()


@pytest.mark.parametrize("dt", ["f32", "f64"])
@pytest.mark.parametrize("n", range(1, 7))
def test_sym_eig(batch, n, dt):
    a = rounded(symmetric_families(n), dt)
    w, v = eigen(batch, a, dt)
    assert (np.diff(w, axis=1) >= 0).all()
    assert relative(v * w[:, None, :] @ v.transpose(0, 2, 1) - a, a) < REBUILD[dt]
    assert np.abs(v.transpose(0, 2, 1) @ v - np.eye(n)).max() < REBUILD[dt]
    assert relative(w - np.linalg.eigvalsh(a), a) < REBUILD[dt]


def test_sym_eig_of_diagonal_matrix_is_exact(batch):
    w, v = eigen(batch, np.array([np.diag([3.0, -0.7, 1e6, 0.1])]), "f64")
    assert np.array_equal(w[0], [-0.7, 0.1, 3.0, 1e6])
    assert np.array_equal(np.sort(np.abs(v[0]), axis=0)[-1], np.ones(4)) and np.abs(v[0]).sum() == 4


@pytest.mark.parametrize("dt, n", [("f32", 1), ("f32", 2), ("f32", 3), ("f64", 4), ("f64", 6)])
def test_make_spd(batch, dt, n):
    a = rounded(symmetric_families(n), dt)
    p = nearest_psd(batch, a, dt)
    assert np.array_equal(p, p.transpose(0, 2, 1))
    w, v = np.linalg.eigh(a)
    assert relative(p - (v * np.maximum(w, 0)[:, None, :]) @ v.transpose(0, 2, 1), a) < REBUILD[dt]
    assert relative(nearest_psd(batch, p, dt) - p, a) < REBUILD[dt], "not idempotent"


def test_make_spd_keeps_positive_and_kills_negative(batch):
    spd = np.array([[[2.0, 1.0], [1.0, 3.0]]])
    assert np.array_equal(nearest_psd(batch, spd, "f64"), spd)
    assert not nearest_psd(batch, np.array([-np.eye(3)]), "f64").any()


def general_pair(batch, a, dt):
    dtype = getattr(qd, dt)

    @qd.kernel
    def run(a: qd.types.ndarray(), w: qd.types.ndarray(), v: qd.types.ndarray()):
        for i in a:
            w[i], v[i] = qd.eig(a[i], dtype)

    x, w, v = batch(dt, 2, 2, len(a), a), batch(dt, 2, 2, len(a)), batch(dt, 4, 2, len(a))
    run(x.array, w.array, v.array)
    w, v = w.numpy(), v.numpy()
    return w[:, :, 0] + 1j * w[:, :, 1], v[:, 0::2, :] + 1j * v[:, 1::2, :]


@pytest.mark.parametrize("dt", ["f32", "f64"])
def test_eig(batch, dt):
    rng = np.random.default_rng(2)
    normal = rng.standard_normal((500, 2, 2))
    special = [[[2, 0], [0, 1]], [[1, 0], [0, 2]], [[1, 1], [0, 1]], [[1, 0], [1, 1]], [[0, -1], [1, 0]]]
    special += [[[0, 0], [0, 0]]]
    special += [[[3, 0], [0, 3]], [[1, 2], [0, 3]], [[1, 0], [2, 3]], [[0, 1], [0, 0]], [[5, 1], [-4, 5]]]
    a = rounded(np.concatenate([normal, normal * 1e12, normal * 1e-12, np.array(special, float)]), dt)
    w, v = general_pair(batch, a, dt)
    size = np.maximum(np.linalg.norm(a, axis=(1, 2)), 1e-300)
    limit = 10 * REBUILD[dt]
    assert (np.abs(a @ v - v * w[:, None, :]).max(axis=(1, 2)) / size).max() < limit
    assert np.abs(np.linalg.norm(v, axis=1) - 1).max() < limit
    real = w[:, 0].imag == 0
    assert (w[real, 0].real >= w[real, 1].real).all() and (w[~real, 0].imag > 0).all()
    assert np.array_equal(w[~real, 1], w[~real, 0].conj()) and (~real).any() and real.any()


def test_eig_golden(batch):
    w, v = general_pair(batch, np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]]]), "f64")
    assert np.array_equal(w[0], [2, 1]) and np.array_equal(np.abs(v[0]), np.eye(2))
    assert np.allclose(w[1], [1j, -1j], atol=1e-14)


@pytest.mark.parametrize("dt", ["f32", "f64"])
@pytest.mark.parametrize("n", [2, 3])
def test_solve(batch, n, dt):
    rng = np.random.default_rng(3)
    u, v = (np.linalg.qr(rng.standard_normal((2000, n, n)))[0] for _ in range(2))
    a = rounded(u @ np.diag(np.geomspace(1, 1e-3, n)) @ v, dt)
    # Forces a row exchange at the first step.
    a[:500, 0, 0] = 0
    a = np.concatenate([a, rounded(a * 1e12, dt), rounded(a * 1e-12, dt), [np.fliplr(np.eye(n))]])
    a = a[np.linalg.cond(a) < 3e3]
    b = rounded(np.einsum("kij,kj->ki", a, rng.standard_normal((len(a), n))), dt)
    dtype = getattr(qd, dt)

    @qd.kernel
    def run(a: qd.types.ndarray(), b: qd.types.ndarray(), x: qd.types.ndarray()):
        for i in a:
            x[i] = qd.solve(a[i], b[i], dtype)

    out = batch(dt, n, 0, len(a))
    run(batch(dt, n, n, len(a), a).array, batch(dt, n, 0, len(a), b).array, out.array)
    x = out.numpy()
    scale = np.linalg.norm(a, axis=(1, 2)) * np.linalg.norm(x, axis=1)
    assert (np.abs(np.einsum("kij,kj->ki", a, x) - b).max(axis=1) / scale).max() < REBUILD[dt]
    expected = np.linalg.solve(a, b[:, :, None])[:, :, 0]
    error = np.abs(x - expected).max(axis=1) / np.linalg.norm(expected, axis=1)
    assert error.max() < 1e3 * REBUILD[dt]


def test_solve_singular(init):
    @qd.kernel
    def run(a: qd.math.mat2) -> qd.math.vec2:
        return qd.solve(a, qd.Vector([1.0, 1.0]))

    singular = qd.Matrix([[1.0, 2.0], [2.0, 4.0]])
    assert not np.isfinite(run(singular).to_numpy()).all()
    init(debug=True)
    with pytest.raises(qd.QuadrantsAssertionError, match="Matrix is singular in linear solve."):
        run(singular)


def test_top_level_calls():
    @qd.kernel
    def largest(x: qd.f32) -> qd.f32:
        w, _ = qd.sym_eig(qd.Matrix([[x, 1.0, 0.0, 0.0], [1.0, x, 0.0, 0.0], [0.0, 0.0, 2, 0.0], [0.0, 0.0, 0.0, 1]]))
        p = qd.make_spd(qd.Matrix([[-x, 0.0], [0.0, x]]))
        return w[3] + p[0, 0] + p[1, 1]

    assert abs(largest(5.0) - 11.0) < 1e-5


def test_errors(compile_error):
    @qd.kernel
    def sym_eig_seven():
        qd.sym_eig(qd.Matrix.identity(qd.f32, 7))

    @qd.kernel
    def make_spd_wide():
        qd.make_spd(qd.Matrix.zero(qd.f32, 2, 3))

    @qd.kernel
    def eig_three():
        qd.eig(qd.Matrix.identity(qd.f32, 3))

    @qd.kernel
    def solve_wide():
        qd.solve(qd.Matrix.zero(qd.f32, 2, 3), qd.Vector([1.0, 2.0]))

    @qd.kernel
    def solve_four():
        qd.solve(qd.Matrix.identity(qd.f32, 4), qd.Vector([1.0, 2.0, 3.0, 4.0]))

    @qd.kernel
    def solve_mismatch():
        qd.solve(qd.Matrix.identity(qd.f32, 3), qd.Vector([1.0, 2.0]))

    compile_error(sym_eig_seven, "Symmetric eigen solver currently supports sizes up to 6×6.")
    compile_error(make_spd_wide, "Symmetric eigen solver currently supports sizes up to 6×6.")
    compile_error(eig_three, "Eigen solver only supports 2×2 matrices.")
    compile_error(solve_wide, "Only square matrix is supported")
    compile_error(solve_four, "Only 2×2 and 3×3 matrices are supported")
    compile_error(solve_mismatch, "Matrix and Vector dimension dismatch")
