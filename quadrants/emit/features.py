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


def features(body: Sequence[Stmt], seen: set[int] | None = None) -> dict[str, bool]:
    """What a body does, also through the functions it calls."""
    seen = set() if seen is None else seen
    out = dict.fromkeys(NAMES, False)
    for node in walk.only(body, _TELLING):
        if isinstance(node, Rand):
            out["random"] = True
        elif isinstance(node, Check):
            out["check"] = True
        elif isinstance(node, Print) or isinstance(node, Binary) and node.loc is not None:
            out["print"] = True
        elif isinstance(node, Intrinsic) and node.op == "grid.mem_fence":
            out["fence"] = True
        elif isinstance(node, Call) and id(node.func) not in seen:
            seen.add(id(node.func))
            inner = features(node.func.body, seen)
            out = {k: out[k] or inner[k] for k in out}
    return out


def functions_with_lane(module: Module, calls: dict[str, set[str]], places: bool = False) -> set[str]:
    """Functions that reach arrays, parameters, the frame or the runtime, directly or through a call. places: also those
    that ask where the thread is. calls: as `called_by` says.
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


def called_by(module: Module) -> dict[str, set[str]]:
    """The names of the functions that each function calls itself, in the order of functions."""
    return {f.name: {g.name for g in walk.callees(f.body)} for f in module.functions}


def first_lines(module: Module) -> dict[str, int]:
    """The line from which lines of a function are counted, by its name: that of its `def`."""
    return module.def_lines
