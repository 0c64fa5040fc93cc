"""Expressions as values that are equal where two compute the same of the same operands.

Of single expressions: `passes/sparse/value_numbers.py` also sees through variables that are assigned once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quadrants.ir.nodes import Binary, Cast, Const, Elem, Expr, Load, Place, Unary


def form(e: Expr, of_place: Callable[[Place], Any]) -> tuple[Any, ...] | None:
    """That of `e`, where `of_place` gives that of what a load reads. None where either says that it may change."""
    match e:
        case Const():
            return ("number", repr(e.value), e.type)
        case Load():
            found: tuple[Any, ...] | None = of_place(e.place)
            return found
        case Unary():
            return _of_parts(e, (e.op,), (e.a,), of_place)
        case Cast():
            return _of_parts(e, ("bits" if e.bits else "cast",), (e.a,), of_place)
        case Binary():
            return _of_parts(e, (e.op, e.exact), (e.a, e.b), of_place)
        case Elem():
            return _of_parts(e, ("element",), (e.a, *e.indices), of_place)
    return None


def _of_parts(e: Expr, how: tuple[Any, ...], parts: tuple[Expr, ...], of_place: Any) -> tuple[Any, ...] | None:
    forms = [form(part, of_place) for part in parts]
    return None if None in forms else (*how, e.type, *forms)
