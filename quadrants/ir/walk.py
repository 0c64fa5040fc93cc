"""Generic traversal of IR nodes."""

from __future__ import annotations

from quadrants.ir import nodes as n

_LEAVES = (n.Var, n.ArrayDecl, n.Function, n.LoopConfig, n.Loc)
_PLAIN = ("str", "int", "bool", "str | None", "int | None")
# Per kind of node the slots that may hold nodes. Every pass walks, so what holds none is not looked at.
_SLOTS = {
    kind: tuple(
        s
        for s in getattr(kind, "__slots__", ())
        if s not in ("type", "loc", "config", "loop") and kind.__annotations__.get(s) not in _PLAIN
    )
    for kind in vars(n).values()
    if isinstance(kind, type)
    and kind.__module__ == n.__name__
    and hasattr(kind, "__slots__")
    and not issubclass(kind, _LEAVES)
}


def children(node) -> list:
    """Every node directly below `node`: expressions, places and statements."""
    found: list = []
    for slot in _SLOTS.get(type(node), ()):
        x = getattr(node, slot)
        if type(x) in _SLOTS:
            found.append(x)
        elif isinstance(x, (list, tuple)):
            _collect(x, found)
    return found


def children_of(items) -> list:
    """The nodes of a list or tuple of nodes, lists and tuples."""
    found: list = []
    _collect(items, found)
    return found


def _collect(items, found: list) -> None:
    for x in items:
        if type(x) in _SLOTS:
            found.append(x)
        elif isinstance(x, (list, tuple)):
            _collect(x, found)


def walk(root):
    """`root` (a node or a list of them) and everything below, in order of appearance; callees are not entered."""
    stack = children_of((root,))
    stack.reverse()
    while stack:
        node = stack.pop()
        yield node
        below = children(node)
        if below:
            below.reverse()
            stack += below


def root(place):
    """The cell or variable that a place is part of."""
    while isinstance(place, (n.ElemPlace, n.MemberPlace)):
        place = place.base
    return place


def root_var(place):
    """The variable a place is part of, or None when it is memory."""
    found = root(place)
    return found.var if isinstance(found, n.VarPlace) else None


def root_cell(place):
    """The cell a place is part of, or None when it is a variable."""
    found = root(place)
    return found if isinstance(found, n.Cell) else None


def has_effects(body, params=()) -> bool:
    """Whether running `body` can be observed outside: memory writes, atomics, random draws, prints, checks."""
    for node in walk(body):
        if isinstance(node, (n.Rand, n.Print, n.Check, n.Intrinsic, n.Volatile)):
            return True
        if isinstance(node, (n.Store, n.Atomic)):
            var = root_var(node.place)
            if var is None or var.by_ref or var.shared:
                return True
        if isinstance(node, n.Call) and not node.func.pure:
            return True
    return False
