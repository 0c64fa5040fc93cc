"""Sparse matrices and their builders."""

from quadrants.linalg._builder import SparseMatrixBuilder
from quadrants.linalg._matrix import SparseMatrix

__all__ = ["SparseMatrix", "SparseMatrixBuilder"]
