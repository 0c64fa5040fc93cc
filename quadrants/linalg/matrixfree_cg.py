"""Solvers of linear systems whose matrix is a kernel that multiplies by it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import quadrants as qd
from quadrants.errors import QuadrantsRuntimeError, QuadrantsRuntimeTypeError, QuadrantsTypeError
from quadrants.lang.kinds import kind_of, unwrapped
from quadrants.linalg import _krylov as krylov
from quadrants.linalg import _workspace

__all__ = ["LinearOperator", "MatrixFreeBICGSTAB", "MatrixFreeCG"]


@qd.data_oriented
class LinearOperator:
    """A matrix that is known by what it does to a vector.

    matvec_kernel: a kernel `(x: qd.template(), Ax: qd.template())` that stores the product of the matrix and x to Ax;
    both are scalar fields of one shape.

        A = qd.linalg.LinearOperator(apply_laplacian)
    """

    def __init__(self, matvec_kernel: Callable[[Any, Any], None]):
        self._matvec = matvec_kernel

    def matvec(self, x: Any, Ax: Any) -> None:
        """Store the product of the matrix and x to Ax. QuadrantsRuntimeError where their shapes differ."""
        if x.shape != Ax.shape:
            raise QuadrantsRuntimeError(f"Dimension mismatch x.shape{x.shape} != Ax.shape{Ax.shape}.")
        self._matvec(x, Ax)


def MatrixFreeCG(A: Any, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True) -> bool:  # noqa: N802
    """Solve `A x = b` for a symmetric positive definite A by conjugate gradients; whether |b - A x| < tol.

    Args:
        A: a LinearOperator, or anything with its `matvec`.
        b: scalar field, f32 or f64, one to three axes.
        x: another one of that shape and dtype; holds the first guess, and the solution afterwards.
        tol: bound of the 2-norm of the residual; absolute.
        maxiter: how many iterations there are at most; with 0 the guess is looked at.
        quiet: False prints the residual of each iteration.

    The result is False too where a direction has no curvature, or numbers are not finite. Fields that it works in are
    kept for the next call of that shape, until `qd.reset()`.

    Raises:
        QuadrantsTypeError: dtypes that differ, or that are not real.
        QuadrantsRuntimeError: shapes that differ, or have more than three axes.
        QuadrantsRuntimeTypeError: b or x is no scalar field, or A has no `matvec`.

        converged = qd.linalg.MatrixFreeCG(A, b, x, tol=1e-5)
    """
    b, x = _checked(A, b, x, "MatrixFreeCG")
    with _workspace.fields_like(x, 3, krylov.SIZE) as ((r, p, Ap), state):
        A.matvec(x, r)
        krylov.cg_start(b, r, p, state)

        def iterate() -> None:
            A.matvec(p, Ap)
            krylov.cg_step(x, r, p, Ap, state)

        return _Run("Conjugate Gradient method", tol, maxiter, quiet, state).go(iterate)


def MatrixFreeBICGSTAB(A: Any, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True) -> bool:  # noqa: N802
    """Solve `A x = b` for an A that need not be symmetric, by BiCGSTAB; whether |b - A x| < tol.

    Arguments and errors are those of `MatrixFreeCG`. The result is False too where the residual is orthogonal to the
    first one, so that there is no next direction. Of b = 0 the solution is zero.

        converged = qd.linalg.MatrixFreeBICGSTAB(A, b, x)
    """
    b, x = _checked(A, b, x, "MatrixFreeBICGSTAB")
    with _workspace.fields_like(x, 5, krylov.SIZE) as ((r, p, Ap, t, shadow), state):
        A.matvec(x, r)
        krylov.bicgstab_start(b, x, r, p, shadow, state)

        def iterate() -> None:
            A.matvec(p, Ap)
            krylov.bicgstab_half(shadow, x, r, p, Ap, state)
            A.matvec(r, t)
            krylov.bicgstab_step(shadow, x, r, p, Ap, t, state)

        return _Run("BICGSTAB", tol, maxiter, quiet, state).go(iterate)


class _Run:
    """Iterations until the residual is below a bound, with what is printed of them."""

    def __init__(self, name: str, tol: float, maxiter: int, quiet: bool, state: Any):
        self.name, self.tol, self.maxiter, self.quiet, self.state = name, tol, maxiter, quiet, state

    def go(self, iterate: Callable[[], None]) -> bool:
        """Whether the residual gets below the bound."""
        square, broken = self._read()
        self._say(f">>> Initial residual = {square:e}")
        residual, count = math.sqrt(square), 0
        while residual >= self.tol and not broken and count < self.maxiter:
            iterate()
            square, broken = self._read()
            residual, count = math.sqrt(square), count + 1
            self._say(f">>> Iter = {count:4}, Residual = {residual:e}")
        converged = residual < self.tol
        self._conclude(converged, broken, residual, count)
        return converged

    def _read(self) -> tuple[float, bool]:
        """The only numbers that leave the device: the square of the residual, whether there is no next iteration."""
        found = self.state.to_numpy()
        return float(found[krylov.RESIDUAL]), bool(found[krylov.BROKEN])

    def _conclude(self, converged: bool, broken: bool, residual: float, count: int) -> None:
        if self.name == "BICGSTAB":
            if converged:
                self._say(f">>> BICGSTAB method converged at #iterations {count}")
            elif broken:
                self._say(">>> BICGSTAB failed because r@r_tld = 0.")
            else:
                self._say(f">>> BICGSTAB failed to converge in {count} iterations: Residual = {residual:e}")
        elif converged:
            self._say(f">>> {self.name} converged.\n>>> #iterations {count}")
        else:
            self._say(f">>> {self.name} failed to converge in {count} iterations: Residual = {residual:e}")

    def _say(self, line: str) -> None:
        if not self.quiet:
            print(line)


def _checked(A: Any, b: Any, x: Any, solver: str) -> tuple[Any, Any]:
    """The fields. Raises what is wrong with the operator and with them."""
    if not callable(getattr(A, "matvec", None)):
        raise QuadrantsRuntimeTypeError(
            f"{solver}: A is a {type(A).__name__}; pass qd.linalg.LinearOperator(kernel), or what has its `matvec`"
        )
    b, x = unwrapped(b), unwrapped(x)
    for name, found in (("b", b), ("x", x)):
        if kind_of(found) != "field":
            raise QuadrantsRuntimeTypeError(
                f"{solver}: {name} is a {type(found).__name__}; pass a scalar field, as qd.field(qd.f32, shape) makes "
                "one"
            )
    if b.dtype != x.dtype:
        raise QuadrantsTypeError(f"Dtype mismatch b.dtype({b.dtype}) != x.dtype({x.dtype}).")
    if b.dtype not in (qd.f32, qd.f64):
        raise QuadrantsTypeError(f"Not supported dtype: {b.dtype}; {solver} takes f32 and f64.")
    if b.shape != x.shape:
        raise QuadrantsRuntimeError(f"Dimension mismatch b.shape{b.shape} != x.shape{x.shape}.")
    if _first(b) != _first(x):
        raise QuadrantsRuntimeError(f"Offset mismatch: the first index of b is {_first(b)}, that of x is {_first(x)}.")
    if not 1 <= len(x.shape) <= 3:
        raise QuadrantsRuntimeError(
            f"{solver} only support 1D, 2D, 3D inputs; your inputs is {len(x.shape)}-D. Flatten them to one axis."
        )
    return b, x


def _first(field: Any) -> tuple:
    return field._offset or (0,) * len(field.shape)
