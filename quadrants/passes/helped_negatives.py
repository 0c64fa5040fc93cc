"""Negatives in every guise, for compilers that lose some of them: they are written as such, which a helper computes.

    0 - x, x * -1, x // -1, ~x + 1, ~(x - 1)        -x

Numbers may be variables that are set once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType, element_dtype
from quadrants.passes.own_cells import Values

_QUOTIENTS = ("floordiv", "raw_div")
_SIGNED = ("i32", "i64")
_OPERATIONS = frozenset((n.Binary, n.Unary))


def helped_negatives(module: n.Module, types: tuple[str, ...]) -> n.Module:
    """Write as negatives what compilers see as such. types: the names of those that helpers compute."""
    for task in module.tasks:
        visit = _Visit(types, [task.pre, task.body, task.reductions])
        walk.inner_first([*task.pre, *(declare for declare, _ in task.reductions)], visit)
        for _, final in task.reductions:
            walk.inner_first(final.then, visit)
        walk.inner_first(task.body, visit)
    for function in module.functions:
        walk.inner_first(function.body, _Visit(types, function.body))
    return module


def note_negatives(module: n.Module) -> n.Module:
    """Set whether a module has negatives and quotients of signed integers. Narrow negatives are cut to their width."""
    bodies = [[task.pre, task.body, task.reductions] for task in module.tasks] + [f.body for f in module.functions]
    divides = any(isinstance(e, n.Binary) and e.op in _QUOTIENTS for body in bodies for e in _signed(body))
    module.negates = divides and any(_has_negatives(body) for body in bodies)
    return module


def _has_negatives(body: Any) -> bool:
    visit = _Visit(_SIGNED, body)
    return any(visit.is_negative(e) for e in _signed(body))


def _signed(body: Any) -> Iterator[n.Binary | n.Unary]:
    """Operations on signed integers."""
    return (e for e in walk.only(body, _OPERATIONS) if element_dtype(e.type).name in _SIGNED)


class _Visit:
    """Rewrites expressions of one task or function."""

    def __init__(self, types: tuple[str, ...], bodies: Any):
        self.types = types
        self.values = Values(list(walk.walk(bodies)), ())

    def __call__(self, x: Any) -> Any:
        if not isinstance(x, (n.Binary, n.Unary)) or element_dtype(x.type).name not in self.types:
            return x
        negated = self._negated(x)
        if negated is None:
            return x
        # What reports overflows stays, and is negated twice.
        checked = isinstance(x, n.Binary) and x.loc is not None
        return n.Unary("neg", n.Unary("neg", x, x.type) if checked else negated, x.type)

    def is_negative(self, e: n.Binary | n.Unary) -> bool:
        return isinstance(e, n.Unary) and e.op == "neg" or self._negated(e) is not None

    def _negated(self, e: n.Binary | n.Unary) -> n.Expr | None:
        """x where an expression is its negative in another guise."""
        if isinstance(e, n.Unary):
            below = e.a if e.op == "bit_not" else None
            return below.a if isinstance(below, n.Binary) and self._is_less_by_one(below) else None
        if e.exact:
            return None
        if e.op == "sub":
            return e.b if self._is(e.a, 0) and e.b.type == e.type else None
        if e.op == "add":
            inner = e.a if self._is(e.b, 1) else None
            return inner.a if isinstance(inner, n.Unary) and inner.op == "bit_not" else None
        if e.op == "mul" and self._is(e.a, -1):
            return e.b if e.b.type == e.type else None
        if e.op == "mul" or e.op in _QUOTIENTS and element_dtype(e.type).kind == "i":
            return e.a if self._is(e.b, -1) and e.a.type == e.type else None
        return None

    def _is_less_by_one(self, e: n.Binary) -> bool:
        return not e.exact and (e.op == "sub" and self._is(e.b, 1) or e.op == "add" and self._is(e.b, -1))

    def _is(self, e: n.Expr, value: int) -> bool:
        """Whether a number, or every element of a tensor, is `value`: for unsigned types, has its bits."""
        e = self.values.simpler(e)
        if isinstance(e, n.Make):
            return bool(e.parts) and all(self._is(part, value) for part in e.parts)
        if not isinstance(e, n.Const) or not isinstance(e.type, DType) or e.type.is_real:
            return False
        return int(e.value) == value or e.type.kind == "u" and int(e.value) == value % 2**e.type.bits
