"""What is said where a tree of fields gets no memory: which of them is too large."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quadrants.data.sites import caller_site

if TYPE_CHECKING:
    from quadrants.data.field import Field
    from quadrants.data.node import Leaf

# Cells from which on a declaration is worth its line; what is too large for a memory is hardly ever below.
LARGE = 1 << 24


def note_site(made: Field, shape: tuple) -> None:
    """Remember where a large field is declared."""
    if math.prod(shape) >= LARGE:
        made._site = caller_site()


def of_tree(leaves: list[Leaf], error: BaseException) -> str:
    """The text of `error`, with the largest field of the tree."""
    owners = {id(owner): owner for leaf in leaves for ref in leaf.owners if (owner := ref()) is not None}
    if not owners:
        return str(error)
    # Of a field of structs and the members that make it up, the whole one.
    largest = max(owners.values(), key=lambda owner: (_bytes(owner), len(owner._leaves)))
    name = f"{largest._name!r} " if largest._name else ""
    site = getattr(largest, "_site", None)
    where = f", declared in\n{site}" if site is not None else ""
    return f"{error}. The largest field {name}has the shape {largest.shape} and {_bytes(largest)} bytes{where}"


def of_field(name: str, why: str) -> str:
    """What every field of such a tree says from then on."""
    return f"This field{name} has no memory, as the fields declared together share one piece: {why}\nDeclare it again."


def _bytes(owner: Field) -> int:
    return sum(math.prod(leaf.shape) * leaf.dtype.size for leaf in owner._leaves if leaf.snode is not None)
