"""What a kernel must not do if it is to be differentiated."""

from __future__ import annotations

from quadrants.ad.activity import Activity, is_real
from quadrants.ad.build import is_differentiated
from quadrants.ad.refusals import Refusals
from quadrants.ir.nodes import (
    Break,
    Builtin,
    Call,
    Cast,
    Cell,
    Continue,
    For,
    If,
    Intrinsic,
    MatOp,
    Rand,
    Volatile,
    While,
)
from quadrants.ir.types import DType
from quadrants.ir.walk import has_effects, only, root, walk


def learn_purity(functions: list) -> None:
    """Find the functions that do nothing but compute; the frontend does not know of those that may call themselves."""
    for f in functions:
        f.pure = not any(v.by_ref for v in f.params)
    again = True
    while again:
        again = False
        for f in functions:
            if f.pure and has_effects(f.body):
                f.pure, again = False, True


def check(body: list, activity: Activity, refusals: Refusals, *, stacks: bool) -> None:
    """Raise for what has no derivative. stacks: whether loops below the top level are allowed."""
    _block(body, None, True, activity, refusals, stacks)


def _block(body: list, loc, top: bool, activity: Activity, refusals: Refusals, stacks: bool) -> None:
    for s in body:
        here = s.loc or loc
        _structure(s, here, top, refusals, stacks)
        if isinstance(s, If):
            roots = [s.cond]
            _block(s.then, here, False, activity, refusals, stacks)
            _block(s.orelse, here, False, activity, refusals, stacks)
        elif isinstance(s, For):
            roots = [e for pair in s.bounds for e in pair]
            _block(s.body, here, False, activity, refusals, stacks)
        else:
            roots = [s]
        for node in only(roots, _ASKED):
            _node(node, here, activity, refusals)


# What a derivative finds as its kernel did: it makes nothing active or inactive.
_COUNTS = ("sparse.is_active", "sparse.length")


def _structure(s, loc, top: bool, refusals: Refusals, stacks: bool) -> None:
    if isinstance(s, While):
        refusals.construct("`while`", loc)
    elif isinstance(s, Break):
        refusals.construct("`break`", loc)
    elif isinstance(s, Continue):
        refusals.construct("`continue`", loc)
    elif isinstance(s, For) and not top and not stacks and s.kind == "range_for":
        for inner in walk(s.body):  # what no stack helps
            if isinstance(inner, (While, Break, Continue)):
                _structure(inner, inner.loc or loc, False, refusals, stacks)
        refusals.dynamic_loop(loc)


# The kinds of nodes that `_node` may refuse.
_ASKED = frozenset((Rand, Intrinsic, Builtin, Cell, Volatile, Call, Cast, MatOp))


def _node(node, loc, activity: Activity, refusals: Refusals) -> None:
    if isinstance(node, Rand):
        refusals.random(loc)
    elif isinstance(node, Intrinsic) and node.op in _COUNTS:
        return
    elif isinstance(node, Intrinsic) or isinstance(node, Builtin) and "." in node.name:
        name = (node.op if isinstance(node, Intrinsic) else node.name).replace("clock.counter", "clock_counter")
        name = name.replace("sparse.around", "append").removeprefix("sparse.")
        refusals.construct(f"qd.{name if '.' not in name else 'simt.' + name}", loc)
    elif isinstance(node, Cell) and node.array.kind == "shared":
        refusals.construct("qd.simt.block.SharedArray", loc)
    elif isinstance(node, Volatile) and _has_companion(root(node.place), activity):
        refusals.construct("qd.volatile_load of an array with a gradient", loc)
    elif isinstance(node, Call) and not is_differentiated(node):
        # Of integers there is no derivative, and none of what is computed from constants.
        scalar = node.func.pure and isinstance(node.type, DType)
        if not scalar or node.type.is_real and any(_varied(a, activity) for a in node.args):
            refusals.real_function(node.func.name, loc)
    elif isinstance(node, Cast) and node.bits and _varied(node.a, activity):
        refusals.construct("qd.bit_cast of a value with a derivative", loc)
    elif isinstance(node, MatOp) and node.op.startswith("frexp") and _varied(node.args[0], activity):
        refusals.construct("qd.frexp of a value with a derivative", loc)


def _has_companion(place, activity: Activity) -> bool:
    return isinstance(place, Cell) and activity.companion(place.array) is not None


def _varied(e, activity: Activity) -> bool:
    return is_real(e.type) and activity.is_varied(e)
