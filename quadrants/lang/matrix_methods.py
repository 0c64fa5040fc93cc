"""Methods of Python-scope matrices and vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quadrants.errors import QuadrantsCompilationError, QuadrantsTypeError
from quadrants.lang import kernel_hook
from quadrants.lang.described import type_name
from quadrants.lang.small_linalg import inverse


def _vector(x: Any, what: str) -> np.ndarray:
    data = getattr(x, "_data", None)
    if not isinstance(data, np.ndarray) or data.ndim != 1:
        raise QuadrantsCompilationError(f"{what} is not a vector")
    return data


def _same_shape(a: np.ndarray, b: Any) -> np.ndarray:
    data = getattr(b, "_data", None)
    if not isinstance(data, np.ndarray):
        raise QuadrantsTypeError(f"expected a vector or matrix, got {type_name(b)}")
    if a.shape != data.shape:
        raise QuadrantsCompilationError(f"required shapes to be the same, got shapes {[a.shape, data.shape]}")
    return data


def _square(data: np.ndarray) -> np.ndarray:
    if data.ndim != 2 or data.shape[0] != data.shape[1]:
        raise QuadrantsCompilationError(f"expected a square matrix, got shape {data.shape}")
    return data


class MatrixMethods:
    """Mixin that needs `_data`, `_wrap` and `_store`. All methods but `fill` return new values."""

    __slots__ = ()

    _data: np.ndarray
    _wrap: Callable[[Any], Any]
    _store: Callable[[Any, Any], None]

    def dot(self, other: Any) -> Any:
        """Sum of products of two vectors of one length; QuadrantsCompilationError if an operand is no vector."""
        if kernel_hook.is_value(other):
            return kernel_hook.dispatch("Matrix.dot", (self, other))
        return (_vector(self, "lhs for dot") * _vector(other, "rhs for dot")).sum()

    def cross(self, other: Any) -> Any:
        """Cross product of two vectors of length 2 (a scalar) or 3 (a vector)."""
        if kernel_hook.is_value(other):
            return kernel_hook.dispatch("Matrix.cross", (self, other))
        a = _vector(self, "lhs for cross")
        b = _same_shape(a, other)
        if len(a) not in (2, 3):
            raise QuadrantsCompilationError(f"only dimension < 4 is supported, got shape {a.shape}")
        if len(a) == 2:
            return a[0] * b[1] - a[1] * b[0]
        return self._wrap(np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]))

    def outer_product(self, other: Any) -> Any:
        """n x m matrix of the products of a vector of length n and one of length m."""
        if kernel_hook.is_value(other):
            return kernel_hook.dispatch("Matrix.outer_product", (self, other))
        a = _vector(self, "lhs for outer_product")
        return self._wrap(np.outer(a, _vector(other, "rhs for outer_product")))

    def frobenius_inner(self, other: Any) -> Any:
        """Sum of the elementwise products of two values of one shape."""
        if kernel_hook.is_value(other):
            return kernel_hook.dispatch("Matrix.frobenius_inner", (self, other))
        return (self._data * _same_shape(self._data, other)).sum()

    def norm_sqr(self) -> Any:
        """Sum of the squares of all elements, in the element dtype."""
        return _fold(np.multiply(self._data, self._data))

    def norm(self, eps: float = 0) -> Any:
        """sqrt(norm_sqr() + eps). Without eps the derivative at zero is nan."""
        return np.sqrt(self.norm_sqr() + eps)

    def norm_inv(self, eps: float = 0) -> Any:
        """1 / sqrt(norm_sqr() + eps); inf for a zero value."""
        with np.errstate(divide="ignore"):
            return np.float64(1.0) / np.sqrt(self.norm_sqr() + eps)

    def normalized(self, eps: float = 0) -> Any:
        """The vector times 1 / (norm() + eps). A zero vector gives nan where eps is 0, and its derivative is nan in any
        case: write `v * v.norm_inv(eps)` where there may be one. A matrix gives QuadrantsCompilationError.
        """
        if self._data.ndim != 1:
            raise QuadrantsCompilationError(f"expected a vector, got a matrix of shape {self._data.shape}")
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._wrap(self._data * (1.0 / (self.norm() + eps)))

    def transpose(self) -> Any:
        """The m x n transpose of an n x m matrix."""
        if self._data.ndim == 1:
            raise QuadrantsCompilationError(
                "`transpose()` cannot apply to a vector. If you want something like `a @ b.transpose()`, "
                "write `a.outer_product(b)` instead."
            )
        return self._wrap(self._data.T.copy())

    def determinant(self) -> Any:
        """Determinant of a square matrix up to 4 x 4. Kernel scope only; on the host use `numpy.linalg.det`."""
        raise AssertionError("determinant cannot be called in Python-scope; use np.linalg.det(m.to_numpy())")

    def inverse(self) -> Any:
        """Inverse of a square matrix up to 12 x 12, real. A singular matrix gives inf and nan, no error."""
        data = _square(self._data)
        if len(data) > 12:
            raise QuadrantsCompilationError(f"only dimension < 13 is supported, got shape {data.shape}")
        return self._wrap(inverse(data))

    def trace(self) -> Any:
        """Sum of the diagonal of a square matrix."""
        return _fold(np.diagonal(_square(self._data)))

    def sum(self) -> Any:
        """Sum of all elements in the element dtype: small integers wrap, booleans saturate (they do not in kernels)."""
        return _fold(self._data)

    def max(self) -> Any:
        """Largest element."""
        return self._data.max()

    def min(self) -> Any:
        """Smallest element."""
        return self._data.min()

    def any(self) -> bool:
        """True if an element is not 0."""
        return bool(self._data.any())

    def all(self) -> bool:
        """True if no element is 0."""
        return bool(self._data.all())

    def fill(self, val: Any) -> None:
        """Set every element to the number `val`, converted to the element dtype."""
        self._store(..., val)

    def cast(self, dtype: Any) -> Any:
        """The value with elements converted to `dtype`. Kernel scope only; on the host use `qd.cast(v, dtype)`."""
        raise AssertionError("cast cannot be called in Python-scope; use qd.cast(v, dtype)")


def _fold(data: np.ndarray) -> Any:
    # Left alone, NumPy would widen small integers and count booleans.
    return data.sum(dtype=data.dtype)
