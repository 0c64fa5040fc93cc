"""Which declarations may be the same memory: a vector field and its components, and arrays that are passed twice."""

from __future__ import annotations

from typing import Any

from quadrants.ir.nodes import ArrayDecl, Cell, Const, ElemPlace, Place
from quadrants.ir.types import TensorType, element_dtype
from quadrants.ir.walk import root


def may_overlap(a: ArrayDecl, b: ArrayDecl) -> bool:
    """Whether a cell of `a` can be one of `b`. An array never overlaps a field, nor its gradient another array."""
    return a is b or not _memory(a).isdisjoint(_memory(b))


def is_same_memory(a: ArrayDecl, b: ArrayDecl) -> bool:
    """The same of fields alone: of two array arguments it is supposed that they are two arrays."""
    return a is b or a.kind == b.kind == "field" and may_overlap(a, b)


def parts(place: Place) -> frozenset[tuple[Any, ...]]:
    """The numbers of a cell that a place in it has: those of different fields may be the same."""
    cell = root(place)
    assert isinstance(cell, Cell)
    numbers = _numbers(cell.array)
    if isinstance(place, ElemPlace) and isinstance(place.base, Cell) and isinstance(cell.type, TensorType):
        at = 0
        for index, extent in zip(place.indices, cell.type.shape):
            if not isinstance(index, Const):
                return frozenset(numbers)
            at = at * extent + int(index.value)
        return frozenset(numbers[at : at + 1])
    return frozenset(numbers)


def _numbers(array: ArrayDecl) -> list[tuple[Any, ...]]:
    """The numbers of a cell in their order."""
    if array.components is not None:
        return [number for component in array.components for number in _numbers(component)]
    count = getattr(array.type, "count", 1)
    if array.kind != "field":
        return [(array.id, k) for k in range(count)]
    cell, size = array.source, element_dtype(array.type).size
    if cell.packing is not None:
        return [(id(cell.tree), cell.offset, cell.packing.bit)]
    return [(id(cell.tree), cell.offset + k * size) for k in range(count)]


def _memory(array: ArrayDecl) -> set[tuple[Any, ...]]:
    if array.kind == "array":
        return {(array.type, array.ndim)}
    if array.kind != "field":
        return {(array.id,)}
    return set(_numbers(array))
