"""Which kernels a derivative can be made of at all."""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk


def writes_companions(body: list[n.Stmt], which: str) -> bool:
    """Whether a body may write a cell that has a companion. which: "grad" or "dual"."""
    seen: set[int] = set()
    bodies: list[Any] = [body]
    while bodies:
        for node in walk.walk(bodies.pop()):
            if isinstance(node, n.Call) and id(node.func) not in seen:
                seen.add(id(node.func))
                bodies.append(node.func.body)
            if any(_has(place, which) for place in _written(node)):
                return True
    return False


def _written(node: n.Node) -> list[Any]:
    if isinstance(node, (n.Store, n.Atomic)):
        return [node.place]
    return [a for a in node.args if isinstance(a, n.PLACES)] if isinstance(node, (n.Call, n.Intrinsic)) else []


def _has(place: Any, which: str) -> bool:
    cell = walk.root(place)
    return isinstance(cell, n.Cell) and getattr(cell.array, which) is not None
