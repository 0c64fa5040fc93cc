"""Indices of cells as a parallel loop sees them: arithmetic on loop variables, numbers, and what comes from outside.

    a[2 * i + j, n]   ->   ("add", ("mul", 2, ("i", i)), ("j", j)) and ("fixed", n), with i of the parallel loop
                      ->   sums of steps: 2 * step of i + step of j, and 1 * n

A form that cannot be told is None. A step counts the iterations of a loop from 0, wherever that begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from quadrants.ad.components import component
from quadrants.ad.versions import Versions
from quadrants.ir.nodes import (
    Binary,
    Cast,
    Const,
    ElemPlace,
    Extent,
    For,
    Load,
    MatOp,
    Select,
    Unary,
    VarPlace,
)
from quadrants.ir.ops import COMPARISONS
from quadrants.ir.types import StructType, TensorType, element_dtype

_VARIANTS = 16  # of one access, by the choices that its indices are made by
_DEPTH, _CALLS = 60, 1000  # of operands below an index, before it counts as unknown

COMPUTED = {
    "mod": lambda a, b: a % b, "floordiv": lambda a, b: a // b, "min": min, "max": max, "abs": abs,
    "bit_and": lambda a, b: a & b, "bit_or": lambda a, b: a | b, "bit_xor": lambda a, b: a ^ b,
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "raw_div": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "raw_mod": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "shl": lambda a, b: a << b if 0 <= b < 32 else None, "shr": lambda a, b: a >> b if 0 <= b < 32 else None,
    "pow": lambda a, b: a**b if 0 <= b < 32 else None, "powi": lambda a, b: a**b if 0 <= b < 32 else None,
    "i8": lambda a: (a + 128) % 256 - 128, "u8": lambda a: a % 256,
    "i16": lambda a: (a + 32768) % 65536 - 32768, "u16": lambda a: a % 65536,
    "ltu1": lambda a, b: int(a < b), "leu1": lambda a, b: int(a <= b), "gtu1": lambda a, b: int(a > b),
    "geu1": lambda a, b: int(a >= b), "equ1": lambda a, b: int(a == b), "neu1": lambda a, b: int(a != b),
}  # fmt: skip
_DIVIDING = ("mod", "floordiv", "raw_div", "raw_mod")


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


@dataclass
class Length:
    """From one form to another; sum: their difference, if it is a sum."""

    sum: Sum | None
    begin: object
    end: object


class Indices:
    """Forms of the expressions in one parallel loop."""

    def __init__(self, loop: For, versions: Versions):
        self.outer = {v.id for v in loop.vars}  # of the parallel loop itself
        self.bounds = versions.bounds
        self.inside = versions.known  # variables that this loop sets, other than those of loops
        self.defined = versions.defined
        self._lengths: dict = {}
        self._forms: dict = {}  # of defined variables that no choice has a part in
        self._conditions: dict = {}
        self._chosen: dict = {}  # by the id of the condition: (condition, whether it holds)
        self._open = None  # a condition that is not chosen yet
        self._depth = self._calls = 0
        for key, e in self.defined.items():
            self._hold(key, e)

    # ------------------------------------------------------------ choices

    def variants(self, indices: tuple, branches: tuple, steps: tuple) -> list:
        """The forms of indices, their sums, the conditions under which they are these (of the branches around them, and
        of the choices that they are made by), and the lengths of the loops around them.
        """
        found: list = []
        waiting: list = [{}]
        while waiting:
            self._chosen, self._open = waiting.pop(), None
            forms = tuple(map(self.form, indices))
            sums = tuple(map(self.sum, forms))
            lengths = {var: self.length(var) for var in steps}
            conditions = tuple(self._known_condition(*c) for c in (*branches, *self._chosen.values()))
            if self._open is None or len(found) + len(waiting) >= _VARIANTS:
                found.append((forms, sums, conditions, lengths, bool(self._chosen)))
            else:
                waiting += [{**self._chosen, id(self._open): (self._open, wanted)} for wanted in (True, False)]
        self._chosen = {}
        return found

    def _choice(self, e: Select):
        """The side of a choice that is chosen; None as long as none is."""
        if id(e.cond) in self._chosen:
            return e.a if self._chosen[id(e.cond)][1] else e.b
        self._open = e.cond
        return None

    def _known_condition(self, e, wanted: bool):
        if self._chosen:
            return self.condition(e, wanted)
        key = (id(e), wanted)
        if key in self._conditions:
            return self._conditions[key]
        open_, self._open = self._open, None
        found = self.condition(e, wanted)
        if self._open is None:
            self._conditions[key] = found
        self._open = self._open or open_
        return found

    def _hold(self, key: int, e) -> None:
        """Keep the form of a variable, once: later ones are made of it."""
        if isinstance(e.type, (StructType, TensorType)) or not e.type.is_integral:
            return
        self._open = None
        form = self.form(e)
        if self._open is None:
            self._forms[key] = form

    # ------------------------------------------------------------ forms

    def form(self, e):
        """An index as nested tuples over loop variables ("i" of the parallel loop, "j" of one inside) and what comes
        from outside ("fixed").
        """
        self._calls = self._calls + 1 if self._depth else 0
        if self._depth > _DEPTH or self._calls > _CALLS:
            return None
        self._depth += 1
        found = self._form(self.resolved(e))
        self._depth -= 1
        return found

    def _form(self, e):
        if isinstance(e, Const):
            return int(e.value) if e.type.is_integral else ("real", float(e.value))
        if isinstance(e, Load) and isinstance(e.place, VarPlace):
            return self._variable(e.place.var.id)
        if isinstance(e, Extent):
            return ("fixed", ("extent", e.array.id, e.axis))
        if isinstance(e, (Cast, Unary)) and not isinstance(e.type, TensorType):
            return self._unary(e)
        if isinstance(e, MatOp):
            return self._fold(e)
        return self._binary(e) if isinstance(e, Binary) and not isinstance(e.type, TensorType) else None

    def _unary(self, e: Cast | Unary):
        a = None if isinstance(e, Cast) and e.bits else self.form(e.a)
        if a is None:
            return None
        if isinstance(e, Cast):
            return (e.type.name, a)
        if e.op == "neg" and is_index(e):
            return ("sub", 0, a)
        return _folded(e.op, a) if is_index(e) else (e.op + e.type.name, a)

    def _variable(self, var: int):
        if var in self._forms:
            return self._forms[var]
        if var in self.bounds:
            return ("i" if var in self.outer else "j", var)
        return None if var in self.inside else ("fixed", var)

    def _binary(self, e: Binary):
        a, b = self.form(e.a), self.form(e.b)
        if a is None or b is None:
            return None
        return _joined(e.op, a, b) if is_index(e) else (e.op + e.type.name, a, b)

    def _fold(self, e: MatOp):
        """The sum, or an end, of the components of a vector."""
        if e.op not in ("sum", "max", "min") or not is_index(e):
            return None
        (vector,) = e.args
        parts = [component(vector, k, self.resolved) for k in range(vector.type.count)]
        forms = [None if part is None else self.form(part) for part in parts]
        if None in forms:
            return None
        op = "add" if e.op == "sum" else e.op
        return reduce(lambda a, b: _joined(op, a, b), forms)

    def resolved(self, e):
        """What a variable was assigned, and what casts between counting numbers hold."""
        for _ in range(32):
            if isinstance(e, Cast) and not e.bits and element_dtype(e.a.type).is_integral and is_index(e):
                e = e.a
            else:
                meant = self._meant(e)
                if meant is None:
                    break
                e = meant
        return e

    def _meant(self, e):
        """What a variable holds, the chosen side of a choice, the component of a vector; None for anything else."""
        if isinstance(e, Select):
            return self._choice(e)
        if not isinstance(e, Load):
            return None
        if isinstance(e.place, ElemPlace):
            return self._part(Load(e.place.base, e.place.base.type), e.place.indices)
        known = isinstance(e.place, VarPlace) and e.place.var.id not in self._forms
        return self.defined.get(e.place.var.id) if known else None

    def _part(self, e, indices: tuple):
        """A component of a vector, where it was put together in this loop."""
        at = self.form(indices[0]) if len(indices) == 1 else None
        return component(e, at, self.resolved) if isinstance(at, int) else None

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

    def length(self, var: int) -> Length | None:
        """How often the loop of a variable runs."""
        if var in self._lengths:
            return self._lengths[var]
        open_, self._open = self._open, None
        forms = tuple(self.form(e) for e in self.bounds[var])
        begin, end = map(self.sum, forms)
        known = None if begin is None or end is None else end.plus(begin, -1)
        found = None if None in forms else Length(known, *forms)
        if self._open is None and not self._chosen:
            self._lengths[var] = found
        self._open = self._open or open_
        return found

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
        if isinstance(e, Select):
            side = self._choice(e)
            return None if side is None else self.condition(side, wanted)
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
    dtype = element_dtype(e.type)
    return dtype.is_integral and dtype.bits >= 32


def computed(op: str, *operands: int | None) -> int | None:
    """The number that an operation of `COMPUTED` makes of numbers, if these are known and it makes any."""
    if None in operands or operands[-1] == 0 and op in _DIVIDING:
        return None
    return COMPUTED[op](*operands)


def _joined(op: str, a, b):
    """The form of an operation on two numbers that count as loops do."""
    if op == "sub" and isinstance(b, int):
        return shifted(a, -b)
    if op == "add" and (isinstance(a, int) or isinstance(b, int)):
        return shifted(a, b) if isinstance(b, int) else shifted(b, a)
    if op == "shl" and isinstance(b, int) and 0 <= b < 31:
        return _folded("mul", a, 1 << b)
    return _folded(op, a, b)


def _folded(op: str, *operands):
    known = op in COMPUTED and all(isinstance(x, int) for x in operands)
    number = computed(op, *operands) if known else None
    return (op, *operands) if number is None else number


def shifted(form, step: int):
    if isinstance(form, int):
        return form + step
    if form[0] == "shift":
        form, step = form[1], form[2] + step
    return form if step == 0 else ("shift", form, step)


def mentions(form, kinds) -> bool:
    """Whether variables of these kinds are in a form."""
    return isinstance(form, tuple) and (form[0] in kinds or any(mentions(part, kinds) for part in form[1:]))
