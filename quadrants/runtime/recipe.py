"""What a launch of one compiled kernel needs to know, apart from its code and its arguments.

The runtime makes plans from a recipe, whether it was just compiled or comes from the disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from quadrants.emit.launches import Launch
from quadrants.emit.layout import ERROR_SIZE
from quadrants.emit.regions import LaunchRegion
from quadrants.emit.stack_record import KeptDepths, StackPlan
from quadrants.ir.task_ids import task_ids
from quadrants.ir.types import size_align


@dataclass(slots=True)
class Slot:
    """One thing that a launch reads off its arguments: parameter `param`, then the attributes in `path`.

    kind: 'scalar', 'tensor' or 'struct' (`type` says which), 'array' (`type` is that of a cell), 'grad' (the same, for
    the gradient of a foreign array), 'flags' (for what a tape notes of it), 'view', or 'token', which selects but is
    not passed.
    Offsets are in bytes in the argument block, -1 for what is not passed: of the value or pointer, and of the extents;
    `window` has those of the offset and the size of a view.
    """

    param: int
    path: tuple
    kind: str
    type: object = None
    offset: int = -1
    shape: int = -1
    ndim: int = 0
    window: tuple = ()


@dataclass(slots=True)
class Recipe:
    """How to call one compiled kernel.

    name: of the kernel. entry: of the function in the binary. size: bytes of the argument block. results: (type,
    offset)
    in order. sites: (message, frames, kernel name) of what may fail. cells: (offset, CellLayout) of the fields whose
    address is part of the block. times: where begin and end of every task are found, -1 unless the kernel profiler
    is on. tasks: their names, and task_ids what they are in every process. regions: loops and checkpoints around them.
    status: where a launch finds the number of the checkpoint to begin at and, 4 bytes on, leaves that of the one that
    ended it, -1 without checkpoints; labels: what the user calls them. written: numbers of the slots whose arrays the
    kernel may write, and written_cells the fields of integers. keep: what must live as long as the plan.

    Of a device: launches: what it launches, in order. frame: bytes of the memory that the launches share, 0 on a CPU;
    `results` are then offsets in it, and `error` is that of the failure record, -1 for none. seed: where the seed and,
    8 bytes on, the ordinal of the launch go in the argument block, -1 for nowhere. prints: whether tasks may print.
    early: whether they wait themselves for the work before them. in_memory: whether the argument block is passed by its
    address. stacks: what a launch does about the stacks of the tasks, None where it does nothing. kept: which depths
    outlive a launch, None for none.

    attributes: (parameter, path) of what was read off template objects when it was compiled; a launch looks at those
    among the slots only.
    """

    name: str
    entry: str
    size: int
    slots: list = field(default_factory=list)
    results: list = field(default_factory=list)
    sites: list = field(default_factory=list)
    cells: list = field(default_factory=list)
    times: int = -1
    tasks: tuple = ()
    task_ids: tuple = ()
    regions: tuple[LaunchRegion, ...] = ()
    status: int = -1
    labels: tuple = ()
    written: tuple = ()
    written_cells: tuple = ()
    keep: tuple = ()
    launches: tuple[Launch, ...] = ()
    frame: int = 0
    error: int = -1
    seed: int = -1
    prints: bool = False
    early: bool = False
    in_memory: bool = False
    stacks: StackPlan | None = None
    kept: KeptDepths | None = None
    attributes: tuple = ()

    @property
    def prefix(self) -> int:
        """Bytes at the start of a device's frame that the host reads after a launch: failure record and results."""
        ends = [offset + size_align(t)[0] for t, offset in self.results]
        return max([self.error + ERROR_SIZE if self.error >= 0 else 0, *ends])

    @property
    def polled(self) -> bool:
        """Whether a launch on a device goes on without waiting for its failure record: it reads nothing else back, and
        the user's own checks are not in it."""
        alone = self.error >= 0 and not self.results and not self.regions
        return alone and all(message[0].startswith("adstack") for message, *_ in self.sites)


def recipe_of(traced, rendered) -> Recipe:
    """The recipe of what was traced and rendered."""
    module, layout, frame = traced.module, rendered.layout, rendered.frame
    return Recipe(
        name=module.name,
        entry=rendered.entry,
        size=layout.size,
        slots=[_slot(bound, layout) for bound in traced.bindings],
        results=list(frame.results if frame is not None else layout.results),
        sites=list(module.sites),
        cells=[(layout.arrays[d.number][0], d.source) for d in module.arrays if d.kind == "field"],
        times=layout.times,
        tasks=_names(module.tasks, rendered.frame is not None),
        task_ids=task_ids(module.name, rendered.text, len(module.tasks)),
        regions=rendered.regions,
        status=layout.status,
        labels=tuple(traced.labels),
        written=_slots(traced, {d.number for d in module.written if d.kind == "array"}),
        written_cells=tuple(d.source for d in module.written if d.kind == "field"),
        keep=tuple(traced.fields),
        launches=rendered.launches,
        frame=frame.size if frame is not None and frame.members else 0,
        error=frame.error if frame is not None else -1,
        seed=layout.seed,
        prints=rendered.prints,
        early=rendered.early,
        in_memory=rendered.args_in_memory,
        stacks=rendered.stacks,
        kept=_bound_depths(traced, rendered.kept),
        attributes=traced.attributes,
    )


def _bound_depths(traced, kept: KeptDepths | None) -> KeptDepths | None:
    if kept is None:
        return None
    of_kept = [d for d in traced.module.arrays if d.number in kept.arrays]
    slots = _slots(traced, {d.number for d in of_kept if d.kind == "array"})
    cells = tuple(d.source for d in of_kept if d.kind == "field")
    assert len(slots) + len(cells) >= len(kept.arrays), "an array that a depth depends on is no argument"
    return replace(kept, slots=slots, cells=cells)


def _slots(traced, numbers: set) -> tuple:
    """The slots of arrays with these numbers."""
    return tuple(
        k
        for k, bound in enumerate(traced.bindings)
        if bound.kind == "array"
        and bound.target.number in numbers
        or bound.kind == "view"
        and bound.target.decl.number in numbers
    )


def _names(tasks: list, device: bool) -> tuple:
    """Names of tasks in the order in which a launch notes when they ran: on a CPU those that count come last."""
    return tuple(t.name for t in (tasks if device else sorted(tasks, key=lambda t: t.sizing)))


def _slot(bound, layout) -> Slot:
    param, path = bound.source
    if bound.kind in ("array", "grad", "flags"):
        offset, shape = layout.arrays.get(bound.target.number, (-1, -1))
        return Slot(param, path, bound.kind, bound.target.type, offset, shape, bound.target.ndim)
    if bound.kind == "view":
        view = bound.target
        offset, shape = layout.arrays.get(view.decl.number, (-1, -1))
        window = tuple(layout.values[v.id] for v in view.variables)
        return Slot(param, path, "view", None, offset, shape, 1, window)
    if bound.kind == "token":
        return Slot(param, path, "token")
    return Slot(param, path, bound.kind, bound.target.type, layout.values[bound.target.id])
