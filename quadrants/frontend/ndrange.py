"""Bounds of `qd.ndrange`. A loop counts in i32: where that does not hold a bound, its counter starts at 0.

    for i, j in qd.ndrange((a, b), 2)                  a and b of i64
    for n, j in qd.ndrange(b - a, 2): i = a + n

    for i in qd.ndrange((1, 9))                        where literals are i64
    for n in qd.ndrange((1, 9)): i = qd.i64(n)

First what the user writes, below what becomes of it.
"""

from __future__ import annotations

import numpy as np

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.writer import Writer
from quadrants.ir.nodes import Const
from quadrants.ir.types import DType, i32, i64, promote
from quadrants.lang import constants, scope, typed
from quadrants.lang.described import type_name
from quadrants.lang.value import Value

_TOO_MANY = f"An axis of ndrange has more than {i32.max} iterations"


def entry(x, literal: DType) -> tuple:
    """(begin, end) of one argument, as integers of any type. literal: that of Python's."""
    if isinstance(x, (list, tuple)) or (isinstance(x, Value) and x.is_tensor):
        items = list(x)
        if len(items) != 2:
            raise QuadrantsSyntaxError(
                "Every argument of ndrange should be a scalar or a tuple/list like (begin, end), found "
                f"{len(items)} items"
            )
        return tuple(_bound(item, literal) for item in items)
    return Const(0, literal), _bound(x, literal)


def _bound(x, literal: DType):
    if isinstance(x, Value):
        if not x.is_scalar or x.type.is_real:
            raise _no_bound(str(x.type), "qd.cast(n, qd.i32)")
        return x.expr if _is_wide(x.type) else typed.cast_expr(x.expr, i32)
    x = typed.unboxed(x)
    if not isinstance(x, (int, np.integer)):
        raise _no_bound(type_name(x), "int(n)")
    for t in (literal, i64):
        if t.min <= int(x) <= t.max:
            return Const(int(x), t)
    raise QuadrantsTypeError(f"Integer literal {constants.shown(int(x))} exceeded the range of a loop bound: i64")


def _is_wide(t) -> bool:
    """Whether i32 does not have all numbers of an integer type."""
    return t.bits > 32 or t.name == "u32"


def counted(writer: Writer, bounds: list) -> tuple:
    """(bounds of i32, for every axis None or the value that `index` adds to its counter)."""
    found = [_counted(writer, *pair) for pair in bounds]
    return [pair for pair, _ in found], [first for _, first in found]


def _counted(writer: Writer, begin, end) -> tuple:
    t = promote(begin.type, end.type)
    if t is i32:
        return (begin, end), None
    begin32, end32 = narrow(begin), narrow(end)
    if t is i64 and begin32 is not None and end32 is not None:
        return (begin32, end32), Value(Const(0, t))
    if t.kind == "u" and isinstance(begin, Const) and begin.value < 0:
        scope.warn(
            f"The bounds of this ndrange are compared as {t}, where {begin.value} is more than the end can be: it does "
            f"nothing. Cast the end, as in `qd.ndrange(({begin.value}, qd.i64(n)))`."
        )
    first, last = (writer.temp(Value(typed.cast_expr(e, t))) for e in (begin, end))
    distance = typed.select(typed.binary("lt", first, last), typed.binary("sub", last, first), Value(Const(0, t)))
    distance, most = writer.temp(distance), Value(Const(i32.max, t))
    if writer.options.debug:
        writer.check(typed.binary("le", distance, most).expr, ("assert", (_TOO_MANY,)))
    return (Const(0, i32), typed.cast_expr(typed.binary("min", distance, most).expr, i32)), first


def narrow(e):
    """A bound in i32, or None where that may not hold it."""
    if isinstance(e, Const) and i32.min <= e.value <= i32.max:
        return Const(e.value, i32)
    return e if e.type is i32 else None


def index(writer: Writer, label: str, first, counter) -> Value:
    """The loop variable of one axis."""
    if first is None:
        return counter
    if isinstance(first.expr, Const) and first.expr.value == 0:
        return writer.declare(label, typed.cast_expr(counter.expr, first.type), mutable=False)
    return writer.declare(label, typed.binary("add", first, counter).expr, mutable=False)


def _no_bound(found: str, instead: str) -> QuadrantsTypeError:
    return QuadrantsTypeError(f"Every bound of ndrange should be an integer scalar, found {found}. Write {instead}.")
