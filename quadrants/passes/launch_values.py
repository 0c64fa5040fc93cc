"""Values that only depend on the arguments are computed where they are used, not by a task of their own.

n = x.shape[0]          one thread would compute n, and the loop would read it from the frame; instead each task
for i in range(n):      that uses n computes it, and the launch knows the number of iterations

"""

from __future__ import annotations

from collections.abc import Sequence

from quadrants.ir import walk
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Call,
    Cast,
    Const,
    Declare,
    Elem,
    ElemPlace,
    Expr,
    Extent,
    Load,
    MemberPlace,
    Module,
    Node,
    Select,
    Store,
    Task,
    Unary,
    Var,
    VarPlace,
)
from quadrants.ir.ops import DEAR
from quadrants.ir.types import DType
from quadrants.passes.split_tasks import keep_tasks

# By id of a variable: it, its value, and the task that declares it.
Moved = dict[int, tuple[Var, Expr, Task]]

# More nodes than this are not worth computing again in every thread.
MOST_NODES = 16
_CHEAP = (Const, Load, VarPlace, ElemPlace, MemberPlace, Elem, Extent, Binary, Unary, Cast, Select)


def compute_at_use(module: Module) -> Module:
    if not any(task.loop is not None for task in module.tasks) or not module.shared:
        return module
    declared, changed = _assignments(module)
    known = {v.id for v in module.params}
    moved: Moved = {}
    for var, init, task in declared.values():
        if var.id not in changed and isinstance(var.type, DType) and _is_cheap(init, known):
            known.add(var.id)
            moved[var.id] = (var, init, task)
    module.shared = [var for var in module.shared if var.id not in moved]
    for var, _, _ in moved.values():
        var.shared = False
    for task in module.tasks:
        _place(task, moved)
    keep_tasks(module, lambda t: t.body or t.loop is not None)
    return module


def _assignments(module: Module) -> tuple[Moved, set[int]]:
    """Variables declared at the top of serial tasks, as id -> (variable, value, task), and ids of those that change."""
    declared: Moved = {}
    changed: set[int] = set()
    seen: set[int] = set()
    for task in module.tasks:
        top = {id(s) for s in task.body} if task.loop is None else set()
        for node in walk.walk(task.body):
            if isinstance(node, Declare):
                if node.var.id in seen or id(node) not in top:
                    changed.add(node.var.id)
                else:
                    declared[node.var.id] = (node.var, node.init, task)
                seen.add(node.var.id)
            elif isinstance(node, (Store, Atomic)):
                var = walk.root_var(node.place)
                if var is not None:
                    changed.add(var.id)
            elif isinstance(node, Call):
                handed = [walk.root_var(a) for a in node.args if isinstance(a, (VarPlace, ElemPlace))]
                changed.update(var.id for var in handed if var is not None)
    return declared, changed


def _is_cheap(init: Expr, known: set[int]) -> bool:
    nodes = list(walk.walk([init]))
    for node in nodes:
        if not isinstance(node, _CHEAP) or getattr(node, "op", "") in DEAR or getattr(node, "loc", None) is not None:
            return False
        if isinstance(node, VarPlace) and node.var.id not in known:
            return False
    return len(nodes) <= MOST_NODES


def _place(task: Task, moved: Moved) -> None:
    """Declare the values that a task uses in front of it, and drop those that it declares but does not use."""
    own = {v for v, (_, _, home) in moved.items() if home is task}
    if task.loop is not None:
        task.loop.bounds = tuple((_behind(begin, moved), _behind(end, moved)) for begin, end in task.loop.bounds)
    roots: list[Node] = [s for s in task.body if not (isinstance(s, Declare) and s.var.id in own)]
    roots += walk.bounds_of(task)
    needed = _used(roots, moved)
    if task.loop is None:
        task.body[:] = [s for s in task.body if not (isinstance(s, Declare) and s.var.id in own - needed)]
    task.pre = [Declare(var, init) for v, (var, init, _) in moved.items() if v in needed - own]


def _behind(e: Expr, moved: Moved) -> Expr:
    """What stands behind a mere name: another name, a number or an extent."""
    while isinstance(e, Load) and isinstance(e.place, VarPlace) and e.place.var.id in moved:
        init = moved[e.place.var.id][1]
        if not isinstance(init, (Load, Const, Extent)):
            break
        e = init
    return e


def _used(roots: Sequence[Node], moved: Moved) -> set[int]:
    """The moved variables below some nodes, and those that their values need."""
    needed: set[int] = set()
    for node in walk.walk(roots):
        if isinstance(node, VarPlace) and node.var.id in moved and node.var.id not in needed:
            needed |= {node.var.id} | _used([moved[node.var.id][1]], moved)
    return needed
