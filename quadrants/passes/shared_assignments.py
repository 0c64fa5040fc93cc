"""Assignments to a variable that the iterations of a parallel loop share, where they read it as well.

    for i in x:
        s = s + x[i]        # read, then written: what another iteration adds in between is lost

They are a mistake more often than not, and right with one thread: on small data, and on an emulator.
"""

from __future__ import annotations

from quadrants.caller import warn_at
from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.ranges import known_length
from quadrants.passes.user_lines import assigned, users


def warn_of_shared_assignments(module: n.Module) -> None:
    """A warning at the user's line for each variable. Tasks are split."""
    for task in module.tasks if module.shared else ():
        if task.loop is not None and not _has_one_iteration(task.loop):
            _warn(task.body)


def _has_one_iteration(loop: n.For) -> bool:
    return bool(loop.bounds) and all(known_length(*bound) == 1 for bound in loop.bounds)


def _warn(body: list[n.Stmt]) -> None:
    read = {var.id for x in walk.walk(body) if isinstance(x, n.Load) if (var := walk.root_var(x.place)) is not None}
    told: set[int] = set()
    for s in walk.walk(body):
        if not isinstance(s, n.Store) or s.loc is None:
            continue
        var = walk.root_var(s.place)
        if var is None or not var.shared or var.id not in read or var.id in told:
            continue
        told.add(var.id)
        file, line, _ = users(s.loc)[-1]
        written = assigned(file, line, var.name)
        text = (
            f"'{written}' is one variable for all iterations of this parallel loop, which run at the same time: what "
            f"one reads and then assigns, another may have changed in between. Write `{written} += ..`, or "
            f"`qd.atomic_min` or `qd.atomic_max` of it, which are atomic, or give it a value inside of the loop."
        )
        warn_at(file, line, text)
