"""Whole arrays as zarr, for programs that look at results. Every rank writes; no two of them write to one chunk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from quadrants._version import __version_str__
from quadrants.distributed import agreement, transfer, under_way
from quadrants.distributed.arrays import Part
from quadrants.distributed.checkpoints import agreed, block_values, named_parts, told
from quadrants.distributed.faces import Faces
from quadrants.distributed.grid import Grid
from quadrants.distributed.pieces import Spans, redistribute
from quadrants.errors import QuadrantsRuntimeError
from quadrants.tools._library import package


def write_zarr(path: Any, grid: Grid, content: Mapping[str, Any], step: int = 0) -> None:
    """Write arrays of a grid to a zarr store of format 3, a folder, without halos. Every rank calls it.

    path: of the store, which all ranks see. It must not be there yet, and appears at once when all is written. content:
    name to field, ndarray or tensor of any dense dtype; of a struct every member is written, as `name.member`. Each
    becomes an array of shape `grid.shape`, with the shape of an element behind it. step: a whole number that is kept as
    the attribute `step`.

        qdist.write_zarr("out-100.zarr", grid, {"u": u}, step=100)

    A chunk is what a rank owns, made even where blocks differ by a cell, and one rank writes it. FileExistsError if the
    path is taken, ValueError for arrays of another grid and another step, QuadrantsRuntimeError where ranks write other
    arrays or steps, and without the package (pip install zarr), OSError where a file cannot be written: the same on all
    ranks.
    """
    target, number, parts = agreed(grid, "write_zarr", path, content, step)
    engine = grid.world.engine
    with agreement.together(engine):
        _check_names(parts)
        zarr = _zarr("qdist.write_zarr")
        beside = target.with_name(f".{target.name}.part")
        if engine.rank == 0:
            _create(zarr, target, beside, grid, parts, number)
    with agreement.together(engine):
        group = zarr.open_group(beside, mode="r+")
    for name, part in parts.items():
        chunk = _chunk_values(grid, block_values(grid, part))
        with agreement.together(engine):
            _write(grid, group[name], chunk)
    with agreement.together(engine):
        if engine.rank == 0:
            os.rename(beside, target)


def read_zarr(path: Any, grid: Grid, content: Mapping[str, Any]) -> int:
    """Fill the blocks of arrays from a zarr store, and return its step. Every rank calls it; halos are not filled.

    path: of a store of `write_zarr`, or another group of zarr with arrays of these names. grid: of the shape of the
    arrays; ranks, halo and cut may be any. content: name to array, all or some of the store, of the same dtypes.

        qdist.write_zarr("in.zarr", grid, {"u": u}, step=100)
        step = qdist.read_zarr("in.zarr", grid, {"u": u})

    The step is 0 where the store has none. FileNotFoundError where no store is, ValueError for a name that is not in
    it, another shape or dtype, QuadrantsRuntimeError without the package (pip install zarr) and for a store that cannot
    be read: the same on all ranks. zarr fills a chunk that is missing with zeros, and does not notice other digits.
    """
    with agreement.together(grid.world.engine) as rank:
        zarr = _zarr("qdist.read_zarr")
        parts = named_parts(grid, content)
        under_way.refuse([*parts.values()])
        if not Path(path).exists():
            raise FileNotFoundError(f"{path} has no zarr store")
        with _readable(path):
            group = zarr.open_group(path, mode="r")
            step = int(group.attrs.get("step", 0))
        for name, part in parts.items():
            _check(path, group, name, part, grid)
        rank.says("read the same", f"step {step} into {told(grid, parts)}")
    grid._labels.meet([*parts.values()])
    with agreement.together(grid.world.engine):
        for name, part in parts.items():
            with _readable(path, name):
                _read(grid, group[name], part)
    return step


@contextmanager
def _readable(path: Any, name: str = "") -> Iterator[None]:
    """QuadrantsRuntimeError in place of errors that zarr and what it reads with raise of damaged files, of any kind."""
    try:
        yield
    except Exception as error:
        what = f"array {name!r} of the zarr store {path}" if name else f"{path}, as a zarr store,"
        raise QuadrantsRuntimeError(f"{what} cannot be read: {type(error).__name__}: {error}") from error


def _check_names(parts: Mapping[str, Part]) -> None:
    """ValueError for those that zarr has files of its own for."""
    wrong = [name for name in parts if not name or name.startswith(("__", "/")) or "zarr.json" in name.split("/")]
    if wrong:
        raise ValueError(f"write_zarr: {wrong[0]!r} cannot be the name of an array of a zarr store; give another one")


def _zarr(what: str) -> Any:
    return package("zarr", "zarr", what, QuadrantsRuntimeError)


def _chunk(grid: Grid) -> tuple[int, ...]:
    return tuple(-(-extent // ranks) for extent, ranks in zip(grid.shape, grid.dims))


def _create(zarr: Any, target: Path, path: Path, grid: Grid, parts: Mapping[str, Part], step: int) -> None:
    if target.exists():
        raise FileExistsError(f"{target} is there already: remove it, or give another path, one for each step say")
    path.parent.mkdir(parents=True, exist_ok=True)
    group = zarr.open_group(path, mode="w", zarr_format=3)  # in place of what a killed run left
    group.attrs.update({"step": step, "quadrants": __version_str__})
    for name, part in parts.items():
        axes = [f"axis_{k}" for k in range(len(grid.shape))] + [f"component_{k}" for k in range(len(part.element))]
        group.create_array(
            name,
            shape=(*grid.shape, *part.element),
            chunks=(*_chunk(grid), *part.element),
            dtype=part.dtype,
            dimension_names=axes,
        )


def _chunk_values(grid: Grid, block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The chunk of this rank. Pieces of it that others own come from them."""
    engine = grid.world.engine
    written = _written_by(grid, engine.rank)
    chunk: np.ndarray[Any, Any] = np.empty((*(e - b for b, e in written), *block.shape[len(written) :]), block.dtype)
    ranks = grid.blocks.ranks
    chunks = [_written_by(grid, rank) for rank in ranks()]
    redistribute(engine, block, [grid.blocks.spans_of(rank) for rank in ranks()], chunk, chunks)
    return chunk


def _write(grid: Grid, stored: Any, chunk: np.ndarray[Any, Any]) -> None:
    if chunk.size:
        stored[tuple(slice(begin, end) for begin, end in _written_by(grid, grid.world.rank))] = chunk


def _read(grid: Grid, stored: Any, part: Part) -> None:
    face = Faces(part, [transfer.block(grid)])
    face.values[0][...] = stored[tuple(slice(begin, end) for begin, end in grid.blocks.spans_of(grid.world.rank))]
    face.store()


def _written_by(grid: Grid, rank: int) -> Spans:
    """Begin and end of the chunk of a rank, in global cells; empty for the last ones where chunks are few."""
    places = zip(grid.blocks.place_of(rank), _chunk(grid), grid.shape)
    return [(min(at * size, extent), min((at + 1) * size, extent)) for at, size, extent in places]


def _check(path: Any, group: Any, name: str, part: Part, grid: Grid) -> None:
    with _readable(path, name):
        found = group.get(name)
    if found is None:
        raise ValueError(f"the zarr store has no array {name!r}; it has {', '.join(sorted(group.array_keys()))}")
    wanted = (*grid.shape, *part.element)
    if tuple(found.shape) != wanted or np.dtype(found.dtype) != part.dtype:
        raise ValueError(
            f"{name} in the zarr store is {np.dtype(found.dtype)} of shape {tuple(found.shape)}, and the arrays of "
            f"this grid are {part.dtype} of shape {wanted}"
        )
