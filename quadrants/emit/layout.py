"""The argument block of a kernel, and the frame of a device: members in order, with byte offsets under C rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quadrants.ir.nodes import Gate, Module, Var
from quadrants.ir.types import DType, TensorType, ValueType, size_align, struct_offsets
from quadrants.launch.recipe import ERROR_SIZE


@dataclass(slots=True, eq=False, repr=False)
class ArgsLayout:
    """Offsets in bytes: arrays by declaration number (pointer, extents or -1), values by variable id, results in order.

    seed: where a device finds the seed and, 8 bytes on, the ordinal of the launch; -1 where it needs neither.
    ring: where it finds the address of the memory that lines are printed in; -1 where there is none.
    times: where the kernel profiler finds begin and end of every task, as f64 seconds; -1 when it is off.
    status: where a launch finds the checkpoint to begin at and, 4 bytes on, leaves the one that ended it; -1 without.
    heaps: of a device: where it finds the addresses of the heaps of stacks, by kind. depths: where it finds depths of
    stacks, by variable id. rows: where it finds the rows of tasks with a gate, by id of the gate's variable `passing`.
    All of these are side by side.
    members: (kind, what) in order, for the declaration: "pointer", "shape", "value", "result", "launch", "ring",
    "times", "status", "heap" or "depth".
    """

    arrays: dict[int, tuple[int, int]] = field(default_factory=dict)
    values: dict[int, int] = field(default_factory=dict)
    results: list[tuple[ValueType, int]] = field(default_factory=list)
    seed: int = -1
    ring: int = -1
    times: int = -1
    status: int = -1
    heaps: dict[str, int] = field(default_factory=dict)
    depths: dict[int, int] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    size: int = 0
    members: list[tuple[str, Any]] = field(default_factory=list)


@dataclass(slots=True, eq=False, repr=False)
class FrameLayout:
    """The frame of a device: offsets in bytes of the failure record (-1: none), of the results, in order, and of depths
    of stacks that its own tasks find, by variable id. gates: of two numbers of a gate, 16 bytes, by id of the first.
    passes: of what tells tasks whether their loop goes on, by number of the region.
    variables: offsets of all that is a variable, by its id.
    """

    error: int = -1
    results: list[tuple[ValueType, int]] = field(default_factory=list)
    depths: dict[int, int] = field(default_factory=dict)
    gates: dict[int, int] = field(default_factory=dict)
    passes: dict[int, int] = field(default_factory=dict)
    variables: dict[int, int] = field(default_factory=dict)
    size: int = 0
    members: list[tuple[str, Any]] = field(default_factory=list)


class _Places:
    """Offsets of members laid out one after the other."""

    def __init__(self) -> None:
        self.at = 0

    def __call__(self, size: int, align: int) -> int:
        here = -(-self.at // align) * align
        self.at = here + size
        return here

    @property
    def size(self) -> int:
        return -(-max(self.at, 1) // 8) * 8


def args_layout(
    module: Module,
    *,
    by_value: bool = False,
    random: bool = False,
    ring: bool = False,
    profile: bool = False,
    heaps: Sequence[str] = (),
    depths: Sequence[Var] = (),
    gates: Sequence[Gate] = (),
) -> ArgsLayout:
    """Arrays first (pointer, then its run-time extents), then scalars and small tensors, then results.

    by_value: the block is read-only: it has no results, but with `random` the seed and the ordinal of the launch, and
    with `ring` the address of the memory that lines are printed in.
    heaps: kinds of stacks in memory that the launch gives a device; depths: variables that it sets; gates: of tasks.
    """
    out = ArgsLayout()
    place = _Places()
    for decl in module.arrays:
        pointer = place(8, 8)
        out.members.append(("pointer", decl))
        shape = -1
        if decl.shape is None and decl.ndim and decl.extents:
            shape = place(4 * decl.ndim, 4)
            out.members.append(("shape", decl))
        out.arrays[decl.number] = (pointer, shape)
    for var in module.params:
        out.values[var.id] = place(*size_align(var.type))
        out.members.append(("value", var))
    if not by_value:
        _place_results(module, out, place)
        if profile:
            out.times = place(16 * len(module.tasks), 8)
            out.members.append(("times", len(module.tasks)))
        if any(r.kind == "checkpoint" for r in module.regions):
            out.status = place(8, 4)
            out.members.append(("status", None))
    elif random:
        out.seed = place(16, 8)
        out.members.append(("launch", None))
    if ring:
        out.ring = place(8, 8)
        out.members.append(("ring", None))
    for kind in heaps:
        out.heaps[kind] = place(8, 8)
        out.members.append(("heap", kind))
    for var in depths:
        out.depths[var.id] = place(8, 8)
        out.members.append(("depth", var))
    for gate in gates:
        out.rows[gate.passing.id] = place(8, 8)
        out.members.append(("rows", gate))
    out.size = place.size
    return out


def frame_layout(module: Module, passes: Mapping[int, Var], *, check: bool) -> FrameLayout:
    """The failure record where there are checks, then the results, then the values that cross tasks, then depths,
    gates, and what tells passes of loops whether these go on, by number of the region.
    """
    out = FrameLayout()
    place = _Places()
    if check:
        out.error = place(ERROR_SIZE, 8)
        out.members.append(("error", None))
    _place_results(module, out, place)
    for var in module.shared:
        out.variables[var.id] = place(*size_align(var.type))
        out.members.append(("shared", var))
    for sizing in module.sizings:
        for var in sizing.depths:
            out.variables[var.id] = out.depths[var.id] = place(8, 8)
            out.members.append(("shared", var))
    for task in module.tasks:
        if task.gate is not None:
            out.variables[task.gate.passing.id] = out.gates[task.gate.passing.id] = place(8, 8)
            out.variables[task.gate.claimed.id] = place(8, 8)
            out.members += [("shared", task.gate.passing), ("shared", task.gate.claimed)]
    for number, var in passes.items():
        out.passes[number] = place(*size_align(var.type))
        out.members.append(("shared", var))
    out.size = place.size
    return out


def _place_results(module: Module, out: ArgsLayout | FrameLayout, place: _Places) -> None:
    for k, t in enumerate(module.result):
        out.results.append((t, place(*size_align(t))))
        out.members.append(("result", (k, t)))


def leaves(t: ValueType, base: int = 0) -> list[tuple[DType, int]]:
    """(dtype, byte offset) of every scalar of a type, in order."""
    if isinstance(t, DType):
        return [(t, base)]
    if isinstance(t, TensorType):
        return [(t.dtype, base + k * t.dtype.size) for k in range(t.count)]
    offsets = struct_offsets(t)
    return [leaf for key, kind in t.members for leaf in leaves(kind, base + offsets[key])]
