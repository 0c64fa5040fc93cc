"""Forward mode: the primal, with a dual beside every active variable and cell.

    v = sin(x[i])           dual_v = cos(x[i]) * x_dual[i];  v = sin(x[i])
    y[i] = v * v     ->     y_dual[i] = v * dual_v + v * dual_v;  y[i] = v * v
    y[i] += v               atomic add of v to y[i] and of dual_v to y_dual[i]

A dual is computed before the assignment it belongs to, which may change what it is made from.
"""

from __future__ import annotations

from quadrants.ad import matrix_rules, rules
from quadrants.ad.activity import Activity, is_real
from quadrants.ad.build import add, cast, derivative_call, element, fitted, is_differentiated, is_zero, select, zero
from quadrants.ad.refusals import Refusals
from quadrants.ad.sweep import components
from quadrants.ir import walk
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Cast,
    Cell,
    Declare,
    Elem,
    ElemPlace,
    Eval,
    Load,
    Make,
    MatOp,
    MemberPlace,
    Select,
    StopGrad,
    Store,
    Unary,
    Var,
    VarPlace,
)
from quadrants.ir.types import TensorType, element_dtype
from quadrants.ir.walk import root


class Forward:
    """Adds the duals to the body of one kernel."""

    def __init__(self, activity: Activity, refusals: Refusals):
        self.activity = activity
        self.refusals = refusals
        self.duals: dict = {}

    def block(self, body: list) -> list:
        out: list = []
        for s in body:
            self.statement(s, out)
        return out

    def dual_of(self, var: Var) -> Var:
        made = self.duals.get(var.id)
        if made is None:
            made = self.duals[var.id] = Var(f"dual_{var.name}", var.type, True, level=var.level)
        return made

    # ------------------------------------------------------------ statements

    def statement(self, s, out: list) -> None:
        walk.update_blocks(s, self.block)
        if isinstance(s, Declare):
            if isinstance(s.init, Atomic):
                self.atomic(s.init, s.loc, out)
                if self.activity.is_active(s.var):
                    out.append(Declare(self.dual_of(s.var), zero(s.var.type), s.loc))
            elif is_differentiated(s.init):
                self.call(s, out)
                return
            elif self.activity.is_active(s.var):
                out.append(Declare(self.dual_of(s.var), self.dual(s.init) or zero(s.var.type), s.loc))
        elif isinstance(s, Store):
            self.store(s, out)
        elif isinstance(s, Eval) and isinstance(s.value, Atomic):
            self.atomic(s.value, s.loc, out)
        if not isinstance(s, StopGrad):
            out.append(s)

    def call(self, s: Declare, out: list) -> None:
        """The duals of the results are computed from the results."""
        out.append(s)
        if self.activity.is_active(s.var):
            duals = [self.dual(a) or zero(a.type) for a in s.init.args]
            out.append(Declare(self.dual_of(s.var), derivative_call(s.init, duals, s.var), s.loc))

    def store(self, s: Store, out: list) -> None:
        at = root(s.place)
        if isinstance(at, VarPlace):
            wanted = self.activity.is_active(at.var)
        else:
            wanted = self.activity.companion(at.array) is not None and is_real(s.place.type)
        if wanted:
            out.append(Store(self.companion(s.place), self.dual(s.value) or zero(s.place.type), s.loc))

    def atomic(self, e: Atomic, loc, out: list) -> None:
        at = root(e.place)
        if isinstance(at, VarPlace) or self.activity.companion(at.array) is None or not is_real(e.place.type):
            return
        if e.op not in ("add", "sub"):
            self.refusals.atomic(e.op, at.array, loc)
        value = self.dual(e.args[0])
        if value is not None:
            for k, part in enumerate(components(self.companion(e.place))):
                one = element(value, k) if isinstance(value.type, TensorType) else value
                out.append(Eval(Atomic(e.op, part, (one,), part.type), loc))

    def companion(self, p):
        """The place of the dual of what is at a place."""
        if isinstance(p, VarPlace):
            dual = self.dual_of(p.var)
            return VarPlace(dual, dual.type)
        if isinstance(p, Cell):
            return Cell(self.activity.companion(p.array), p.indices, p.type)
        if isinstance(p, MemberPlace):
            return MemberPlace(self.companion(p.base), p.name, p.type)
        return ElemPlace(self.companion(p.base), p.indices, p.type)

    # ------------------------------------------------------------ expressions

    def dual(self, e):
        """The dual of an expression; None where it is zero."""
        if not self.activity.is_varied(e):
            return None
        return getattr(self, "_" + type(e).__name__.lower())(e)

    def _load(self, e: Load):
        at = root(e.place)
        if isinstance(at, VarPlace) and not self.activity.is_active(at.var):
            return None
        place = self.companion(e.place)
        return Load(place, e.type)

    def _elementwise(self, operands: tuple, row: tuple, t):
        values = dict(zip("xyz", operands))
        parts = []
        for x, entry in zip(operands, row):
            d = self.dual(x) if entry is not None else None
            if d is not None:
                parts.append(fitted(entry[1](d, *(values[k] for k in entry[0])), t))
        return self._sum(parts)

    @staticmethod
    def _sum(parts: list):
        total = None
        for part in parts:
            if not is_zero(part):
                total = part if total is None else add(total, part)
        return total

    def _unary(self, e: Unary):
        return self._elementwise((e.a,), rules.of(e.op, 1), e.type)

    def _binary(self, e: Binary):
        return self._elementwise((e.a, e.b), rules.of(e.op, 2), e.type)

    def _matop(self, e: MatOp):
        values = dict(zip("xyz", e.args))
        parts = []
        for x, entry in zip(e.args, matrix_rules.of(e.op, len(e.args))):
            d = self.dual(x) if entry is not None else None
            if d is not None:
                part = entry[2](d, x.type, *(values[k] for k in entry[0]))
                parts.append(fitted(part, e.type))
        return self._sum(parts)

    def _select(self, e: Select):
        a, b = self.dual(e.a), self.dual(e.b)
        if a is None and b is None:
            return None
        t = e.type
        return fitted(select(e.cond, fitted(a or zero(e.a.type), t), fitted(b or zero(e.b.type), t)), t)

    def _cast(self, e: Cast):
        d = self.dual(e.a)
        return None if d is None else cast(d, element_dtype(e.type))

    def _make(self, e: Make):
        parts = [self.dual(p) for p in e.parts]
        if all(p is None for p in parts):
            return None
        return Make(tuple(d if d is not None else zero(p.type) for d, p in zip(parts, e.parts)), e.type)

    def _elem(self, e: Elem):
        d = self.dual(e.a)
        return None if d is None else Elem(d, e.indices, e.type)
