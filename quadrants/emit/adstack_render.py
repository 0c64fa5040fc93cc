"""The stacks of one kernel, for its renderer: what its tasks, its entry function and its launch have to know of them.

A kernel without stacks gets the same answers as one whose tasks have none: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field

from quadrants.emit import adstack_plan, adstack_rows, prologue
from quadrants.emit.blocks import BlockPrinter
from quadrants.emit.dialects import Dialect
from quadrants.emit.layout import ArgsLayout, FrameLayout
from quadrants.emit.records import Axis, Counting, Local, Rows, StackPreparation
from quadrants.ir.adstack_heaps import depths_of, kinds_of, of_task, split
from quadrants.ir.nodes import ArrayDecl, Module, Task
from quadrants.launch.adstack_plan import KeptDepths, StackPlan
from quadrants.launch.tasks import GatePlaces, HeapStack, Program


@dataclass(slots=True, eq=False, repr=False)
class TaskStacks:
    """What is printed of the stacks of one task, and what its launch has to know: as in `records.EmittedTask`.

    arrays: those that a thread declares for itself.
    """

    arrays: list[Local] = field(default_factory=list)
    rows: Rows | None = None
    counting: Counting | None = None
    stacks: tuple[HeapStack, ...] = ()
    gate: GatePlaces | None = None


class Adstack:
    """The stacks of a module. `layout` and `frame` are set before tasks are printed.

    heaps, depths, gates: of the argument block, as `layout.args_layout` takes them.
    """

    layout: ArgsLayout
    frame: FrameLayout | None

    def __init__(self, module: Module, dialect: Dialect):
        self.module = module
        self.chunks = dialect.chunks
        device = dialect.launch_in_frame
        self._used = {t.name: found for t in module.tasks if (found := of_task(t))} if module.stacked else {}
        self._in_heaps = {name: split(found)[1] for name, found in self._used.items()} if device else {}
        self._all_in_heaps = [decl for found in self._in_heaps.values() for decl in found]
        self._kept = [] if device else [d for d in depths_of(self.used()) if adstack_plan.needs_cells(d)]
        self.heaps = kinds_of(self._all_in_heaps)
        self.depths = [depth.var for depth in self._kept]
        if self._all_in_heaps:
            self.depths = adstack_plan.variables(module, self._all_in_heaps)
        self.gates = [t.gate for t in module.tasks if t.gate is not None and device]

    def used(self) -> list[ArrayDecl]:
        """The stacks of all tasks."""
        return [decl for found in self._used.values() for decl in found]

    def has_rows(self, t: Task) -> bool:
        """Whether each thread of a device needs a row of memory for a task."""
        return bool(self._in_heaps.get(t.name))

    def trips(self, t: Task) -> Program | None:
        """A program for the iterations of a task with rows, where tasks of the launch find that."""
        return (("i64", self.layout.depths[t.trips.id]),) if self.has_rows(t) and t.trips is not None else None

    def tell_depths(self, p: BlockPrinter, t: Task) -> None:
        """Have a printer know the depths that a task finds in the argument block, and its stacks in no heap."""
        if self.has_rows(t):
            p.parameters |= {v.id: v for v in self.depths}
        if not self.chunks:
            p.private_arrays = frozenset(decl.id for decl in self._arrays(t))

    def of_task(self, p: BlockPrinter, t: Task, axes: Sequence[Axis]) -> TaskStacks:
        """The stacks of a task that `p` has printed. axes: of its loop."""
        used = self._used.get(t.name)
        if used is None:
            return TaskStacks()
        in_heap = self._in_heaps.get(t.name, [])
        arrays = [] if self.chunks else adstack_rows.arrays(p, self._arrays(t))
        rows = adstack_rows.rows(p, used if self.chunks else in_heap, t.gate, [axis.extent for axis in axes])
        stacks = adstack_plan.stacks_of_launch(in_heap, self.layout)
        return TaskStacks(arrays, rows, self._counting(t), stacks, self._gate(t))

    def _arrays(self, t: Task) -> list[ArrayDecl]:
        """The stacks of a task that are in no heap."""
        in_heap = self._in_heaps.get(t.name, [])
        return [decl for decl in self._used.get(t.name, ()) if decl not in in_heap]

    def _gate(self, t: Task) -> GatePlaces | None:
        if t.gate is None or self.frame is None:
            return None
        return adstack_plan.gate_of_launch(self.module, t.gate, self.layout, self.frame)

    def _counting(self, t: Task) -> Counting | None:
        if t.gate is None or self.frame is not None:
            return None
        return Counting(self.module.tasks[self.module.tasks.index(t) - 1].name, t.gate.passing.name)

    def plan(self) -> StackPlan | None:
        """What a launch on a device does about stacks; None where none is in a heap."""
        if self.frame is None:
            return None
        return adstack_plan.plan(self.module, self._all_in_heaps, self.layout, self.frame)

    def kept(self) -> KeptDepths | None:
        """The depths that outlive a launch; None where there are none."""
        return adstack_plan.kept_by_host(self._kept, self.layout) or adstack_plan.kept_by_device(
            self.module, self.layout
        )

    def preparations(self, printer: Callable[[], BlockPrinter], restrict: Set[int]) -> dict[str, StackPreparation]:
        """For every task with stacks what the entry function of a CPU does first. printer: makes one for each."""
        out = {}
        for task, found in self._used.items() if self.chunks else ():
            p = printer()
            p.depth = 0
            depths, heaps = adstack_rows.preparation(p, found, self._kept)
            out[task] = StackPreparation(prologue.arguments(p, restrict), depths, heaps, p.uses_lane)
        return out
