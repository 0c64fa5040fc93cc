"""Leaves out what no effect depends on.

The sweeps write down more than derivatives need: the whole primal, a saved copy of everything that a loop carries.
What is needed follows from the effects (stores to arrays, atomics, checks) by way of values, indices, conditions and
bounds; the rest goes, also where values only feed one another around a loop.
"""

from __future__ import annotations

from quadrants.ir import walk
from quadrants.ir.nodes import (
    Atomic,
    Cell,
    Check,
    Declare,
    Eval,
    For,
    If,
    Print,
    Return,
    Store,
    VarPlace,
    While,
)


def prune(body: list) -> list:
    """The statements of `body` that matter."""
    needed = _needed(body)
    return _swept(body, needed)


def _stack(place):
    """The stack that a place is in, or None."""
    while not isinstance(place, (VarPlace, Cell)):
        place = place.base
    return place.array if isinstance(place, Cell) and place.array.kind == "stack" else None


def target(s) -> object:
    """What a statement defines that may turn out not to be needed: a variable or a stack, by id; None for an effect."""
    if isinstance(s, Declare):
        return None if isinstance(s.init, Atomic) else s.var.id
    if isinstance(s, Store):
        var = walk.root_var(s.place)
        if var is not None:
            return None if var.shared else var.id
        stack = _stack(s.place)
        return None if stack is None else ("stack", stack.id)
    return None


def reads(items) -> set:
    """Variables and stacks that expressions read."""
    found = set()
    for node in walk.only(items, (VarPlace, Cell)):
        if isinstance(node, VarPlace):
            found.add(node.var.id)
        elif node.array.kind == "stack":
            found.add(("stack", node.array.id))
    return found


def _needed(body: list) -> set:
    inputs: dict = {}  # definition -> what it needs
    needed: set = set()

    def visit(block: list, context: frozenset) -> None:
        for s in block:
            if isinstance(s, If):
                inner = context | reads([s.cond])
                visit(s.then, inner)
                visit(s.orelse, inner)
            elif isinstance(s, For):
                inner = context | reads([e for pair in s.bounds for e in pair])
                visit(s.body, inner)
            elif isinstance(s, While):
                visit(s.pre, context)
                inner = context | reads([s.cond])
                needed.update(inner)
                visit(s.body, inner)
            elif isinstance(s, (Declare, Store, Eval, Check, Return, Print)):
                _statement(s, context)

    def _statement(s, context: frozenset) -> None:
        key = target(s)
        if isinstance(s, Declare):
            found = reads([s.init])
        elif isinstance(s, Store):
            found = reads([s.value, *_indices(s.place)])
        else:
            found = reads([s])
        if key is None:
            needed.update(found | context)
        else:
            inputs.setdefault(key, set()).update(found | context)

    visit(body, frozenset())
    queue = list(needed)
    while queue:
        for item in inputs.get(queue.pop(), ()):
            if item not in needed:
                needed.add(item)
                queue.append(item)
    return needed


def _indices(place) -> list:
    """The index expressions of a place."""
    found: list = []
    while not isinstance(place, VarPlace):
        found += getattr(place, "indices", ())
        if isinstance(place, Cell):
            break
        place = place.base
    return found


def _swept(body: list, needed: set) -> list:
    out: list = []
    for s in body:
        if isinstance(s, (If, For)):
            walk.update_blocks(s, _swept, needed)
            if any(walk.blocks(s)):
                out.append(s)
        elif isinstance(s, (Declare, Store)):
            key = target(s)
            if key is None or key in needed:
                out.append(s)
        elif not isinstance(s, Eval) or any(walk.only(s.value, (Atomic,))):
            out.append(s)
    return out
