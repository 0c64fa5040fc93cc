"""Operations on real numbers that are all known, for compilers that do them in f64 and cut what they get to f16.

f32(0.1) * f32(0.1)     (f32(0.1) - zero) * f32(0.1)      of a zero that only the device knows
"""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType


def hidden_reals(module: n.Module) -> n.Module:
    """Leave no operation, and no variable that stays the same, of known real numbers alone."""
    for task in module.tasks:
        walk.inner_first([*task.pre, *(s for pair in task.reductions for s in pair)], _visit)
        _statements(task.body)
    for function in module.functions:
        _statements(function.body)
    return module


def _statements(body: list[n.Stmt]) -> None:
    walk.inner_first(body, _visit)
    for s in walk.statements(body):
        if type(s) is n.Declare and not s.var.mutable:
            s.init = _hidden(s.init)


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
    """By a difference, which keeps the sign of a zero. Of vectors, each of their elements."""
    if isinstance(e, n.Make) and _known(e):
        return n.Make(tuple(map(_hidden, e.parts)), e.type)
    if not isinstance(e, n.Const) or not isinstance(e.type, DType) or not e.type.is_real:
        return e
    return n.Binary("sub", e, n.Builtin("zero", e.type), e.type)
