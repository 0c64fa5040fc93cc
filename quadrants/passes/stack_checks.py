"""Messages of stacks that are too short name the task, which is known only when the body is split."""

from __future__ import annotations

from quadrants.ir.nodes import Check, Module
from quadrants.ir.walk import walk


def number_stack_checks(module: Module) -> Module:
    """Put the number of its task into the message of every check of a stack."""
    for number, task in enumerate(module.tasks):
        for node in walk(task.body):
            if isinstance(node, Check) and module.sites[node.site][0][0] == "adstack":
                (kind, label, forced, *_), frames, name = module.sites[node.site]
                module.sites[node.site] = ((kind, label, forced, number), frames, name)
    return module
