"""A sparse field as containers take arrays: as much of NumPy's interface as they use."""

from __future__ import annotations

import math

import numpy as np

from quadrants.data import memory
from quadrants.data.alone import alone
from quadrants.data.layout import CellLayout
from quadrants.data.sparse import host
from quadrants.data.sparse.active import active, put, take


class SparseArray:
    """The numbers of one component of a field, by zero-based index. Reading makes nothing active and gives 0 where
    nothing is; writing one number makes its cell active; writing all, `array[...] = values`, leaves out cells that
    are not active.
    """

    __slots__ = ("cell", "dtype", "shape")

    def __init__(self, cell: CellLayout, dtype):
        self.cell = cell
        self.dtype = np.dtype(dtype)
        self.shape = cell.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of cells, active or not."""
        return math.prod(self.shape)

    def view(self, dtype) -> SparseArray:
        """The same bytes as another dtype of the same size."""
        return SparseArray(self.cell, dtype)

    # -- one cell

    def _coords(self, index: tuple) -> tuple:
        return tuple(index[axis] // divisor for axis, divisor in self.cell.within.axes)

    def _number(self, index: tuple):
        """A live 0-d array over a number, of container 0 where none is active."""
        cell = self.cell
        at = cell.offset + sum(index[axis] // d % extent * stride for axis, extent, d, stride in cell.levels)
        within = cell.within
        if within.holder is not None:
            at += host.container(within.node, self._coords(index)) * within.holder.pool.stride
        return memory.array(cell.tree.buffer, (), self.dtype, at, ())

    @alone
    def item(self, key=()):
        """One number as Python has it."""
        return self._number(key if type(key) is tuple else (key,)).item(())

    def __getitem__(self, key):
        if type(key) is tuple and key and key[-1] is Ellipsis:
            return SparseElement(self, key[:-1])
        return self.item(key)

    @alone
    def __setitem__(self, key, value) -> None:
        if key is Ellipsis:
            self._assign(value)
            return
        index = key if type(key) is tuple else (key,)
        host.activate(self.cell.within.node, self._coords(index))
        self._number(index)[...] = value
        self.cell.within.node.header.writes.advance()

    # -- all cells

    def _storage(self):
        """The numbers by container and level."""
        cell = self.cell
        shape: tuple = tuple(level[1] for level in cell.levels)
        strides: tuple = tuple(level[3] for level in cell.levels)
        holder = cell.within.holder
        if holder is not None:
            shape = (holder.pool.words.shape[0], *shape)
            strides = (holder.pool.stride, *strides)
        return memory.array(cell.tree.buffer, shape, self.dtype, cell.offset, strides)

    def _active(self):
        return active(self.cell.within, self.cell.levels, self.shape)

    @alone
    def fetch(self) -> np.ndarray:
        """All numbers as an array of their own."""
        out = np.zeros(self.shape, self.dtype)
        found = self._active()
        content = take(self._storage(), found.ids)
        if not self.shape:
            out[...] = content.reshape(())
            return out
        where = [np.broadcast_to(x, content.shape) for x in found.index]
        if found.mask is not None:
            mask = np.broadcast_to(found.mask, content.shape)
            where, content = [x[mask] for x in where], content[mask]
        out[tuple(where)] = content
        return out

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        found = self.fetch()
        return found if dtype is None else found.astype(dtype, copy=False)

    def reshape(self, shape: tuple) -> np.ndarray:
        """All numbers in that shape; the array itself where that is its own, for who writes to it."""
        return self.fetch().reshape(shape)

    def astype(self, dtype) -> np.ndarray:
        """All numbers, cast."""
        return self.fetch().astype(dtype, copy=False)

    def _assign(self, value) -> None:
        found = self._active()
        storage = self._storage()
        content = take(storage, found.ids)
        values = np.broadcast_to(np.asarray(value, self.dtype), self.shape)
        where = tuple(np.broadcast_to(x, content.shape) for x in found.index)
        content = content.copy()
        if found.mask is None:
            content[...] = values[where]
        else:
            mask = np.broadcast_to(found.mask, content.shape)
            content[mask] = values[tuple(x[mask] for x in where)]
        put(storage, found.ids, content)


class SparseElement:
    """One number where the language expects the NumPy view of an element."""

    __slots__ = ("_array", "_index")

    def __init__(self, array: SparseArray, index: tuple):
        self._array = array
        self._index = index

    shape: tuple = ()
    ndim = 0

    @property
    def dtype(self) -> np.dtype:
        """Type of the number."""
        return self._array.dtype

    def element(self) -> SparseElement:
        """Itself."""
        return self

    def get(self):
        """The number."""
        value = self._array.item(self._index)
        return int(value) if isinstance(value, bool) else value

    def set(self, value) -> None:
        """Store the number, which makes its cell active."""
        from quadrants.data import host_values

        self._array[self._index] = host_values.store_value(value, self.dtype)
