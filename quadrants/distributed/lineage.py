"""What an array is part of: a component of a vector, the gradient of an array, a member of a struct."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quadrants.data.field import Field
from quadrants.data.struct_field import StructField
from quadrants.distributed import arrays

_ROLES = {"grad": "gradient", "dual": "dual"}


def of(array: Any) -> list[tuple[str, Any]]:
    """The array, what it is part of, and so on to what is part of nothing; each with its name in the next one.

    Views are made anew at each use, and gradients when they are asked for, so that nothing but this is the same on all
    ranks: (component, vector), (gradient, array), (member, struct), where there is one, and last ("", the whole).
    """
    found: list[tuple[str, Any]] = []
    for step in (_vector, _primal, _struct):
        part = step(array)
        if part is not None:
            found.append((part[0], array))
            array = part[1]
    return [*found, ("", array)]


def _vector(array: Any) -> tuple[str, Any] | None:
    if not isinstance(array, Field):
        return None
    first = array._leaves[0]
    whole = next(_owners(first))  # whoever made it, as long as that lives
    number = whole._leaves.index(first)
    return (f"component {number}", whole) if len(whole._leaves) > len(array._leaves) else None


def _primal(array: Any) -> tuple[str, Any] | None:
    link = array._primal
    whole = None if link is None else link[1]()
    return None if whole is None else (_ROLES[link[0]], whole)


def _struct(array: Any) -> tuple[str, Any] | None:
    """The largest one, where structs are nested."""
    if not isinstance(array, Field):
        return None
    first = array._leaves[0]
    structs = [owner for owner in _owners(first) if isinstance(owner, StructField)]
    whole = max(structs, key=lambda struct: len(struct._leaves), default=None)
    name = next((name for name, part in arrays.members_of(whole) if part._leaves[0] is first), None) if whole else None
    return None if name is None else (name, whole)


def _owners(leaf: Any) -> Iterator[Any]:
    """The fields that show a component, in the order in which they were made."""
    return filter(None, (owner() for owner in leaf.owners))
