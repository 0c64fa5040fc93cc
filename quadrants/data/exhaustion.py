"""What is said where a tree of fields gets no memory: which of them is too large."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from quadrants.data.sites import Site, caller_site

if TYPE_CHECKING:
    from quadrants.data.field import Field
    from quadrants.data.node import Leaf

# Cells from which on a declaration is worth its line; what is too large for a memory is hardly ever below.
LARGE = 1 << 24


class _Declared(NamedTuple):
    """What is told of a field."""

    nbytes: int
    components: int
    name: str
    shape: tuple
    site: Site | None


def note_site(made: Field, shape: tuple) -> None:
    """Remember where a large field is declared, also when nobody has the field any more."""
    if math.prod(shape) >= LARGE:
        keep_site(made, caller_site())


def keep_site(made: Field, site: Site) -> None:
    """The same at a place that is known."""
    made._site = site
    for leaf in made._leaves:
        leaf.site = site


def of_tree(leaves: list[Leaf], error: BaseException) -> str:
    """The text of `error`, with the largest field of the tree."""
    owners = {id(owner): owner for leaf in leaves for ref in leaf.owners if (owner := ref()) is not None}
    # Of a field of structs and the members that make it up, the whole one.
    found = [
        _Declared(_bytes(owner._leaves), len(owner._leaves), owner._name, owner.shape, getattr(owner, "_site", None))
        for owner in owners.values()
    ]
    found += _dropped([leaf for leaf in leaves if not any(ref() is not None for ref in leaf.owners)])
    if not found:
        return str(error)
    largest = max(found, key=lambda one: (one.nbytes, one.components))
    name = f"{largest.name!r} " if largest.name else ""
    where = f", declared in\n{largest.site}" if largest.site is not None else ""
    return f"{error}. The largest field {name}has the shape {largest.shape} and {largest.nbytes} bytes{where}"


def _dropped(leaves: list[Leaf]) -> list[_Declared]:
    """What is known of the fields that the program let go of."""
    fields: dict[int, list[Leaf]] = {}
    for leaf in leaves:
        if leaf.snode is not None:
            fields.setdefault(id(leaf.site or leaf.group or leaf), []).append(leaf)
    return [
        _Declared(_bytes(parts), len(parts), parts[0].name if len(parts) == 1 else "", parts[0].shape, parts[0].site)
        for parts in fields.values()
    ]


def of_field(name: str, why: str) -> str:
    """What every field of such a tree says from then on."""
    return f"This field{name} has no memory, as the fields declared together share one piece: {why}\nDeclare it again."


def _bytes(leaves: Iterable[Leaf]) -> int:
    return sum(-(-math.prod(leaf.shape) * leaf.bits // 8) for leaf in leaves if leaf.snode is not None)
