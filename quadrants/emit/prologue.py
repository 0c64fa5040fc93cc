"""The locals at the top of a function or task: what its text uses of the arguments."""

from __future__ import annotations

from collections.abc import Sequence, Set

from quadrants.emit import vectors
from quadrants.emit.blocks import BlockPrinter
from quadrants.emit.records import Axis, Local
from quadrants.emit.text import ADD, UNARY, infix, name, parenthesised
from quadrants.ir.nodes import ArrayDecl, Const, Declare, Expr, For, If, Var
from quadrants.ir.ranges import known_length
from quadrants.ir.types import element_dtype, i32, i64


def arguments(p: BlockPrinter, restrict: Set[int]) -> list[Local]:
    """Pointers, extents and values that `p` has printed. restrict: numbers of the arrays that meet no other."""
    out, source = [], p.dialect.args
    for decl in sorted(p.arrays.values(), key=lambda d: d.number):
        if decl.components is not None or decl.kind in ("shared", "stack"):
            continue
        out.append(_pointer(p, decl, p.dialect.restrict if decl.number in restrict else ""))
        if decl.shape is None:
            for axis in range(decl.ndim):
                if (decl.id, axis) in p.extents:
                    place = f"{source}{decl.name}_shape[{axis}]"
                    out.append(Local("constant", p.type(i32), f"{decl.name}_shape{axis}", place))
    for v in p.values.values():
        out.append(Local("constant", p.type(v.type), v.name, p.from_memory(v.type, name(source + v.name)).bare))
    return out


def _pointer(p: BlockPrinter, decl: ArrayDecl, qualifier: str) -> Local:
    """The pointer of an array as the arguments have it, with what the compiler cannot know of its alignment."""
    known = vectors.alignment(decl)
    told = known if p.dialect.assume_aligned and known > element_dtype(decl.type).size else 0
    leads_to, value = p.array_pointer(decl, name(p.dialect.args + decl.name))
    return Local("pointer", leads_to, decl.name, value.bare, qualifier, aligned=told)


def computed(p: BlockPrinter, declarations: Sequence[Declare]) -> list[Local]:
    """Values that a task computes from the arguments."""
    return [Local("constant", p.type(d.var.type), d.var.name, p.text(d.init).bare) for d in declarations]


def accumulators(p: BlockPrinter, reductions: Sequence[tuple[Declare, If]]) -> list[Local]:
    """What the iterations of one thread add to."""
    return [Local("variable", p.type(d.var.type), d.var.name, p.text(d.init).bare) for d, _ in reductions]


def axes(p: BlockPrinter, loop: For) -> list[Axis]:
    """The axes of a parallel loop."""
    return [_axis(p, var, begin, end) for var, (begin, end) in zip(loop.vars, loop.bounds)]


def _axis(p: BlockPrinter, var: Var, begin: Expr, end: Expr) -> Axis:
    zero = isinstance(begin, Const) and begin.value == 0
    b, e = p.text(begin), p.text(end)
    count = known_length(begin, end)
    # The distance of two i32 has 33 bits.
    extent = e if zero else parenthesised(infix("-", ADD, p.cast(p.type(i64), e), b))
    return Axis(
        var.name,
        "" if zero else b.at(ADD + 1),
        e.at(ADD),
        extent.at(UNARY) if count is None else str(count),
        count,
    )


def constant_count(axes: Sequence[Axis]) -> int | None:
    """The iterations of all axes, where they are known."""
    total = 1
    for axis in axes:
        if axis.constant is None:
            return None
        total *= axis.constant
    return total
