"""Operators of Python-scope matrices: NumPy decides values, dtypes and broadcasting; `@` has the rules of kernels."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from quadrants.errors import QuadrantsCompilationError
from quadrants.lang import kernel_hook


def operand(x: Any) -> Any:
    """What NumPy is to compute with: the array of a Matrix, anything else as it is (so that scalars promote weakly)."""
    return x._data if isinstance(x, MatrixOperators) else x


def matmul(a: np.ndarray, b: np.ndarray) -> Any:
    """Product of two operands of rank 1 or 2; QuadrantsCompilationError if the inner dimensions differ."""
    if a.ndim not in (1, 2) or b.ndim not in (1, 2):
        raise QuadrantsCompilationError(
            f"matrix multiplication needs vectors or matrices on both sides, got shapes {a.shape} and {b.shape}; "
            "use * to multiply by a scalar"
        )
    if a.shape[-1] != b.shape[0]:
        raise QuadrantsCompilationError(f"dimension mismatch between {a.shape} and {b.shape} for matrix multiplication")
    return a @ b


def _binary(fn: Callable) -> Callable:
    def method(self, other):
        if kernel_hook.is_value(other):
            return NotImplemented
        return self._wrap(fn(self._data, operand(other)))

    return method


def _reflected(fn: Callable) -> Callable:
    def method(self, other):
        if kernel_hook.is_value(other):
            return NotImplemented
        return self._wrap(fn(operand(other), self._data))

    return method


def _unary(fn: Callable) -> Callable:
    def method(self):
        return self._wrap(fn(self._data))

    return method


class MatrixOperators:
    """Mixin that needs `_data` (ndarray) and `_wrap(ndarray) -> Matrix, Vector or scalar`."""

    __slots__ = ()

    _data: np.ndarray
    _wrap: Callable[[Any], Any]

    # NumPy arrays and scalars on the left hand the operation over to the reflected methods below.
    __array_priority__ = 1000.0

    __add__ = _binary(operator.add)
    __sub__ = _binary(operator.sub)
    __mul__ = _binary(operator.mul)
    __truediv__ = _binary(operator.truediv)
    __floordiv__ = _binary(operator.floordiv)
    __mod__ = _binary(operator.mod)
    __pow__ = _binary(operator.pow)
    __and__ = _binary(operator.and_)
    __or__ = _binary(operator.or_)
    __xor__ = _binary(operator.xor)
    __lshift__ = _binary(operator.lshift)
    __rshift__ = _binary(operator.rshift)

    __radd__ = _reflected(operator.add)
    __rsub__ = _reflected(operator.sub)
    __rmul__ = _reflected(operator.mul)
    __rtruediv__ = _reflected(operator.truediv)
    __rfloordiv__ = _reflected(operator.floordiv)
    __rmod__ = _reflected(operator.mod)
    __rpow__ = _reflected(operator.pow)
    __rand__ = _reflected(operator.and_)
    __ror__ = _reflected(operator.or_)
    __rxor__ = _reflected(operator.xor)
    __rlshift__ = _reflected(operator.lshift)
    __rrshift__ = _reflected(operator.rshift)

    __eq__ = _binary(operator.eq)
    __ne__ = _binary(operator.ne)
    __lt__ = _binary(operator.lt)
    __le__ = _binary(operator.le)
    __gt__ = _binary(operator.gt)
    __ge__ = _binary(operator.ge)

    # Comparison is elementwise, so the identity is the only usable key.
    __hash__ = object.__hash__

    __neg__ = _unary(operator.neg)
    __pos__ = _unary(operator.pos)
    __invert__ = _unary(operator.invert)
    __abs__ = _unary(abs)

    def __matmul__(self, other):
        if kernel_hook.is_value(other):
            return NotImplemented
        return self._wrap(matmul(self._data, np.asarray(operand(other))))

    def __rmatmul__(self, other):
        if kernel_hook.is_value(other):
            return NotImplemented
        return self._wrap(matmul(np.asarray(operand(other)), self._data))
