"""What a launch on a device does about the stacks of its tasks: which depths it works out, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from quadrants.emit.layout import ArgsLayout, FrameLayout
from quadrants.ir.adstack_heaps import FLOAT, INT, KINDS, constant, depths_of, kind_of
from quadrants.ir.adstack_size_trees import Size, reads_cells
from quadrants.ir.nodes import MEMORY, ArrayDecl, Const, Extent, Gate, Module, StackDepth, Task, Var, VarPlace
from quadrants.ir.types import size_align
from quadrants.ir.walk import Nodes
from quadrants.ir.walk import walk as walk_ir
from quadrants.launch.adstack_plan import ArgumentPart, ComputedDepth, KeptDepths, Sizing, StackPlan
from quadrants.launch.tasks import GatePlaces, HeapStack

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "max": "max", "most": "max", "min": "min", "div": "floordiv"
}  # fmt: skip


def variables(module: Module, in_heaps: list[ArrayDecl]) -> list[Var]:
    """The depths that the launch passes to the tasks: those that tasks find, in their order, then the others."""
    found = [var for sizing in module.sizings for var in sizing.depths]
    known = {var.id for var in found}
    for depth in depths_of(in_heaps):
        var = _variable(depth)
        if var is not None and var.id not in known:
            known.add(var.id)
            found.append(var)
    return found


def _variable(depth: StackDepth) -> Var | None:
    return None if isinstance(depth.count, Const) else depth.var


def plan(module: Module, in_heaps: list[ArrayDecl], layout: ArgsLayout, frame: FrameLayout) -> StackPlan | None:
    """The record for a kernel; None where no stack is in a heap."""
    if not in_heaps:
        return None
    places = [*layout.heaps.values(), *layout.depths.values(), *layout.rows.values()]
    computed: dict[int, ComputedDepth] = {}
    for depth in depths_of(in_heaps):
        var = _variable(depth)
        if var is not None and var.id not in frame.depths:
            computed[var.id] = ComputedDepth(layout.depths[var.id], tuple(_program(depth.size, layout)))
    return StackPlan(
        heaps=(layout.heaps.get(FLOAT, -1), layout.heaps.get(INT, -1)),
        begin=min(places),
        end=max(places) + 8,
        depths=tuple(computed.values()),
        sizings=tuple(
            Sizing(s.begin, s.end, frame.depths[s.depths[0].id], len(s.depths), layout.depths[s.depths[0].id])
            for s in module.sizings
        ),
        site=module.heap_site,
    )


def stacks_of_launch(in_heap: list[ArrayDecl], layout: ArgsLayout) -> tuple[HeapStack, ...]:
    """The stacks of a task, as a launch knows them."""
    out = []
    for decl in in_heap:
        known = constant(decl)
        kind, slot = KINDS.index(kind_of(decl)), size_align(decl.type)[0]
        if known is not None:
            out.append(HeapStack(kind, slot, known, -1))
        else:
            out.append(HeapStack(kind, slot, -1, layout.depths[decl.source.var.id]))
    return tuple(out)


def gate_of_launch(module: Module, gate: Gate, layout: ArgsLayout, frame: FrameLayout) -> GatePlaces:
    """Where a gate is; the task that counts is in front of that with the gate."""
    counts = [k for k, t in enumerate(module.tasks) if t.sizing and _adds_to(t, gate.passing)]
    return GatePlaces(counts[0], frame.gates[gate.passing.id], layout.rows[gate.passing.id])


def _adds_to(task: Task, var: Var) -> bool:
    return any(isinstance(node, VarPlace) and node.var is var for node in walk_ir([f for _, f in task.reductions]))


def _program(size: Size, layout: ArgsLayout) -> list[tuple[Any, ...]]:
    """Instructions for a size that depends on no cell."""
    of: Any = size.of
    if size.op == "const":
        return [("const", of)]
    if size.op == "extent":
        array, axis = of
        return [("i32", layout.arrays[array.number][1] + 4 * axis)]
    if size.op == "arg":
        return [(of.type.name, layout.values[of.id])]
    if size.op == "shift":
        return [*_program(size.args[0], layout), ("const", of), ("add",)]
    a, b = (_program(x, layout) for x in size.args)
    out = [*a, *b, (_BINARY[size.op],)]
    return [*out, ("const", 0), ("max",)] if size.op == "sub" else out


def needs_cells(depth: StackDepth) -> bool:
    """Whether a depth depends on cells of arrays, and not only on arguments."""
    return depth.size is not None and reads_cells(depth.size)


def kept_by_host(depths: list[StackDepth], layout: ArgsLayout) -> KeptDepths | None:
    """What a CPU keeps of these depths, which its entry function works out; None where there are none."""
    return _kept([d.var for d in depths], [d.statements for d in depths], layout) if depths else None


def kept_by_device(module: Module, layout: ArgsLayout) -> KeptDepths | None:
    """What a device keeps of all that its sizing tasks find, None where it has no such tasks."""
    tasks = [t for s in module.sizings for t in module.tasks[s.begin : s.end]]
    code: list[Nodes] = [(t.pre, t.body, t.loop.bounds if t.loop is not None else ()) for t in tasks]
    return _kept([var for s in module.sizings for var in s.depths], code, layout) if tasks else None


def _kept(variables: list[Var], code: Sequence[Nodes], layout: ArgsLayout) -> KeptDepths:
    """The record for variables that `code` sets."""
    arrays: dict[int, ArrayDecl] = {}
    values: set[ArgumentPart] = set()
    for node in walk_ir(code):
        if isinstance(node, MEMORY) and node.array.kind in ("field", "array"):
            arrays[node.array.number] = node.array
        elif isinstance(node, VarPlace) and node.var.id in layout.values:
            values.add(ArgumentPart(layout.values[node.var.id], size_align(node.var.type)[0]))
        elif isinstance(node, Extent) and node.array.shape is None and layout.arrays[node.array.number][1] >= 0:
            values.add(ArgumentPart(layout.arrays[node.array.number][1] + 4 * node.axis, 4))
    places = sorted(layout.depths[var.id] for var in variables)
    return KeptDepths(tuple(places), tuple(sorted(values)), tuple(arrays))


def bound(
    kept: KeptDepths | None, arrays: list[ArrayDecl], slots: Callable[[set[int]], tuple[int, ...]]
) -> KeptDepths | None:
    """The record with what the arrays that it depends on are bound to. slots: gives those of arrays by numbers."""
    if kept is None:
        return None
    of_kept = [d for d in arrays if d.number in kept.arrays]
    found = slots({d.number for d in of_kept if d.kind == "array"})
    cells = tuple(d.source for d in of_kept if d.kind == "field")
    assert len(found) + len(cells) >= len(kept.arrays), "an array that a depth depends on is no argument"
    return replace(kept, slots=found, cells=cells)
