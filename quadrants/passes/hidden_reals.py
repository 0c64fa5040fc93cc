"""Operations on real numbers that are all known, for compilers that do them in f64 and cut what they get to f16.

f32(0.1) * f32(0.1)     (f32(0.1) - zero) * f32(0.1)      of a zero that only the device knows
"""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType
from quadrants.passes.hidden import hidden, rewrite


def hidden_reals(module: n.Module) -> n.Module:
    """Leave no operation, and no variable that stays the same, of known real numbers alone."""
    rewrite(module, _visit)
    for body in (*(task.body for task in module.tasks), *(function.body for function in module.functions)):
        for s in walk.statements(body):
            if type(s) is n.Declare and not s.var.mutable and _known(s.init):
                s.init = _hidden(s.init)
    return module


def _visit(e: Any) -> Any:
    kind = type(e)
    if kind is n.Binary and _known(e.a) and _known(e.b):
        a = _hidden(e.a)
        return n.Binary(e.op, a, _hidden(e.b) if a is e.a else e.b, e.type, e.loc, e.exact)
    if kind is n.Unary and _known(e.a):
        return n.Unary(e.op, _hidden(e.a), e.type)
    if kind is n.Cast and _known(e.a):
        return n.Cast(_hidden(e.a), e.type, e.bits)
    if kind is n.Select and _known(e.a) and _known(e.b):
        return n.Select(e.cond, _hidden(e.a), _hidden(e.b), e.type, e.lazy)
    if kind is n.MatOp and all(map(_known, e.args)):
        return n.MatOp(e.op, tuple(map(_hidden, e.args)), e.type)
    return e


def _known(e: n.Expr) -> bool:
    return isinstance(e, n.Const) or isinstance(e, n.Make) and all(map(_known, e.parts))


def _hidden(e: n.Expr) -> n.Expr:
    """By a difference, which keeps the sign of a zero."""
    return hidden(e, "sub", _is_real)


def _is_real(t: DType) -> bool:
    return t.is_real
