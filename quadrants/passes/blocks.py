"""What the threads of a block share: which tasks are collective, and where their shared arrays lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from quadrants.ir import walk
from quadrants.ir.nodes import ArrayDecl, Builtin, Call, Cell, Function, Intrinsic, Module, Stmt
from quadrants.ir.types import size_align

ALIGNMENT = 16
# Operations of one thread alone; every other intrinsic is done by several threads together.
ALONE = frozenset(
    ("address", "clock.counter", "block.mem_fence", "subgroup.mem_fence", "grid.mem_fence", "warp.active_mask")
)
_LOOKED_AT = frozenset((Intrinsic, Builtin, Cell, Call))
# Shared arrays by id, whether there is an operation of several threads, and the functions that are called.
Found: TypeAlias = "tuple[dict[int, ArrayDecl], bool, list[Function]]"


def describe_blocks(module: Module) -> Module:
    """Set `collective`, `shared_arrays` and `shared_bytes` of every task."""
    of_functions: dict[int, Found] = {}
    for task in module.tasks:
        arrays, task.collective = _of_task(task.body, of_functions)
        task.shared_arrays, task.shared_bytes = lay_out(sorted(arrays.values(), key=lambda d: d.id))
    return module


def _of_task(body: Sequence[Stmt], of_functions: dict[int, Found]) -> tuple[dict[int, ArrayDecl], bool]:
    """The shared arrays of a body and of what it calls. Whether it has an operation of several threads, or asks where
    one is."""
    arrays, collective, called = _look(body)
    seen: set[int] = set()
    while called:
        function = called.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        if id(function) not in of_functions:
            of_functions[id(function)] = _look(function.body)
        more, together, calls = of_functions[id(function)]
        arrays.update(more)
        collective |= together
        called += calls
    return arrays, collective


def _look(body: Sequence[Stmt]) -> Found:
    arrays: dict[int, ArrayDecl] = {}
    collective = False
    called: list[Function] = []
    for node in walk.only(body, _LOOKED_AT):
        if isinstance(node, Intrinsic):
            collective |= node.op not in ALONE
        elif isinstance(node, Builtin):
            collective |= "." in node.name
        elif isinstance(node, Cell):
            if node.array.kind == "shared":
                arrays[node.array.id] = node.array
        else:
            called.append(node.func)
    return arrays, collective, called


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
