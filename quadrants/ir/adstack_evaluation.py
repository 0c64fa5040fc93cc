"""Sizes of stacks as statements that the launch runs on the host, in 64-bit arithmetic.

    over(i; 0, extent, read(n; loop(i)))       qd_depth = 0
                                               for i in 0..n.shape[0]:
                                                   qd_depth = max(qd_depth, n[i])

A cell outside of its array counts 0: the loop that would read it may be behind an `if`.
"""

from __future__ import annotations

from collections.abc import Callable

from quadrants.ir.adstack_size_trees import Size
from quadrants.ir.nodes import (
    Binary,
    Cast,
    Cell,
    Const,
    Declare,
    Expr,
    Extent,
    For,
    Load,
    Select,
    Stmt,
    Store,
    Var,
    VarPlace,
)
from quadrants.ir.types import i32, i64, u1

Guard = Callable[[Expr, int | None], list[Stmt]]

_BINARY = {"add": "add", "mul": "mul", "max": "max", "most": "max", "min": "min", "div": "floordiv"}


def evaluate(size: Size, target: Var) -> list[Stmt]:
    """Statements that set `target`, a 64-bit variable of the frame, to a size."""
    out: list[Stmt] = []
    Evaluation().into(target, size, out)
    return out


def _at_least_zero(e: Expr) -> Expr:
    return e if isinstance(e, Const) else Binary("max", e, Const(0, i64), i64)


def _length(begin: Expr, end: Expr) -> int | None:
    return int(end.value) - int(begin.value) if isinstance(begin, Const) and isinstance(end, Const) else None


class Evaluation:
    """loops: variables of loops around by the id of the variable that sizes know them by. guard: what comes in front of
    a loop, statements made from its 64-bit length and, where that is known, the number. Held parts of a size are
    variables already.
    """

    def __init__(self, loops: dict[int, Var] | None = None, guard: Guard | None = None) -> None:
        self.loops = {} if loops is None else loops
        self.guard = guard

    def into(self, target: Var, size: Size, out: list[Stmt]) -> None:
        """Append statements that set `target` to a size."""
        value = self.value(size, out)
        out.append(Declare(target, _at_least_zero(value)))

    def value(self, size: Size, out: list[Stmt]) -> Expr:
        """A 64-bit expression; what it needs first is appended to `out`."""
        if size.op == "const":
            return Const(size.of, i64)
        if size.op == "extent":
            array, axis = size.of
            return Cast(Extent(array, axis, i32), i64)
        if size.op == "arg":
            return Cast(Load(VarPlace(size.of, size.of.type), size.of.type), i64)
        if size.op == "held":
            held = Load(VarPlace(size.of, size.of.type), size.of.type)
            return held if size.of.type is i64 else Cast(held, i64)
        if size.op == "loop":
            var = self.loops[size.of.id]
            return Cast(Load(VarPlace(var, i32), i32), i64)
        if size.op == "shift":
            return Binary("add", self.value(size.args[0], out), Const(size.of, i64), i64)
        if size.op == "read":
            return self.read(size, out)
        if size.op == "over":
            return self.over(size, out)
        a, b = (self.value(x, out) for x in size.args)
        if size.op == "sub":
            return _at_least_zero(Binary("sub", a, b, i64))
        return Binary(_BINARY[size.op], a, b, i64)

    def read(self, size: Size, out: list[Stmt]) -> Expr:
        array = size.of
        indices: list[Expr] = []
        inside: Expr | None = None
        for axis, arg in enumerate(size.args):
            held = Var("at", i64, False, level=1)
            out.append(Declare(held, self.value(arg, out)))
            at = Load(VarPlace(held, i64), i64)
            first = array.index_offset[axis] if array.index_offset else 0
            extent = Const(array.shape[axis], i64) if array.shape is not None else Cast(Extent(array, axis, i32), i64)
            last = Const(extent.value + first, i64) if isinstance(extent, Const) else extent
            test = Binary("logic_and", Binary("ge", at, Const(first, i64), u1), Binary("lt", at, last, u1), u1)
            inside = test if inside is None else Binary("logic_and", inside, test, u1)
            indices.append(Cast(at, i32))
        cell = Cell(array, tuple(indices), array.type)
        value = Cast(Load(cell, array.type), i64)
        return value if inside is None else Select(inside, value, Const(0, i64), i64)

    def over(self, size: Size, out: list[Stmt]) -> Expr:
        first, last, body = size.args
        begin, end = (Cast(self.value(x, out), i32) for x in (first, last))
        if self.guard is not None:
            held = Var("walk", i64, False, level=1)
            guarded = self.guard(Load(VarPlace(held, i64), i64), _length(begin.a, end.a))
            out += [Declare(held, Binary("sub", end.a, begin.a, i64)), *guarded] if guarded else []
        largest = Var("largest", i64, True, level=1)
        out.append(Declare(largest, Const(0, i64)))
        place = VarPlace(largest, i64)
        var = self.loops[size.of] = Var("i", i32, False, level=1)
        inner: list[Stmt] = []
        value = self.value(body, inner)
        inner.append(Store(place, Binary("max", Load(place, i64), value, i64)))
        out.append(For((var,), ((begin, end),), inner))
        return Load(place, i64)
