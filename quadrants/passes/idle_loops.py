"""Loops that do nothing, which end the process in some compilers where they are nested.

    for i in range(n):          (nothing)
        for j in range(m):
            x = i + j

Nothing is what writes to variables of its own alone. A `while` may have no end, so it stays.
"""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir import walk

_LEAVES = (n.While, n.Return, n.Leave, n.StopGrad, n.Region)


def idle_loops(module: n.Module) -> n.Module:
    """Leave them out."""
    for body in (*(task.body for task in module.tasks), *(function.body for function in module.functions)):
        body[:] = _without(body)
    return module


def _without(body: list[n.Stmt]) -> list[n.Stmt]:
    kept = [s for s in body if not (isinstance(s, n.For) and _is_idle(s))]
    for s in kept:
        walk.update_blocks(s, _without)
    return kept


def _is_idle(loop: n.For) -> bool:
    """Whether nothing of a loop, its bounds included, can be seen behind it."""
    inner = list(walk.statements([loop]))
    if any(isinstance(s, _LEAVES) for s in inner) or walk.has_effects([loop]):
        return False
    loops = [s for s in inner if isinstance(s, n.For)]
    if any(isinstance(s, n.Break) and s.loop is not None and s.loop not in loops for s in inner):
        return False
    own = {s.var for s in inner if isinstance(s, n.Declare)}.union(*(s.vars for s in loops))
    written = [place for node in walk.walk([loop]) for place in walk.written_places(node)]
    return all(walk.root_var(place) in own for place in written)
