"""What a launch that begins at a checkpoint does of the tasks before it.

It skips them, but for those that do nothing but set variables of the kernel: these it runs again, so that later tasks
find the values. A variable that later tasks read and that is set among writes to memory could not be had: refused.
"""

from __future__ import annotations

from quadrants.errors import QuadrantsSyntaxError
from quadrants.ir import walk
from quadrants.ir.nodes import (
    Atomic,
    Call,
    Check,
    Declare,
    Intrinsic,
    Loc,
    Module,
    Node,
    Print,
    Rand,
    Store,
    Var,
    VarPlace,
    Volatile,
)


def prepare_resume(module: Module) -> Module:
    """Set `Task.local` in kernels with checkpoints."""
    starts = [r.begin for r in module.regions if r.kind == "checkpoint"]
    if not starts:
        return module
    skipped: set[int] = set()
    for task in module.tasks:
        nodes = list(walk.walk(task.body))
        task.local = (
            task.loop is None
            and not _reaches_out(nodes)
            and not any(isinstance(node, VarPlace) and node.var.id in skipped for node in nodes)
        )
        if not task.local:
            skipped.update(v.id for v in map(_variable, nodes) if v is not None)
    last = max(starts)
    written: dict[int, tuple[int, Loc | None]] = {}
    for number, task in enumerate(module.tasks):
        begin = max((s for s in starts if s <= number), default=0)
        roots: list[walk.Nodes] = [task.body, task.pre, walk.bounds_of(task)]
        for node in walk.walk(roots):
            if isinstance(node, VarPlace) and written.get(node.var.id, (begin, None))[0] < begin:
                where = written[node.var.id][1]
                raise QuadrantsSyntaxError(
                    f'The variable "{node.var.name}" is used behind a checkpoint but set before it, together with '
                    "writes to memory that a resumed launch skips"
                    + (f" ({where.file}:{where.line})" if where is not None else "")
                    + ". Keep it in an ndarray, or set it behind the checkpoint."
                )
        if number < last and not task.local:
            for node in walk.walk(task.body):
                var = _variable(node)
                if var is not None and var.shared:
                    written.setdefault(var.id, (number, node.loc if isinstance(node, (Declare, Store)) else None))
    return module


def _variable(node: Node) -> Var | None:
    if isinstance(node, Declare):
        return node.var
    return walk.root_var(node.place) if isinstance(node, (Store, Atomic)) else None


def _reaches_out(nodes: list[Node]) -> bool:
    """Whether running them can be noticed otherwise than in variables of the kernel."""
    for node in nodes:
        if isinstance(node, (Rand, Print, Check, Intrinsic, Volatile)) or isinstance(node, Call) and not node.func.pure:
            return True
        if isinstance(node, (Store, Atomic)) and walk.root_var(node.place) is None:
            return True
    return False
