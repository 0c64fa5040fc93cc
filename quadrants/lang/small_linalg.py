"""Inverse of small matrices in Python scope."""

from __future__ import annotations

import numpy as np


def inverse(data: np.ndarray) -> np.ndarray:
    """Inverse of a square matrix, real. Up to 4 x 4 adjugate / determinant, as kernels do; then LU with pivoting.

    A singular matrix gives inf and nan.
    """
    if data.dtype.kind != "f":
        data = data.astype(np.float64)
    if len(data) > 4:
        try:
            return np.linalg.inv(data)
        except np.linalg.LinAlgError:
            return np.full_like(data, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _adjugate(data) * (data.dtype.type(1.0) / _determinant(data))


def _determinant(a: np.ndarray):
    """Laplace expansion along the first column: exact for exact integers, unlike a factorisation."""
    if len(a) == 1:
        return a[0, 0]
    total = a.dtype.type(0)
    for i in range(len(a)):
        minor = np.delete(a[:, 1:], i, axis=0)
        total = total + a[i, 0] * _determinant(minor) * (-1 if i % 2 else 1)
    return total


def _adjugate(a: np.ndarray) -> np.ndarray:
    n = len(a)
    out = np.ones_like(a)
    if n > 1:
        for i in range(n):
            for j in range(n):
                minor = np.delete(np.delete(a, i, axis=0), j, axis=1)
                out[j, i] = _determinant(minor) * (-1 if (i + j) % 2 else 1)
    return out
