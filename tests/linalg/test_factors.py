"""Whether factors can be believed: a wrong solution never comes with `info()`, and a right one is not refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import quadrants as qd

sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed: pip install scipy")

pytestmark = pytest.mark.cpu_only  # factors are made on the host
TYPES = ("LLT", "LDLT", "LU")


@pytest.fixture(autouse=True)
def _runtime(arch):
    pass


def solver_of(a, solver_type, dtype=qd.f64):
    solver = qd.linalg.SparseSolver(dtype, solver_type)
    solver.compute(qd.linalg.SparseMatrix(sm=sparse.coo_array(a), dtype=dtype))
    return solver


def test_a_pivot_that_is_zero_but_for_rounding():
    """Symmetric, of condition 34, and its second leading minor is zero."""
    a = np.array([
        [0, -1, -4, 1, 2, -4], [-1, 2, 3, -2, 3, 2], [-4, 3, 2, -4, 3, -2], [1, -2, -4, -6, -3, -3],
        [2, 3, 3, -3, -2, -3], [-4, 2, -2, -3, -3, -6],
    ], float)  # fmt: skip
    b = np.arange(1.0, 7)
    for solver_type in ("LDLT", "LU"):
        np.testing.assert_allclose(solver_of(a, solver_type).solve(b), np.linalg.solve(a, b), rtol=1e-12)


@pytest.mark.parametrize("dtype", [qd.f32, qd.f64])
@pytest.mark.parametrize("solver_type", TYPES)
def test_random_matrices(solver_type, dtype):
    """Small integers make many minors that are zero, and matrices that are singular."""
    rng = np.random.default_rng(8)
    eps = 1e-5 if dtype == qd.f32 else 1e-14
    found = {"regular": 0, "singular": 0}
    for _ in range(250):
        n = int(rng.integers(2, 8))
        a = rng.integers(-3, 4, (n, n)).astype(float)
        a = {"LLT": a @ a.T, "LDLT": a + a.T, "LU": a}[solver_type]
        solver = solver_of(a, solver_type, dtype)
        if np.linalg.matrix_rank(a) < n:
            assert solver.info() is False, a
            found["singular"] += 1
            continue
        condition = np.linalg.cond(a)
        if condition > 1e4:
            continue
        b = np.arange(1.0, n + 1)
        expected = np.linalg.solve(a, b)
        assert np.abs(solver.solve(b) - expected).max() <= condition * eps * np.abs(expected).max(), a
        assert solver.info() or solver_type == "LDLT", a
        found["regular"] += solver.info()
    assert found["regular"] > 50 and found["singular"] > 2, found


@pytest.mark.parametrize("small", [1e-3, 1e-7, 1e-11])
def test_a_small_pivot_costs_no_digits(small):
    a = np.array([[small, 1, 0], [1, 1, 1], [0, 1, 3]])
    b = np.array([1.0, 2, 3])
    solver = solver_of(a, "LDLT")
    assert solver.info() is True
    np.testing.assert_allclose(solver.solve(b), np.linalg.solve(a, b), rtol=1e-13)


@pytest.mark.parametrize("solver_type", TYPES)
@pytest.mark.parametrize("n", [3, 30, 1000])
def test_a_laplacian_that_constants_are_in_the_null_space_of(solver_type, n):
    line = sparse.diags_array([np.full(n - 1, -1 / 3), np.full(n, 2 / 3), np.full(n - 1, -1 / 3)], offsets=[-1, 0, 1])
    line = line.tolil()
    line[0, 0] = line[n - 1, n - 1] = 1 / 3
    assert solver_of(line, solver_type).info() is False
    line[0, 0] += 1e-3
    solver = solver_of(line, solver_type)
    assert solver.info() is True
    np.testing.assert_allclose(solver.solve(line @ np.arange(n)), np.arange(n), atol=1e-6 * n)


@pytest.mark.parametrize("solver_type", TYPES)
@pytest.mark.parametrize("dtype", [qd.f32, qd.f64])
def test_scaling_makes_no_matrix_singular(solver_type, dtype):
    scales = 10.0 ** np.array([0, -9, 8, -4, 3])
    a = np.diag(np.full(5, 2.0)) + np.diag(np.full(4, -0.5), 1) + np.diag(np.full(4, -0.5), -1)
    solver = solver_of(scales[:, None] * a * scales, solver_type, dtype)
    assert solver.info() is True
    np.testing.assert_allclose(solver.solve(scales * (a @ np.ones(5))) * scales, np.ones(5), rtol=1e-4)


def exactly(a, b):
    """The solution by fractions; None where there is none."""
    n = len(b)
    rows = [[Fraction(x) for x in (*a[i].tolist(), float(b[i]))] for i in range(n)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k])]
    return np.array([float(rows[i][n] / rows[i][i]) for i in range(n)])


@pytest.mark.parametrize("solver_type", ["LDLT", "LU"])
def test_numbers_of_very_different_size_are_solved_or_refused(solver_type):
    rng = np.random.default_rng(1)
    found = {True: 0, False: 0}
    for k in range(200):
        n, size = int(rng.integers(2, 7)), (4, 8)[k % 2]
        a = rng.standard_normal((n, n)) * 10.0 ** rng.integers(-size, size + 1, (n, n)) * (rng.random((n, n)) < 0.7)
        a = a + a.T if solver_type == "LDLT" else a
        b = rng.standard_normal(n) * np.abs(a).max(axis=1)
        solver, expected = solver_of(a, solver_type), exactly(a, b)
        found[solver.info()] += 1
        if expected is None:
            assert solver.info() is False
        elif solver.info():
            assert np.abs(solver.solve(b) - expected).max() <= 1e-3 * np.abs(expected).max(), (a.tolist(), b.tolist())
    assert found[True] > 50 and found[False] > 2, found


@pytest.mark.parametrize("solver_type", TYPES)
def test_a_large_grid_in_f32(solver_type):
    n = 60
    line = sparse.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    grid = sparse.kron(line, sparse.eye_array(n)) + sparse.kron(sparse.eye_array(n), line)
    assert solver_of(grid, solver_type, qd.f32).info() is True


def test_numbers_at_random_are_left_alone():
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    for solver_type in TYPES:
        solver_of(np.eye(9) * 2 + np.eye(9, k=1) + np.eye(9, k=-1), solver_type)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_a_pattern_of_another_size():
    solver = qd.linalg.SparseSolver(qd.f64, "LU")
    two, three = (qd.linalg.SparseMatrix(sm=sparse.eye_array(n), dtype=qd.f64) for n in (2, 3))
    solver.analyze_pattern(three)
    with pytest.raises(qd.QuadrantsRuntimeError, match="matrix of 3 rows, factorize one of 2: call analyze_pattern"):
        solver.factorize(two)
    solver.compute(two)
    assert list(solver.solve(np.ones(2))) == [1, 1]
    with pytest.raises(qd.QuadrantsRuntimeError, match="has 3 elements, the matrix 2 rows"):
        solver.solve(np.ones(3))
