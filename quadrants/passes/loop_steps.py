"""Steps of counters that a loop keeps below a bound do not overflow: compilers need to know that to unroll the loop,
and to add to addresses instead of computing them.

    while i < n:
        total += x[i, j]
        i += 32

Only where `n` is less than 32 from the greatest number would `i` start again from the least one, and the loop, as good
as ever, not end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType, i32, i64

_MOST = 1 << 16
_NESTED = (n.For, n.While)


def loop_steps(module: n.Module) -> n.Module:
    for body in (*(task.body for task in module.tasks), *(function.body for function in module.functions)):
        for s in walk.statements(body):
            if type(s) is n.While:
                for op, var, bound in _kept(s.cond):
                    _mark(s, op, var, bound)
    return module


def _kept(cond: n.Expr) -> Iterator[tuple[str, n.Var, n.Expr]]:
    """Variables that a condition keeps below a bound, with "add", or above it, with "sub"."""
    if not isinstance(cond, n.Binary):
        return
    if cond.op == "logic_and":
        yield from _kept(cond.a)
        yield from _kept(cond.b)
        return
    if cond.op in ("lt", "le"):
        below, above = cond.a, cond.b
    elif cond.op in ("gt", "ge"):
        below, above = cond.b, cond.a
    else:
        return
    for op, side, bound in (("add", below, above), ("sub", above, below)):
        if isinstance(side, n.Load) and isinstance(side.place, n.VarPlace):
            yield op, side.place.var, bound


def _mark(loop: n.While, op: str, var: n.Var, bound: n.Expr) -> None:
    """If one statement alone, once in a round, sets the variable to what it is plus or minus a constant."""
    t = var.type
    if not isinstance(t, DType) or t not in (i32, i64) or var.by_ref or var.shared:
        return
    if isinstance(bound, n.Const) and abs(bound.value) > t.max - _MOST:
        return
    steps = [s for s in _once(loop.body) if type(s) is n.Store and _is_var(s.place, var)]
    if len(steps) != 1 or _names(loop, var) != _loads(loop, var) + 1:
        return
    (step,) = steps
    value = step.value
    if (
        isinstance(value, n.Binary)
        and value.op == op
        and value.loc is None
        and isinstance(value.a, n.Load)
        and _is_var(value.a.place, var)
        and isinstance(value.b, n.Const)
        and 0 < value.b.value <= _MOST
    ):
        step.value = n.Binary(op, value.a, value.b, value.type, exact=True)


def _once(body: Sequence[n.Stmt]) -> Iterator[n.Stmt]:
    """The statements of a body that a round does once at most."""
    for s in body:
        yield s
        if not isinstance(s, _NESTED):
            for block in walk.blocks(s):
                yield from _once(block)


def _names(loop: n.While, var: n.Var) -> int:
    return sum(place.var is var for place in walk.only([*loop.pre, *loop.body], (n.VarPlace,)))


def _loads(loop: n.While, var: n.Var) -> int:
    return sum(_is_var(e.place, var) for e in walk.only([*loop.pre, *loop.body], (n.Load,)))


def _is_var(place: n.Place, var: n.Var) -> bool:
    return isinstance(place, n.VarPlace) and place.var is var
