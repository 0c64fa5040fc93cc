"""Which rank a particle belongs to, and the way there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants.distributed.engines.interface import Engine, Move
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from quadrants.distributed.grid import Grid

_Array = np.ndarray[Any, Any]


def overflow(rank: int, need: int, capacity: int) -> str:
    """What is said where there is no room."""
    return f"Rank {rank} needs room for {need} particles and has {capacity}: make Particles with a larger capacity."


def owners(grid: Grid, positions: _Array, low: _Array, spacing: _Array) -> _Array:
    """The rank of each position, -1 for what is no finite number. Wraps positions of periodic axes where they are."""
    blocks = grid.blocks
    rank: _Array = np.zeros(len(positions), np.int64)
    for axis, extent in enumerate(grid.shape):
        along = positions[:, axis]
        cell = np.floor((along - low[axis]) / spacing[axis])
        if grid.periodic[axis]:
            outside = (cell < 0) | (cell >= extent)
            along[outside] -= np.floor(cell[outside] / extent) * extent * spacing[axis]
            cell = np.where(outside, np.floor((along - low[axis]) / spacing[axis]), cell)
        with np.errstate(invalid="ignore"):
            near = np.clip(cell, 0, extent - 1).astype(np.int64)
        rank = rank * blocks.dims[axis] + np.searchsorted(blocks.cuts[axis], near, side="right") - 1
    rank[~np.isfinite(positions).all(axis=1)] = -1
    return rank


def move(engine: Engine, arrays: Sequence[_Array], to: _Array, capacity: int) -> tuple[int, int]:
    """Move the first `len(to)` entries of all arrays to those ranks. Returns how many are here and how many came."""
    leaving = np.flatnonzero(to != engine.rank)
    leaving = leaving[np.argsort(to[leaving], kind="stable")]
    staying = np.flatnonzero(to == engine.rank)
    lost = int((to < 0).sum())
    sends = np.bincount(to[leaving[lost:]], minlength=engine.size)
    receives: _Array = np.zeros(engine.size, np.int64)
    engine.alltoall(sends.astype(np.int64), receives)
    came = int(receives.sum())
    _refuse(engine, lost, len(staying) + came, capacity)
    outgoing = _rows(arrays, leaving)
    incoming = np.empty((came, outgoing.shape[1]), np.uint8)
    engine.exchange(_moves(outgoing, sends, incoming, receives))
    _place(arrays, staying, incoming)
    return len(staying) + came, came


def _refuse(engine: Engine, lost: int, need: int, capacity: int) -> None:
    """QuadrantsRuntimeError on all ranks if anything is wrong on one."""
    wrong = np.array([lost > 0 or need > capacity], np.int64)
    engine.allreduce(wrong, "max")
    if not wrong[0]:
        return
    for rank, (astray, total, room) in enumerate(engine.allgather((lost, need, capacity))):
        if astray:
            raise QuadrantsRuntimeError(f"{astray} particles of rank {rank} have positions that are no finite numbers")
        if total > room:
            raise QuadrantsRuntimeError(overflow(rank, total, room))


def _rows(arrays: Sequence[_Array], chosen: _Array) -> _Array:
    """The bytes of each chosen particle, one after the other."""
    return np.concatenate([_bytes(array[chosen], _width(array)) for array in arrays], axis=1)


def _bytes(values: _Array, width: int) -> _Array:
    found: _Array = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    return found.reshape(len(values), width)


def _width(array: _Array) -> int:
    return array.strides[0]


def _moves(outgoing: _Array, sends: _Array, incoming: _Array, receives: _Array) -> list[Move]:
    out, into = np.cumsum(sends), np.cumsum(receives)
    moves: list[Move] = []
    for peer in range(len(sends)):
        send = outgoing[out[peer] - sends[peer] : out[peer]] if sends[peer] else None
        recv = incoming[into[peer] - receives[peer] : into[peer]] if receives[peer] else None
        if send is not None or recv is not None:
            moves.append((peer, send, recv))
    return moves


def _place(arrays: Sequence[_Array], staying: _Array, incoming: _Array) -> None:
    begin, stay, end = 0, len(staying), len(staying) + len(incoming)
    for array in arrays:
        if stay and staying[-1] != stay - 1:
            array[:stay] = array[staying]
        width = _width(array)
        column = np.ascontiguousarray(incoming[:, begin : begin + width])
        array[stay:end] = column.view(array.dtype).reshape(len(incoming), *array.shape[1:])
        begin += width
