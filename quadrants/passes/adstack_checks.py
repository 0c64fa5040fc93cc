"""Messages of stacks that are too short name the task, which is known only when the body is split, and its stacks."""

from __future__ import annotations

from quadrants.ir.adstack_heaps import constant, of_task
from quadrants.ir.nodes import Check, Const, Module
from quadrants.ir.walk import walk

# More would not fit in the record of a failure.
_MOST_VALUES = 22


def number_stack_checks(module: Module) -> Module:
    """Put the number of its task and the sizes of the stacks there into the message of every check of a stack."""
    for number, task in enumerate(module.tasks):
        checks = [c for c in walk(task.body) if isinstance(c, Check) and module.sites[c.site][0][0] == "adstack"]
        stacks = of_task(task) if checks else []
        for check in checks:
            (kind, label, forced, *_), frames, name = module.sites[check.site]
            check.values, slots = _with_depths(check.values, stacks)
            module.sites[check.site] = ((kind, label, forced, number, slots), frames, name)
    return module


def _with_depths(values: tuple, stacks: list) -> tuple:
    """`values`, of which the last is the limit of one stack, with the depths of others behind them; and
    ((label, slots or None, number of the value that has them or None), ...).
    """
    found = list(values)
    places = {} if isinstance(values[-1], Const) else {values[-1].place.var.id: len(values) - 1}
    slots: list = []
    for stack in stacks:
        count = stack.source.count
        if isinstance(count, Const):
            slots.append((stack.label, constant(stack), None))
            continue
        if count.place.var.id not in places and len(found) < _MOST_VALUES:
            places[count.place.var.id] = len(found)
            found.append(count)
        slots.append((stack.label, None, places.get(count.place.var.id)))
    return tuple(found), tuple(slots)
