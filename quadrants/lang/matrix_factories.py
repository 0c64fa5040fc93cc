"""Static constructors of `qd.Matrix` and `qd.Vector`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quadrants.errors import QuadrantsCompilationError
from quadrants.lang import kernel_hook
from quadrants.lang.matrix_containers import spell


def _kernel_only(name: str, *args: Any) -> Any:
    if kernel_hook.in_kernel() or kernel_hook.has_value(args):
        return kernel_hook.dispatch(f"Matrix.{name}", args)
    raise AssertionError(f"{name} cannot be called in Python-scope")


def _stack(name: str, items: Sequence) -> np.ndarray:
    shapes = []
    for item in items:
        if not isinstance(item, (list, tuple, MatrixFactories)):
            raise QuadrantsCompilationError(f"{name} takes a list of vectors or lists, but one entry is {item!r}")
        shapes.append(item.get_shape() if isinstance(item, MatrixFactories) else (len(item),))
    if not shapes or any(s != shapes[0] for s in shapes):
        raise QuadrantsCompilationError(f"required shapes to be the same, got shapes {shapes}")
    if len(shapes[0]) != 1:
        raise QuadrantsCompilationError(f"{name} takes vectors, got entries of shape {shapes[0]}")
    return np.array([np.asarray(item) for item in items])


class MatrixFactories:
    """Mixin of `qd.Matrix`; every method is also reachable as `qd.Vector.<name>`."""

    __slots__ = ()

    get_shape: Callable[[], tuple]

    @staticmethod
    def zero(dt: Any, n: int, m: Any = None) -> Any:
        """Vector(n), or n x m matrix, of zeros of dtype `dt`. Kernel scope only; n, m are compile-time ints."""
        return _kernel_only("zero", dt, n, m)

    @staticmethod
    def one(dt: Any, n: int, m: Any = None) -> Any:
        """Vector(n), or n x m matrix, of ones of dtype `dt`. Kernel scope only; n, m are compile-time ints."""
        return _kernel_only("one", dt, n, m)

    @staticmethod
    def identity(dt: Any, n: int) -> Any:
        """n x n identity matrix of dtype `dt`. Kernel scope only."""
        return _kernel_only("identity", dt, n)

    @staticmethod
    def unit(n: int, i: Any, dt: Any = None) -> Any:
        """Vector(n) of dtype `dt` (None: default_ip) with 1 at index `i`, else 0. Kernel scope only."""
        return _kernel_only("unit", n, i, dt)

    @staticmethod
    def diag(dim: int, val: Any) -> Any:
        """dim x dim matrix with the number `val` on the diagonal and 0 elsewhere; its dtype follows `val`."""
        if kernel_hook.in_kernel() or kernel_hook.has_value((val,)):
            return kernel_hook.dispatch("Matrix.diag", (dim, val))
        from quadrants.lang.matrix import Matrix

        return Matrix([[val if i == j else 0 for j in range(dim)] for i in range(dim)])

    @staticmethod
    def rows(rows: Sequence) -> Any:
        """Matrix whose rows are the given vectors or lists, all of one length; the dtype is promoted over all.

        Raises QuadrantsCompilationError for unequal lengths or entries that are no vectors.
        """
        if kernel_hook.in_kernel() or kernel_hook.has_value((rows,)):
            return kernel_hook.dispatch("Matrix.rows", (rows,))
        from quadrants.lang.matrix import Matrix

        return Matrix(_stack("rows", rows))

    @staticmethod
    def cols(cols: Sequence) -> Any:
        """Matrix whose columns are the given vectors or lists, all of one length; the dtype is promoted over all.

        Raises QuadrantsCompilationError for unequal lengths or entries that are no vectors.
        """
        if kernel_hook.in_kernel() or kernel_hook.has_value((cols,)):
            return kernel_hook.dispatch("Matrix.cols", (cols,))
        from quadrants.lang.matrix import Matrix

        return Matrix(np.ascontiguousarray(_stack("cols", cols).T))


spell(MatrixFactories, "Matrix")
