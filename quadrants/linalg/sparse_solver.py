"""Direct solvers of sparse linear systems, which SciPy's SuperLU factors."""

from __future__ import annotations

from typing import Any

import numpy as np

import quadrants as qd
from quadrants.data import dtypes
from quadrants.errors import QuadrantsRuntimeError
from quadrants.lang.kinds import kind_of, unwrapped
from quadrants.linalg import _library as library
from quadrants.linalg._factors import factor
from quadrants.linalg._matrix import SparseMatrix

__all__ = ["SparseSolver"]

_TYPES, _ORDERINGS = ["LLT", "LDLT", "LU"], ["AMD", "COLAMD"]


class SparseSolver:
    """Factors a `SparseMatrix` once, and solves systems with it.

    Args:
        dtype: qd.f32 or qd.f64, that of the matrices.
        solver_type: "LLT" (symmetric, positive definite), "LDLT" (symmetric) or "LU" (square). The first two read the
            lower triangle and the diagonal alone.
        ordering: "AMD" or "COLAMD"; has no effect on the solution but rounding.

    The factors are made on the host, on every arch.

    Raises QuadrantsRuntimeError for other values, ImportError where there is no SciPy.

        solver = qd.linalg.SparseSolver(solver_type="LU")
        solver.compute(A)
        x = solver.solve(b)
    """

    def __init__(self, dtype: Any = qd.f32, solver_type: str = "LLT", ordering: str = "AMD"):
        library.scipy("sparse")
        if dtypes.scalar(dtype) not in (qd.f32, qd.f64):
            raise QuadrantsRuntimeError(f"Not supported sparse solver data type: {dtype}; use qd.f32 or qd.f64.")
        if solver_type not in _TYPES or ordering not in _ORDERINGS:
            raise QuadrantsRuntimeError(
                f"The solver type {solver_type} with {ordering} is not supported for now. Only {_TYPES} with "
                f"{_ORDERINGS} are supported."
            )
        self.dtype, self.solver_type, self.ordering = dtypes.scalar(dtype), solver_type, ordering
        self._analyzed: int | None = None  # rows of the pattern
        self._rows = 0  # of the matrix that was factored last
        self._factored = False
        self._factors: Any = None  # of SuperLU; None where there are none
        self._succeeded = False

    def compute(self, sparse_matrix: SparseMatrix) -> None:
        """`analyze_pattern` and `factorize`."""
        self.analyze_pattern(sparse_matrix)
        self.factorize(sparse_matrix)

    def analyze_pattern(self, sparse_matrix: SparseMatrix) -> None:
        """Take the pattern of matrices to be factored. QuadrantsRuntimeError: no square SparseMatrix of dtype."""
        self._check(sparse_matrix)
        self._analyzed, self._factored, self._succeeded = sparse_matrix.n, False, True

    def factorize(self, sparse_matrix: SparseMatrix) -> None:
        """Factor a matrix; again, for other values. `info()` tells whether it has factors.

        QuadrantsRuntimeError: no square SparseMatrix of dtype, or one of another size than `analyze_pattern` was given.
        """
        self._check(sparse_matrix)
        if self._analyzed not in (None, sparse_matrix.n):
            raise QuadrantsRuntimeError(
                f"analyze_pattern was given a matrix of {self._analyzed} rows, factorize one of {sparse_matrix.n}: "
                "call analyze_pattern again, or compute."
            )
        self._factors, self._succeeded = factor(sparse_matrix._scipy, self.solver_type)
        self._rows, self._factored = sparse_matrix.n, True

    def info(self) -> bool:
        """Whether the last step succeeded: LLT wants positive pivots, LDLT and LU none that is zero.

        What is zero but for rounding counts as zero: then the matrix is singular to the dtype, and x would be made of
        rounding errors.
        """
        return self._succeeded

    def solve(self, b: Any) -> Any:
        """The x with `A x = b`, for one b of the matrix's number of rows. Where `info()` is False it means nothing.

        b: NumPy array or scalar field, of which x is a NumPy array of the solver's dtype, or ndarray, of which it is
            one.

        Raises QuadrantsRuntimeError for other objects and lengths and where nothing was factored, TypeError for arrays
        with two axes.
        """
        if not self._factored:
            raise QuadrantsRuntimeError("Please call compute() before calling solve().")
        b = unwrapped(b)
        of_ndarray = kind_of(b) == "ndarray"
        if of_ndarray or kind_of(b) == "field":
            b = b.to_numpy()
        if not isinstance(b, np.ndarray):
            raise QuadrantsRuntimeError(
                f"The parameter type: {type(b)} is not supported in linear solvers for now. Pass a NumPy array, "
                "a field or a qd.ndarray."
            )
        if b.ndim != 1:
            raise TypeError(f"A right-hand side has one axis, not {b.ndim}: solve for one column after the other.")
        if len(b) != self._rows:
            raise QuadrantsRuntimeError(f"The right-hand side has {len(b)} elements, the matrix {self._rows} rows.")
        b = b.astype(library.numpy_dtype(self.dtype), copy=False)
        x = np.full_like(b, np.nan) if self._factors is None else self._factors.solve(b)
        return library.ndarray_of(x, self.dtype) if of_ndarray else x

    def _check(self, matrix: Any) -> None:
        if not isinstance(matrix, SparseMatrix):
            raise QuadrantsRuntimeError(
                f"The parameter type: {type(matrix)} is not supported in linear solvers for now. Pass a SparseMatrix."
            )
        if matrix.dtype != self.dtype:
            raise QuadrantsRuntimeError(
                f"The SparseSolver's dtype {self.dtype} is not consistent with the SparseMatrix's dtype {matrix.dtype}."
            )
        if matrix.n != matrix.m:
            raise QuadrantsRuntimeError(f"A direct solver needs a square matrix, not one of {matrix.n} x {matrix.m}.")
