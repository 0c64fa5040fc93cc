"""Cells that a kernel reads in several statements are read once, so that they get one addition to their gradient.

    a = m * x[i]              x_value = x[i]
    b = x[i] + a       ->     a = m * x_value
                              b = x_value + a

Backwards, what all uses contribute is collected in one variable, and `x_grad[i]` is touched once. The first use must be
one that is surely executed; later ones may lie deeper, in branches and loops. Cells of arrays that the kernel writes
are left alone: there the order of additions matters. What may be the same memory as such an array is read again after
each write.
"""

from __future__ import annotations

from quadrants.ad.build import is_differentiated, variable
from quadrants.ir import walk
from quadrants.ir.forms import form
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Call,
    Cast,
    Cell,
    Declare,
    Elem,
    ElemPlace,
    Eval,
    For,
    Load,
    Make,
    MatOp,
    MemberPlace,
    StopGrad,
    Store,
    Unary,
    Var,
    VarPlace,
)
from quadrants.ir.overlap import may_overlap
from quadrants.ir.types import StructType, element_dtype
from quadrants.ir.walk import root

_LEFT = (VarPlace, Cell, ElemPlace, MemberPlace, Call)


def share_loads(body: list) -> list:
    """`body`, as `prepare` leaves it, with repeated loads of differentiable cells made variables."""
    excluded = set()
    varying = set()
    for node in walk.only(body, (Store, Atomic, StopGrad)):
        if isinstance(node, StopGrad):
            return body
        at = root(node.place)
        if isinstance(at, Cell):
            excluded.add(at.array.id)
        else:
            varying.add(at.var.id)
    return _Sharing(excluded, varying).block(body, {})


def _written(s) -> list:
    """The differentiable arrays that a statement writes, also below."""
    places = [root(node.place) for node in walk.only(s, (Store, Atomic))]
    return list({at.array.id: at.array for at in places if isinstance(at, Cell) and at.array.grad is not None}.values())


class _Sharing:
    def __init__(self, excluded: set, varying: set):
        self.excluded = excluded
        self.varying = varying
        self.loaded: dict = {}  # the array behind each variable, by id

    def block(self, body: list, known: dict) -> list:
        """A block in which the cells of `known` (by key) have variables already."""
        counts = self._counts(body)
        known, out = dict(known), []
        for s in body:
            written = _written(s)
            if isinstance(s, For):
                self._forget(known, written)
            for key, load in self._sure(s).items():
                if key not in known and counts[key] > 1:
                    var = Var(f"{root(load.place).array.name}_value", load.type, False, level=1, temporary=True)
                    out.append(Declare(var, load, s.loc))
                    known[key] = var
                    self.loaded[var.id] = root(load.place).array
            if isinstance(s, For):
                s.body = self.block(s.body, known)
            else:
                walk.update(s, self.rewrite, known)
            out.append(s)
            self._forget(known, written)
        return out

    def _forget(self, known: dict, written: list) -> None:
        """Drop what a write to these arrays may have changed."""
        for key in [key for key, var in known.items() if any(may_overlap(self.loaded[var.id], a) for a in written)]:
            del known[key]

    def _counts(self, body: list) -> dict:
        """In how many statements of this block, or below them, each cell is read."""
        counts: dict = {}
        for s in body:
            for key in set(map(self.key, walk.only(s, (Load,)))):
                counts[key] = counts.get(key, 0) + 1
        return counts

    def key(self, e: Load):
        """What tells cells apart, if the load can be shared; else None."""
        at = root(e.place)
        if not isinstance(at, Cell) or isinstance(e.type, StructType) or not element_dtype(e.type).is_real:
            return None
        return None if at.array.grad is None or at.array.id in self.excluded else self._place(e.place)

    def _index(self, e):
        return form(e, lambda place: self._place(place) if isinstance(root(place), VarPlace) else None)

    def _place(self, p):
        if isinstance(p, VarPlace):
            return None if p.var.id in self.varying else ("variable", p.var.id)
        base = ("cell", p.array.id) if isinstance(p, Cell) else self._place(p.base)
        at = tuple(map(self._index, getattr(p, "indices", ())))
        return None if base is None or None in at else (base, getattr(p, "name", ""), at)

    # ------------------------------------------------------------ what a statement surely reads

    def _sure(self, s) -> dict:
        """The loads that a statement executes whatever its operands are."""
        found: dict = {}
        if isinstance(s, Declare):
            self._collect(s.init, found)
        elif isinstance(s, (Store, Eval)):
            self._collect(s.value, found)
        return found

    def _collect(self, e, found: dict) -> None:
        if isinstance(e, Load):
            key = self.key(e)
            if key is not None:
                found.setdefault(key, e)
        elif isinstance(e, Binary):
            if element_dtype(e.type).is_real:
                self._collect(e.a, found)
                self._collect(e.b, found)
        elif isinstance(e, (Unary, Cast, Elem)):
            self._collect(e.a, found)
        elif isinstance(e, (MatOp, Atomic)) or is_differentiated(e):
            for a in e.args:
                self._collect(a, found)
        elif isinstance(e, Make):
            for p in e.parts:
                self._collect(p, found)

    # ------------------------------------------------------------ the same statements over the variables

    def rewrite(self, x, known: dict):
        """A block or expression with the variables of the cells that have one; places are left as they are."""
        kind = type(x)
        if kind is list:
            return self.block(x, known)
        if kind is Load:
            var = known.get(self.key(x))
            return x if var is None else variable(var)
        return x if kind in _LEFT and not is_differentiated(x) else walk.rebuilt(x, self.rewrite, known)
