"""Fields with a small vector or matrix per cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.data import bulk, dtypes, host_access, host_values, layout
from quadrants.data.field import Field, ScalarField, copy_field, leaf_like, new_leaf, refuse_array
from quadrants.data.interop_numpy import NumpyExchange
from quadrants.errors import QuadrantsRuntimeError


def new_leaves(element_shape: tuple, kinds: list, name: str, order: tuple | None, make=new_leaf) -> tuple:
    """Component slots of a matrix field, row major. `kinds`: one dtype per component, or what `make` takes."""
    return grouped(tuple(make(kind, name, order) for kind in kinds))


def grouped(leaves: tuple) -> tuple:
    """Components as those of one field."""
    for leaf in leaves:
        leaf.group = leaves
        leaf.writes = leaves[0].writes
    if len({leaf.dtype for leaf in leaves}) != 1 or len({leaf.quant is None for leaf in leaves}) != 1:
        raise QuadrantsRuntimeError("Member fields of a matrix field must have the same compute type")
    return leaves


class MatrixField(NumpyExchange, Field):
    """A field with an `n` x `m` matrix per cell, or a vector of `n` if `ndim` is 1.

    v = qd.Vector.field(3, qd.f32, shape=8)  # a qd.MatrixField
    v[0] = [1.0, 2.0, 3.0]
    """

    def __init__(self, leaves: tuple, n: int, m: int, ndim: int = 2):
        Field.__init__(self, leaves, leaves[0].name)
        self.n = n
        self.m = m
        self.ndim = ndim
        self._element_shape = (n,) if ndim == 1 else (n, m)
        self._scalars: dict = {}
        self._forget_views()
        self._own()

    def _forget_views(self) -> None:
        self._elements: Any = None
        self._plain: Any = None

    @property
    def element_shape(self) -> tuple:
        """`(n,)` of a vector field, `(n, m)` of a matrix field."""
        return self._element_shape

    @property
    def cells(self) -> tuple | None:
        """`CellLayout` of every component, row major; None before materialization."""
        cells = tuple(leaf.cell for leaf in self._leaves)
        return None if None in cells else cells

    @property
    def interleaved(self) -> bool:
        """True if the components are adjacent, so that one load moves the whole element."""
        cells = self.cells
        return cells is not None and layout.adjacent(cells)

    def get_scalar_field(self, *indices) -> ScalarField:
        """The `ScalarField` that shares memory with component `(i,)` or `(i, j)`. `IndexError` out of range."""
        i, j = (*indices, 0)[:2]
        if not (1 <= len(indices) <= 2 and 0 <= i < self.n and 0 <= j < self.m):
            raise IndexError(f"component {indices} of a {self.n}x{self.m} field")
        k = i * self.m + j
        if k not in self._scalars:
            self._check_alive()
            scalar = self._scalars[k] = self._leaves[k].field_class(self._leaves[k])
            scalar._is_primal = self._is_primal
            for which in ("grad", "dual") if self._is_primal and self.dtype.is_real else ():
                scalar._companions[which] = getattr(self, which).get_scalar_field(*indices)
        return self._scalars[k]

    def _make_companion(self, which: str) -> MatrixField:
        name = f"{self._name}.{which}"
        leaves = grouped(tuple(leaf_like(leaf, name) for leaf in self._leaves))
        return MatrixField(leaves, self.n, self.m, self.ndim)

    # -- elements

    def _open(self):
        """The live array over the storage, or None if the components are placed irregularly."""
        self._check_usable()
        cells = self.cells
        step = layout.even_step(cells)
        if step is None or step < 0 or cells[0].within is not None:
            return None
        elements = layout.view(cells, self._element_shape, step, dtypes.numpy_dtype(self.dtype))
        if not cells[0].blocked and not any(cells[0].index_offset):
            self._plain = elements
            self._extents = cells[0].shape
        self._elements = elements
        return elements

    def _element(self, key):
        """`(array, None)` for a live array of one element, `(None, index)` if NumPy cannot alias it."""
        plain = self._plain
        if plain is not None and host_access.is_plain_index(key, self._extents):
            return plain[key], None
        elements = self._elements if self._elements is not None else self._open()
        cell = self._leaves[0].cell
        index = host_access.field_index(key, len(cell.shape))
        at = host_access.zero_based(index, cell, self)
        if elements is None:
            return None, index
        return elements[layout.split_index(cell, at) if cell.blocked else at], None

    def __getitem__(self, key):
        """The element as a live `qd.Vector` or `qd.Matrix`: writing to it writes to the field.

        `vf[i]`, `vf[i, j]`, `vf[[i, j]]`, `vf[None]`; index errors as for scalar fields.
        """
        array, index = self._element(key)
        if array is not None:
            self._expose()
            return host_values.live_matrix(array, self.dtype)
        return host_values.remote_matrix(lambda: self._gather(index), lambda values: self._scatter(index, values))

    def __setitem__(self, key, value) -> None:
        """Write a whole element from a sequence. `IndexError` if it is too short, `TypeError` for a scalar."""
        array, index = self._element(key)
        values = host_values.store_value(
            host_access.element_values(value, self._element_shape, self.dtype), dtypes.numpy_dtype(self.dtype)
        )
        if array is not None:
            array[...] = values
            self._written()
        else:
            self._scatter(index, values)

    def _components(self) -> list:
        return [self.get_scalar_field(i, j) for i in range(self.n) for j in range(self.m)]

    def _gather(self, index: tuple) -> np.ndarray:
        values = [part[index] for part in self._components()]
        return np.array(values, dtypes.numpy_dtype(self.dtype)).reshape(self._element_shape)

    def _scatter(self, index: tuple, values: np.ndarray) -> None:
        for part, value in zip(self._components(), values.ravel(), strict=True):
            part[index] = value

    # -- whole content

    def _content(self) -> np.ndarray:
        elements = self._elements if self._elements is not None else self._open()
        if elements is not None:
            return elements
        parts = [part._export() for part in self._components()]
        return np.stack(parts, axis=-1).reshape(self.shape + self._element_shape)

    def _strided(self) -> np.ndarray | None:
        self._content()
        return None if self._leaves[0].cell.blocked else self._elements

    def _store_all(self, array: np.ndarray) -> None:
        elements = self._elements if self._elements is not None else self._open()
        if elements is not None:
            elements[...] = bulk.cast(array, elements.dtype).reshape(elements.shape)
            self._written()
            return
        columns = np.asarray(array).reshape(*self.shape, len(self._leaves))
        for k, part in enumerate(self._components()):
            part._store_all(columns[..., k])

    def _no_view_reason(self) -> str | None:
        cells, leaves = self.cells, self._leaves
        if not layout.adjacent(cells):
            return "the components have separate arrays (Layout.SOA)"
        return layout.shared_cell_reason(leaves)

    def fill(self, val) -> None:
        """Set every element to a number, or to a nested list, vector or matrix of the exact size."""
        value = bulk.element(val, self._element_shape, self.dtype)
        elements = self._elements if self._elements is not None else self._open()
        if elements is not None:
            elements[...] = value
            self._written()
            return
        values = np.broadcast_to(value, self._element_shape)
        for part, x in zip(self._components(), values.ravel(), strict=True):
            part.fill(x)

    def copy_from(self, other: Field) -> None:
        """Take over the values of a field of equal shape and element shape, cast to this dtype."""
        copy_field(self, other)

    def to_numpy(  # type: ignore[override]
        self, keep_dims: bool = False, dtype=None, *, copy=True
    ) -> np.ndarray:
        """The content as an array of shape `shape + (n, m)`; `shape + (n,)` for one column unless `keep_dims`.

        `dtype` and `copy` as for scalar fields.
        """
        return self._shaped(self._to_numpy(dtype, copy), keep_dims)

    def _to_numpy(self, dtype, copy) -> np.ndarray:
        if self._leaves[0].quant is not None:
            refuse_array(self, "to_numpy")
        return super()._to_numpy(dtype, copy)

    def _shaped(self, array, keep_dims: bool):
        if self.ndim == 2 and self.m == 1 and not keep_dims:
            return array[..., 0]
        return array[..., None] if self.ndim == 1 and keep_dims else array

    def to_torch(self, device=None, keep_dims: bool = False, *, copy=True):
        """As `to_numpy`, as a torch tensor on `device`."""
        if self._leaves[0].quant is not None:
            refuse_array(self, "to_torch")
        from quadrants.data import interop_torch

        return interop_torch.export(self, lambda array: self._shaped(array, keep_dims), device, copy)

    def _check_import(self, array: np.ndarray) -> np.ndarray:
        full = self.shape + (self.n, self.m)
        if self.ndim == 1 and array.shape == self.shape + (1, self.n):  # vectors as rows
            return array.reshape(self.shape + self._element_shape)
        if array.ndim not in (len(full), len(full) - 1) or (array.ndim < len(full) and self.m != 1):
            raise AssertionError(
                f"an array with {len(self.shape + self._element_shape)} axes is needed, of shape "
                f"{self.shape + self._element_shape}, but {array.shape} is provided"
            )
        if array.shape != full[: array.ndim]:
            raise ValueError(f"Mismatch shape: {full[: array.ndim]} expected, but {array.shape} provided")
        return array.reshape(self.shape + self._element_shape)

    def __repr__(self) -> str:
        return f"<{self.n}x{self.m} qd.Matrix.field>"
