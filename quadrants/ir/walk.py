"""Generic traversal of IR nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Sequence
from operator import attrgetter, is_
from typing import Any, Generic, TypeAlias, TypeVar

from quadrants.ir import nodes as n

Found = TypeVar("Found")
Rebuilt = TypeVar("Rebuilt", bound="n.Expr | n.Place")

Nodes: TypeAlias = "n.Node | Sequence[Nodes]"

_LEAVES = (n.Var, n.ArrayDecl, n.Function, n.LoopConfig, n.Loc)
_PLAIN = ("str", "int", "bool", "str | None", "int | None", "Var", "ArrayDecl", "ArrayDecl | None")
# Per kind of node the slots that may hold nodes. Every pass walks, so what holds none is not looked at.
_SLOTS = {
    kind: tuple(
        s
        for s in getattr(kind, "__slots__", ())
        if s not in ("type", "loc", "config", "loop") and kind.__annotations__.get(s) not in _PLAIN
    )
    for kind in vars(n).values()
    if isinstance(kind, type)
    and kind.__module__ in (n.__name__, n.Var.__module__)
    and hasattr(kind, "__slots__")
    and not issubclass(kind, _LEAVES)
}
_SLOTS[n.Const] = ()
# How many slots these are, and a function that reads them all at once, the last one first.
_READERS: dict[type, tuple[int, Any]] = {
    kind: (len(slots), attrgetter(*slots[::-1]) if slots else None) for kind, slots in _SLOTS.items()
}
_BLOCKS = {n.If: ("then", "orelse"), n.For: ("body",), n.While: ("pre", "body"), n.Region: ("body",)}


def children(node: n.Node) -> list[n.Node]:
    """Every node directly below `node`: expressions, places and statements."""
    found: list[n.Node] = []
    for slot in _SLOTS.get(type(node), ()):
        x = getattr(node, slot)
        if type(x) in _SLOTS:
            found.append(x)
        elif isinstance(x, (list, tuple)):
            _collect(x, found)
    return found


def children_of(items: Sequence[Nodes]) -> list[n.Node]:
    """The nodes of a list or tuple of nodes, lists and tuples."""
    found: list[n.Node] = []
    _collect(items, found)
    return found


def _collect(items: Sequence[Any], found: list[n.Node]) -> None:
    for x in items:
        if type(x) in _SLOTS:
            found.append(x)
        elif isinstance(x, (list, tuple)):
            _collect(x, found)


def walk(root: Nodes) -> Iterator[n.Node]:
    """`root` (a node or a list of them) and everything below, in order of appearance; callees are not entered."""
    return only(root, _READERS)


def only(root: Nodes, kinds: Container[type]) -> Iterator[Any]:
    """The nodes of these very kinds that `walk` would give: most passes look for few, and are handed no others."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        found = _READERS.get(type(node))
        if found is None:
            if isinstance(node, (list, tuple)):
                stack += node[::-1]
            continue
        if type(node) in kinds:
            yield node
        count, read = found
        if count == 1:
            stack.append(read(node))
        elif count:
            stack += read(node)


def statements(body: Sequence[n.Stmt]) -> Iterator[n.Stmt]:
    """The statements of a block and of the blocks below them, in order of appearance, at a tenth of the cost of `walk`:
    expressions are not entered."""
    stack: list[Any] = [*body[::-1]]
    while stack:
        s = stack.pop()
        yield s
        for slot in _BLOCKS.get(type(s), ())[::-1]:
            stack += getattr(s, slot)[::-1]


def rebuilt(node: Rebuilt, rewrite: Callable[..., Any], *args: Any) -> Rebuilt:
    """An expression or place with `rewrite(x, *args)` for every node x directly below; itself where all stay the same.
    Expressions may stand in several places, so they are never changed.
    """
    new: dict[str, Any] = {}
    for slot in _SLOTS[type(node)]:
        x = getattr(node, slot)
        made = _rewritten(x, rewrite, args)
        if made is not x:
            new[slot] = made
    if not new:
        return node
    kind = type(node)
    return kind(*[new[slot] if slot in new else getattr(node, slot) for slot in kind.__slots__])


def update(s: n.Stmt, rewrite: Callable[..., Any], *args: Any) -> None:
    """The same for a statement, which is changed: others may name it. `rewrite` gets its blocks too, as lists."""
    for slot in _SLOTS[type(s)]:
        x = getattr(s, slot)
        setattr(s, slot, rewrite(x, *args) if type(x) is list else _rewritten(x, rewrite, args))


def inner_first(x: Any, visit: Callable[[Any], Any]) -> Any:
    """A list of statements, which are changed, or an expression or place, with `visit(e)` for every expression and
    place e in it, after those below e.
    """
    if type(x) is list:
        for s in x:
            update(s, inner_first, visit)
        return x
    return visit(rebuilt(x, inner_first, visit))


