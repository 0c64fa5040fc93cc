"""Solvers that know a matrix by a kernel, against NumPy and analytic answers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import quadrants as qd

both = pytest.mark.parametrize("dtype", [qd.f32, qd.f64])
solvers = pytest.mark.parametrize("solver", ["MatrixFreeCG", "MatrixFreeBICGSTAB"])


@qd.kernel
def laplacian(x: qd.template(), Ax: qd.template()):
    """2 d - the sum of the 2 d neighbours, in any number of axes; zero outside."""
    for I in qd.grouped(x):
        total = 2.0 * len(x.shape) * x[I]
        for axis in qd.static(range(len(x.shape))):
            step = qd.Vector.unit(len(x.shape), axis, qd.i32)
            if I[axis] > 0:
                total -= x[I - step]
            if I[axis] < x.shape[axis] - 1:
                total -= x[I + step]
        Ax[I] = total


@qd.kernel
def advection(x: qd.template(), Ax: qd.template()):
    """Diffusion and transport to the right: not symmetric."""
    for i in x:
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < x.shape[0] - 1 else 0.0
        Ax[i] = 3.0 * x[i] - 1.5 * left - 0.5 * right


def laplacian_matrix(shape):
    """The same as an array, axis by axis."""
    result = np.zeros((int(np.prod(shape)),) * 2)
    for axis, n in enumerate(shape):
        line = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        before, behind = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
        result += np.kron(np.kron(np.eye(before), line), np.eye(behind))
    return result


def numbers(dtype):
    return np.float32 if dtype == qd.f32 else np.float64


@both
@solvers
@pytest.mark.parametrize("shape", [(1,), (37,), (9, 14), (5, 4, 6)])
def test_poisson(arch, shape, solver, dtype):
    rng = np.random.default_rng(0)
    right = rng.standard_normal(shape).astype(numbers(dtype))
    b, x = qd.field(dtype, shape), qd.field(dtype, shape)
    b.from_numpy(right)
    A = qd.linalg.LinearOperator(laplacian)
    tol = 1e-4 if dtype == qd.f32 else 1e-10
    assert getattr(qd.linalg, solver)(A, b, x, tol=tol) is True
    expected = np.linalg.solve(laplacian_matrix(shape), right.astype(np.float64).ravel()).reshape(shape)
    np.testing.assert_allclose(x.to_numpy(), expected, rtol=1e-3 if dtype == qd.f32 else 1e-8, atol=30 * tol)
    np.testing.assert_array_equal(b.to_numpy(), right)


def test_32_unknowns_to_the_last_digits(arch):
    b, x, Ax = (qd.field(qd.f64, 32) for _ in range(3))
    b.fill(1)
    A = qd.linalg.LinearOperator(laplacian)
    assert qd.linalg.MatrixFreeCG(A, b, x, tol=1e-10) is True
    A.matvec(x, Ax)
    assert np.abs(Ax.to_numpy() - 1).max() < 1e-13
    i = np.arange(1, 33)
    np.testing.assert_allclose(x.to_numpy(), i * (33 - i) / 2)


def test_bicgstab_without_symmetry(arch):
    n = 40
    b, x = qd.field(qd.f32, n), qd.field(qd.f32, n)
    b.from_numpy(np.linspace(-1, 1, n).astype(np.float32))
    assert qd.linalg.MatrixFreeBICGSTAB(qd.linalg.LinearOperator(advection), b, x, tol=1e-5) is True
    matrix = 3 * np.eye(n) - 1.5 * np.eye(n, k=-1) - 0.5 * np.eye(n, k=1)
    np.testing.assert_allclose(x.to_numpy(), np.linalg.solve(matrix, np.linspace(-1, 1, n)), atol=1e-4)


@solvers
def test_the_first_guess_is_used(arch, solver):
    b, x = qd.field(qd.f32, 16), qd.field(qd.f32, 16)
    i = np.arange(1, 17, dtype=np.float32)
    b.fill(1)
    x.from_numpy(i * (17 - i) / 2)  # the solution
    solve, A = getattr(qd.linalg, solver), qd.linalg.LinearOperator(laplacian)
    assert solve(A, b, x, tol=1e-4, maxiter=0) is True
    x.fill(0)
    assert solve(A, b, x, tol=1e-4, maxiter=0) is False
    assert not x.to_numpy().any()
    assert solve(A, b, x, tol=1e-4, maxiter=2) is False
    assert solve(A, b, x, tol=1e-4) is True


@solvers
def test_success_is_told_by_the_norm_not_by_its_square(arch, solver):
    b, x, Ax = (qd.field(qd.f32, (32, 32)) for _ in range(3))
    b.fill(1)
    A = qd.linalg.LinearOperator(laplacian)
    told = []
    for iterations in range(0, 40, 4):
        x.fill(0)
        found = getattr(qd.linalg, solver)(A, b, x, tol=0.05, maxiter=iterations)
        A.matvec(x, Ax)
        norm = np.linalg.norm(Ax.to_numpy() - 1)
        if not 0.045 < norm < 0.055:  # the residual of a recurrence differs from the true one by rounding
            assert found is bool(norm < 0.05)
        told.append(found)
    assert told[0] is False


@solvers
def test_what_cannot_be_solved_is_false(arch, solver):
    @qd.kernel
    def zero(x: qd.template(), Ax: qd.template()):
        for i in x:
            Ax[i] = 0 * x[i]

    b, x = qd.field(qd.f32, 8), qd.field(qd.f32, 8)
    b.fill(1)
    solve = getattr(qd.linalg, solver)
    assert solve(qd.linalg.LinearOperator(zero), b, x) is False
    A = qd.linalg.LinearOperator(laplacian)
    b[3] = float("nan")
    assert solve(A, b, x) is False
    b[3] = float("inf")
    x.fill(0)
    assert solve(A, b, x) is False
    b.fill(0)
    x.fill(0)
    assert solve(A, b, x) is True  # the guess is the solution


def test_bicgstab_from_a_guess_whose_residual_is_orthogonal_to_b(arch):
    b, x = qd.field(qd.f32, 2), qd.field(qd.f32, 2)

    @qd.kernel
    def double(x: qd.template(), Ax: qd.template()):
        for i in x:
            Ax[i] = 2 * x[i]

    A = qd.linalg.LinearOperator(double)
    for wanted, guess in (([2, 0], [1, 1]), ([0, 0], [1, 5])):
        b.from_numpy(np.float32(wanted))
        x.from_numpy(np.float32(guess))
        assert qd.linalg.MatrixFreeBICGSTAB(A, b, x) is True
        assert list(x.to_numpy()) == [wanted[0] / 2, 0]


def test_bicgstab_stops_where_there_is_no_direction(arch, capsys):
    b, x = qd.field(qd.f32, 2), qd.field(qd.f32, 2)

    @qd.kernel
    def turn(x: qd.template(), Ax: qd.template()):
        for i in x:
            Ax[i] = x[1] if i == 0 else -x[0]

    b.from_numpy(np.float32([1, 0]))
    capsys.readouterr()
    assert qd.linalg.MatrixFreeBICGSTAB(qd.linalg.LinearOperator(turn), b, x, quiet=False) is False
    assert ">>> BICGSTAB failed because r@r_tld = 0." in capsys.readouterr().out


@solvers
def test_what_is_printed(arch, solver, capsys):
    b, x = qd.field(qd.f32, 32), qd.field(qd.f32, 32)
    b.fill(1)
    A, solve = qd.linalg.LinearOperator(laplacian), getattr(qd.linalg, solver)
    capsys.readouterr()
    solve(A, b, x, tol=1e-3)
    assert capsys.readouterr().out == ""
    x.fill(0)
    assert solve(A, b, x, tol=1e-3, quiet=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ">>> Initial residual = 3.200000e+01"
    assert re.fullmatch(r">>> Iter =    1, Residual = \d\.\d{6}e[+-]\d\d", lines[1])
    count = sum("Iter" in line for line in lines)
    if solver == "MatrixFreeCG":
        assert lines[-2:] == [">>> Conjugate Gradient method converged.", f">>> #iterations {count}"]
    else:
        assert lines[-1] == f">>> BICGSTAB method converged at #iterations {count}"
    x.fill(0)
    solve(A, b, x, tol=1e-3, maxiter=2, quiet=False)
    name = "Conjugate Gradient method" if solver == "MatrixFreeCG" else "BICGSTAB"
    assert f">>> {name} failed to converge in 2 iterations: Residual = " in capsys.readouterr().out.splitlines()[-1]


@solvers
def test_arguments_that_do_not_fit(arch, solver):
    A, solve = qd.linalg.LinearOperator(laplacian), getattr(qd.linalg, solver)
    f, d, k = qd.field(qd.f32, 8), qd.field(qd.i32, 8), qd.field(qd.i32, 8)
    with pytest.raises(qd.QuadrantsTypeError, match=r"Dtype mismatch b.dtype\(f32\) != x.dtype\(i32\)"):
        solve(A, f, d)
    with pytest.raises(qd.QuadrantsTypeError, match="Not supported dtype: i32"):
        solve(A, d, k)
    with pytest.raises(qd.QuadrantsRuntimeError, match=r"Dimension mismatch b.shape\(8,\) != x.shape\(9,\)"):
        solve(A, f, qd.field(qd.f32, 9))
    four = [qd.field(qd.f32, (2, 2, 2, 2)) for _ in range(2)]
    with pytest.raises(qd.QuadrantsRuntimeError, match=f"{solver} only support 1D, 2D, 3D inputs; your inputs is 4-D"):
        solve(A, *four)
    array = qd.ndarray(qd.f32, 8)
    for b, x in ((array, f), (f, array), (np.zeros(8), f), (f, qd.Vector.field(2, qd.f32, 8))):
        with pytest.raises(qd.QuadrantsRuntimeTypeError, match=f"{solver}: [bx] is a .*pass a scalar field"):
            solve(A, b, x)
    with pytest.raises(qd.QuadrantsRuntimeError, match=r"Dimension mismatch x.shape\(8,\) != Ax.shape\(9,\)"):
        A.matvec(f, qd.field(qd.f32, 9))


def test_an_operator_may_be_a_class_with_state(arch):
    @qd.data_oriented
    class Shifted(qd.linalg.LinearOperator):
        def __init__(self, n):
            super().__init__(self.apply)
            self.shift = qd.field(qd.f32, n)

        @qd.kernel
        def apply(self, x: qd.template(), Ax: qd.template()):
            for i in x:
                Ax[i] = (2 + self.shift[i]) * x[i]

    A = Shifted(6)
    A.shift.from_numpy(np.arange(6, dtype=np.float32))
    b, x = qd.field(qd.f32, 6), qd.field(qd.f32, 6)
    b.fill(1)
    assert qd.linalg.MatrixFreeCG(A, b, x, tol=1e-5)
    np.testing.assert_allclose(x.to_numpy(), 1 / (2 + np.arange(6)), rtol=1e-4)


@solvers
def test_fields_with_an_offset(arch, solver):
    @qd.kernel
    def apply(x: qd.template(), Ax: qd.template()):
        for i in x:
            left = x[i - 1] if i > -3 else 0.0
            right = x[i + 1] if i < 4 else 0.0
            Ax[i] = 2 * x[i] - left - right

    b, x = qd.field(qd.f32, 8, offset=-3), qd.field(qd.f32, 8, offset=-3)
    b.fill(1)
    assert getattr(qd.linalg, solver)(qd.linalg.LinearOperator(apply), b, x, tol=1e-4)
    i = np.arange(1, 9)
    np.testing.assert_allclose(x.to_numpy(), i * (9 - i) / 2, rtol=1e-4)
    with pytest.raises(qd.QuadrantsRuntimeError, match=r"the first index of b is \(-3,\), that of x is \(0,\)"):
        getattr(qd.linalg, solver)(qd.linalg.LinearOperator(apply), b, qd.field(qd.f32, 8))


def test_fields_of_another_order(arch):
    shape = (6, 9)
    b, x = qd.field(qd.f32, shape, order="ji"), qd.field(qd.f32, shape, order="ji")
    b.fill(1)
    assert qd.linalg.MatrixFreeCG(qd.linalg.LinearOperator(laplacian), b, x, tol=1e-4)
    expected = np.linalg.solve(laplacian_matrix(shape), np.ones(54)).reshape(shape)
    np.testing.assert_allclose(x.to_numpy(), expected, rtol=1e-3)


def test_calls_in_a_row_compile_nothing_and_make_no_fields(arch):
    from quadrants.data import snode

    b, x = qd.field(qd.f32, 20), qd.field(qd.f32, 20)
    b.fill(1)
    A = qd.linalg.LinearOperator(laplacian)
    qd.linalg.MatrixFreeCG(A, b, x, tol=1e-4)
    trees, kernels = len(snode.trees()), len(laplacian)
    for _ in range(3):
        x.fill(0)
        assert qd.linalg.MatrixFreeCG(A, b, x, tol=1e-4)
    assert (len(snode.trees()), len(laplacian)) == (trees, kernels)


def test_many_shapes_keep_a_bounded_number_of_fields(arch):
    from quadrants.data import snode

    @qd.kernel
    def identity(x: qd.template(), Ax: qd.template()):
        for i in x:
            Ax[i] = x[i]

    A = qd.linalg.LinearOperator(identity)
    fields = [(qd.field(qd.f32, n), qd.field(qd.f32, n)) for n in range(1, 13)]
    fields[0][0].fill(0)
    trees = len(snode.trees())
    for b, x in fields:
        b.fill(1)
        assert qd.linalg.MatrixFreeCG(A, b, x, tol=1e-4)
        np.testing.assert_allclose(x.to_numpy(), 1)
    assert len(snode.trees()) <= trees + 8


def test_a_solver_in_the_product_of_another_one(arch):
    """Fields that are in use are nobody else's."""
    b, x = qd.field(qd.f32, 8), qd.field(qd.f32, 8)
    inner_b, inner_x = qd.field(qd.f32, 8), qd.field(qd.f32, 8)

    class Nested:
        def matvec(self, x, Ax):
            inner_b.fill(1)
            inner_x.fill(0)
            assert qd.linalg.MatrixFreeCG(qd.linalg.LinearOperator(laplacian), inner_b, inner_x, tol=1e-4)
            laplacian(x, Ax)

    b.fill(1)
    assert qd.linalg.MatrixFreeCG(Nested(), b, x, tol=1e-4)
    i = np.arange(1, 9)
    np.testing.assert_allclose(x.to_numpy(), i * (9 - i) / 2, rtol=1e-4)
    np.testing.assert_allclose(inner_x.to_numpy(), i * (9 - i) / 2, rtol=1e-4)


def test_an_error_of_the_product_is_the_callers(arch):
    class Broken:
        def matvec(self, x, Ax):
            raise ZeroDivisionError("of the user")

    b, x = qd.field(qd.f32, 8), qd.field(qd.f32, 8)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="of the user"):
            qd.linalg.MatrixFreeCG(Broken(), b, x)


def test_solvers_survive_a_reset(init):
    for _ in range(2):
        init()
        b, x = qd.field(qd.f32, 8), qd.field(qd.f32, 8)
        b.fill(1)
        assert qd.linalg.MatrixFreeCG(qd.linalg.LinearOperator(laplacian), b, x, tol=1e-4)
        qd.reset()


@pytest.mark.parametrize("solver", ["MatrixFreeCG", "MatrixFreeBICGSTAB"])
def test_a_kernel_alone_is_no_operator(arch, solver):
    b, x = qd.field(qd.f32, 4), qd.field(qd.f32, 4)
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match=r"A is a Kernel; pass qd\.linalg\.LinearOperator\(kernel\)"):
        getattr(qd.linalg, solver)(laplacian, b, x)
