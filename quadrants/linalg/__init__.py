"""Sparse matrices, and solvers of linear systems."""

from quadrants import absent
from quadrants.linalg.matrixfree_cg import LinearOperator, MatrixFreeBICGSTAB, MatrixFreeCG
from quadrants.linalg.sparse_cg import SparseCG
from quadrants.linalg.sparse_matrix import SparseMatrix, SparseMatrixBuilder
from quadrants.linalg.sparse_solver import SparseSolver

__all__ = [
    "LinearOperator", "MatrixFreeBICGSTAB", "MatrixFreeCG", "SparseCG", "SparseMatrix", "SparseMatrixBuilder",
    "SparseSolver",
]  # fmt: skip

__getattr__ = absent.names_of("linalg", globals())
