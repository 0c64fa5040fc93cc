"""Generic traversal of IR nodes."""

from __future__ import annotations

from quadrants.ir import nodes as n

_STATEMENTS = (
    n.Declare, n.Store, n.Eval, n.If, n.For, n.While, n.Break, n.Continue, n.Return, n.Check, n.Print, n.Comment,
)  # fmt: skip
_LEAVES = (n.Var, n.ArrayDecl, n.Function, n.LoopConfig, n.Loc)
_SLOTS = {
    kind: tuple(s for s in kind.__slots__ if s not in ("type", "loc", "config", "loop"))
    for kind in vars(n).values()
    if isinstance(kind, type) and kind.__module__ == n.__name__ and hasattr(kind, "__slots__")
}


def children(node):
    """Every node directly below `node`: expressions, places and statements."""
    for slot in _SLOTS.get(type(node), ()):
        yield from _flatten(getattr(node, slot))


def children_of(items):
    """The nodes of a list or tuple of nodes."""
    return _flatten(items)


def _flatten(x):
    if isinstance(x, (list, tuple)):
        for item in x:
            yield from _flatten(item)
    elif type(x) in _SLOTS and not isinstance(x, _LEAVES):
        yield x


def walk(root):
    """`root` (a node or a list of them) and everything below, in order of appearance; callees are not entered."""
    stack = list(_flatten(root))[::-1]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(list(children(node))[::-1])


def is_statement(node) -> bool:
    return isinstance(node, _STATEMENTS)


def root_var(place):
    """The variable a place is part of, or None when it is memory."""
    while not isinstance(place, n.VarPlace):
        if isinstance(place, n.Cell):
            return None
        place = place.base
    return place.var


def has_effects(body, params=()) -> bool:
    """Whether running `body` can be observed outside: memory writes, atomics, random draws, prints, checks."""
    for node in walk(body):
        if isinstance(node, (n.Rand, n.Print, n.Check)):
            return True
        if isinstance(node, (n.Store, n.Atomic)):
            var = root_var(node.place)
            if var is None or var.by_ref or var.shared:
                return True
        if isinstance(node, n.Call) and not node.func.pure:
            return True
        if isinstance(node, n.Builtin) and node.name not in ("thread_index",):
            return True
    return False
