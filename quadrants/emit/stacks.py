"""Stacks of derivative code: memory of one thread, as long as the launch says.

A CPU keeps them in one piece of memory for each task, a row for each worker:

    heap   | worker 0: v_stack | w_stack | .. | worker 1: v_stack | w_stack | .. |
"""

from __future__ import annotations

from quadrants.errors import QuadrantsCompilationError
from quadrants.ir import walk
from quadrants.ir.nodes import Cell, Const
from quadrants.ir.types import size_align

# The memory of one thread that a device task declares for itself.
MOST_BYTES = 1 << 16


def of_task(task) -> list:
    """The stacks that a task uses, in order of appearance."""
    found: dict = {}
    for node in walk.walk(task.body):
        if isinstance(node, Cell) and node.array.kind == "stack":
            found[node.array.id] = node.array
    return list(found.values())


def depths_of(stacks: list) -> list:
    """The depths behind some stacks, each once."""
    found: dict = {}
    for decl in stacks:
        found[id(decl.source)] = decl.source
    return list(found.values())


def declarations(printer, stacks: list) -> list:
    """Lines at the top of a task of the CPU: a pointer to each stack in the row of the worker."""
    if not stacks:
        return []
    lines = ["char *qd_row = frame->qd_heap + worker * frame->qd_stride;"]
    for k, decl in enumerate(stacks):
        t = printer.type(decl.type)
        lines.append(f"{t} *restrict {decl.name} = ({t} *)qd_row;")
        if k + 1 < len(stacks):
            lines.append(f"qd_row += {_bytes(printer, decl)};")
    return lines


def local_arrays(printer, stacks: list) -> list:
    """Lines at the top of a task of a device, whose threads have memory of their own for short stacks."""
    total = 0
    lines = []
    for decl in stacks:
        count = decl.source.count
        total += count.value * size_align(decl.type)[0] if isinstance(count, Const) else MOST_BYTES + 1
        if total > MOST_BYTES:
            raise QuadrantsCompilationError(
                f"The adstack of '{decl.label}' needs memory that this arch does not give a thread; use qd.cpu, or "
                "loops of constant length."
            )
        lines.append(f"{printer.type(decl.type)} {decl.name}[{max(1, count.value)}];")
    return lines


def _bytes(printer, decl) -> str:
    return f"qd_stack_bytes({printer.text(decl.source.count)}, sizeof({printer.type(decl.type)}))"


def preparation(printer, stacks: list) -> list:
    """Lines of the entry function in front of a task: depths, then bytes of a row."""
    for depth in depths_of(stacks):
        for s in depth.statements:
            printer.statement(s)
    lines = printer.lines
    parts = " + ".join(_bytes(printer, decl) for decl in stacks)
    return [*lines, f"frame->qd_stride = ({parts} + 63) / 64 * 64;"]
