"""Whole arrays to rank 0 and back, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants.distributed import agreement, arrays, decomposition, under_way
from quadrants.distributed.faces import Faces, Sum
from quadrants.distributed.pieces import Spans, common, piece, redistribute, thinned
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


def about(grid: Grid, found: list[arrays.Part]) -> str:
    """Which arrays, as ranks have to agree about: else one would read what another one has as something else."""
    return f"grid {grid.number}, {grid._labels.about(found) or 'no arrays'}"


def gather(grid: Grid, array: Any, every: Any) -> Any:
    """As `Grid.gather`."""
    _refuse_many(grid, "gather", "qdist.save")
    with agreement.together(grid.world.engine) as rank:
        found, steps = parts(grid, array), _read_steps(grid, every)
        rank.says("gather the same cells", f"{about(grid, found)}; every={steps}")
    grid._labels.meet(found)
    return _gather(grid, array, found, [(0, extent) for extent in grid.shape], steps)


def plane(grid: Grid, array: Any, axis: int, index: int) -> Any:
    """As `Grid.slice`."""
    ndim, engine = len(grid.shape), grid.world.engine
    with agreement.together(engine) as rank:
        if not isinstance(axis, int) or not 0 <= axis < ndim:
            raise ValueError(f"slice: axis={axis!r} is none of the numbers 0 to {ndim - 1}")
        if not hasattr(index, "__index__") or not 0 <= index < grid.shape[axis]:
            raise ValueError(f"slice: index={index!r} is no cell of axis {axis}, which has 0 to {grid.shape[axis] - 1}")
        found = parts(grid, array)
        rank.says("ask for the same plane", f"{about(grid, found)}; axis {axis}, index {int(index)}")
    grid._labels.meet(found)
    window = [(0, extent) for extent in grid.shape]
    window[axis] = int(index), int(index) + 1
    whole = _gather(grid, array, found, window, (1,) * ndim)
    if isinstance(whole, dict):
        return {name: values.squeeze(axis) for name, values in whole.items()}
    return None if whole is None else whole.squeeze(axis)


def scatter(grid: Grid, whole: Any, array: Any) -> None:
    """As `Grid.scatter`."""
    _refuse_many(grid, "scatter", "qdist.load")
    with agreement.together(grid.world.engine) as rank:
        found, of_struct = parts(grid, array), arrays.is_struct(array)
        under_way.refuse(found)
        given = [_read_whole(grid, whole, of_struct, part) if grid.world.rank == 0 else None for part in found]
        rank.says("scatter to the same array", about(grid, found))
    grid._labels.meet(found)
    for part, values in zip(found, given):
        _scatter_part(grid, values, part)


def between(grid: Grid, array: Any, other: Grid, target: Any) -> None:
    """As `Grid.transfer`."""
    with agreement.together(grid.world.engine) as rank:
        if grid.shape != other.shape:
            raise ValueError(f"transfer: a grid of shape {other.shape} has not the cells of one of shape {grid.shape}")
        sources, targets = parts(grid, array), parts(other, target)
        under_way.refuse(targets)
        given, wanted = _elements(array, sources), _elements(target, targets)
        if given != wanted:
            raise ValueError(f"transfer: elements of {given} do not fit those of the target, {wanted}")
        rank.says("transfer the same", f"{about(grid, sources)} to {about(other, targets)}")
    grid._labels.meet(sources)
    other._labels.meet(targets)
    for source, sink in zip(sources, targets):
        _between(grid, source, other, sink)


def back(grid: Grid, array: Any, other: Grid, target: Any) -> None:
    """The adjoint of `between`: gradients of the target's cells are added to those of the array, and become 0."""
    with agreement.together(grid.world.engine) as rank:
        before, after = arrays.gradient_of(array), arrays.gradient_of(target)
        sources = [] if after is None else parts(other, after)
        sinks = [] if after is None or before is None else parts(grid, before)
        rank.says("transfer the same gradients", f"{about(other, sources)} to {about(grid, sinks)}")
    other._labels.meet(sources)
    grid._labels.meet(sinks)
    for gone, sink in zip_longest(sources, sinks):
        given = Faces(gone, [block(other)])
        given.load()
        if sink is not None:
            added = Sum(sink, block(grid))
            redistribute(grid.world.engine, given.values[0], _boxes(other), added.values, _boxes(grid))
            added.add()
        given.clear()


