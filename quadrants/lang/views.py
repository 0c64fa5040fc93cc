"""Components of swizzles and slices at indices that only the launch knows: components of what they are views of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quadrants.ir.nodes import Binary, Const, Select
from quadrants.ir.types import i32, u1


def indices(places: Sequence[Any], columns: int, exprs: Sequence[Any]) -> tuple[Any, ...]:
    """Those of the component that a view has at `exprs`, which are read several times. places: of its components,
    row-major; columns: in a row of it.
    """
    axes = list(zip(*(place.indices for place in places)))
    if len(exprs) == 1:
        return tuple(_entry(axis, exprs[0]) for axis in axes)
    return tuple(_entry_of_two(axis, columns, exprs) for axis in axes)


def _entry_of_two(entries: Sequence[Any], columns: int, exprs: Sequence[Any]) -> Any:
    """One of a table of two axes, most of which change along one."""
    rows = [entries[k : k + columns] for k in range(0, len(entries), columns)]
    if all(_same(row) for row in rows):
        return _entry([row[0] for row in rows], exprs[0])
    if all(_same(column) for column in zip(*rows)):
        return _entry(rows[0], exprs[1])
    flat = Binary("add", Binary("mul", exprs[0], Const(columns, i32), i32), exprs[1], i32)
    return _entry(entries, flat)


def _entry(entries: Sequence[Any], at: Any) -> Any:
    """One of a list: a product where they are as far from one another, else the one that is chosen."""
    if _same(entries):
        return entries[0]
    if isinstance(at, Const):
        return entries[at.value]
    if all(isinstance(e, Const) for e in entries):
        first, step = entries[0].value, entries[1].value - entries[0].value
        if all(e.value == first + k * step for k, e in enumerate(entries)):
            return Binary("add", Binary("mul", at, Const(step, i32), i32), Const(first, i32), i32)
    found = entries[-1]
    for k in range(len(entries) - 2, -1, -1):
        found = Select(Binary("eq", at, Const(k, i32), u1), entries[k], found, i32, lazy=False)
    return found


def _same(entries: Sequence[Any]) -> bool:
    first = entries[0]
    if isinstance(first, Const):
        return all(isinstance(e, Const) and e.value == first.value for e in entries)
    return all(e is first for e in entries)
