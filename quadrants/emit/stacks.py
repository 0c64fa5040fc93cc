"""Stacks of derivative code: memory of one thread, as long as the launch says.

There are two heaps, of real numbers and of integers. A CPU has a row for each worker:

    heap   | worker 0: v_stack | w_stack | .. | worker 1: v_stack | w_stack | .. |

On a device the rows of all threads are interleaved, so that neighbouring threads touch neighbouring slots:

    heap   | v_stack, slot 0: thread 0, 1, 2 .. | slot 1: thread 0, 1, 2 .. | .. | w_stack, slot 0: ..

Short stacks of a device, of a depth that is known, are local arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

from quadrants.emit.text import call, name
from quadrants.ir.stacks import FLOAT, constant, depths_of, kind_of, kinds_of
from quadrants.ir.types import size_align


def row_bytes(decl) -> int | None:
    """Bytes of a stack in a row, where the launch does not decide it."""
    depth = constant(decl)
    return None if depth is None else -(-depth * size_align(decl.type)[0] // 8) * 8


def worker_rows(printer, stacks: list) -> list:
    """Lines at the top of a task of the CPU: a pointer to each stack in the rows of the worker."""
    lines = []
    for kind in kinds_of(stacks):
        lines.append(f"char *qd_{kind}s = frame->qd_{kind}_heap + worker * frame->qd_{kind}_stride;")
        lines += _pointers(printer, [d for d in stacks if kind_of(d) == kind], "{bytes}", "({t} *)qd_{kind}s")
    return lines


def rows_name(gate) -> str:
    """The member of the argument block with the number of rows that a gated task has."""
    return gate.passing.name.replace("passing", "rows_passing")


def thread_rows(printer, local: list, heap: list, gate=None, extents: Sequence = ()) -> list:
    """Lines at the top of a task of a device: local arrays, and a pointer to slot 0 of each stack in the heaps.

    extents: of the parallel loop, as text. Threads without an iteration have no row.
    """
    lines = [f"{printer.type(d.type)} {d.name}[{constant(d)}];" for d in local]
    if not heap:
        return lines
    threads = "gridDim.x * blockDim.x"
    if extents:
        lines.append(f"const int64_t qd_iterations = {' * '.join(f'(int64_t){e}' for e in extents)};")
        threads = f"qd_iterations < {threads} ? qd_iterations : {threads}"
    lines.append(f"const int32_t qd_rows = {threads};")
    lines.append("const int32_t qd_row = blockIdx.x * blockDim.x + threadIdx.x;")
    if gate is not None:
        # Where there are not rows for all, a thread claims one behind the gate.
        lines.append(f"const int32_t {gate.rows.name} = {printer.dialect.args}{rows_name(gate)};")
        lines.append(f"int32_t {gate.row.name} = {gate.rows.name} < qd_rows ? -1 : qd_row;")
    for kind in kinds_of(heap):
        lines.append(f"char *qd_{kind}s = {printer.dialect.args}qd_{kind}_heap;")
        of_kind = [d for d in heap if kind_of(d) == kind]
        if kind == FLOAT and gate is not None:
            lines += _pointers(printer, of_kind, gate.rows.name + " * {bytes}", "({t} *)qd_{kind}s")
        else:
            lines += _pointers(printer, of_kind, "qd_rows * {bytes}", "({t} *)qd_{kind}s + qd_row")
    return lines


def _pointers(printer, stacks: list, step: str, place: str) -> list:
    lines = []
    for k, decl in enumerate(stacks):
        t, kind = printer.type(decl.type), kind_of(decl)
        restrict = printer.dialect.restrict or "restrict "
        lines.append(f"{t} *{restrict}{decl.name} = {place.format(t=t, kind=kind)};")
        if k + 1 < len(stacks):
            lines.append(f"qd_{kind}s += {step.format(bytes=_bytes(printer, decl))};")
    return lines


def _bytes(printer, decl) -> str:
    known = row_bytes(decl)
    if known is not None:
        return f"(int64_t){known}"
    slots, slot = printer.text(decl.source.count), name(f"sizeof({printer.type(decl.type)})")
    return call("qd_stack_bytes", slots, slot).bare


def preparation(printer, stacks: list, kept: list) -> list:
    """Lines of the entry function of a CPU in front of a task: depths, then bytes of a row of each kind.

    kept: depths that the launch may know from one before, and else leaves in the arguments for the next.
    """
    for depth in depths_of(stacks):
        if depth in kept:
            _recall(printer, depth)
            continue
        for s in depth.statements:
            printer.statement(s)
    lines = list(printer.lines)
    for kind in kinds_of(stacks):
        parts = " + ".join(_bytes(printer, decl) for decl in stacks if kind_of(decl) == kind)
        lines.append(f"frame->qd_{kind}_stride = ({parts} + 63) / 64 * 64;")
    return lines


def _recall(printer, depth) -> None:
    """Statements that set a depth that the launch may know already."""
    variable = depth.count.place.var.name
    held, here = f"{printer.dialect.args}{variable}", printer.text(depth.count).bare
    before, printer.lines = printer.lines, []
    printer.depth += 1
    for s in depth.statements:
        printer.statement(s)
    printer.depth -= 1
    found, printer.lines = printer.lines, before
    printer.lines += [f"{here} = {held};", f"if ({here} < 0) {{", *found, f"    {held} = {here};", "}"]
