"""Conjugate gradients on a sparse matrix, as one kernel an iteration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import quadrants as qd
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.kinds import kind_of, unwrapped
from quadrants.linalg import _library as library
from quadrants.linalg._matrix import SparseMatrix
from quadrants.linalg._products import Rows, blank, shared

__all__ = ["SparseCG"]

# Places in `state`: r . r, r . z with z = r / diagonal of the matrix, and the square of the size of what b - A x adds,
# by which rounding goes.
_SQUARE, _SLOPE, _TERMS = 0, 1, 2
_MEANINGLESS = 1e-3  # of rounding: a residual of an iteration below that says nothing


@qd.kernel
def _invert_diagonal(starts: qd.Tensor, columns: qd.Tensor, values: qd.Tensor, inverse: qd.Tensor):
    """1 where an entry of the diagonal is zero."""
    for i in range(inverse.shape[0]):
        inverse[i] = 1
        for k in range(starts[i], starts[i + 1]):
            if columns[k] == i and values[k] != 0:
                inverse[i] = 1 / values[k]


@qd.kernel
def _start(
    starts: qd.Tensor, columns: qd.Tensor, values: qd.Tensor, inverse: qd.Tensor, b: qd.Tensor, x: qd.Tensor,
    r: qd.Tensor, p: qd.Tensor, state: qd.Tensor,
):  # fmt: skip
    square = qd.zero(values[0])
    slope = qd.zero(values[0])
    terms = qd.zero(values[0])
    for i in range(b.shape[0]):
        residual = b[i]
        size = qd.abs(b[i])
        for k in range(starts[i], starts[i + 1]):
            product = values[k] * x[columns[k]]
            residual -= product
            size += qd.abs(product)
        z = inverse[i] * residual
        r[i] = residual
        p[i] = z
        square += residual * residual
        slope += residual * z
        terms += size * size
    state[_SQUARE] = square
    state[_SLOPE] = slope
    state[_TERMS] = terms


@qd.kernel
def _step(
    starts: qd.Tensor, columns: qd.Tensor, values: qd.Tensor, inverse: qd.Tensor, x: qd.Tensor, r: qd.Tensor,
    p: qd.Tensor, Ap: qd.Tensor, state: qd.Tensor,
):  # fmt: skip
    slope = state[_SLOPE]
    curvature = qd.zero(slope)
    for i in range(p.shape[0]):
        total = qd.zero(slope)
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * p[columns[k]]
        Ap[i] = total
        curvature += p[i] * total
    alpha = slope / curvature if curvature != 0 else qd.zero(slope)
    square = qd.zero(slope)
    next_slope = qd.zero(slope)
    for i in range(p.shape[0]):
        x[i] = x[i] + alpha * p[i]  # of its own: not an atomic
        residual = r[i] - alpha * Ap[i]
        r[i] = residual
        square += residual * residual
        next_slope += residual * residual * inverse[i]
    beta = next_slope / slope if slope != 0 else qd.zero(slope)
    for i in range(p.shape[0]):
        p[i] = inverse[i] * r[i] + beta * p[i]
    state[_SQUARE] = square
    state[_SLOPE] = next_slope


class SparseCG:
    """Solves `A x = b` by conjugate gradients, preconditioned by the diagonal of A.

    Args:
        A: SparseMatrix, n x n, symmetric and positive definite, both triangles stored.
        b: (n,) NumPy array, scalar field or ndarray.
        x0: where to start, as b; zero if None.
        max_iter: how many iterations there are at most.
        atol: what |b - A x| / |b| has to be less than, or as small as rounding to the dtype of A leaves it.

    Raises QuadrantsRuntimeError for other objects and shapes, ImportError where there is no SciPy.

        x, converged = qd.linalg.SparseCG(A, b, max_iter=500).solve()
    """

    def __init__(self, A: SparseMatrix, b: Any, x0: Any = None, max_iter: int = 50, atol: float = 1e-6):
        if not isinstance(A, SparseMatrix):
            raise QuadrantsRuntimeError(f"SparseCG solves systems of a SparseMatrix, not of {type(A)}.")
        if A.n != A.m:
            raise QuadrantsRuntimeError(f"SparseCG needs a square matrix, not one of {A.n} x {A.m}.")
        if not atol >= 0:
            raise ValueError(f"SparseCG: atol={atol!r} bounds the residual, and must not be negative")
        self.A, self.max_iter, self.atol = A, max_iter, atol
        self.b = self._vector(b, "b")
        self.x0 = np.zeros_like(self.b) if x0 is None else self._vector(x0, "x0")
        self._to_ndarray = kind_of(unwrapped(b)) == "ndarray"

    def solve(self) -> tuple[Any, bool]:
        """(x, whether it converged). x is an ndarray if b is one, else a NumPy array; of the dtype of A."""
        size = float(np.linalg.norm(self.b.astype(np.float64)))
        if size == 0:
            return self._result(np.zeros_like(self.b)), True
        work = _Work(self.A.rows_of_symmetric(), self.b, self.x0)
        converged = self._converges(work, size)
        return self._result(work.x), converged

    def _converges(self, work: _Work, size: float) -> bool:
        """Iterations carry the residual along; what rounding has put between it and b - A x is seen when they end, and
        they start again from there as long as that helps."""
        left, before = self.max_iter, math.inf
        while True:
            work.start()
            relative = work.residual() / size
            if relative < self.atol:
                return True
            if before < math.inf and not (work.rounding() < relative * size and relative < before / 2):
                return relative * size <= work.rounding()
            # What is carried along goes on to shrink where b - A x cannot.
            enough = max(self.atol, _MEANINGLESS * work.rounding() / size)
            before, count = relative, 0
            while relative >= enough and count < left:
                work.step()
                relative, count = work.residual() / size, count + 1
            left -= count
            if not relative < enough:
                return False

    def _result(self, x: Any) -> Any:
        """A vector of NumPy or an ndarray as what b is."""
        if self._to_ndarray:
            return library.ndarray_of(x, self.A.dtype) if isinstance(x, np.ndarray) else x
        return x if isinstance(x, np.ndarray) else x.to_numpy()

    def _vector(self, x: Any, name: str) -> np.ndarray:
        x = unwrapped(x)
        if kind_of(x) in ("field", "ndarray"):
            x = x.to_numpy()
        if not isinstance(x, np.ndarray):
            raise QuadrantsRuntimeError(
                f"Unsupported CG RHS type: {name} is a {type(x)}; pass a NumPy array, a field or a qd.ndarray."
            )
        if x.shape != (self.A.n,):
            raise QuadrantsRuntimeError(f"SparseCG: {name} has the shape {x.shape}, the matrix {self.A.shape}.")
        return np.ascontiguousarray(x, library.numpy_dtype(self.A.dtype))


class _Work:
    """The vectors of a solution under way."""

    def __init__(self, rows: Rows, b: np.ndarray, x0: np.ndarray):
        dtype = rows.dtype
        inverse, self.r, self.p, self.Ap = (blank(len(b), dtype) for _ in range(4))
        self.matrix = (rows.starts, rows.columns, rows.values, inverse)
        _invert_diagonal(*self.matrix)
        self.b, self.x = shared(b, dtype), shared(x0.copy(), dtype)
        self.state = qd.ndarray(dtype, 3)

    def start(self) -> None:
        _start(*self.matrix, self.b, self.x, self.r, self.p, self.state)

    def step(self) -> None:
        _step(*self.matrix, self.x, self.r, self.p, self.Ap, self.state)

    def residual(self) -> float:
        """The 2-norm; NaN where numbers are not finite."""
        return self._norm(_SQUARE)

    def rounding(self) -> float:
        """How large b - A x may be, at the start of iterations, though x is as good as numbers of the type can be."""
        return 2 * float(np.finfo(library.numpy_dtype(self.state.dtype)).eps) * self._norm(_TERMS)

    def _norm(self, place: int) -> float:
        square = float(self.state.to_numpy()[place])
        return math.sqrt(square) if square >= 0 else math.nan
