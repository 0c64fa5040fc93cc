"""Vectors in memory that a device may move, or add to, in one access of 8 or 16 bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd
from typing import NamedTuple

from quadrants.ir import nodes as n
from quadrants.ir.types import TensorType, element_dtype, f32

# The longest access of a thread.
WIDEST = 16
# Vectors of which one operation adds to all components.
_ADDED_WHOLE = (2, 4)


def alignment(decl: n.ArrayDecl) -> int:
    """Bytes that divide the address of every vector of a field; that of its scalars where nothing more is known."""
    size = element_dtype(decl.type).size
    if not isinstance(decl.type, TensorType) or decl.kind != "field" or decl.components is not None:
        return size
    assert decl.levels is not None
    # The memory of a tree of fields is aligned to more than WIDEST.
    container = decl.within.stride * size if decl.within is not None else 0
    return gcd(WIDEST, decl.source.offset, container, *(stride * size for _, _, _, stride in decl.levels))


def whole_updates(body: Iterable[n.Stmt]) -> Iterator[n.Stmt]:
    """Statements, in which additions of all components of a value to all of a cell, one by one, are one addition."""
    group: list[n.Stmt] = []
    for s in body:
        if group and _continues(group, s):
            group.append(s)
        else:
            yield from _joined(group)
            group = [s]
    yield from _joined(group)


def _joined(group: list[n.Stmt]) -> list[n.Stmt]:
    found = _addition(group[0]) if group else None
    if found is None or len(group) != found.type.count:
        return group
    whole = n.Load(found.source, found.type)
    return [n.Eval(n.Atomic("add", found.cell, (whole,), found.type), group[0].loc)]


def _continues(group: list[n.Stmt], s: n.Stmt) -> bool:
    """Whether a statement adds to the next component of what the first of a group adds to."""
    first, found = _addition(group[0]), _addition(s, len(group))
    if first is None or found is None or found.source.var is not first.source.var or s.loc != group[0].loc:
        return False
    cell = found.cell
    return cell is first.cell or cell.array is first.cell.array and _same(cell.index, first.cell.index)


class _Addition(NamedTuple):
    """To the slot of an aligned vector, of a variable of the same type."""

    cell: n.Slot
    source: n.VarPlace
    type: TensorType


def _addition(s: n.Stmt, k: int = 0) -> _Addition | None:
    """What a statement adds component k of to component k; None where it does something else."""
    if not isinstance(s, n.Eval) or not isinstance(s.value, n.Atomic) or s.value.op != "add" or s.value.plain:
        return None
    place, value = s.value.place, s.value.args[0]
    if not isinstance(place, n.ElemPlace) or not isinstance(place.base, n.Slot) or not _is_component(place.indices, k):
        return None
    cell = place.base
    t = cell.type
    if not isinstance(t, TensorType):
        return None
    if t.dtype is not f32 or t.count not in _ADDED_WHOLE or len(t.shape) != 1 or alignment(cell.array) < 4 * t.count:
        return None
    if not isinstance(value, n.Load) or not isinstance(value.place, n.ElemPlace):
        return None
    if not isinstance(value.place.base, n.VarPlace) or value.place.base.type != t:
        return None
    return _Addition(cell, value.place.base, t) if _is_component(value.place.indices, k) else None


def _is_component(indices: tuple[n.Expr, ...], k: int) -> bool:
    return len(indices) == 1 and isinstance(indices[0], n.Const) and indices[0].value == k


def _same(a: n.Expr | n.Place, b: n.Expr | n.Place) -> bool:
    """Whether two indices, evaluated one after the other, are the same: the same sums of variables and numbers."""
    if a is b:
        return True
    if isinstance(a, n.Binary) and isinstance(b, n.Binary):
        return a.op == b.op and a.type is b.type and _same(a.a, b.a) and _same(a.b, b.b)
    if isinstance(a, n.Cast) and isinstance(b, n.Cast):
        return a.type is b.type and a.bits == b.bits and _same(a.a, b.a)
    if isinstance(a, n.Extent) and isinstance(b, n.Extent):
        return a.array is b.array and a.axis == b.axis
    if isinstance(a, n.Const) and isinstance(b, n.Const):
        return bool(a.value == b.value)
    if isinstance(a, n.Load) and isinstance(b, n.Load):
        return _same(a.place, b.place)
    if isinstance(a, n.VarPlace) and isinstance(b, n.VarPlace):
        return a.var is b.var
    if isinstance(a, n.ElemPlace) and isinstance(b, n.ElemPlace):
        return _same(a.base, b.base) and all(map(_same, a.indices, b.indices))
    return False
