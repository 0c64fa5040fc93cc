"""Conditions on the place of an iteration, around all that it does, become bounds of the loop.

    for i, j in x:                                      for i, j in ndrange((1, 1025), (1, 1026)):
        if i > 0 and i < 1025 and j > 0 and y[i] > 0:       if y[i] > 0:
            x[i, j] = y[i - 1]                                  x[i, j] = y[i - 1]

Compilers vectorise a row of iterations that all do the same. Left alone are bodies that know the number of their
iteration: that draw random numbers, call functions, ask for the thread, or have stacks.
"""

from __future__ import annotations

from collections.abc import Iterator

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import DType

# What says the same wherever in a task its iteration comes.
_PLAIN = (
    n.Const, n.Load, n.Unary, n.Binary, n.Select, n.Cast, n.Make, n.Elem, n.Member, n.MatOp, n.Extent, n.Atomic,
    n.Declare, n.Store, n.Eval, n.If, n.For, n.While, n.Break, n.Continue, n.Comment,
    n.VarPlace, n.Cell, n.ElemPlace, n.MemberPlace,
)  # fmt: skip
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def narrow_loops(module: n.Module) -> n.Module:
    for s in module.body:
        if type(s) is n.For and s.parallel and _is_plain(s):
            while _narrow(s):
                pass
    return module


def _is_plain(loop: n.For) -> bool:
    if loop.over is not None or loop.index or loop.backward or loop.has_break or _guard(loop) is None:
        return False
    if any(type(e) is not n.Const for pair in loop.bounds for e in pair):
        return False
    return all(isinstance(node, _PLAIN) and not _is_stack(node) for node in walk.walk(loop.body))


def _is_stack(node: n.Node) -> bool:
    return isinstance(node, n.Cell) and node.array.kind == "stack"


def _guard(loop: n.For) -> n.If | None:
    """The one statement of the body, if that is a condition without an alternative."""
    body = [s for s in loop.body if type(s) is not n.Comment]
    only = body[0] if len(body) == 1 else None
    return only if type(only) is n.If and not only.orelse else None


def _narrow(loop: n.For) -> bool:
    """Take the first terms of the condition into the bounds; whether all of them could be."""
    guard = _guard(loop)
    if guard is None:
        return False
    terms = list(_terms(guard.cond))
    pairs = list(loop.bounds)
    while terms and (found := _limit(terms[0], loop)) is not None:
        axis, op, value = found
        pairs[axis] = _cut(*pairs[axis], op, value)
        del terms[0]
    loop.bounds = tuple(pairs)
    if not terms:
        loop.body = guard.then
        return True
    guard.cond = terms[0]
    for term in terms[1:]:
        guard.cond = n.Binary("logic_and", guard.cond, term, term.type)
    return False


def _terms(cond: n.Expr) -> Iterator[n.Expr]:
    if type(cond) is n.Binary and cond.op == "logic_and":
        yield from _terms(cond.a)
        yield from _terms(cond.b)
    else:
        yield cond


def _limit(term: n.Expr, loop: n.For) -> tuple[int, str, int] | None:
    """(axis, comparison, number) of a term that compares a variable of the loop with a number of its type."""
    if type(term) is not n.Binary or term.op not in _MIRRORED:
        return None
    a, b, op = term.a, term.b, term.op
    if type(a) is n.Const:
        a, b, op = b, a, _MIRRORED[op]
    if type(b) is not n.Const or type(a) is not n.Load or type(a.place) is not n.VarPlace or a.type != b.type:
        return None
    axes = [axis for axis, var in enumerate(loop.vars) if var is a.place.var]
    if not axes or not isinstance(a.type, DType) or not a.type.is_integral:
        return None
    return axes[0], op, b.value


def _cut(begin: n.Expr, end: n.Expr, op: str, value: int) -> tuple[n.Expr, n.Expr]:
    assert isinstance(begin, n.Const) and isinstance(end, n.Const)
    low, high = begin.value, end.value
    if op in ("gt", "ge"):
        low = max(low, value + (op == "gt"))
    else:
        high = min(high, value + (op == "le"))
    low = min(low, max(high, begin.value))  # no iteration is left where that is not below the end
    return n.Const(low, begin.type), n.Const(max(low, high), end.type)
