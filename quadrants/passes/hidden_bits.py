"""Masks that a compiler does not know of, where it computes wrong places in memory from them.

x & 3       x & (3 + zero)      of a zero that only the device knows
"""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType, u1


def hidden_bits(module: n.Module) -> n.Module:
    """Leave no constant in a bitwise `&` or `|`."""
    for task in module.tasks:
        walk.inner_first([*task.pre, *(s for pair in task.reductions for s in pair)], _visit)
        walk.inner_first(task.body, _visit)
    for function in module.functions:
        walk.inner_first(function.body, _visit)
    return module


def _visit(x: Any) -> Any:
    if isinstance(x, n.Binary) and x.op in ("bit_and", "bit_or"):
        return n.Binary(x.op, _hidden(x.a), _hidden(x.b), x.type, x.loc, x.exact)
    return x


def _hidden(e: n.Expr) -> n.Expr:
    """Of vectors, each of their elements."""
    if isinstance(e, n.Make):
        return n.Make(tuple(map(_hidden, e.parts)), e.type)
    if not isinstance(e, n.Const) or not isinstance(e.type, DType) or e.type is u1:
        return e
    return n.Binary("add", e, n.Builtin("zero", e.type), e.type)
