"""Whole arrays to rank 0 and back, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants.distributed import arrays
from quadrants.distributed.engines.interface import Move
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
    return _gather(grid, array, tuple((0, extent) for extent in grid.shape))


def plane(grid: Grid, array: Any, axis: int, index: int) -> Any:
    """As `Grid.slice`."""
    ndim = len(grid.shape)
    if not isinstance(axis, int) or not 0 <= axis < ndim:
        raise ValueError(f"slice: axis={axis!r} is none of the numbers 0 to {ndim - 1}")
    if not hasattr(index, "__index__") or not 0 <= index < grid.shape[axis]:
        raise ValueError(f"slice: index={index!r} is no cell of axis {axis}, which has 0 to {grid.shape[axis] - 1}")
    window = [(0, extent) for extent in grid.shape]
    window[axis] = int(index), int(index) + 1
    found = _gather(grid, array, tuple(window))
    if isinstance(found, dict):
        return {name: values.squeeze(axis) for name, values in found.items()}
    return None if found is None else found.squeeze(axis)


def scatter(grid: Grid, whole: Any, array: Any) -> None:
    """As `Grid.scatter`."""
    _refuse_many(grid, "scatter", "qdist.load")
    of_struct = arrays.is_struct(array)
    for part in parts(grid, array):
        _scatter_part(grid, whole[part.name] if of_struct and grid.world.rank == 0 else whole, part)


def between(grid: Grid, array: Any, other: Grid, target: Any) -> None:
    """As `Grid.transfer`."""
    if grid.shape != other.shape:
        raise ValueError(f"transfer: a grid of shape {other.shape} has not the cells of one of shape {grid.shape}")
    sources, targets = parts(grid, array), parts(other, target)
    kinds = [[(part.name if arrays.is_struct(array) else "", part.dtype, part.element) for part in sources]]
    kinds += [[(part.name if arrays.is_struct(target) else "", part.dtype, part.element) for part in targets]]
    if kinds[0] != kinds[1]:
        raise ValueError(f"transfer: elements of {kinds[0]} do not fit those of the target, {kinds[1]}")
    for source, sink in zip(sources, targets):
        _between(grid, source, other, sink)


def _between(grid: Grid, source: arrays.Part, other: Grid, target: arrays.Part) -> None:
    engine, me = grid.world.engine, grid.world.rank
    given, taken = Faces(source, [block(grid)]), Faces(target, [block(other)])
    given.load()
    mine, new = grid.blocks.spans_of(me), other.blocks.spans_of(me)
    moves: list[Move] = []
    for rank in range(engine.size):
        away, here = _shared(grid, me, other.blocks.spans_of(rank)), _shared(other, me, grid.blocks.spans_of(rank))
        send = None if away is None else given.values[0][_within(away, [begin for begin, _ in mine])]
        recv = None if here is None else taken.values[0][_within(here, [begin for begin, _ in new])]
        if rank != me and (send is not None or recv is not None):
            moves.append((rank, send, recv))
        elif recv is not None:
            recv[...] = send
    engine.exchange(moves)
    taken.store()


def _gather(grid: Grid, array: Any, window: arrays.Region) -> Any:
    """The cells of a window, which is in global cells, on rank 0."""
    found = parts(grid, array)
    wholes = {part.name: _gather_part(grid, part, window) for part in found}
    if grid.world.rank != 0:
        return None
    return wholes if arrays.is_struct(array) else wholes[found[0].name]


def _gather_part(grid: Grid, part: arrays.Part, window: arrays.Region) -> np.ndarray[Any, Any] | None:
    engine = grid.world.engine
    mine = _shared(grid, engine.rank, window)
    own = []
    if mine is not None:
        face = Faces(part, [tuple((begin - o, end - o) for (begin, end), o in zip(mine, grid.origin))])
        face.load()
        own = face.values
    if engine.rank != 0:
        engine.exchange([(0, values, None) for values in own])
        return None
    lows = [low for low, _ in window]
    whole: np.ndarray[Any, Any] = np.empty((*(end - begin for begin, end in window), *part.element), part.dtype)
    if mine is not None:
        whole[_within(mine, lows)] = own[0]
    others = [(rank, _shared(grid, rank, window)) for rank in range(1, engine.size)]
    engine.exchange([(rank, None, whole[_within(region, lows)]) for rank, region in others if region is not None])
    return whole


def _shared(grid: Grid, rank: int, window: Sequence[tuple[int, int]]) -> arrays.Region | None:
    """What the block of a rank and a window have in common, in global cells."""
    spans = zip(grid.blocks.spans_of(rank), window)
    found = tuple((max(begin, low), min(end, high)) for (begin, end), (low, high) in spans)
    return found if all(begin < end for begin, end in found) else None


def _within(region: arrays.Region, lows: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(begin - low, end - low) for (begin, end), low in zip(region, lows))


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
