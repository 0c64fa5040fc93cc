"""Value numbering of a body: expressions with one number have one value wherever both can be computed.

A variable that is assigned once has the number of what it was declared as: `base + d`, written twice, is one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.passes.own_cells import Values


class ValueNumbers:
    """Numbers expressions; None for one whose value depends on when it is computed."""

    def __init__(self, body: list[n.Stmt]) -> None:
        values = Values(list(walk.walk(body)), ())
        self.changed = values.changed
        self.numbers: dict[Any, int] = {}
        self.parts: dict[int, list[int]] = {}  # of what is built from parts
        self.variables: dict[int, int] = {}  # by id, those that are declared as something that has a number
        for var, init in values.once.items():
            number = self.of(init)
            if number is not None:
                self.variables[var] = number

    def of(self, e: n.Expr) -> int | None:
        match e:
            case n.Const():
                return self._number(n.Const, repr(e.value), e.type)  # 0.0 == -0.0, but bits may be taken
            case n.Load():
                return self._of_place(e.place)
            case n.Unary():
                return self._all((e.a,), n.Unary, e.op, e.type)
            case n.Binary():
                return self._all((e.a, e.b), n.Binary, e.op, e.exact, e.type)
            case n.Cast():
                return self._all((e.a,), n.Cast, e.bits, e.type)
            case n.Elem():
                return self._elem(self.of(e.a), e.indices)
            case n.Make():
                return self._made(e)
        return None

    def _of_place(self, place: n.Place) -> int | None:
        if isinstance(place, n.VarPlace):
            return self._of_var(place.var)
        if isinstance(place, n.ElemPlace):
            return self._elem(self._of_place(place.base), place.indices)
        return None

    def _of_var(self, var: n.Var) -> int | None:
        if var.id in self.changed or var.shared or var.by_ref:
            return None
        known = self.variables.get(var.id)
        return self._number(n.Var, var.id) if known is None else known

    def _elem(self, whole: int | None, indices: Sequence[n.Expr]) -> int | None:
        if whole is None:
            return None
        if whole in self.parts and len(indices) == 1 and isinstance(index := indices[0], n.Const):
            parts = self.parts[whole]
            return parts[index.value] if 0 <= index.value < len(parts) else None
        return self._all(indices, n.Elem, whole)

    def _made(self, e: n.Make) -> int | None:
        parts = [self.of(part) for part in e.parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        number = self._number(n.Make, e.type, *known)
        self.parts[number] = known
        return number

    def _all(self, parts: Sequence[n.Expr], *how: Any) -> int | None:
        numbers = [self.of(part) for part in parts]
        return None if None in numbers else self._number(*how, *numbers)

    def _number(self, *key: Any) -> int:
        return self.numbers.setdefault(key, len(self.numbers))
