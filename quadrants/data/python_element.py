"""Elements of the containers of the python arch: numbers that know their place, live vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.lang.element_view import MatrixView, VectorView


def _number_class(name: str):
    """A NumPy number that knows its place in memory, so that atomics can write it."""
    return type(f"Element_{name}", (getattr(np, name),), {"_place": None})


_NUMBERS: dict = {}


def element(items: np.ndarray, at: tuple):
    """The number at `at` as it is now: later writes do not change it."""
    value, name = items[at], items.dtype.name
    if name == "bool":  # NumPy's booleans have no subclasses
        return value
    if name not in _NUMBERS:
        _NUMBERS[name] = _number_class(name)
    number = _NUMBERS[name](value)
    number._place = (items, at)
    return number


def live(cell: np.ndarray):
    """A vector or matrix on the memory of `cell`, which has one or two axes; a plain array for more."""
    if cell.ndim > 2:
        return cell
    out = object.__new__(PythonMatrix if cell.ndim == 2 else PythonVector)
    object.__setattr__(out, "_cell", cell)
    return out


class PythonVector(VectorView):
    """A live vector; slices of it are live as well, and atomics may write its numbers."""

    __slots__ = ()

    def _element(self, indices: Any) -> Any:
        return _part(self._cell, indices)


class PythonMatrix(MatrixView):
    """A live matrix, likewise."""

    __slots__ = ()

    def _element(self, indices: Any) -> Any:
        return _part(self._cell, indices)


def _part(cell: np.ndarray, indices: Any) -> Any:
    found = cell[indices]
    return live(found) if isinstance(found, np.ndarray) else element(cell, indices)


class NumberCell:
    """A number in memory as a member of a live struct."""

    __slots__ = ("items", "at")

    def __init__(self, items: np.ndarray, at: tuple):
        self.items, self.at = items, at

    def get(self):
        """The number, which atomics may write."""
        return element(self.items, self.at)

    def set(self, value) -> None:
        """Write it."""
        self.items[self.at] = value
