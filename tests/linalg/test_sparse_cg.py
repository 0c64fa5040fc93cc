"""Conjugate gradients on sparse matrices, against SciPy and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed: pip install scipy")

both = pytest.mark.parametrize("dtype", [qd.f32, qd.f64])


def definite(n, seed=0):
    rng = np.random.default_rng(seed)
    a = np.where(rng.random((n, n)) < 0.1, rng.standard_normal((n, n)), 0)
    return a @ a.T + np.diag(rng.uniform(1, 20, n))


def matrix(dense, dtype=qd.f64, storage_format="col_major"):
    return qd.linalg.SparseMatrix(sm=sparse.coo_array(np.asarray(dense)), dtype=dtype, storage_format=storage_format)


@both
@pytest.mark.parametrize("storage_format", ["col_major", "row_major"])
def test_the_solution_is_numpys(arch, dtype, storage_format):
    a, b = definite(50), np.arange(50.0) - 20
    atol = 1e-5 if dtype == qd.f32 else 1e-12
    real = np.float32 if dtype == qd.f32 else np.float64
    x, converged = qd.linalg.SparseCG(matrix(a, dtype, storage_format), b.astype(real), max_iter=200, atol=atol).solve()
    assert converged is True and isinstance(x, np.ndarray) and x.dtype == real
    assert np.linalg.norm(a @ x - b) <= 2 * atol * np.linalg.norm(b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=100 * atol, atol=100 * atol)


def test_it_is_preconditioned_by_the_diagonal(arch):
    """As many iterations as SciPy's, which is given the same preconditioner."""
    from scipy.sparse.linalg import cg

    a = definite(200, 3)
    a *= np.outer(s := np.linspace(1, 30, 200), s)  # of bad condition but for the diagonal
    b = np.ones(200)
    counts = []
    inverse = sparse.diags_array(1 / np.diag(a))
    _, failed = cg(sparse.csr_array(a), b, rtol=1e-6, atol=0, M=inverse, callback=lambda _: counts.append(1))
    assert failed == 0
    A = matrix(a)
    x, converged = qd.linalg.SparseCG(A, b, max_iter=len(counts) + 1, atol=1e-6).solve()
    assert converged
    assert not qd.linalg.SparseCG(A, b, max_iter=len(counts) - 2, atol=1e-6).solve()[1]


@both
@pytest.mark.parametrize("far", [1, 1e4, 1e6])
def test_a_start_far_from_the_solution(arch, dtype, far):
    """The residual that iterations carry along does not see how the start was rounded."""
    a, real = definite(60, 4), np.float32 if dtype == qd.f32 else np.float64
    b, x0 = np.ones(60, real), (far * np.cos(np.arange(60))).astype(real)
    x, converged = qd.linalg.SparseCG(matrix(a, dtype), b, x0=x0, max_iter=900, atol=1e-5).solve()
    assert converged and np.linalg.norm(a @ x - b) <= 2e-5 * np.linalg.norm(b)


@both
def test_a_tolerance_below_rounding(arch, dtype):
    a, real = definite(60, 4), np.float32 if dtype == qd.f32 else np.float64
    for atol in (1e-20, 0):
        x, converged = qd.linalg.SparseCG(matrix(a, dtype), np.ones(60, real), max_iter=3000, atol=atol).solve()
        assert converged and np.linalg.norm(a @ x - 1) <= 1e3 * np.finfo(real).eps


def test_too_few_iterations_are_no_success(arch):
    x, converged = qd.linalg.SparseCG(matrix(definite(50)), np.ones(50), max_iter=3).solve()
    assert converged is False and x.shape == (50,) and np.isfinite(x).all()


def test_it_prints_nothing(arch, capsys):
    solver = qd.linalg.SparseCG(matrix(definite(20)), np.ones(20))
    capsys.readouterr()
    solver.solve()
    assert capsys.readouterr().out == ""


