"""What the threads of a block share: which tasks are collective, and where their shared arrays lie."""

from __future__ import annotations

from collections.abc import Sequence

from quadrants.ir import walk
from quadrants.ir.nodes import ArrayDecl, Builtin, Call, Cell, Intrinsic, Module, Stmt
from quadrants.ir.types import size_align

ALIGNMENT = 16
# Operations of one thread alone; every other intrinsic is done by several threads together.
ALONE = frozenset(
    ("address", "clock.counter", "block.mem_fence", "subgroup.mem_fence", "grid.mem_fence", "warp.active_mask")
)


def describe_blocks(module: Module) -> Module:
    """Set `collective`, `shared_arrays` and `shared_bytes` of every task."""
    for task in module.tasks:
        arrays: dict[int, ArrayDecl] = {}
        task.collective = _look(task.body, arrays, set())
        task.shared_arrays, task.shared_bytes = lay_out(sorted(arrays.values(), key=lambda d: d.id))
    return module


_LOOKED_AT = frozenset((Intrinsic, Builtin, Cell, Call))


def _look(body: list[Stmt], arrays: dict[int, ArrayDecl], seen: set[int]) -> bool:
    """Collect the shared arrays below `body`. Whether it has an operation of several threads, or asks where one is."""
    collective = False
    for node in walk.only(body, _LOOKED_AT):
        if isinstance(node, Intrinsic):
            collective |= node.op not in ALONE
        elif isinstance(node, Builtin):
            collective |= "." in node.name
        elif isinstance(node, Cell) and node.array.kind == "shared":
            arrays[node.array.id] = node.array
        elif isinstance(node, Call) and id(node.func) not in seen:
            seen.add(id(node.func))
            collective |= _look(node.func.body, arrays, seen)
    return collective


def lay_out(arrays: Sequence[ArrayDecl]) -> tuple[tuple[tuple[ArrayDecl, int], ...], int]:
    """(((declaration, offset in bytes), ...), size of all)"""
    at = 0
    placed: list[tuple[ArrayDecl, int]] = []
    for decl in arrays:
        placed.append((decl, at))
        at += -(-array_bytes(decl) // ALIGNMENT) * ALIGNMENT
    return tuple(placed), at


def array_bytes(decl: ArrayDecl) -> int:
    """Bytes of an array whose shape is known."""
    assert decl.shape is not None
    count = 1
    for extent in decl.shape:
        count *= extent
    return count * size_align(decl.type)[0]
