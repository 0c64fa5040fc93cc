"""Doors from `qd.Matrix` and `qd.Vector` to containers of such elements. The data layer is imported on first use."""

from __future__ import annotations

from typing import Any

from quadrants.lang import containers
from quadrants.lang.enums import Layout
from quadrants.lang.tensor_types import MatrixType, VectorType


class MatrixContainers:
    """Mixin of `qd.Matrix`."""

    __slots__ = ()

    @classmethod
    def field(
        cls,
        n: int,
        m: int,
        dtype: Any,
        shape: Any = None,
        order: str | None = None,
        name: str = "",
        offset: Any = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Layout = Layout.AOS,
        ndim: int | None = None,
    ) -> Any:
        """A field of n x m matrices.

        Args:
            n, m: rows and columns of an element.
            dtype: primitive type of the components, or a nested list of one type a component.
            shape: int or tuple of extents; `()` is 0-d; None declares the field now and places it later.
            order: storage order of the axes, outermost first, e.g. "ji".
            name: shown in messages. offset: first valid index of each axis.
            needs_grad, needs_dual: allocate gradients (real dtypes only).
            layout: `Layout.AOS` interleaves the components of an element, `Layout.SOA` gives each its own array.
            ndim: rank of the elements, 2 unless given.

        Raises QuadrantsRuntimeError before `qd.init` and for extents <= 0, ValueError for other dtypes.
        """
        rank = 2 if ndim is None else ndim
        return containers.factories().matrix_field(
            n, m, dtype, shape, order, name, offset, needs_grad, needs_dual, layout, rank
        )

    @classmethod
    def ndarray(cls, n: int, m: int, dtype: Any, shape: Any, needs_grad: bool = False) -> Any:
        """A zeroed ndarray of n x m matrices. `shape`: int or sequence of ints; `needs_grad`: real dtypes only."""
        return containers.factories().matrix_ndarray(n, m, dtype, shape, needs_grad, ndim=2)

    @classmethod
    def tensor(cls, n: int, m: int, dtype: Any, shape: Any, **kwargs: Any) -> Any:
        """A tensor of n x m matrices: see `qd.tensor` for `backend`, `layout` and the rest."""
        return containers.tensor(MatrixType(n, m, dtype), shape, **kwargs)


class VectorContainers:
    """Mixin of `qd.Vector`, before MatrixContainers: the same doors without `m`."""

    __slots__ = ()

    @classmethod
    def field(
        cls,
        n: int,
        dtype: Any,
        shape: Any = None,
        order: str | None = None,
        name: str = "",
        offset: Any = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Layout = Layout.AOS,
    ) -> Any:
        """A field of vectors with n elements: arguments after `dtype` as for `qd.Matrix.field`, from `shape` on."""
        return containers.factories().matrix_field(
            n, 1, dtype, shape, order, name, offset, needs_grad, needs_dual, layout, 1
        )

    @classmethod
    def ndarray(cls, n: int, dtype: Any, shape: Any, needs_grad: bool = False) -> Any:
        """A zeroed ndarray of vectors with n elements. `shape`: int or sequence of ints; `needs_grad`: real dtypes."""
        return containers.factories().matrix_ndarray(n, 1, dtype, shape, needs_grad, ndim=1)

    @classmethod
    def tensor(cls, n: int, dtype: Any, shape: Any, **kwargs: Any) -> Any:
        """A tensor of vectors with n elements: see `qd.tensor` for `backend`, `layout` and the rest."""
        return containers.tensor(VectorType(n, dtype), shape, **kwargs)


def spell(mixin: type, name: str) -> None:
    """Have Python's own errors call the functions of a mixin by the class that users call them by."""
    for key, value in vars(mixin).items():
        function = getattr(value, "__func__", value)
        if hasattr(function, "__qualname__") and not key.startswith("__"):
            function.__qualname__ = f"{name}.{key}"


spell(MatrixContainers, "Matrix")
spell(VectorContainers, "Vector")
