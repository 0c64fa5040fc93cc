"""How far an integer may be below zero, as a `Size`: what a loop that begins there is longer by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants.ir.adstack_size_trees import Size, Unresolved, const, larger, most, plus, times
from quadrants.ir.nodes import Binary, Cast, Cell, Extent, Load, Select, Unary, VarPlace
from quadrants.ir.walk import root

if TYPE_CHECKING:
    from quadrants.ad.adstack_sizes import Sizing


def below_zero(sizing: Sizing, e) -> Size:
    """An upper bound of -e, at least zero. Raises `Unresolved`."""
    known = sizing.known(e)
    if known is not None:
        return const(-known)
    e = sizing.behind(e)
    if isinstance(e, Extent) or not e.type.is_signed:
        return const(0)
    if isinstance(e, Load):
        return _load(sizing, e)
    if isinstance(e, Binary):
        return _binary(sizing, e)
    if isinstance(e, Unary) and e.op in ("neg", "bit_not"):
        return most(plus(sizing.of(e.a), 0 if e.op == "neg" else 1))
    if isinstance(e, Unary) and e.op == "abs":
        return const(0)
    if isinstance(e, Cast) and e.a.type.is_integral:
        return below_zero(sizing, e.a)
    if isinstance(e, Select):
        return larger(below_zero(sizing, e.a), below_zero(sizing, e.b))
    raise Unresolved("its sign is not known")


def _load(sizing: Sizing, e: Load) -> Size:
    at = root(e.place)
    if isinstance(at, VarPlace):
        bounds = sizing.loops.get(at.var.id) or sizing.values.loops.get(at.var.id)
        if bounds is not None:
            return below_zero(sizing, bounds[0])
        if at.var.id not in sizing.params and at is e.place:
            return sizing.largest(at.var.id, at.var.name, sizing.values.assigned.get(at.var.id), below_zero)
    elif isinstance(at, Cell) and at.array.kind == "stack" and at is e.place:
        return sizing.largest(at.array.id, at.array.label, sizing.values.pushed.get(at.array.id), below_zero)
    return Size("sub", (const(0), sizing.of(e)))


def _binary(sizing: Sizing, e: Binary) -> Size:
    a, b, known = e.a, e.b, sizing.known(e.b)
    if e.op == "add":
        for x, y in ((a, b), (b, a)):
            step = sizing.known(y)
            if step is not None:
                return plus(below_zero(sizing, x), -step)
        return Size("add", (below_zero(sizing, a), below_zero(sizing, b)))
    if e.op == "sub":
        return most(sizing.difference(b, a))
    if e.op == "mul":
        return _product(sizing, a, b)
    if e.op == "min":
        return larger(below_zero(sizing, a), below_zero(sizing, b))
    if e.op == "max":
        return sizing.least([a, b], below_zero)
    if e.op in ("floordiv", "raw_div"):
        below = below_zero(sizing, a)
        return below if known is not None and known > 0 else Size("add", (below, most(sizing.of(a))))
    if e.op == "mod":
        return below_zero(sizing, b)
    if e.op in ("raw_mod", "shr"):
        return below_zero(sizing, a)
    if e.op == "shl" and known is not None and 0 <= known < 31:
        return times(below_zero(sizing, a), const(1 << known))
    if e.op == "bit_and" and known is not None and known >= 0 or e.op == "bit_shr":
        return const(0)
    raise Unresolved("its sign is not known")


def _product(sizing: Sizing, a, b) -> Size:
    for x, y in ((a, b), (b, a)):
        factor = sizing.known(y)
        if factor is not None:
            return times(below_zero(sizing, x) if factor >= 0 else most(sizing.of(x)), const(abs(factor)))
    first, second = (times(below_zero(sizing, x), most(sizing.of(y))) for x, y in ((a, b), (b, a)))
    return larger(first, second)
