"""Whole arrays to rank 0 and back, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants.distributed import arrays
from quadrants.distributed.faces import Faces
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from quadrants.distributed.grid import Grid

_MOST_RANKS = 64


def block(grid: Grid) -> arrays.Region:
    """The block of this rank, in local cells."""
    return tuple(grid.blocks.block_span(axis) for axis in range(len(grid.shape)))


def parts(grid: Grid, array: Any) -> list[arrays.Part]:
    """The parts of an array of the grid. ValueError for another shape."""
    found = arrays.parts_of(array)
    for part in found:
        if part.shape != grid.local:
            raise ValueError(
                f"{part.name or 'an array'} of shape {part.shape} is not of {grid!r}, whose arrays have shape "
                f"{grid.local} on this rank. Make it by grid.field(dtype) or grid.ndarray(dtype)."
            )
    return found


def gather(grid: Grid, array: Any) -> Any:
    """As `Grid.gather`."""
    _refuse_many(grid, "gather", "qdist.save")
    found = parts(grid, array)
    wholes = {part.name: _gather_part(grid, part) for part in found}
    if grid.world.rank != 0:
        return None
    return wholes if arrays.is_struct(array) else wholes[found[0].name]


def scatter(grid: Grid, whole: Any, array: Any) -> None:
    """As `Grid.scatter`."""
    _refuse_many(grid, "scatter", "qdist.load")
    of_struct = arrays.is_struct(array)
    for part in parts(grid, array):
        _scatter_part(grid, whole[part.name] if of_struct and grid.world.rank == 0 else whole, part)


def _gather_part(grid: Grid, part: arrays.Part) -> np.ndarray[Any, Any] | None:
    face = Faces(part, [block(grid)])
    face.load()
    engine = grid.world.engine
    if engine.rank != 0:
        engine.exchange([(0, face.values[0], None)])
        return None
    whole: np.ndarray[Any, Any] = np.empty((*grid.shape, *part.element), part.dtype)
    whole[_slices(grid, 0)] = face.values[0]
    engine.exchange([(rank, None, whole[_slices(grid, rank)]) for rank in range(1, engine.size)])
    return whole


def _scatter_part(grid: Grid, whole: Any, part: arrays.Part) -> None:
    face = Faces(part, [block(grid)])
    engine = grid.world.engine
    wrong = ""
    if engine.rank == 0:
        whole = np.asarray(whole)
        wanted = (*grid.shape, *part.element)
        wrong = f"scatter: the whole array has shape {whole.shape}, and {part.name or 'the array'} takes {wanted}"
        wrong = wrong if whole.shape != wanted else ""
    wrong = engine.bcast(wrong)
    if wrong:
        raise ValueError(wrong)
    if engine.rank != 0:
        engine.exchange([(0, None, face.values[0])])
    else:
        given = np.ascontiguousarray(whole, part.dtype)
        face.values[0][...] = given[_slices(grid, 0)]
        engine.exchange([(rank, given[_slices(grid, rank)], None) for rank in range(1, engine.size)])
    face.store()


def _slices(grid: Grid, rank: int) -> tuple[slice, ...]:
    return tuple(slice(begin, end) for begin, end in grid.blocks.spans_of(rank))


def _refuse_many(grid: Grid, what: str, instead: str) -> None:
    if grid.world.size > _MOST_RANKS:
        raise QuadrantsRuntimeError(
            f"grid.{what} moves the whole array through rank 0, and there are {grid.world.size} ranks, more than "
            f"{_MOST_RANKS}: use {instead}, which every rank does for its block."
        )
