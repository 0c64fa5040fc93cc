"""No two variables of a task or function have one name where both can be seen.

Passes name the variables that they make for what these hold, and know neither of one another nor of the user's names.
"""

from __future__ import annotations

from quadrants.ir import rename
from quadrants.ir.nodes import Module


def distinct_names(module: Module) -> Module:
    taken = rename.names_of(module)
    for task in module.tasks:
        declared = [declare for declare, _ in task.reductions]
        final = [branch for _, branch in task.reductions]
        rename.unique_names([*task.pre, *declared, *task.body, *final], taken, task.loop.vars if task.loop else ())
    for function in module.functions:
        rename.unique_names(function.body, taken, function.params)
    return module
