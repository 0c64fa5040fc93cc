"""Quotients and remainders of integers by constant powers of two, as operations on bits.

x // 8      x >> 3
x % 8       x & 7

Both are rounded towards minus infinity, so they are the same for negative numbers too. It is done late: for other
passes a quotient is a quotient.
"""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType, u1

_BINARY = frozenset((n.Binary,))


def powers_of_two(module: n.Module) -> n.Module:
    """Leave no division where a shift or a mask does the same."""
    for body in (*(task.body for task in module.tasks), *(function.body for function in module.functions)):
        if any(_by_bits(e) is not None for e in walk.only(body, _BINARY)):
            walk.inner_first(body, _visit)
    return module


def _visit(x: Any) -> Any:
    made = _by_bits(x) if type(x) is n.Binary else None
    return x if made is None else made


def _by_bits(e: n.Binary) -> n.Binary | None:
    """What does the same; None where nothing is known, and where debug mode looks at the operands."""
    if e.op not in ("floordiv", "mod") or e.loc is not None or e.a.type is not e.type:
        return None
    t, count = e.b.type, _count(e.b)
    if count is None or not isinstance(t, DType):
        return None
    op, number = ("shr", count) if e.op == "floordiv" else ("bit_and", (1 << count) - 1)
    return n.Binary(op, e.a, n.Const(number, t), e.type)


def _count(e: n.Expr) -> int | None:
    """The exponent of two of a constant, but 0."""
    if type(e) is not n.Const or not isinstance(e.type, DType) or not e.type.is_integral or e.type is u1:
        return None
    value = int(e.value)
    return value.bit_length() - 1 if value > 1 and value & (value - 1) == 0 else None
