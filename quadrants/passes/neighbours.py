"""Which parallel loops read cells next to each other: `a[i - 1, j] + a[i + 1, j]`.

A device then does well to have the iterations of a block near each other in every axis, and not all in one row.
"""

from __future__ import annotations

from quadrants.ir import walk
from quadrants.ir.nodes import (
    Binary,
    Builtin,
    Cell,
    Const,
    Elem,
    ElemPlace,
    Expr,
    For,
    Intrinsic,
    Load,
    Module,
    Rand,
    Task,
    VarPlace,
)
from quadrants.ir.types import TensorType
from quadrants.passes.own_cells import Values


def find_neighbours(module: Module) -> Module:
    """Set `near` of every task."""
    for task in module.tasks:
        if task.loop is not None and len(task.loop.vars) > 1:
            task.near = _is_near(task, task.loop)
    return module


def _is_near(task: Task, loop: For) -> bool:
    """Whether some array is read at two distances along an axis other than the last, which threads of a row do not
    share. Not so where it can be seen which thread does an iteration, or in which order they are numbered.
    """
    nodes = list(walk.with_functions(task.body))
    if any(isinstance(node, (Builtin, Intrinsic, Rand)) for node in nodes):
        return False
    values = _Distances(nodes, loop.vars)
    outer = {v.id for v in loop.vars[:-1]}
    seen: dict[tuple[int, int, int], set[int]] = {}
    for node in nodes:
        if isinstance(node, Cell):
            for axis, e in enumerate(node.indices):
                found = values.distance(e)
                if found is not None and found[0] in outer:
                    seen.setdefault((node.array.id, axis, found[0]), set()).add(found[1])
    return any(len(distances) > 1 for distances in seen.values())


class _Distances(Values):
    """Finds the loop variable and the constant whose sum an index is."""

    def distance(self, e: Expr) -> tuple[int, int] | None:
        """(id of a loop variable, number added to it), or None."""
        added = 0
        for _ in range(12):
            found = self.variable(e)
            if found is not None:
                return found, added
            e = _of_sum(self.simpler(e))
            if not isinstance(e, Binary) or e.op not in ("add", "sub") or isinstance(e.type, TensorType):
                continue
            a, b = self.number(e.a), self.number(e.b)
            if b is not None:
                added, e = added + (b if e.op == "add" else -b), e.a
            elif a is not None and e.op == "add":
                added, e = added + a, e.b
            else:
                return None
        return None

    def simpler(self, e: Expr) -> Expr:
        found = super().simpler(e)
        if found is e and isinstance(e, Load) and isinstance(e.place, ElemPlace):
            whole = self.once.get(e.place.base.var.id) if isinstance(e.place.base, VarPlace) else None
            return Elem(whole, e.place.indices, e.type) if isinstance(whole, Binary) else e
        return found

    def number(self, e: Expr) -> int | None:
        for _ in range(4):
            if isinstance(e, Const):
                return int(e.value)
            e = self.simpler(e)
        return None


def _of_sum(e: Expr) -> Expr:
    """An element of a sum of vectors as the sum of elements."""
    if isinstance(e, Elem) and isinstance(e.a, Binary) and isinstance(e.a.type, TensorType):
        a, b = [Elem(x, e.indices, e.type) if isinstance(x.type, TensorType) else x for x in (e.a.a, e.a.b)]
        return Binary(e.a.op, a, b, e.type)
    return e
