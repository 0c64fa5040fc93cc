"""What the renderer asks about bodies: what they need, and what pays for them."""

from __future__ import annotations

from collections.abc import Sequence, Set

from quadrants.ir import cost, walk
from quadrants.ir.nodes import (
    Binary,
    Builtin,
    Call,
    Cell,
    Check,
    Extent,
    For,
    Function,
    Intrinsic,
    Module,
    Node,
    Print,
    Rand,
    Slot,
    Stmt,
    Task,
    VarPlace,
    While,
)

NAMES = ("random", "check", "print", "fence")
_TELLING = frozenset((Rand, Check, Print, Binary, Intrinsic, Call))
# What takes the record of a thread wherever it stands.
_WITH_LANE = frozenset((Cell, Slot, Extent, Rand, Check, Print, Builtin))


def unroll(task: Task) -> int:
    """Iterations whose loads are worth having in flight together."""
    if any(isinstance(node, (For, While, Call)) for node in walk.walk(task.body)):
        return 1
    work, atomics = cost.of_task(task)
    return 1 if atomics or work > 60 else 4 if work > 20 else 8


class Uses:
    """What the bodies of a module do themselves, and what they call."""

    def __init__(self) -> None:
        self._looks = walk.Looks(_look)

    def features(self, body: Sequence[Stmt]) -> dict[str, bool]:
        """What a body does, also through the functions it calls."""
        found = set().union(*self._looks.through(body))
        return {name: name in found for name in NAMES}

    def calls(self, module: Module) -> dict[str, set[str]]:
        """The names of the functions that each function calls itself, in the order of functions."""
        return {f.name: {g.name for g in self._looks.of_function(f)[1]} for f in module.functions}


def _look(body: walk.Nodes) -> tuple[set[str], list[Function]]:
    found: set[str] = set()
    called: dict[int, Function] = {}
    for node in walk.only(body, _TELLING):
        if isinstance(node, Rand):
            found.add("random")
        elif isinstance(node, Check):
            found.add("check")
        elif isinstance(node, Print) or isinstance(node, Binary) and node.loc is not None:
            found.add("print")
        elif isinstance(node, Intrinsic) and node.op == "grid.mem_fence":
            found.add("fence")
        elif isinstance(node, Call):
            called[id(node.func)] = node.func
    return found, list(called.values())


def functions_with_lane(module: Module, calls: dict[str, set[str]], places: bool = False) -> set[str]:
    """Functions that reach arrays, parameters, the frame or the runtime, directly or through a call. places: also those
    that ask where the thread is. calls: as `Uses.calls` says.
    """
    params = {v.id for v in module.params}
    names = {f.name for f in module.functions if any(_takes_lane(x, params, places) for x in walk.walk(f.body))}
    while True:  # functions may call those that come after them
        more = {name for name, called in calls.items() if name not in names and called & names}
        if not more:
            return names
        names |= more


def _takes_lane(node: Node, params: Set[int], places: bool) -> bool:
    if isinstance(node, VarPlace):
        return bool(node.var.shared) or node.var.id in params
    if isinstance(node, Binary):
        return node.loc is not None
    return type(node) in _WITH_LANE or places and isinstance(node, Intrinsic)


def called_early(calls: dict[str, set[str]]) -> set[str]:
    """Functions that those before them call: their texts have to be announced."""
    early: set[str] = set()
    later = set(calls)
    for name, called in calls.items():
        later.discard(name)
        early |= called & later
    return early


def first_lines(module: Module) -> dict[str, int]:
    """The line from which lines of a function are counted, by its name: that of its `def`."""
    return module.def_lines
