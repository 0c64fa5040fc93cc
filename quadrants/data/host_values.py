"""Vector, matrix and struct values of Python scope, fetched from the language layer on first use."""

from __future__ import annotations

import numpy as np

_loaded: dict = {}


def _load() -> dict:
    # At call time: the language layer builds on this package.
    from quadrants.lang.matrix import Matrix
    from quadrants.lang.store import store_value, whole_number
    from quadrants.lang.struct import Struct

    _loaded.update(Matrix=Matrix, Struct=Struct, store_value=store_value, whole_number=whole_number)
    return _loaded


def element(cell):
    """A NumPy view of one element as it is, the window of one on a device as the language takes it."""
    return cell if isinstance(cell, np.ndarray) else cell.element()


def live_matrix(cell, dtype):
    """A live vector or matrix over the view of one element."""
    if not isinstance(cell, np.ndarray):
        cell = cell.element()
    return (_loaded or _load())["Matrix"]._view(cell, dtype)


def remote_matrix(read, write):
    """A live vector or matrix whose element `read()` fetches and `write(array)` stores."""
    return (_loaded or _load())["Matrix"]._view_through(read, write)


def live_struct(cells: dict, methods: dict):
    """A live struct over views of its members."""
    return (_loaded or _load())["Struct"]._view(cells, methods)


def store_value(value, dtype):
    """`value` as a host write stores it in memory of the NumPy dtype `dtype`."""
    return (_loaded or _load())["store_value"](value, dtype)


def whole_number(value, dtype):
    """The integer that a host write into memory of the integer type `dtype` starts from."""
    return (_loaded or _load())["whole_number"](value, dtype)
