"""Numbers of iterations that a device finds out: a task with stacks has a row of memory for each of its threads, so
there should be no more of them than iterations.

for i in range(n[None]):        the bound is a value of an earlier task; that of the launch is `n` as it is now

"""

from __future__ import annotations

from typing import TypeGuard

from quadrants.ir import nodes as n
from quadrants.ir import rename
from quadrants.ir.types import i32, i64
from quadrants.ir.walk import walk

_PLAIN = (
    n.Const, n.Load, n.VarPlace, n.Cell, n.Extent, n.Binary, n.Unary, n.Cast, n.Select, n.ElemPlace, n.MemberPlace,
)  # fmt: skip


def iterations(module: n.Module, loop: n.For) -> tuple[list[n.Stmt], n.Expr] | None:
    """(statements, 64-bit expression) that give the iterations of a loop whose bounds an earlier task
    sets; None where the arguments give it, or nobody but that task can.
    """
    values = _declared(module)
    used = {node.var.id: node.var for node in walk([e for pair in loop.bounds for e in pair]) if _is_name(node)}
    if not any(var.shared for var in used.values()):
        return None
    statements: list[n.Stmt] = []
    env: dict[int, n.Var] = {}
    for var in used.values():
        if not _copy(var, values, env, statements):
            return None
    total: n.Expr | None = None
    for begin, end in loop.bounds:
        ends = [n.Cast(rename.expression(e, env), i64) for e in (begin, end)]
        extent = n.Binary("max", n.Binary("sub", ends[1], ends[0], i64), n.Const(0, i64), i64)
        total = extent if total is None else n.Binary("mul", total, extent, i64)
    assert total is not None
    return statements, total


def _is_name(node: n.Node) -> TypeGuard[n.VarPlace]:
    return isinstance(node, n.VarPlace)


def _declared(module: n.Module) -> dict[int, n.Expr | None]:
    """Values of the variables of the kernel that one task sets once, by id."""
    found: dict[int, n.Expr | None] = {}
    for task in module.tasks:
        for s in task.body if task.loop is None else ():
            if isinstance(s, n.Declare) and s.var.shared:
                found[s.var.id] = None if s.var.id in found or s.var.mutable else s.init
    return found


def _copy(var: n.Var, values: dict[int, n.Expr | None], env: dict[int, n.Var], statements: list[n.Stmt]) -> bool:
    """Declare a copy of a variable, and of those behind it; False if that would not be the same value."""
    if var.id in env or not var.shared:
        return not var.mutable
    init = values.get(var.id)
    if init is None:
        return False
    for node in walk([init]):
        if not isinstance(node, _PLAIN) or getattr(node, "loc", None) is not None:
            return False
        if _is_name(node) and not _copy(node.var, values, env, statements):
            return False
    env[var.id] = n.Var("bound", i32, False, level=1)
    statements.append(n.Declare(env[var.id], rename.expression(init, env)))
    return True
