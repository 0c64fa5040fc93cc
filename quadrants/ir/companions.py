"""Which kernels a derivative can be made of at all."""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir import walk


def writes_companions(body: list[n.Stmt], which: str) -> bool:
    """Whether a body may write a cell that has a companion. which: "grad" or "dual"."""
    writers = walk.with_functions(body, walk.WRITERS)
    return any(_has(place, which) for node in writers for place in walk.written_places(node))


def _has(place: n.Place, which: str) -> bool:
    cell = walk.root(place)
    return isinstance(cell, n.Cell) and getattr(cell.array, which) is not None
