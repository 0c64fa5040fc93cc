"""What the threads of a block share: which tasks are collective, and where their shared arrays lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from quadrants.errors import QuadrantsCompilationError
from quadrants.ir import walk
from quadrants.ir.nodes import ArrayDecl, Builtin, Call, Cell, For, Function, Intrinsic, Module, Stmt, Task
from quadrants.ir.types import size_align
from quadrants.passes.user_lines import at_users_line, definition

ALIGNMENT = 16
# Operations of one thread alone; every other intrinsic is done by several threads together.
ALONE = frozenset(
    (
        "address",
        "clock.counter",
        "memory.prefetch",
        "block.mem_fence",
        "subgroup.mem_fence",
        "grid.mem_fence",
        "warp.active_mask",
    )
)
_LOOKED_AT = frozenset((Intrinsic, Builtin, Cell, Call))
_TOGETHER = frozenset((Intrinsic, Cell))
# Arrays, whether threads work together, and functions that are not for all blocks.
Found: TypeAlias = "tuple[dict[int, ArrayDecl], bool, list[Function]]"


def describe_blocks(module: Module) -> Module:
    """Set `collective`, `shared_arrays` and `shared_bytes` of every task."""
    looks = walk.Looks(_look)
    for task in module.tasks:
        arrays: dict[int, ArrayDecl] = {}
        task.collective = False
        needing: list[Function] = []
        for more, together, functions in looks.through(task.body):
            arrays.update(more)
            task.collective |= together
            needing += functions
        for function in needing:
            if function.block_dim:
                _share_block(task, function.block_dim, function, module)
        for function in needing:
            _check_lanes(task, function, module)
        task.shared_arrays, task.shared_bytes = lay_out(sorted(arrays.values(), key=lambda d: d.id))
        if task.loop is None and (task.collective or arrays):
            _refuse_alone(task, module)
    return module


def _share_block(task: Task, block_dim: int, function: Function, module: Module) -> None:
    """Give the blocks of a task the threads that a function it calls is for."""
    loop = task.loop
    if loop is None:
        return
    there = loop.share_block(block_dim)
    if there != block_dim:
        text = (
            f"The function {function.name} that this loop calls is for blocks of {block_dim} threads, as a fold in it "
            f"says, and the blocks of the loop have {there}: pass block_dim={there} to the "
            f"fold, or write qd.loop_config(block_dim={block_dim}) before the loop"
        )
        raise QuadrantsCompilationError(at_users_line(loop.loc or definition(module), text))


def _check_lanes(task: Task, function: Function, module: Module) -> None:
    """Have blocks of a task that have the lanes of a function it calls; refuse it where they are said to be smaller."""
    loop = task.loop
    if loop is None:
        return
    loop.lanes = max(loop.lanes, function.lanes)
    there = loop.config.block_dim if loop.config is not None else None
    if there is not None and there < function.lanes:
        text = (
            f"In the function {function.name} that this loop calls {function.lanes} lanes work together, and blocks of "
            f"the loop have {there} threads: write qd.loop_config(block_dim={function.lanes}) before the loop, or "
            "take operations and tiles of fewer lanes"
        )
        raise QuadrantsCompilationError(at_users_line(loop.loc or definition(module), text))


def _refuse_alone(task: Task, module: Module) -> None:
    """One thread has nobody to exchange anything with, and nothing that others stored."""
    for s in walk.statements(task.body):
        if isinstance(s, For) and s.config is not None and s.config.in_order:
            what = _shared_work(s.body, barriers=True)
            if what:
                asked = "serialize=True" if s.config.serialize else "parallelize=1"
                text = (
                    f"The threads of a block work together on {what}, and qd.loop_config({asked}) has one thread do "
                    f"the whole loop: leave {asked} out"
                )
                raise QuadrantsCompilationError(at_users_line(s.loc or definition(module), text))
        what = "" if walk.blocks(s) else _shared_work([s])
        if what:
            text = (
                f"The threads of a block work together on {what}, and one thread alone does this: write it in a loop "
                "at the top level of the kernel, as none is parallel inside of an `if`, a `while` or another loop"
            )
            raise QuadrantsCompilationError(at_users_line(getattr(s, "loc", None) or definition(module), text))


def _shared_work(body: Sequence[Stmt], barriers: bool = False) -> str:
    """What in a body takes several threads, "" for none. barriers: also those, which one thread passes."""
    for node in walk.with_functions(body, _TOGETHER):
        if isinstance(node, Cell) and node.array.kind == "shared":
            return f"the shared array '{node.array.label}'"
        if isinstance(node, Intrinsic) and node.op not in ALONE and (barriers or not node.op.endswith(".sync")):
            return f"qd.simt.{node.op}"
    return ""


def _look(body: walk.Nodes) -> tuple[Found, list[Function]]:
    arrays: dict[int, ArrayDecl] = {}
    collective = False
    called: list[Function] = []
    needing: list[Function] = []
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
            if node.func.block_dim or node.func.lanes > 1:
                needing.append(node.func)
    return (arrays, collective, needing), called


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
