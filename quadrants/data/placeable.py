"""What can be placed in a node of a tree: fields, in lists too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quadrants.data.field import Field


def flatten_fields(things: Iterable[Any]) -> Iterator[Field]:
    """The fields in (lists of) fields and tensors, struct fields as their members. `ValueError` for anything else."""
    for thing in things:
        thing = thing._unwrap() if hasattr(thing, "_unwrap") else thing
        if isinstance(thing, (list, tuple)):
            yield from flatten_fields(thing)
        elif hasattr(thing, "_placeable"):
            yield from thing._placeable()
        else:
            raise ValueError(f"{thing} cannot be placed")
