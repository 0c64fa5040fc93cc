"""Factors of sparse matrices by SciPy's SuperLU, and whether what they solve can be believed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quadrants.linalg import _library as library

# Factors that are larger than the matrix by this lose two digits.
_MOST_GROWTH = 100
# A pivot that is smaller than this many roundings of what it was subtracted from may be zero as well.
_ROUNDINGS = 16
# Each one halves the exponents that are left.
_SCALINGS = 8


class Factors(NamedTuple):
    """solver: of SuperLU, None where there is none. succeeded: whether the matrix has factors of the kind asked for and
    is not singular to its dtype.
    """

    solver: Any
    succeeded: bool


def factor(matrix: Any, solver_type: str) -> Factors:
    """Those of a square matrix of SciPy. "LLT" and "LDLT" read its lower triangle."""
    return _factor_lu(matrix.tocsc()) if solver_type == "LU" else _factor_symmetric(matrix, solver_type == "LLT")


def _factor_lu(matrix: Any) -> Factors:
    try:
        solver = library.scipy("sparse.linalg").splu(matrix, permc_spec="COLAMD")
    except RuntimeError:  # "Factor is exactly singular"
        return Factors(None, False)
    return Factors(solver, _is_regular(matrix, solver))


def _factor_symmetric(matrix: Any, definite: bool) -> Factors:
    """Pivots off the diagonal mean that there is no L D L^T: one on the diagonal was zero. One that is zero but for
    rounding means the same. LU still solves the system, and any other for which these factors are no good.
    """
    sparse = library.scipy("sparse")
    lower = sparse.tril(matrix, format="csc")
    whole = (lower + sparse.tril(matrix, k=-1, format="csc").T).tocsc()
    try:
        solver = library.scipy("sparse.linalg").splu(
            whole, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0, options={"SymmetricMode": True}
        )
    except RuntimeError:
        return Factors(None, False)
    if (solver.perm_r != solver.perm_c).any():
        return Factors(_factor_lu(whole).solver, False)
    pivots = solver.U.diagonal()
    subtracted = np.asarray(abs(solver.L).multiply(abs(solver.U).T).sum(axis=1)).reshape(-1)
    exist = bool((np.abs(pivots) > _ROUNDINGS * np.finfo(pivots.dtype).eps * subtracted).all())
    if definite:
        return Factors(solver, exist and bool((pivots > 0).all()) and _is_regular(whole, solver))
    if exist and _growth(abs(whole), solver, np.ones(len(pivots))) <= _MOST_GROWTH:
        return Factors(solver, _is_regular(whole, solver))
    other = _factor_lu(whole)
    return Factors(other.solver, exist and other.succeeded)


def _is_regular(matrix: Any, solver: Any) -> bool:
    """Whether no matrix within rounding of this one is singular.

    Scaling of rows and columns loses nothing, so that is asked of the matrix with its scales taken out.
    """
    if not np.isfinite(matrix.data).all() or not np.isfinite(solver.U.data).all():
        return False
    size = abs(matrix).astype(np.float64)
    largest = float(_MOST_GROWTH / np.finfo(matrix.dtype).eps)
    growth = max(_MOST_GROWTH, _growth(size, solver, np.ones(matrix.shape[1])))
    # Most are no worse with the columns as they are, and finding their scales takes as long as the estimate.
    if growth * _condition(size, solver, np.ones(matrix.shape[1])) < largest:
        return True
    scales = _columns_alike(size)
    return max(growth, _growth(size, solver, scales)) * _condition(size, solver, scales) < largest


def _growth(size: Any, solver: Any, scales: np.ndarray) -> float:
    """How much larger |L| |U| is than |A|, with the columns scaled: what factoring rounds is as large."""
    of_factors = np.empty_like(scales)
    of_factors[solver.perm_c] = scales
    return float(((abs(solver.L) @ (abs(solver.U) @ of_factors))[solver.perm_r] / (size @ scales)).max())


def _condition(size: Any, solver: Any, scales: np.ndarray) -> float:
    """An estimate of the maximum norm of C^-1 A^-1 R: C scales the columns, and R has the sums of the rows of |A| C."""
    linalg = library.scipy("sparse.linalg")
    columns, rows = 1 / scales, size @ scales
    dtype = solver.U.dtype

    def times(x: np.ndarray) -> np.ndarray:
        return rows * solver.solve((columns * x.reshape(-1)).astype(dtype), "T")

    def transposed(x: np.ndarray) -> np.ndarray:
        return columns * solver.solve((rows * x.reshape(-1)).astype(dtype))

    scaled = linalg.LinearOperator(size.shape, matvec=times, rmatvec=transposed, dtype=np.float64)
    with np.errstate(all="ignore"):
        # With one column there is nothing random in the estimate.
        return float(linalg.onenormest(scaled, t=1))


def _columns_alike(size: Any) -> np.ndarray:
    """Scales of the columns: those of Ruiz's iteration, which makes the largest number of each row and column 1."""
    sparse = library.scipy("sparse")
    scales, left = np.ones(size.shape[1]), size
    for _ in range(_SCALINGS):
        rows, columns = (1 / np.sqrt(left.max(axis=axis).toarray().reshape(-1)) for axis in (1, 0))
        left = sparse.diags_array(rows) @ left @ sparse.diags_array(columns)
        scales *= columns
    return scales
