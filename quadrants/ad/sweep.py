"""Expressions on their way through the forward sweep of reverse mode.

`Sweep.expression` copies an expression over the variables of the sweep, declares the operands that derivative factors
need, and returns with the copy its *pullback*: what writes, given the adjoint of the expression, the adjoints of
what it was made from.
"""

from __future__ import annotations

from quadrants.ad import matrix_rules, rules
from quadrants.ad.activity import Activity
from quadrants.ad.build import binary, cast, element, fitted, is_atom, is_zero, select, variable, zero
from quadrants.ir import rename
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Cast,
    Cell,
    Const,
    Declare,
    Elem,
    ElemPlace,
    Eval,
    Load,
    Make,
    MatOp,
    MemberPlace,
    Select,
    Store,
    Unary,
    Var,
    VarPlace,
)
from quadrants.ir.types import TensorType, element_dtype
from quadrants.ir.walk import root

NAMES = "xyzuvw"


class Backward:
    """A block of the backward sweep."""

    def __init__(self, loc=None):
        self.lines: list = []
        self.loc = loc

    def hold(self, g):
        """An adjoint that is used several times."""
        if is_atom(g) or isinstance(g, Load) and isinstance(root(g.place), VarPlace):
            return g
        var = Var("g", g.type, False, level=1, temporary=True)
        self.lines.append(Declare(var, g, self.loc))
        return variable(var)

    def snapshot(self, place):
        """The value that a variable has now."""
        var = Var("g", place.type, False, level=1, temporary=True)
        self.lines.append(Declare(var, Load(place, place.type), self.loc))
        return variable(var)

    def accumulate(self, place, g) -> None:
        """Add to an adjoint variable, or to a component of one."""
        self.lines.append(Store(place, binary("add", Load(place, place.type), g), self.loc))

    def atomic(self, cell, g) -> None:
        """Add to a cell of a gradient, component by component."""
        if isinstance(g.type, TensorType) and not isinstance(g, Make):
            g = self.hold(g)
        for k, part in enumerate(components(cell)):
            value = element(g, k) if isinstance(g.type, TensorType) else g
            if not is_zero(value):
                self.lines.append(Eval(Atomic("add", part, (value,), part.type), self.loc))

    def store(self, place, value) -> None:
        self.lines.append(Store(place, value, self.loc))


def components(place) -> list:
    """The scalar places of a cell or of a part of one, row major."""
    t = place.type
    if not isinstance(t, TensorType):
        return [place]
    if isinstance(place, Cell) and place.array.components is not None:
        return [Cell(part, place.indices, part.type) for part in place.array.components]
    shape = t.shape
    if len(shape) == 1:
        return [ElemPlace(place, (_index(i),), t.dtype) for i in range(shape[0])]
    return [ElemPlace(place, (_index(i), _index(j)), t.dtype) for i in range(shape[0]) for j in range(shape[1])]


def _index(k: int) -> Const:
    from quadrants.ir.types import i32

    return Const(k, i32)