def _boxes(grid: Grid) -> list[Spans]:
    """The blocks of all ranks."""
    return [grid.blocks.spans_of(rank) for rank in grid.blocks.ranks()]


def _elements(array: Any, found: list[arrays.Part]) -> list[tuple[Any, ...]]:
    return [(part.name if arrays.is_struct(array) else "", part.dtype, part.element) for part in found]


def _between(grid: Grid, source: arrays.Part, other: Grid, target: arrays.Part) -> None:
    given, taken = Faces(source, [block(grid)]), Faces(target, [block(other)])
    given.load()
    redistribute(grid.world.engine, given.values[0], _boxes(grid), taken.values[0], _boxes(other))
    taken.store()


def _read_steps(grid: Grid, every: Any) -> tuple[int, ...]:
    steps = decomposition.per_axis(every, len(grid.shape), "every")
    if any(isinstance(step, bool) or not hasattr(step, "__index__") or step < 1 for step in steps):
        raise ValueError(f"gather: every={every!r} must be a whole number of cells, at least 1, or one for each axis")
    return tuple(int(step) for step in steps)


def _gather(grid: Grid, array: Any, found: list[arrays.Part], window: Spans, steps: Sequence[int]) -> Any:
    """Of the cells of a window, which is in global cells, those with numbers that `steps` divide, on rank 0."""
    wholes = {part.name: _gather_part(grid, part, window, steps) for part in found}
    if grid.world.rank != 0:
        return None
    return wholes if arrays.is_struct(array) else wholes[found[0].name]


def _gather_part(grid: Grid, part: arrays.Part, window: Spans, steps: Sequence[int]) -> np.ndarray[Any, Any] | None:
    engine, spans_of = grid.world.engine, grid.blocks.spans_of
    mine = common(spans_of(engine.rank), window)
    own = None
    if mine is not None:
        face = Faces(part, [tuple((begin - o, end - o) for (begin, end), o in zip(mine, grid.origin))])
        face.load()
        own = face.values[0][tuple(slice(-begin % step, None, step) for (begin, _), step in zip(mine, steps))]
    if engine.rank != 0:
        engine.exchange([(0, own, None)] if own is not None and own.size else [])
        return None
    kept = thinned(window, steps)
    whole: np.ndarray[Any, Any] = np.empty((*(end - begin for begin, end in kept), *part.element), part.dtype)
    pieces = [piece(whole, kept, thinned(spans_of(rank), steps)) for rank in range(engine.size)]
    if pieces[0] is not None:
        pieces[0][...] = own
    engine.exchange([(rank, None, values) for rank, values in enumerate(pieces) if rank and values is not None])
    shown: np.ndarray[Any, Any] = whole.reshape(*whole.shape[: len(grid.shape)], *part.shown)
    return shown


def _read_whole(grid: Grid, whole: Any, of_struct: bool, part: arrays.Part) -> np.ndarray[Any, Any]:
    """What `part` gets, in its dtype."""
    name = part.name or "the array"
    if of_struct and not (isinstance(whole, Mapping) and part.name in whole):
        raise ValueError(
            f"scatter: write a dictionary with an array for each member of the struct, and one for {name!r}"
        )
    given = np.asarray(whole[part.name] if of_struct else whole)
    if given.dtype.kind not in "buif":
        raise TypeError(f"scatter: {name} takes an array of real numbers, not of {given.dtype}: {given!r:.60}")
    wanted = [(*grid.shape, *part.shown), (*grid.shape, *part.element)]
    if given.shape not in wanted:
        raise ValueError(f"scatter: the whole array has shape {given.shape}, and {name} takes {wanted[0]}")
    return np.ascontiguousarray(given.astype(part.dtype, copy=False)).reshape(wanted[1])


def _scatter_part(grid: Grid, given: Any, part: arrays.Part) -> None:
    face = Faces(part, [block(grid)])
    engine = grid.world.engine
    if engine.rank != 0:
        engine.exchange([(0, None, face.values[0])])
    else:
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
