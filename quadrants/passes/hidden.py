"""Constants that compilers do not know, as they compute wrongly with those that they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType


def rewrite(module: n.Module, visit: Callable[[Any], Any]) -> None:
    """Put `visit(e)` for every expression and place e of all tasks and functions, after those below e."""
    for task in module.tasks:
        walk.inner_first([*task.pre, *(s for pair in task.reductions for s in pair)], visit)
        walk.inner_first(task.body, visit)
    for function in module.functions:
        walk.inner_first(function.body, visit)


def hidden(e: n.Expr, op: str, wanted: Callable[[DType], bool]) -> n.Expr:
    """A constant, if its type is wanted, as the sum or difference of it and a zero that only the device knows. Of
    vectors, each of their elements."""
    if isinstance(e, n.Make):
        return n.Make(tuple(hidden(x, op, wanted) for x in e.parts), e.type)
    if not isinstance(e, n.Const) or not isinstance(e.type, DType) or not wanted(e.type):
        return e
    return n.Binary(op, e, n.Builtin("zero", e.type), e.type)
