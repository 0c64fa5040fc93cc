"""Which declarations may be the same memory: a vector field and its components, and arrays that are passed twice."""

from __future__ import annotations

from typing import Any

from quadrants.ir.nodes import ArrayDecl
from quadrants.ir.types import element_dtype


def may_overlap(a: ArrayDecl, b: ArrayDecl) -> bool:
    """Whether a cell of `a` can be one of `b`. An array never overlaps a field, nor its gradient another array."""
    return a is b or not _memory(a).isdisjoint(_memory(b))


def is_same_memory(a: ArrayDecl, b: ArrayDecl) -> bool:
    """The same of fields alone: of two array arguments it is supposed that they are two arrays."""
    return a is b or a.kind == b.kind == "field" and may_overlap(a, b)


def _memory(array: ArrayDecl) -> set[tuple[Any, ...]]:
    if array.kind == "array":
        return {(array.type, array.ndim)}
    if array.kind != "field":
        return {(array.id,)}
    if array.components is not None:
        return set[tuple[Any, ...]]().union(*map(_memory, array.components))
    cell, size = array.source, element_dtype(array.type).size
    return {(id(cell.tree), cell.offset + k * size) for k in range(getattr(array.type, "count", 1))}