def blocks(s: n.Stmt) -> list[list[n.Stmt]]:
    """The blocks directly below a statement."""
    return [getattr(s, slot) for slot in _BLOCKS.get(type(s), ())]


def bounds_of(task: n.Task) -> list[n.Expr]:
    """The expressions between which the loop of a task counts; none if it has no loop."""
    return [e for pair in task.loop.bounds for e in pair] if task.loop is not None else []


def update_blocks(s: n.Stmt, rewrite: Callable[..., list[n.Stmt]], *args: Any) -> None:
    """Give a statement `rewrite(block, *args)` for each of its blocks."""
    for slot in _BLOCKS.get(type(s), ()):
        setattr(s, slot, rewrite(getattr(s, slot), *args))


def _rewritten(x: Any, rewrite: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    if type(x) in _SLOTS:
        return rewrite(x, *args)
    if type(x) is not tuple:
        return x
    made = tuple([_rewritten(y, rewrite, args) for y in x])
    return x if all(map(is_, made, x)) else made


def callees(body: Nodes) -> list[n.Function]:
    """The functions that a body calls itself, each once, in order of appearance."""
    return list(dict.fromkeys(call.func for call in only(body, (n.Call,))))


def with_functions(body: Nodes, kinds: Collection[type] = _READERS) -> Iterator[Any]:
    """The nodes of a body and of the functions that it calls, each function once; only those of some kinds, with calls
    among them."""
    seen: set[int] = set()
    bodies: list[Nodes] = [body]
    wanted = kinds if n.Call in kinds else frozenset((n.Call, *kinds))
    while bodies:
        for node in only(bodies.pop(), wanted):
            yield node
            if type(node) is n.Call and id(node.func) not in seen:
                seen.add(id(node.func))
                bodies.append(node.func.body)


class Looks(Generic[Found]):
    """What `look(body)` finds in bodies, with the functions that each calls itself; each function is looked at once."""

    def __init__(self, look: Callable[[Nodes], tuple[Found, Sequence[n.Function]]]) -> None:
        self._look = look
        self._of_functions: dict[int, tuple[Found, Sequence[n.Function]]] = {}

    def of_function(self, f: n.Function) -> tuple[Found, Sequence[n.Function]]:
        """What is in its own body, and the functions that this calls."""
        known = self._of_functions.get(id(f))
        if known is None:
            known = self._of_functions[id(f)] = self._look(f.body)
        return known

    def through(self, body: Nodes) -> Iterator[Found]:
        """What is in a body and in the functions it calls, also through others: each once."""
        found, called = self._look(body)
        yield found
        waiting = list(called)
        seen: set[int] = set()
        while waiting:
            function = waiting.pop()
            if id(function) not in seen:
                seen.add(id(function))
                found, called = self.of_function(function)
                yield found
                waiting += called


# The kinds of nodes that `written_places` finds places in.
WRITERS = frozenset((n.Store, n.Atomic, n.Call, n.Intrinsic))


def written_places(node: n.Node) -> list[n.Place]:
    """The places that a node itself may write to."""
    if isinstance(node, (n.Store, n.Atomic)):
        return [node.place]
    return [a for a in node.args if isinstance(a, n.PLACES)] if isinstance(node, (n.Call, n.Intrinsic)) else []


def root(place: n.Place) -> n.VarPlace | n.Cell | n.Slot | n.Choice:
    """The cell or variable that a place is part of."""
    while isinstance(place, (n.ElemPlace, n.MemberPlace)):
        place = place.base
    return place


def root_var(place: n.Place) -> n.Var | None:
    """The variable a place is part of, or None when it is memory."""
    found = root(place)
    return found.var if isinstance(found, n.VarPlace) else None


def fixed_var(place: n.Place) -> n.Var | None:
    """The variable a place is part of where it has one value: the counter of a loop, the value of an expression."""
    var = root_var(place)
    return var if var is not None and not var.mutable else None


def root_cell(place: n.Place) -> n.Cell | n.Slot | None:
    """The cell or slot that a place is part of, or None when it is a variable."""
    found = root(place)
    return found if isinstance(found, n.MEMORY) else None


_MAY_HAVE_EFFECTS = frozenset((n.Rand, n.Print, n.Check, n.Intrinsic, n.Volatile, n.Store, n.Atomic, n.Call))


def has_effects(body: list[n.Stmt]) -> bool:
    """Whether running `body` can be observed outside: memory writes, atomics, random draws, prints, checks."""
    for node in only(body, _MAY_HAVE_EFFECTS):
        if isinstance(node, (n.Rand, n.Print, n.Check, n.Intrinsic, n.Volatile)):
            return True
        if isinstance(node, (n.Store, n.Atomic)):
            var = root_var(node.place)
            if var is None or var.by_ref or var.shared:
                return True
        if isinstance(node, n.Call) and not node.func.pure:
            return True
    return False
