"""Messages of stacks that are too short name the task, which is known only when the body is split, and its stacks."""

from __future__ import annotations

from quadrants.ir.adstack_heaps import constant, of_task
from quadrants.ir.nodes import ArrayDecl, Check, Const, Expr, Load, Module, StackDepth, VarPlace
from quadrants.ir.walk import statements

# Label, slots or None, and the number of the value that has them or None.
Slots = tuple[str, int | None, int | None]

# More would not fit in the record of a failure.
_MOST_VALUES = 22


def number_stack_checks(module: Module) -> Module:
    """Put the number of its task and the sizes of the stacks there into the message of every check of a stack."""
    for number, task in enumerate(module.tasks if module.stacked else ()):
        checks = [c for c in statements(task.body) if isinstance(c, Check) and module.sites[c.site][0][0] == "adstack"]
        stacks = of_task(task) if checks else []
        for check in checks:
            (kind, label, forced, *_), frames, name = module.sites[check.site]
            check.values, slots = _with_depths(check.values, stacks)
            module.sites[check.site] = ((kind, label, forced, number, slots), frames, name)
    return module


def _with_depths(values: tuple[Expr, ...], stacks: list[ArrayDecl]) -> tuple[tuple[Expr, ...], tuple[Slots, ...]]:
    """`values`, of which the last is the limit of one stack, with the depths of others behind them; and
    ((label, slots or None, number of the value that has them or None), ...).
    """
    found = list(values)
    limit, places = values[-1], {}
    if isinstance(limit, Load) and isinstance(limit.place, VarPlace):
        places[limit.place.var.id] = len(values) - 1
    slots: list[Slots] = []
    for stack in stacks:
        depth: StackDepth = stack.source
        if isinstance(depth.count, Const):
            slots.append((stack.label, constant(stack), None))
            continue
        if depth.var.id not in places and len(found) < _MOST_VALUES:
            places[depth.var.id] = len(found)
            found.append(depth.count)
        slots.append((stack.label, None, places.get(depth.var.id)))
    return tuple(found), tuple(slots)
