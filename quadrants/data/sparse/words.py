"""The words of a quantised field below sparse nodes, from the host."""

from __future__ import annotations

import numpy as np

from quadrants.data import dtypes, packed_numbers
from quadrants.data.alone import alone
from quadrants.data.layout import CellLayout
from quadrants.data.packed_numbers import U64
from quadrants.data.sparse.array import SparseArray


class SparseWords(SparseArray):
    """The word of every cell, by the cell's zero-based index. Of several cells in one word the first has it as its own
    where words are fetched or stored all at once.
    """

    __slots__ = ()

    def __init__(self, cell: CellLayout):
        super().__init__(cell, dtypes.storage_dtype(cell.packing.word))

    def numbers(self) -> np.ndarray:
        """The number of every cell, 0 where none is active."""
        words, moved = self._spread()
        return packed_numbers.read(self.cell.packing, words, moved)

    @alone
    def store(self, values: np.ndarray) -> None:
        """Store numbers of the field's shape in the cells that are active."""
        packing = self.cell.packing
        words = self.fetch().astype(U64)
        if packing.levels:
            first, moved = self._first(), self._moved()
            mask, bits = np.zeros(self.shape, U64), np.zeros(self.shape, U64)
            np.bitwise_or.at(mask, first, np.broadcast_to(U64((1 << packing.width) - 1) << moved, self.shape))
            np.bitwise_or.at(bits, first, packed_numbers.bits_of(packing, values) << moved)
            words = words & ~mask | bits
        else:
            words = packed_numbers.changed(packing, words, 0, values)
        self[...] = words.astype(self.dtype)

    def _spread(self) -> tuple[np.ndarray, np.ndarray]:
        words = self.fetch().astype(U64)
        return (words[self._first()], self._moved()) if self.cell.packing.levels else (words, np.zeros((), U64))

    def _first(self) -> tuple:
        """Indices that give each cell what the first one of its word has."""
        steps = [np.arange(extent) for extent in self.shape]
        for axis, extent, divisor, _ in self.cell.packing.levels:
            steps[axis] = steps[axis] - np.arange(self.shape[axis]) // divisor % extent * divisor
        return np.ix_(*steps)

    def _moved(self) -> np.ndarray:
        """How far the bits of each cell are moved on in its word."""
        steps = [np.zeros(extent, U64) for extent in self.shape]
        for axis, extent, divisor, bits in self.cell.packing.levels:
            steps[axis] += (np.arange(self.shape[axis]) // divisor % extent * bits).astype(U64)
        return sum(np.ix_(*steps), np.zeros((), U64))