@both
def test_vectors_of_every_kind(arch, dtype):
    a = definite(20)
    real = np.float32 if dtype == qd.f32 else np.float64
    expected = np.linalg.solve(a, np.ones(20))
    field, array = qd.field(dtype, 20), qd.ndarray(dtype, 20)
    field.fill(1)
    array.fill(1)
    A = matrix(a, dtype)
    for b in (np.ones(20), np.ones(20, np.float32), np.ones(20, np.int32), field):
        x, converged = qd.linalg.SparseCG(A, b, max_iter=100, atol=1e-5).solve()
        assert converged and isinstance(x, np.ndarray) and x.dtype == real
        np.testing.assert_allclose(x, expected, atol=1e-4)
    x, converged = qd.linalg.SparseCG(A, array, max_iter=100, atol=1e-5).solve()
    assert converged and isinstance(x, qd.ScalarNdarray) and x.dtype == dtype
    np.testing.assert_allclose(x.to_numpy(), expected, atol=1e-4)


def test_the_first_guess_is_used_and_kept(arch):
    a, b = definite(30), np.ones(30)
    exact = np.linalg.solve(a, b)
    guess = exact.copy()
    x, converged = qd.linalg.SparseCG(matrix(a), b, x0=guess, max_iter=0).solve()
    assert converged
    np.testing.assert_array_equal(x, exact)
    np.testing.assert_array_equal(guess, exact)
    solver = qd.linalg.SparseCG(matrix(a), b, x0=np.full(30, 5.0), max_iter=100, atol=1e-10)
    for _ in range(2):
        np.testing.assert_allclose(solver.solve()[0], exact, rtol=1e-8)
    assert not qd.linalg.SparseCG(matrix(a), b, max_iter=0).solve()[1]


def test_systems_at_the_edge(arch):
    x, converged = qd.linalg.SparseCG(matrix(definite(5)), np.zeros(5), x0=np.ones(5)).solve()
    assert converged and not x.any()
    x, converged = qd.linalg.SparseCG(qd.linalg.SparseMatrix(4, 4, dtype=qd.f64), np.ones(4)).solve()
    assert converged is False
    b = np.ones(5)
    b[2] = np.nan
    assert qd.linalg.SparseCG(matrix(definite(5)), b).solve()[1] is False
    x, converged = qd.linalg.SparseCG(matrix([[4.0]]), np.array([2.0])).solve()
    assert converged and list(x) == [0.5]


def test_what_is_refused(arch):
    A = matrix(np.eye(3))
    for arguments, text in (
        ((np.eye(3), np.ones(3)), "systems of a SparseMatrix"),
        ((matrix(np.ones((2, 3))), np.ones(3)), "needs a square matrix, not one of 2 x 3"),
        ((A, [1, 2, 3]), "Unsupported CG RHS type"),
        ((A, np.ones(4)), r"b has the shape \(4,\)"),
        ((A, np.ones((3, 1))), r"b has the shape \(3, 1\)"),
        ((A, np.ones(3), np.ones(2)), r"x0 has the shape \(2,\)"),
        ((A, np.ones(3), "zero"), "x0 is a <class 'str'>"),
    ):
        with pytest.raises(qd.QuadrantsRuntimeError, match=text):
            qd.linalg.SparseCG(*arguments)


def test_a_matrix_that_a_kernel_assembled(arch):
    """-div grad u = 1 on a cube: as SciPy solves it."""
    from scipy.sparse.linalg import spsolve

    n = 7
    K = qd.linalg.SparseMatrixBuilder(n**3, n**3, 7 * n**3)

    @qd.kernel
    def fill(K: qd.types.sparse_matrix_builder()):
        for I in qd.grouped(qd.ndrange(n, n, n)):
            row = (I[0] * n + I[1]) * n + I[2]
            K[row, row] += 6.0
            for axis in qd.static(range(3)):
                stride = qd.static(n ** (2 - axis))
                if I[axis] > 0:
                    K[row, row - stride] -= 1.0
                if I[axis] < n - 1:
                    K[row, row + stride] -= 1.0

    fill(K)
    A = K.build()
    x, converged = qd.linalg.SparseCG(A, np.ones(n**3, np.float32), max_iter=200).solve()
    assert converged
    np.testing.assert_allclose(x, spsolve(A.to_scipy().astype(np.float64), np.ones(n**3)), rtol=1e-4)


def test_a_bound_below_0_is_refused(arch):
    builder = qd.linalg.SparseMatrixBuilder(4, 4, 4)
    for atol in (-1, float("nan")):
        with pytest.raises(ValueError, match="bounds the residual"):
            qd.linalg.SparseCG(builder.build(), np.ones(4, np.float32), atol=atol)
