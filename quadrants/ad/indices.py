"""Indices of cells as a parallel loop sees them: arithmetic on loop variables, numbers, and what comes from outside.

    a[2 * i + j, n]   ->   ("add", ("mul", 2, ("i", i)), ("j", j)) and ("fixed", n), with i of the parallel loop
                      ->   sums of steps: 2 * step of i + step of j, and 1 * n

A form that cannot be told is None. A step counts the iterations of a loop from 0, wherever that begins.
"""

from __future__ import annotations

from dataclasses import dataclass

from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Cast,
    Const,
    Declare,
    ElemPlace,
    Extent,
    For,
    Load,
    Make,
    Store,
    Unary,
    VarPlace,
)
from quadrants.ir.ops import COMPARISONS
from quadrants.ir.types import TensorType, element_dtype
from quadrants.ir.walk import root_var, walk


@dataclass
class Sum:
    """A number plus multiples of terms: ("step", variable) of a loop around, or a form without any loop variable."""

    number: int
    terms: dict

    def plus(self, other: Sum, times: int = 1) -> Sum:
        terms = dict(self.terms)
        for term, count in other.terms.items():
            terms[term] = terms.get(term, 0) + times * count
        return Sum(self.number + times * other.number, {t: n for t, n in terms.items() if n})


class Indices:
    """Forms of the expressions in one parallel loop."""

    def __init__(self, loop: For):
        self.outer = {v.id for v in loop.vars}  # of the parallel loop itself
        self.bounds = dict(zip((v.id for v in loop.vars), loop.bounds))
        self.inside: set = set()  # variables that this loop sets, other than those of loops
        self.defined = self._assigned_once(loop)
        self._lengths: dict = {}

    def _assigned_once(self, loop: For) -> dict:
        found, changed = {}, set()
        for node in walk(loop.body):
            if isinstance(node, Declare):
                found[node.var.id] = node.init
            elif isinstance(node, For):
                self.bounds.update(zip((v.id for v in node.vars), node.bounds))
            elif isinstance(node, (Store, Atomic)):
                var = root_var(node.place)
                if var is not None:
                    changed.add(var.id)
        self.inside = changed | set(found)
        return {k: e for k, e in found.items() if k not in changed}

    # ------------------------------------------------------------ forms

    def form(self, e):
        """An index as nested tuples over loop variables ("i" of the parallel loop, "j" of one inside) and what comes
        from outside ("fixed").
        """
        e = self.resolved(e)
        if isinstance(e, Const):
            return int(e.value)
        if isinstance(e, Load) and isinstance(e.place, VarPlace):
            return self._variable(e.place.var.id)
        if isinstance(e, Extent):
            return ("fixed", ("extent", e.array.id, e.axis))
        if isinstance(e, Cast) and not e.bits and e.a.type.is_integral:
            a = self.form(e.a)
            return None if a is None else (e.type.name, a)
        if isinstance(e, Unary) and e.op == "neg" and is_index(e):
            a = self.form(e.a)
            return None if a is None else ("sub", 0, a)
        return self._binary(e) if isinstance(e, Binary) else None

    def _variable(self, var: int):
        if var in self.bounds:
            return ("i" if var in self.outer else "j", var)
        return None if var in self.inside else ("fixed", var)

    def _binary(self, e: Binary):
        a, b = self.form(e.a), self.form(e.b)
        if a is None or b is None:
            return None
        if not is_index(e):
            return (e.op + e.type.name, a, b)
        if e.op == "sub" and isinstance(b, int):
            return shifted(a, -b)
        if e.op == "add" and (isinstance(a, int) or isinstance(b, int)):
            return shifted(a, b) if isinstance(b, int) else shifted(b, a)
        return (e.op, a, b)

    def resolved(self, e):
        """What a variable that is assigned once was assigned, and what casts between counting numbers hold."""
        for _ in range(32):
            if isinstance(e, Cast) and not e.bits and element_dtype(e.a.type).is_integral and is_index(e):
                e = e.a
            elif isinstance(e, Load) and isinstance(e.place, VarPlace) and e.place.var.id in self.defined:
                e = self.defined[e.place.var.id]
            elif isinstance(e, Load) and isinstance(e.place, ElemPlace):
                part = self._part(Load(e.place.base, e.place.base.type), e.place.indices)
                if part is None:
                    break
                e = part
            else:
                break
        return e

    def _part(self, e, indices: tuple):
        """A component of a vector, where it was put together in this loop."""
        if len(indices) != 1 or not isinstance(indices[0], Const):
            return None
        e = self.resolved(e)
        if isinstance(e, Make):
            return e.parts[int(indices[0].value)]
        if not isinstance(e, Binary) or not isinstance(e.type, TensorType):
            return None
        sides = [self._part(x, indices) if isinstance(x.type, TensorType) else x for x in (e.a, e.b)]
        return None if None in sides else Binary(e.op, *sides, element_dtype(e.type))

    # ------------------------------------------------------------ sums

    def sum(self, form) -> Sum | None:
        """A form as a sum; None if it is none, as i % 2."""
        if form is None:
            return None
        if isinstance(form, int):
            return Sum(form, {})
        if form[0] in ("i", "j"):
            begin = self.sum(self.form(self.bounds[form[1]][0]))
            return None if begin is None else begin.plus(Sum(0, {("step", form[1]): 1}))
        if form[0] == "shift":
            inner = self.sum(form[1])
            return None if inner is None else inner.plus(Sum(form[2], {}))
        known = self._arithmetic(form) if form[0] in ("add", "sub", "mul") else None
        return Sum(0, {form: 1}) if known is None and not mentions(form, ("i", "j")) else known

    def _arithmetic(self, form) -> Sum | None:
        a, b = self.sum(form[1]), self.sum(form[2])
        if a is None or b is None:
            return None
        if form[0] != "mul":
            return a.plus(b, 1 if form[0] == "add" else -1)
        if a.terms and b.terms:
            return None
        return Sum(0, {}).plus(a, b.number) if a.terms else Sum(0, {}).plus(b, a.number)

    def length(self, var: int) -> Sum | None:
        """How often the loop of a variable runs."""
        if var not in self._lengths:
            begin, end = (self.sum(self.form(e)) for e in self.bounds[var])
            self._lengths[var] = None if begin is None or end is None else end.plus(begin, -1)
        return self._lengths[var]

    # ------------------------------------------------------------ conditions

    def condition(self, e, wanted: bool):
        """("all" or "any", conditions..), or (comparison, two forms, whether it holds); None for one that has anything
        but loop variables and numbers in it.
        """
        if isinstance(e, Const):
            return ("all",) if bool(e.value) == wanted else ("any",)
        if isinstance(e, Load) and isinstance(e.place, VarPlace) and e.place.var.id in self.defined:
            return self.condition(self.defined[e.place.var.id], wanted)
        if isinstance(e, Unary) and e.op == "logic_not":
            return self.condition(e.a, not wanted)
        if not isinstance(e, Binary):
            return None
        if e.op in ("logic_and", "logic_or"):
            sides = self.condition(e.a, wanted), self.condition(e.b, wanted)
            return None if None in sides else ("all" if (e.op == "logic_and") == wanted else "any", *sides)
        if e.op not in COMPARISONS or isinstance(e.a.type, TensorType) or isinstance(e.b.type, TensorType):
            return None
        if not e.a.type.is_integral or not e.b.type.is_integral:
            return None
        forms = self.form(e.a), self.form(e.b)
        return None if any(f is None or mentions(f, ("fixed",)) for f in forms) else (e.op, *forms, wanted)


def is_index(e) -> bool:
    """Whether a number is one as the loops count: of fewer bits, different numbers may become the same."""
    return element_dtype(e.type).bits >= 32


def shifted(form, step: int):
    if isinstance(form, int):
        return form + step
    if form[0] == "shift":
        form, step = form[1], form[2] + step
    return form if step == 0 else ("shift", form, step)


def mentions(form, kinds) -> bool:
    """Whether variables of these kinds are in a form."""
    return isinstance(form, tuple) and (form[0] in kinds or any(mentions(part, kinds) for part in form[1:]))