class Sweep:
    """The forward sweep of one block: `lines` of text, and `env` from the primal's variables to their versions."""

    def __init__(self, activity: Activity, adjoints: dict, env: dict):
        self.activity = activity
        self.adjoints = adjoints
        self.env = dict(env)
        self.lines: list = []
        self.kept: set = {v.id for v in env.values()}  # versions that the backward sweep may read: never changed
        self.constant: set = set()  # versions of variables that the primal assigns once
        self.loc = None

    # ------------------------------------------------------------ values that the backward sweep reads

    def plain(self, e):
        """A copy of an expression through which no derivative flows."""
        return rename.expression(e, self.env)

    def atom(self, e, name: str = "t"):
        """A copied value as the backward sweep can read it: a number or a version that stays as it is."""
        if isinstance(e, Const):
            return e
        if isinstance(e, Load) and isinstance(e.place, VarPlace):
            self.kept.add(e.place.var.id)
            return e
        if isinstance(e, Load) and self._is_part_of_constant(e.place):
            return e
        if not isinstance(e.type, TensorType) and isinstance(e, Cast) and isinstance(e.a, Const):
            return e
        var = Var(self.name_of(e, name), e.type, False, level=1, temporary=True)
        self.lines.append(Declare(var, e, self.loc))
        return variable(var)

    def _is_part_of_constant(self, p) -> bool:
        while isinstance(p, ElemPlace) and all(isinstance(i, Const) for i in p.indices):
            p = p.base
        return isinstance(p, VarPlace) and p.var.id in self.constant

    @staticmethod
    def name_of(e, name: str) -> str:
        at = root(e.place) if isinstance(e, Load) else None
        if isinstance(at, Cell):
            return f"{at.array.name}_value"
        return at.var.name if at is not None else name

    def fixed_place(self, p):
        """A copied place whose indices the backward sweep can read; variables stand for their adjoints."""
        if isinstance(p, VarPlace):
            adjoint = self.adjoints[p.var.id]
            return VarPlace(adjoint, adjoint.type)
        if isinstance(p, Cell):
            at = tuple(self.atom(self.plain(e), "i") for e in p.indices)
            return Cell(p.array, at, p.type)
        if isinstance(p, MemberPlace) and isinstance(p.base, VarPlace):
            adjoint = self.adjoints[p.base.var.id][p.name]
            return VarPlace(adjoint, adjoint.type)
        if isinstance(p, MemberPlace):
            return MemberPlace(self.fixed_place(p.base), p.name, p.type)
        base = self.fixed_place(p.base)
        return ElemPlace(base, tuple(self.atom(self.plain(e), "i") for e in p.indices), p.type)

    def companion_place(self, p):
        """The place in the gradient that belongs to a fixed place in an array."""
        if isinstance(p, Cell):
            decl = self.activity.companion(p.array)
            return Cell(decl, p.indices, p.type)
        return ElemPlace(self.companion_place(p.base), p.indices, p.type)

    # ------------------------------------------------------------ expressions

    def expression(self, e):
        """(copy, pullback); the pullback is None where no derivative flows."""
        if not self.activity.is_varied(e):
            return self.plain(e), None
        return getattr(self, "_" + type(e).__name__.lower())(e)

    def _load(self, e: Load):
        fixed = self.fixed_place(e.place)
        if isinstance(root(e.place), Cell):
            copy = Load(fixed, e.type, e.origin)
            cell = self.companion_place(fixed)
            return copy, lambda g, out: out.atomic(cell, g)
        return self.plain(e), lambda g, out: out.accumulate(fixed, g)

    def _operands(self, operands: tuple, row: tuple):
        """(copies, pullbacks) of operands, with atoms for those that the contributions of `row` need."""
        made = [self.expression(x) for x in operands]
        needed = {name for (_, pull), entry in zip(made, row) if pull is not None and entry for name in entry[0]}
        copies = [self.atom(x) if NAMES[k] in needed else x for k, (x, _) in enumerate(made)]
        return copies, [pull if entry is not None else None for (_, pull), entry in zip(made, row)]

    @staticmethod
    def _contributions(parts: list, g, out: Backward) -> None:
        """Send `g` through every (contribution, pullback)."""
        if len(parts) > 1:
            g = out.hold(g)
        for contribution, pull in parts:
            value = contribution(g)
            if not is_zero(value):
                pull(value, out)

    def _elementwise(self, operands: tuple, row: tuple):
        copies, pulls = self._operands(operands, row)
        values = {NAMES[k]: x for k, x in enumerate(copies)}
        parts = []
        for entry, pull, x in zip(row, pulls, copies):
            if pull is not None:
                args = [values[name] for name in entry[0]]
                parts.append((_scalar_rule(entry[1], args, x.type), pull))
        return copies, lambda g, out: self._contributions(parts, g, out)

    def _unary(self, e: Unary):
        copies, pull = self._elementwise((e.a,), rules.of(e.op, 1))
        return Unary(e.op, copies[0], e.type), pull

    def _binary(self, e: Binary):
        copies, pull = self._elementwise((e.a, e.b), rules.of(e.op, 2))
        return Binary(e.op, *copies, e.type, e.loc), pull

    def _matop(self, e: MatOp):
        row = matrix_rules.of(e.op, len(e.args))
        copies, pulls = self._operands(e.args, row)
        values = {NAMES[k]: x for k, x in enumerate(copies)}
        parts = []
        for entry, pull, x in zip(row, pulls, copies):
            if pull is not None:
                args = [values[name] for name in entry[0]]
                parts.append((_matrix_rule(entry[1], x.type, args), pull))
        return MatOp(e.op, tuple(copies), e.type), lambda g, out: self._contributions_held(parts, g, out)

    def _contributions_held(self, parts: list, g, out: Backward) -> None:
        self._contributions(parts, out.hold(g), out)

    def _select(self, e: Select):
        cond = self.atom(self.plain(e.cond), "chosen")
        (a, pull_a), (b, pull_b) = self.expression(e.a), self.expression(e.b)
        parts = []
        if pull_a is not None:
            parts.append((lambda g: fitted(select(cond, g, zero(g.type)), a.type), pull_a))
        if pull_b is not None:
            parts.append((lambda g: fitted(select(cond, zero(g.type), g), b.type), pull_b))
        return Select(cond, a, b, e.type, e.lazy), lambda g, out: self._contributions(parts, g, out)

    def _cast(self, e: Cast):
        a, pull = self.expression(e.a)
        dtype = element_dtype(e.a.type)
        return Cast(a, e.type, e.bits), lambda g, out: pull(cast(g, dtype), out)

    def _make(self, e: Make):
        made = [self.expression(p) for p in e.parts]
        pulls = [(k, pull) for k, (_, pull) in enumerate(made) if pull is not None]

        def back(g, out: Backward) -> None:
            g = out.hold(g)
            for k, pull in pulls:
                part = element(g, k)
                if not is_zero(part):
                    pull(part, out)

        return Make(tuple(p for p, _ in made), e.type), back

    def _elem(self, e: Elem):
        raise AssertionError("components of expressions are taken apart before")


def _scalar_rule(function, args: list, t):
    return lambda g: fitted(function(g, *args), t)


def _matrix_rule(function, t, args: list):
    return lambda g: function(g, t, *args)
