"""What is in exchanges that were begun and that nobody has waited for yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quadrants.distributed.arrays import Part
from quadrants.errors import QuadrantsRuntimeError

cells: set[int] = set()  # of parts, of all grids


def begin(more: Iterable[int]) -> None:
    """From now on others leave them alone."""
    cells.update(more)


def end(these: Iterable[int]) -> None:
    """They may be used again."""
    cells.difference_update(these)


def refuse(parts: Sequence[Part]) -> None:
    """QuadrantsRuntimeError if one of them is under way."""
    if not cells:
        return
    part = next((part for part in parts if not cells.isdisjoint(part.cells)), None)
    if part is not None:
        raise QuadrantsRuntimeError(
            f"An exchange of {part.name or 'these arrays'} is under way: call wait() of what "
            "exchange_halo(.., wait=False) returned."
        )
