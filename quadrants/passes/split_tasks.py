"""Split the body of a kernel into tasks, one a launch.

A parallel loop at top level is a task; the statements between two of them are one serial task. A region begins and ends
between two tasks. A variable that more than one task touches moves to the kernel's frame (`shared`). Bounds that the
loop could change while it runs, or whose arithmetic is checked, are evaluated once, before it.
"""

from __future__ import annotations

from collections.abc import Callable

from quadrants.ir import walk
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Call,
    Cell,
    Declare,
    Expr,
    For,
    Load,
    Loc,
    Module,
    Rand,
    Region,
    Stmt,
    Task,
    Var,
    VarPlace,
)
from quadrants.ir.types import i32


def split_tasks(module: Module) -> Module:
    module.tasks, module.regions = [], []
    _split(module, module.body, -1)
    module.shared = _share(module.tasks, len(module.result))
    return module


def keep_tasks(module: Module, wanted: Callable[[Task], object]) -> None:
    """Drop the tasks for which `wanted(task)` is false; regions stay where they were among the others."""
    before = [0]
    for task in module.tasks:
        before.append(before[-1] + bool(wanted(task)))
    for region in module.regions:
        region.begin, region.end = before[region.begin], before[region.end]
    module.tasks = [t for t, a, b in zip(module.tasks, before, before[1:]) if b > a]


def _split(module: Module, body: list[Stmt], parent: int) -> None:
    tasks = module.tasks
    serial: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and stmt.parallel:
            stmt.bounds = tuple(
                (_held(begin, serial, stmt.loc), _held(end, serial, stmt.loc)) for begin, end in stmt.bounds
            )
            _flush(module, tasks, serial)
            serial = []
            tasks.append(Task(_task_name(module, tasks, stmt), stmt.kind, stmt.body, stmt))
        elif isinstance(stmt, Region):
            _flush(module, tasks, serial)
            serial = []
            stmt.parent, stmt.begin = parent, len(tasks)
            module.regions.append(stmt)
            _split(module, stmt.body, len(module.regions) - 1)
            stmt.end = len(tasks)
        else:
            serial.append(stmt)
    _flush(module, tasks, serial)


def _task_name(module: Module, tasks: list[Task], loop: For | None = None) -> str:
    label = f"{loop.config.name}_" if loop is not None and loop.config is not None and loop.config.name else ""
    kind = loop.kind if loop is not None else "serial"
    return f"{module.name}_{len(tasks)}_{label}{kind}"


def _flush(module: Module, tasks: list[Task], serial: list[Stmt]) -> None:
    if serial:
        tasks.append(Task(_task_name(module, tasks), "serial", serial))


def _held(e: Expr, serial: list[Stmt], loc: Loc | None) -> Expr:
    """A bound that the launch and every chunk of the loop may evaluate again."""
    if not _needs_task(e):
        return e
    var = Var("bound", i32, mutable=False)
    serial.append(Declare(var, e, loc))
    return Load(VarPlace(var, i32), i32)


def _needs_task(e: Expr) -> bool:
    """Whether an expression could change while the loop runs, or reports errors, which only a task can."""
    for node in walk.walk([e]):
        if isinstance(node, Binary) and node.loc is not None:
            return True
        if isinstance(node, (Call, Rand, Atomic)):
            return True
        if isinstance(node, Cell):  # also of an element of a vector, or of a member of a struct
            return True
        if isinstance(node, VarPlace) and node.var.mutable:
            return True
    return False


def _share(tasks: list[Task], results: int) -> list[Var]:
    """Mark the variables that cross tasks; returns them with names unique in the frame."""
    declared: dict[int, int] = {}
    used: list[tuple[int, Var]] = []  # of the body of a task, behind those of the loop, which are as of no task
    for number, task in enumerate(tasks):
        bounds = [(-1, place.var) for place in walk.only(walk.bounds_of(task), (VarPlace,))]
        for node in walk.only(task.body, (Declare, VarPlace)):
            if isinstance(node, Declare):
                declared[node.var.id] = number
            else:
                used.append((number, node.var))
        used += bounds
    shared: dict[int, Var] = {}
    for number, var in used:
        if declared.get(var.id, number) != number and not var.shared:
            var.shared = True
            shared[var.id] = var
    names = {"args", "error", *(f"result{k}" for k in range(results))}  # members that the frame has itself
    for var in shared.values():
        base, k = var.name, 1
        while var.name in names:
            var.name, k = f"{base}_{k}", k + 1
        names.add(var.name)
    return list(shared.values())
