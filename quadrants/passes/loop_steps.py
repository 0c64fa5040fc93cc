"""Steps of counters that a loop keeps below a bound do not overflow: compilers need to know that to unroll the loop,
and to add to addresses instead of computing them.

    while i < n:
        total += x[i, j]
        i += 32

Only where `n` is less than 32 from the greatest number would `i` wrap, and then it is an index that no array has, in
the next round, before anything else may look at it. Where something may, steps are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType, i32, i64

_MOST = 1 << 16
# What a round does in any case, in order.
_PLAIN = (n.Declare, n.Store, n.Eval, n.Comment)


def loop_steps(module: n.Module) -> n.Module:
    for body in (*(task.body for task in module.tasks), *(function.body for function in module.functions)):
        for s in walk.statements(body):
            if type(s) is n.While and not s.pre:
                for op, var in _kept(s.cond):
                    _mark(s, op, var)
    return module


def _kept(cond: n.Expr) -> Iterator[tuple[str, n.Var]]:
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
    for op, side in (("add", below), ("sub", above)):
        if isinstance(side, n.Load) and isinstance(side.place, n.VarPlace):
            yield op, side.place.var


def _mark(loop: n.While, op: str, var: n.Var) -> None:
    """If the variable is an index first, then set to what it is plus or minus a constant, then not looked at."""
    t = var.type
    if not isinstance(t, DType) or t not in (i32, i64) or var.by_ref or var.shared or _names([loop.cond], var) != 1:
        return
    at = next((k for k, s in enumerate(loop.body) if type(s) is n.Store and _is_var(s.place, var)), None)
    if at is None or _names(loop.body[at + 1 :], var) or not _is_index_before(loop.body[:at], var):
        return
    step = loop.body[at]
    assert isinstance(step, n.Store)
    value = step.value
    if (
        isinstance(value, n.Binary)
        and value.op == op
        and value.loc is None
        and isinstance(value.a, n.Load)
        and _is_var(value.a.place, var)
        and isinstance(value.b, n.Const)
        and 0 < value.b.value <= _MOST
        and _names(loop.body[:at], var) == _loads(loop.body[:at], var)
    ):
        step.value = n.Binary(op, value.a, value.b, value.type, exact=True)


def _is_index_before(body: Sequence[n.Stmt], var: n.Var) -> bool:
    """Whether a round takes the variable for an index of an array before it may do anything else with it, or leave."""
    for s in body:
        if not isinstance(s, _PLAIN):
            return False
        if any(_is_index(e, var) for e in _in_any_case(s)):
            return True
    return False


def _is_index(e: n.Node, var: n.Var) -> bool:
    return isinstance(e, n.Cell) and any(isinstance(i, n.Load) and _is_var(i.place, var) for i in e.indices)


def _in_any_case(node: n.Node) -> Iterator[n.Node]:
    """What is below a node but behind choices."""
    yield node
    if isinstance(node, n.Select) or isinstance(node, n.Binary) and node.op in ("logic_and", "logic_or"):
        return
    for child in walk.children(node):
        yield from _in_any_case(child)


def _names(body: Sequence[n.Node], var: n.Var) -> int:
    return sum(place.var is var for place in walk.only(list(body), (n.VarPlace,)))


def _loads(body: Sequence[n.Node], var: n.Var) -> int:
    return sum(_is_var(e.place, var) for e in walk.only(list(body), (n.Load,)))


def _is_var(place: n.Place, var: n.Var) -> bool:
    return isinstance(place, n.VarPlace) and place.var is var
