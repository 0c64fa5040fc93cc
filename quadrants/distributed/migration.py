"""Which rank a particle belongs to, and the way there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quadrants.distributed import rows
from quadrants.distributed.engines.interface import Engine
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from quadrants.distributed.grid import Grid
    from quadrants.distributed.spaces import Space

_Array = np.ndarray[Any, Any]


def overflow(rank: int, need: int, capacity: int) -> str:
    """What is said where there is no room."""
    return f"Rank {rank} needs room for {need} particles and has {capacity}: make Particles with a larger capacity."


def owners(grid: Grid, space: Space, positions: Any, low: _Array, spacing: _Array) -> Any:
    """The rank of each position, -1 for what is no finite number. Wraps positions of periodic axes where they are.

    Cells are those that kernels compute, which have no other digits than positions have.
    """
    np_, blocks = space.numpy, grid.blocks
    rank = np_.zeros(len(positions), np.int64)
    for axis, extent in enumerate(grid.shape):
        along, edge = positions[:, axis], float(spacing[axis])
        cell = _cells(np_, along, low[axis], edge)
        if grid.periodic[axis]:
            outside = np_.isfinite(cell) & ((cell < 0) | (cell >= extent))
            along[outside] = _wrapped(np_, along[outside], low[axis], edge, extent)
            cell[outside] = _cells(np_, along[outside], low[axis], edge)
        near = _nearest(np_, cell, extent)
        cuts = np_.asarray(blocks.cuts[axis])
        rank = rank * blocks.dims[axis] + np_.searchsorted(cuts, near, side="right") - 1
    rank[_astray(np_, positions)] = -1
    return rank


def lost(space: Space, positions: Any) -> int:
    """How many positions are no finite numbers."""
    return int(_astray(space.numpy, positions).sum())


def _astray(np_: Any, positions: Any) -> Any:
    return ~np_.isfinite(positions).all(axis=1)


def counts(space: Space, along: Any, low: float, spacing: float, extent: int) -> _Array:
    """How many positions of an axis are in each of its cells, or nearest to it."""
    np_ = space.numpy
    near = _nearest(np_, _cells(np_, along, low, spacing), extent)
    return space.on_host(np_.bincount(near, minlength=extent)).astype(np.int64)


def _wrapped(np_: Any, along: Any, low: float, spacing: float, extent: int) -> Any:
    """Positions of a periodic axis in its cells. What is rounded to the upper edge, or over an edge, is `low`."""
    period = extent * float(spacing)
    wide = along.astype(np.float64)
    found = (wide - np_.floor((wide - float(low)) / period) * period).astype(along.dtype)
    cell = _cells(np_, found, low, spacing)
    return np_.where((cell >= 0) & (cell < extent), found, found.dtype.type(low))


def _cells(np_: Any, along: Any, low: float, spacing: float) -> Any:
    """The cell of each position of an axis, as a real number."""
    number = along.dtype.type
    return np_.floor((along - number(low)) / number(spacing))


def _nearest(np_: Any, cell: Any, extent: int) -> Any:
    """Of numbers of cells those that the axis has, i64."""
    return np_.clip(np_.nan_to_num(cell), 0, extent - 1).astype(np.int64)


class Moved(NamedTuple):
    """Who went where: entries that stayed and entries that left, as they lay before; how many went to and came from
    each rank.
    """

    staying: Any
    leaving: Any
    sends: _Array
    receives: _Array

    @property
    def came(self) -> int:
        """How many came from other ranks."""
        return int(self.receives.sum())

    @property
    def here(self) -> int:
        """How many entries there are now."""
        return len(self.staying) + self.came


def planned(engine: Engine, space: Space, to: Any, capacity: int) -> Moved:
    """Who goes where, if each entry goes to that rank; -1 is none: QuadrantsRuntimeError on all ranks."""
    np_ = space.numpy
    leaving = np_.flatnonzero(to != engine.rank)
    leaving = leaving[np_.argsort(to[leaving], kind="stable")]
    ranks = space.on_host(to[leaving])
    lost = int((ranks < 0).sum())
    sends = np.bincount(ranks[lost:], minlength=engine.size).astype(np.int64)
    receives: _Array = np.zeros(engine.size, np.int64)
    engine.alltoall(sends, receives)
    moved = Moved(np_.flatnonzero(to == engine.rank), leaving, sends, receives)
    refuse(engine, lost, moved.here, capacity)
    return moved


def move(engine: Engine, space: Space, arrays: Sequence[Any], moved: Moved) -> None:
    """Move entries of all arrays: those that come are behind those that stay, by the rank they are of."""
    np_, stayed = space.numpy, len(moved.staying)
    incoming = rows.carry(engine, np_, [array[moved.leaving] for array in arrays], moved.sends, moved.receives)
    if len(moved.leaving):
        for array in arrays:
            array[:stayed] = array[moved.staying]
    rows.put(arrays, stayed, incoming)


def back(engine: Engine, space: Space, arrays: Sequence[Any], moved: Moved) -> None:
    """Entries of the arrays to where they were before, and 0 behind them: others came there, or ghosts."""
    stayed, before = len(moved.staying), len(moved.staying) + len(moved.leaving)
    arrived = [array[stayed : moved.here] for array in arrays]
    returned = rows.returned(engine, space.numpy, arrived, moved.receives, moved.sends)
    for array, values in zip(arrays, returned):
        kept = array[:stayed].copy()
        array[before:] = 0
        array[moved.staying], array[moved.leaving] = kept, values


def refuse(engine: Engine, lost: int, need: int, capacity: int) -> None:
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
