"""Scalar fields of quantised types: elements are some bits of words."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.data import bulk, dtypes, host_access, layout, packed_numbers
from quadrants.data.alone import alone
from quadrants.data.field import ScalarField, leaf_like, new_leaf, refuse_array
from quadrants.data.node import Leaf
from quadrants.data.packed_numbers import U64
from quadrants.ir.quant import Packing, QuantType


def leaf_of(kind: Any, name: str, order: tuple | None) -> Leaf:
    """The component of a field whose numbers are of a primitive or quantised type."""
    if not isinstance(kind, QuantType):
        return new_leaf(kind, name, order)
    leaf = new_leaf(kind.compute, name, order, kind)
    leaf.field_class = PackedField
    return leaf


def scalar_field(leaf: Leaf) -> ScalarField:
    """The field of one component."""
    return leaf.field_class(leaf)


class PackedField(ScalarField):
    """A field with one quantised number per cell, placed through `qd.BitpackedFields` or a `quant_array`.

        x = qd.field(qd.types.quant.int(13))
        bits = qd.BitpackedFields(max_num_bits=32)
        bits.place(x)
        qd.root.dense(qd.i, 8).place(bits)
        x[0] = -5

    Its `dtype` is the type that kernels compute with.
    """

    @property
    def quant(self) -> Any:
        """The quantised type."""
        return self._leaves[0].quant

    def _make_companion(self, which: str) -> PackedField:
        leaf = self._leaves[0]
        return PackedField(leaf_like(leaf, f"{leaf.name}.{which}"))

    # -- elements

    def _open(self) -> Any:
        self._check_usable()
        cell = self._leaves[0].cell
        if cell.within is not None:
            from quadrants.data.sparse.words import SparseWords  # few programs have sparse trees

            self._items = SparseWords(cell)
            return self._items
        word = cell.packing.word
        self._items = layout.view((cell,), (), word.size, dtypes.storage_dtype(word))
        return self._items

    def _at(self, key: Any) -> tuple:
        """(where the word is, how far the bits are moved on in it)"""
        cell = self._leaves[0].cell
        index = host_access.field_index(key, len(cell.shape))
        index = host_access.zero_based(index, cell, self)
        levels = cell.packing.levels
        at = index if cell.within is not None else layout.split_index(cell, index)
        return at, sum(index[a] // d % n * bits for a, n, d, bits in levels)

    def _opened(self) -> tuple[Any, Packing]:
        items = self._items
        if items is None:
            items = self._open()
        return items, self._leaves[0].cell.packing

    def __getitem__(self, key: Any) -> Any:
        """`f[i, j]` as an int, or as a float for fixed and floating-point types. Errors as for other scalar fields."""
        items, packing = self._opened()
        at, shift = self._at(key)
        return packed_numbers.read(packing, np.asarray(items.item(at), U64), shift).item()

    @alone
    def __setitem__(self, key: Any, value: Any) -> None:
        """Write one element as kernels do: integers wrap, fixed numbers round and wrap, floats round."""
        items, packing = self._opened()
        at, shift = self._at(key)
        stored = host_access.stored(value, self.dtype)
        number = np.asarray(stored, dtypes.numpy_dtype(self.dtype))
        items[at] = packed_numbers.changed(packing, np.asarray(items.item(at), U64), shift, number).astype(items.dtype)
        self._written()

    def _cell_view(self, key: Any) -> Any:
        """A live element of a struct: NumPy sees no bits, so it is one that fetches and stores."""
        self._opened()
        self._at(key)
        return PackedElement(self, key)

    # -- whole content

    def _shifts(self, packing: Packing) -> tuple:
        """(shape of the content with the levels of a `quant_array`, which axes these are, how far each is moved on)"""
        levels = sorted((*((*v[:3], -1) for v in self._leaves[0].cell.levels), *packing.levels), key=_order)
        shape = tuple(level[1] for level in levels)
        axes = tuple(k for k, level in enumerate(levels) if level[3] >= 0)
        moved = np.zeros((), U64)
        for k in axes:
            steps = np.arange(shape[k], dtype=U64) * U64(levels[k][3])
            moved = moved + steps.reshape([-1 if j == k else 1 for j in range(len(shape))])
        return shape, axes, moved

    def _export(self) -> np.ndarray:
        items, packing = self._opened()
        if self._leaves[0].cell.within is not None:
            return items.numbers()
        _, axes, moved = self._shifts(packing)
        words = np.expand_dims(np.asarray(items).astype(U64), axes) if axes else np.asarray(items).astype(U64)
        return packed_numbers.read(packing, words, moved).reshape(self.shape)

    def _content(self) -> np.ndarray:
        return self._export()

    def _store_all(self, array: np.ndarray) -> None:
        self._store(bulk.cast(array, dtypes.numpy_dtype(self.dtype)))

    def fill(self, val: Any) -> None:
        """Set every element to the number `val`, as an assignment in a kernel does."""
        self._opened()
        self._store(np.asarray(bulk.number(val, self.dtype)))

    @alone
    def _store(self, values: np.ndarray) -> None:
        items, packing = self._opened()
        if self._leaves[0].cell.within is not None:
            items.store(np.broadcast_to(values, self.shape))
            self._written()
            return
        words = np.asarray(items).astype(U64)
        shape, axes, moved = self._shifts(packing)
        values = np.broadcast_to(values, self.shape).reshape(shape)
        if axes:
            mask = np.bitwise_or.reduce(np.broadcast_to(U64((1 << packing.width) - 1) << moved, shape), axis=axes)
            bits = packed_numbers.bits_of(packing, values) << moved
            words = (words & ~mask) | np.bitwise_or.reduce(bits, axis=axes)
        else:
            words = packed_numbers.changed(packing, words, 0, values)
        items[...] = words.astype(items.dtype)
        self._written()

    def _no_view_reason(self) -> str:
        return "its numbers are bits of words"

    def _strided(self) -> None:
        return None

    # -- what needs an array of numbers

    def _to_numpy(self, dtype: Any, copy: Any) -> np.ndarray:
        refuse_array(self, "to_numpy")

    def to_torch(self, device: Any = None, *, copy: Any = True) -> Any:
        """`AssertionError`: there is no array of numbers."""
        refuse_array(self, "to_torch")

    def __str__(self) -> str:
        if not self._is_placed():
            return super().__str__()
        refuse_array(self, "str")


class PackedElement:
    """One element of a packed field, where the language expects the NumPy view of a number."""

    __slots__ = ("_field", "_key")
    shape = ()
    ndim = 0

    def __init__(self, field: PackedField, key: Any) -> None:
        self._field = field
        self._key = key

    @property
    def dtype(self) -> np.dtype:
        """Type that the number is computed with."""
        return dtypes.numpy_dtype(self._field.dtype)

    def get(self) -> Any:
        """The number."""
        return self._field[self._key]

    def set(self, value: Any) -> None:
        """Store a number."""
        self._field[self._key] = value

    def __getitem__(self, key: Any) -> Any:
        return self.dtype.type(self.get())

    def __setitem__(self, key: Any, value: Any) -> None:
        self.set(value)


def _order(level: tuple) -> tuple:
    return level[0], -level[2]
