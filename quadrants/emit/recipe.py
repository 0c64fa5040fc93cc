"""What was traced and rendered, as the record that launches are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants.emit import adstack_plan
from quadrants.ir.task_ids import task_ids
from quadrants.launch.recipe import Recipe, Result, Site, Slot

if TYPE_CHECKING:
    from quadrants.emit.interface import Bound, Traced
    from quadrants.emit.layout import ArgsLayout
    from quadrants.emit.render import Rendered
    from quadrants.ir.nodes import Task


def recipe_of(traced: Traced, rendered: Rendered) -> Recipe:
    """The recipe of what was traced and rendered."""
    module, layout, frame = traced.module, rendered.layout, rendered.frame
    return Recipe(
        name=module.name,
        entry=rendered.entry,
        size=layout.size,
        slots=[_slot(bound, layout) for bound in traced.bindings],
        results=[Result(*found) for found in (frame.results if frame is not None else layout.results)],
        sites=[Site(*site) for site in module.sites],
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
        pools=module.sparse.pools() if module.sparse is not None else (),
        activates=module.sparse is not None and bool(module.sparse.made("activate")),
        launches=rendered.launches,
        frame=frame.size if frame is not None and frame.members else 0,
        error=frame.error if frame is not None else -1,
        seed=layout.seed,
        prints=rendered.prints,
        ring=layout.ring,
        lines=rendered.lines,
        early=rendered.early,
        in_memory=rendered.args_in_memory,
        graph=traced.graph,
        decides=rendered.decides,
        units=rendered.units,
        brief=rendered.brief,
        stacks=rendered.stacks,
        kept=adstack_plan.bound(rendered.kept, module.arrays, lambda numbers: _slots(traced, numbers)),
        attributes=traced.attributes,
    )


def _slots(traced: Traced, numbers: set[int]) -> tuple[int, ...]:
    """The slots of arrays with these numbers."""
    return tuple(
        k
        for k, bound in enumerate(traced.bindings)
        if bound.kind == "array"
        and bound.target.number in numbers
        or bound.kind == "view"
        and bound.target.decl.number in numbers
    )


def _names(tasks: list[Task], device: bool) -> tuple[str, ...]:
    """Names of tasks in the order in which a launch notes when they ran: on a CPU those that count come last."""
    return tuple(t.name for t in (tasks if device else sorted(tasks, key=lambda t: t.sizing)))


def _slot(bound: Bound, layout: ArgsLayout) -> Slot:
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
