"""Stacks of derivative code, as data: `templates/_base/stacks.j2` says where they are and declares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quadrants.emit.records import Depth, Gate, Heap, Local, Rows, Stack
from quadrants.emit.text import UNARY, Text, call, name
from quadrants.ir import nodes
from quadrants.ir.adstack_heaps import constant, depths_of, kind_of, kinds_of
from quadrants.ir.nodes import ArrayDecl, StackDepth
from quadrants.ir.types import i64, size_align

if TYPE_CHECKING:
    from quadrants.emit.blocks import BlockPrinter


def row_bytes(decl: ArrayDecl) -> int | None:
    """Bytes of a stack in a row, where the launch does not decide it."""
    depth = constant(decl)
    return None if depth is None else -(-depth * size_align(decl.type)[0] // 8) * 8


def rows_name(gate: nodes.Gate) -> str:
    """The member of the argument block with the number of rows that a gated task has."""
    return gate.passing.name.replace("passing", "rows_passing")


def rows(
    printer: BlockPrinter, stacks: list[ArrayDecl], gate: nodes.Gate | None = None, extents: Sequence[str] = ()
) -> Rows | None:
    """Where a task finds its stacks of the heaps; None where it has none.

    extents: of the parallel loop of a device, as text. Threads without an iteration have no row.
    """
    if not stacks:
        return None
    record = None if gate is None else Gate(gate.rows.name, gate.row.name, rows_name(gate))
    return Rows(_heaps(printer, stacks, with_last=False), record, list(extents))


def arrays(printer: BlockPrinter, stacks: list[ArrayDecl]) -> list[Local]:
    """Stacks of known depth as arrays of one thread."""
    return [Local("array", printer.type(decl.type), decl.name, length=constant(decl) or 0) for decl in stacks]


def _heaps(printer: BlockPrinter, stacks: list[ArrayDecl], with_last: bool) -> list[Heap]:
    """The stacks by the heap they are in. with_last: the bytes of the last one of each are asked for, too."""
    out = []
    for kind in kinds_of(stacks):
        *first, last = [decl for decl in stacks if kind_of(decl) == kind]
        found = [_stack(printer, decl, True) for decl in first]
        out.append(Heap(kind, [*found, _stack(printer, last, with_last)]))
    return out


def _stack(printer: BlockPrinter, decl: ArrayDecl, with_bytes: bool) -> Stack:
    return Stack(printer.pointed_type(decl.type), decl.name, _bytes(printer, decl).at(UNARY) if with_bytes else "")


def _bytes(printer: BlockPrinter, decl: ArrayDecl) -> Text:
    known = row_bytes(decl)
    if known is not None:
        return printer.cast(printer.type(i64), name(str(known)))
    return call("qd_stack_bytes", printer.text(decl.source.count), printer.size_of(decl.type))


def preparation(
    printer: BlockPrinter, stacks: list[ArrayDecl], kept: list[StackDepth]
) -> tuple[list[Depth], list[Heap]]:
    """What the entry function of a CPU does in front of a task: depths, and the stacks of each kind.

    kept: depths that the launch may know from one before, and else leaves in the arguments for the next.
    """
    depths = [_depth(printer, depth, depth in kept) for depth in depths_of(stacks)]
    return depths, _heaps(printer, stacks, with_last=True)


def _depth(printer: BlockPrinter, depth: StackDepth, kept: bool) -> Depth:
    printer.lines = []
    for s in depth.statements:
        printer.statement(s)
    if not kept:
        return Depth(printer.lines)
    held = printer.dialect.args + depth.var.name
    return Depth(printer.lines, printer.text(depth.count).bare, held)
