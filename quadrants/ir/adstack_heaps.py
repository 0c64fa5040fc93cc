"""Stacks of derivative code: which heap they are in, and which are in none."""

from __future__ import annotations

from quadrants.ir import walk
from quadrants.ir.nodes import MEMORY, ArrayDecl, Const, StackDepth, Task, Var
from quadrants.ir.types import element_dtype, i32, size_align

# What a thread of a device may declare for itself: what it could keep in registers, or almost.
LOCAL_BYTES = 256
FLOAT, INT = "float", "int"
KINDS = (FLOAT, INT)
# Rows of stacks in the memory of a device, where no gate says how many there are; the skeleton of a task declares it.
ROWS = Var("qd_rows", i32)


def of_task(task: Task) -> list[ArrayDecl]:
    """The stacks that a task uses, in order of appearance."""
    found: dict[int, ArrayDecl] = {}
    for node in walk.only(task.body, MEMORY):
        if node.array.kind == "stack":
            found[node.array.id] = node.array
    return list(found.values())


def kind_of(decl: ArrayDecl) -> str:
    """The heap of a stack."""
    return FLOAT if element_dtype(decl.type).is_real else INT


def kinds_of(stacks: list[ArrayDecl]) -> tuple[str, ...]:
    """The heaps that some stacks are in."""
    used = {kind_of(decl) for decl in stacks}
    return tuple(kind for kind in KINDS if kind in used)


def depths_of(stacks: list[ArrayDecl]) -> list[StackDepth]:
    """The depths behind some stacks, each once."""
    found: dict[int, StackDepth] = {}
    for decl in stacks:
        found[id(decl.source)] = decl.source
    return list(found.values())


def constant(decl: ArrayDecl) -> int | None:
    """The depth of a stack where the launch does not decide it."""
    count = decl.source.count
    return max(1, int(count.value)) if isinstance(count, Const) else None


def split(stacks: list[ArrayDecl]) -> tuple[list[ArrayDecl], list[ArrayDecl]]:
    """What a task of a device declares as local arrays, and what it has in the heaps."""
    depths = [(decl, constant(decl)) for decl in stacks]
    known = [(decl, depth) for decl, depth in depths if depth is not None]
    if sum(depth * size_align(decl.type)[0] for decl, depth in known) > LOCAL_BYTES:
        return [], stacks
    return [decl for decl, _ in known], [decl for decl, depth in depths if depth is None]
