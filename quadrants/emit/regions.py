"""Loops and checkpoints around the tasks of a kernel: as the skeletons print them, and as a launch needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quadrants.emit.layout import ArgsLayout
from quadrants.ir.nodes import Module, Var
from quadrants.ir.types import i32
from quadrants.launch.tasks import LaunchRegion

if TYPE_CHECKING:
    from quadrants.emit.records import EmittedTask


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """A task, or a region with the steps inside it. number: of a checkpoint, in order, from 1."""

    task: EmittedTask | None = None
    kind: str = "task"
    flag: str = ""
    label: int = 0
    number: int = 0
    random: bool = False
    steps: list[Step] = field(default_factory=list)


# Tasks of a loop whose passes can be launched ahead; with more of them the loop itself costs little beside its tasks.
_FEW = 8


def loops_ahead(module: Module, name: str) -> dict[int, Var]:
    """The loops of which several passes can be launched at once, by number of the region: those without others in them,
    of few tasks. With the variable that tells the tasks of a pass whether the loop goes on.
    """
    around = {region.parent for region in module.regions}
    found = [
        k for k, r in enumerate(module.regions) if r.kind == "loop" and k not in around and 0 < r.end - r.begin <= _FEW
    ]
    return {k: Var(f"{name}{k or ''}", i32, True, shared=True) for k in found}


def launch_regions(
    module: Module, layout: ArgsLayout, tasks: Sequence[EmittedTask], ended: Mapping[int, int], again: Mapping[int, int]
) -> tuple[LaunchRegion, ...]:
    """The regions of a module, outer before inner, in order. `tasks`: its emitted tasks. ended, again: see
    `LaunchRegion`.
    """
    return tuple(
        LaunchRegion(
            r.kind, r.begin, r.end, r.parent,
            flag=layout.arrays[r.flag.number][0] if r.flag is not None else -1,
            source=r.flag.source if r.flag is not None else (),
            label=r.label,
            random=any(t.random for t in tasks[r.begin : r.end]),
            ended=ended.get(k, -1),
            again=again.get(k, -1),
        )
        for k, r in enumerate(module.regions)
    )  # fmt: skip


def steps(module: Module, regions: Sequence[LaunchRegion], tasks: Sequence[EmittedTask]) -> list[Step]:
    """What a launch does, in order. A region without an order of its own vanishes between what is around it."""
    numbers = {k: n for n, k in enumerate((k for k, r in enumerate(regions) if r.kind == "checkpoint"), start=1)}

    def between(parent: int, begin: int, end: int) -> list[Step]:
        out, at = [], begin
        for k, r in enumerate(regions):
            if r.parent != parent:
                continue
            out += [Step(t) for t in tasks[at : r.begin]]
            inside = between(k, r.begin, r.end)
            at = r.end
            if r.kind in ("loop", "checkpoint"):
                flag = module.regions[k].flag
                assert flag is not None
                out.append(Step(None, r.kind, flag.name, r.label, numbers.get(k, 0), r.random, inside))
            else:
                out += inside
        return out + [Step(t) for t in tasks[at:end]]

    return between(-1, 0, len(tasks))
