"""Entries of several arrays as rows of bytes, sorted by the rank that they go to or come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quadrants.distributed.engines.interface import Engine, Move

_Array = np.ndarray[Any, Any]


def carry(engine: Engine, np_: Any, values: Sequence[Any], sends: _Array, receives: _Array) -> Any:
    """Send rows of `values`, arrays of as many entries; returns those that come. sends, receives: a number a rank."""
    outgoing = _joined(np_, values)
    incoming = np_.empty((int(receives.sum()), outgoing.shape[1]), np.uint8)
    out, into = _ends(sends), _ends(receives)
    moves: list[Move] = []
    for peer in range(len(sends)):
        going, coming = outgoing[out[peer] : out[peer + 1]], incoming[into[peer] : into[peer + 1]]
        if peer == engine.rank:
            coming[...] = going
        elif sends[peer] or receives[peer]:
            moves.append((peer, going if sends[peer] else None, coming if receives[peer] else None))
    engine.exchange(moves)
    return incoming


def returned(engine: Engine, np_: Any, values: Sequence[Any], sends: _Array, receives: _Array) -> list[Any]:
    """As `carry`, and what comes as an array for each of `values`."""
    come = carry(engine, np_, values, sends, receives)
    found = [np_.zeros((len(come), *each.shape[1:]), each.dtype) for each in values]
    put(found, 0, come)
    return found


def put(arrays: Sequence[Any], begin: int, rows: Any) -> None:
    """Write rows to the entries of the arrays from `begin` on."""
    column = 0
    for array in arrays:
        width = _width(array)
        # Copied although a single row is contiguous: kernels of CuPy read numbers where their alignment allows it only.
        values = rows[:, column : column + width].copy()
        array[begin : begin + len(rows)] = values.view(array.dtype).reshape(len(rows), *array.shape[1:])
        column += width


def _joined(np_: Any, values: Sequence[Any]) -> Any:
    return np_.concatenate([_bytes(np_, each, _width(each)) for each in values], axis=1)


def _bytes(np_: Any, values: Any, width: int) -> Any:
    return np_.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(len(values), width)


def _width(array: Any) -> int:
    """Bytes of an entry."""
    count = int(np.prod(array.shape[1:], dtype=np.int64))
    return count * int(array.dtype.itemsize)


def _ends(counts: _Array) -> list[int]:
    return [0, *np.cumsum(counts).tolist()]
