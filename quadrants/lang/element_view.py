"""Live elements of fields and ndarrays: `f[i]` in Python scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quadrants.ir.types import DType, u1
from quadrants.lang.matrix import Matrix, Vector, warn_if_large
from quadrants.lang.store import store_value


def view(cell: np.ndarray, dtype: DType | None = None) -> Matrix:
    """A live Vector or Matrix: reads see `cell` as it is now, writes convert like a field store and go to `cell`.

    `cell` is a NumPy view of shape (n,) or (n, m) that aliases the storage, or behaves like one; `dtype` is the element
    dtype where it differs from that of `cell` (u1 kept in bytes).
    """
    warn_if_large(cell.shape)
    out = object.__new__(MatrixView if cell.ndim == 2 else VectorView)
    object.__setattr__(out, "_cell", cell.view(np.bool_) if dtype is u1 else cell)
    return out


def view_through(read: Callable[[], np.ndarray], write: Callable[[np.ndarray], None]) -> Matrix:
    """A live Vector or Matrix on memory out of NumPy's reach: `read()` fetches it, `write(array)` stores it whole."""
    cell = read()
    warn_if_large(cell.shape)
    out = object.__new__(RemoteMatrixView if cell.ndim == 2 else RemoteVectorView)
    object.__setattr__(out, "_read", read)
    object.__setattr__(out, "_write", write)
    return out


def _wide(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "f":
        return np.dtype(np.float64)
    return dtype if dtype == np.uint64 else np.dtype(np.int64)


class _View(Matrix):
    """A live element of a field or ndarray: stores convert as the container does, what is read leaves the container.

    Reads widen to 64 bits, so that host arithmetic on elements neither wraps nor rounds at the storage width.
    """

    __slots__ = ()

    @property
    def _shape(self) -> tuple:
        return self._cell.shape

    @property
    def _data(self) -> np.ndarray:  # type: ignore[override]
        cell = self._cell
        return cell.astype(_wide(cell.dtype))

    def _element(self, indices: Any) -> Any:
        found = self._cell[indices]
        if isinstance(found, np.ndarray):
            return found.astype(_wide(found.dtype))
        found = found.item()
        return int(found) if isinstance(found, bool) else found

    def _store(self, indices: Any, item: Any) -> None:
        self._cell[indices] = store_value(item, self._cell.dtype)


class VectorView(_View, Vector):  # type: ignore[misc]
    """Live vector element of a container on which NumPy has a view."""

    __slots__ = ("_cell",)


class MatrixView(_View):
    """Live matrix element of a container on which NumPy has a view."""

    __slots__ = ("_cell",)


class _RemoteView(_View):
    """A live element in memory that NumPy cannot reach: every access fetches or stores the whole element."""

    __slots__ = ()

    @property
    def _cell(self) -> np.ndarray:
        return self._read()

    def _store(self, indices: Any, item: Any) -> None:
        cell = np.array(self._read())
        cell[indices] = store_value(item, cell.dtype)
        self._write(cell)


class RemoteVectorView(_RemoteView, Vector):  # type: ignore[misc]
    """Live vector element of a container on a device."""

    __slots__ = ("_read", "_write")


class RemoteMatrixView(_RemoteView):
    """Live matrix element of a container on a device."""

    __slots__ = ("_read", "_write")
