"""Vectors in memory that a device may move, or add to, in one access of 8 or 16 bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd

from quadrants.ir import nodes as n
from quadrants.ir.types import TensorType, element_dtype, f32

# The longest access of a thread.
WIDEST = 16
# Vectors of which one operation adds to all components.
_ADDED_WHOLE = (2, 4)


def alignment(decl) -> int:
    """Bytes that divide the address of every vector of a field; that of its scalars where nothing more is known."""
    size = element_dtype(decl.type).size
    if not isinstance(decl.type, TensorType) or decl.kind != "field" or decl.components is not None:
        return size
    # The memory of a tree of fields is aligned to more than WIDEST.
    return gcd(WIDEST, decl.source.offset, *(stride * size for _, _, _, stride in decl.levels))


def whole_updates(body: Iterable) -> Iterator:
    """Statements, in which additions of all components of a value to all of a cell, one by one, are one addition."""
    group: list = []
    for s in body:
        if group and _continues(group, s):
            group.append(s)
        else:
            yield from _joined(group)
            group = [s]
    yield from _joined(group)


def _joined(group: list) -> list:
    cell = _target(group[0]) if group else None
    if cell is None or len(group) != cell.type.count:
        return group
    whole = n.Load(_source(group[0]), cell.type)
    return [n.Eval(n.Atomic("add", cell, (whole,), cell.type), group[0].loc)]


def _continues(group: list, s) -> bool:
    """Whether a statement adds to the next component of what the first of a group adds to."""
    first, cell = _target(group[0]), _target(s, len(group))
    if first is None or cell is None or _source(s).var is not _source(group[0]).var or s.loc != group[0].loc:
        return False
    return cell is first or cell.array is first.array and _same(cell.index, first.index)


def _target(s, k: int = 0):
    """The slot of an aligned vector of whose component k a statement adds component k of a variable, or None."""
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
    return cell if _is_component(value.place.indices, k) else None


def _source(s) -> n.VarPlace:
    place: n.VarPlace = s.value.args[0].place.base
    return place


def _is_component(indices: tuple, k: int) -> bool:
    return len(indices) == 1 and isinstance(indices[0], n.Const) and indices[0].value == k


def _same(a, b) -> bool:
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
