"""Direct solvers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed: pip install scipy")

both = pytest.mark.parametrize("dtype", [qd.f32, qd.f64])
symmetric = pytest.mark.parametrize("solver_type", ["LLT", "LDLT"])


def matrix(dense, dtype=qd.f64, storage_format="col_major"):
    return qd.linalg.SparseMatrix(sm=sparse.coo_array(np.asarray(dense)), dtype=dtype, storage_format=storage_format)


def definite(n, seed=0):
    """A positive definite matrix, half of whose entries are zero, with a condition below 100."""
    rng = np.random.default_rng(seed)
    a = np.where(rng.random((n, n)) < 0.3, rng.standard_normal((n, n)), 0)
    return a @ a.T + n * np.eye(n)


def solved(A, b, dtype=qd.f64, **options):
    solver = qd.linalg.SparseSolver(dtype, **options)
    solver.compute(A)
    assert solver.info() is True
    return solver.solve(b)


@both
@pytest.mark.parametrize("ordering", ["AMD", "COLAMD"])
@pytest.mark.parametrize("solver_type", ["LLT", "LDLT", "LU"])
@pytest.mark.parametrize("storage_format", ["col_major", "row_major"])
def test_a_definite_system(arch, dtype, ordering, solver_type, storage_format):
    a = definite(10)
    b = np.arange(10.0) - 3
    real = np.float32 if dtype == qd.f32 else np.float64
    x = solved(matrix(a, dtype, storage_format), b, dtype, solver_type=solver_type, ordering=ordering)
    assert isinstance(x, np.ndarray) and x.dtype == real
    assert np.linalg.norm(a @ x - b) <= (1e-5 if dtype == qd.f32 else 1e-13) * np.linalg.norm(b)


@both
def test_right_hand_sides_of_every_kind(arch, dtype):
    a = definite(6)
    b = np.arange(6.0)
    real = np.float32 if dtype == qd.f32 else np.float64
    field, array = qd.field(dtype, 6), qd.ndarray(dtype, 6)
    field.from_numpy(b.astype(real))
    array.from_numpy(b.astype(real))
    A, expected = matrix(a, dtype), np.linalg.solve(a, b)
    for given in (b, b.astype(np.float32), np.arange(6), field):
        x = solved(A, given, dtype)
        assert isinstance(x, np.ndarray) and x.dtype == real
        np.testing.assert_allclose(x, expected, rtol=1e-4, atol=1e-5)
    x = solved(A, array, dtype)
    assert isinstance(x, qd.ScalarNdarray) and x.dtype == dtype and x is not array
    np.testing.assert_allclose(x.to_numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("storage_format", ["col_major", "row_major"])
def test_lu_of_a_matrix_without_symmetry(arch, storage_format):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((12, 12)) * (rng.random((12, 12)) < 0.5) + 4 * np.eye(12)[::-1]
    b = rng.standard_normal(12)
    np.testing.assert_allclose(a @ solved(matrix(a, qd.f64, storage_format), b, solver_type="LU"), b, atol=1e-10)


@symmetric
def test_the_lower_triangle_alone_is_read(arch, solver_type):
    a = definite(8)
    b = np.arange(8.0)
    expected = np.linalg.solve(a, b)
    np.testing.assert_allclose(solved(matrix(np.tril(a)), b, solver_type=solver_type), expected)
    other = np.tril(a) + 7 * np.triu(np.ones((8, 8)), 1)
    np.testing.assert_allclose(solved(matrix(other), b, solver_type=solver_type), expected)


def info_of(dense, solver_type):
    solver = qd.linalg.SparseSolver(qd.f64, solver_type)
    solver.compute(matrix(dense))
    return solver.info()


def test_info_tells_definite_indefinite_and_singular_matrices_apart(arch):
    rng = np.random.default_rng(5)
    for seed in range(30):
        a = definite(7, seed)
        shift = rng.uniform(0, 2) * np.linalg.eigvalsh(a)[3]
        shifted = a - shift * np.eye(7)
        is_definite = bool((np.linalg.eigvalsh(shifted) > 0).all())
        assert info_of(shifted, "LLT") is is_definite
        assert info_of(shifted, "LDLT") is True and info_of(shifted, "LU") is True
    indefinite = np.diag([1.0, -2, 3])
    assert [info_of(indefinite, t) for t in ("LLT", "LDLT", "LU")] == [False, True, True]
    singular = np.array([[1.0, 2], [2, 4]])
    assert [info_of(singular, t) for t in ("LLT", "LDLT", "LU")] == [False, False, False]
    assert [info_of(np.zeros((3, 3)), t) for t in ("LLT", "LDLT", "LU")] == [False, False, False]
    assert [info_of([[np.nan, 0], [0, 1.0]], t) for t in ("LLT", "LDLT")] == [False, False]


def test_pivots_off_the_diagonal(arch):
    a = np.array([[0.0, 1], [1, 0]])
    assert [info_of(a, t) for t in ("LLT", "LDLT", "LU")] == [False, False, True]
    np.testing.assert_allclose(solved(matrix(a), np.array([2.0, 3]), solver_type="LU"), [3, 2])


@pytest.mark.parametrize("solver_type", ["LLT", "LDLT", "LU"])
def test_a_failed_solver_raises_nothing_and_serves_again(arch, solver_type):
    solver = qd.linalg.SparseSolver(qd.f64, solver_type)
    solver.compute(matrix(np.zeros((3, 3))))
    assert solver.info() is False and solver.solve(np.ones(3)).shape == (3,)
    solver.compute(matrix(2 * np.eye(3)))
    assert solver.info() is True and list(solver.solve(np.ones(3))) == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("solver_type", ["LLT", "LDLT", "LU"])
def test_one_pattern_and_several_matrices(arch, solver_type):
    a, b = definite(9), np.ones(9)
    solver = qd.linalg.SparseSolver(qd.f64, solver_type)
    solver.analyze_pattern(matrix(a))
    assert solver.info() is True
    with pytest.raises(qd.QuadrantsRuntimeError, match="call compute"):
        solver.solve(b)
    for scale in (1, 2, 5):
        solver.factorize(matrix(scale * a))
        np.testing.assert_allclose(scale * a @ solver.solve(b), b)
    without = qd.linalg.SparseSolver(qd.f64, solver_type)
    without.factorize(matrix(a))
    np.testing.assert_allclose(a @ without.solve(b), b)


def test_what_is_refused(arch):
    for options, text in (
        (dict(solver_type="QR"), r"The solver type QR with AMD is not supported for now. Only \['LLT', 'LDLT', 'LU'\]"),
        (dict(ordering="METIS"), "LLT with METIS is not supported"),
    ):
        with pytest.raises(qd.QuadrantsRuntimeError, match=text):
            qd.linalg.SparseSolver(**options)
    with pytest.raises(RuntimeError, match="Not supported sparse solver data type"):
        qd.linalg.SparseSolver(qd.i32)
    solver = qd.linalg.SparseSolver()
    with pytest.raises(qd.QuadrantsRuntimeError, match=r"Please call compute\(\) before calling solve\(\)"):
        solver.solve(np.ones(3))
    for step in (solver.compute, solver.analyze_pattern, solver.factorize):
        with pytest.raises(qd.QuadrantsRuntimeError, match="dtype f32 is not consistent with the .* dtype f64"):
            step(matrix(np.eye(3)))
        with pytest.raises(qd.QuadrantsRuntimeError, match="is not supported in linear solvers for now"):
            step(np.eye(3))
        with pytest.raises(qd.QuadrantsRuntimeError, match="needs a square matrix, not one of 2 x 3"):
            step(matrix(np.ones((2, 3)), qd.f32))
    solver.compute(matrix(np.eye(3), qd.f32))
    with pytest.raises(TypeError, match="has one axis, not 2"):
        solver.solve(np.ones((3, 1)))
    with pytest.raises(qd.QuadrantsRuntimeError, match="has 4 elements, the matrix 3 rows"):
        solver.solve(np.ones(4))
    with pytest.raises(qd.QuadrantsRuntimeError, match="The parameter type: <class 'list'> is not supported"):
        solver.solve([1, 2, 3])


def test_a_matrix_of_a_kernel(arch):
    """-u'' = 2 on (0, 1) with u = 0 at its ends: u = x (1 - x), which the differences reproduce exactly."""
    n = 50
    h = 1 / (n + 1)
    K = qd.linalg.SparseMatrixBuilder(n, n, 3 * n, qd.f64)

    @qd.kernel
    def fill(K: qd.types.sparse_matrix_builder()):
        for i in range(n):
            K[i, i] += 2.0
            if i > 0:
                K[i, i - 1] -= 1.0
            if i < n - 1:
                K[i, i + 1] -= 1.0

    fill(K)
    x = np.arange(1, n + 1) * h
    np.testing.assert_allclose(solved(K.build(), np.full(n, 2 * h * h)), x * (1 - x), atol=1e-13)
