"""Arithmetic of bits as IR: short ways to write it, and functions in the making."""

from __future__ import annotations

from dataclasses import dataclass, field

from quadrants.ir import nodes as n
from quadrants.ir.quant import Packing
from quadrants.ir.types import DType, scalar, u1, u32, u64


def unit(p: Packing) -> DType:
    """The type that a word is computed with."""
    return u64 if p.word.bits > 32 else u32


def load(var: n.Var) -> n.Load:
    """The value of a variable."""
    return n.Load(n.VarPlace(var, var.type), var.type)


def cast(e: n.Expr, t: DType) -> n.Expr:
    """An expression as one of another type."""
    if e.type is t:
        return e
    return n.Const(int(e.value), t) if isinstance(e, n.Const) and t.is_integral and e.value >= 0 else n.Cast(e, t)


def binary(op: str, a: n.Expr, b: n.Expr | int | float) -> n.Expr:
    """An operation on operands of one type; of integers that are known, what it gives."""
    t = scalar(a.type)
    other = n.Const(b, t) if isinstance(b, (int, float)) else b
    if isinstance(other, n.Const) and other.value == 0 and op in ("add", "sub", "shl", "shr", "bit_or"):
        return a
    if isinstance(a, n.Const) and isinstance(other, n.Const) and op in _FOLDED:
        return n.Const(_FOLDED[op](int(a.value), int(other.value)) & t.max, t)
    return n.Binary(op, a, other, t)


_FOLDED = {"shl": int.__lshift__, "bit_and": int.__and__, "bit_or": int.__or__}


def compared(op: str, a: n.Expr, b: n.Expr | int | float) -> n.Binary:
    """A comparison."""
    other = n.Const(b, scalar(a.type)) if isinstance(b, (int, float)) else b
    return n.Binary(op, a, other, u1)


def chosen(cond: n.Expr, a: n.Expr, b: n.Expr) -> n.Select:
    """`a if cond else b`, both computed."""
    return n.Select(cond, a, b, a.type, lazy=False)


@dataclass(slots=True, eq=False, repr=False)
class Body:
    """A function in the making."""

    params: list[n.Var]
    statements: list[n.Stmt] = field(default_factory=list)

    def let(self, name: str, e: n.Expr) -> n.Load:
        var = n.Var(name, e.type)
        self.statements.append(n.Declare(var, e))
        return load(var)

    def function(self, name: str, result: n.Expr) -> n.Function:
        self.statements.append(n.Return((result,)))
        return n.Function(name, self.params, self.statements, (result.type,))
