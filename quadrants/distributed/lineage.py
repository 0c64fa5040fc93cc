"""What an array is part of: a component of a vector, the gradient of an array."""

from __future__ import annotations

from typing import Any

from quadrants.data.field import Field

_ROLES = {"": "", "primal": "", "grad": "gradient", "dual": "dual"}


def of(array: Any) -> tuple[Any, list[str]]:
    """What a field or ndarray has in common with all its parts and companions, and its names in there, inner first.

    Objects for parts are made at any time, and die at any time, on each rank otherwise: so this follows from what they
    share alone.
    """
    if not isinstance(array, Field):
        return array._family, _names(_ROLES[array._role])
    leaf = array._leaves[0]
    number = leaf.group.index(leaf)
    component = f"component {number}" if len(leaf.group) > len(array._leaves) else ""
    return (leaf.primal or leaf).group[0], _names(component, _ROLES[leaf.role])


def _names(*found: str) -> list[str]:
    return [*filter(None, found)]
