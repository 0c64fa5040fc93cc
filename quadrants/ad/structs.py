"""Struct variables taken apart: one variable a member, so that the rest of differentiation knows no structs.

    p = Particle(pos=x[i], mass=m[i])        p_pos = x[i]; p_mass = m[i]
    p.pos[0] += p.mass                 ->    p_pos[0] += p_mass

What a function with a derivative of its own returns stays together: the derivative is that of all its members.
"""

from __future__ import annotations

from quadrants.ad.build import is_differentiated, variable
from quadrants.ir import walk
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Builtin,
    Call,
    Cast,
    Cell,
    Check,
    Declare,
    Elem,
    ElemPlace,
    Eval,
    For,
    If,
    Load,
    Make,
    MatOp,
    Member,
    MemberPlace,
    Print,
    Return,
    Select,
    Store,
    Unary,
    Var,
    VarPlace,
    Volatile,
    While,
)
from quadrants.ir.types import StructType


def split_structs(body: list) -> list:
    """The statements without struct variables; `body` itself where there are none."""
    found = any(isinstance(s, Declare) and isinstance(s.var.type, StructType) for s in walk.walk(body))
    return _Split().block(body) if found else body


class _Split:
    def __init__(self):
        self.parts: dict = {}  # id of a struct variable -> its members, as variables or again as such a dict

    def block(self, body: list) -> list:
        out: list = []
        for s in body:
            self.statement(s, out)
        return out

    def statement(self, s, out: list) -> None:
        if isinstance(s, Declare) and isinstance(s.var.type, StructType) and not is_differentiated(s.init):
            self.parts[s.var.id] = self.declare(s.var, self.value(s.init), s.loc, out)
            return
        if isinstance(s, Store) and isinstance(s.place.type, StructType):
            self.store(s, out)
            return
        if isinstance(s, Declare):
            s.init = self.value(s.init)
        elif isinstance(s, Store):
            s.place, s.value = self.place(s.place), self.value(s.value)
        elif isinstance(s, Eval):
            s.value = self.value(s.value)
        elif isinstance(s, If):
            s.cond, s.then, s.orelse = self.value(s.cond), self.block(s.then), self.block(s.orelse)
        elif isinstance(s, For):
            s.bounds = tuple(tuple(map(self.value, pair)) for pair in s.bounds)
            s.body = self.block(s.body)
        elif isinstance(s, While):
            s.pre, s.cond, s.body = self.block(s.pre), self.value(s.cond), self.block(s.body)
        elif isinstance(s, Check):
            s.cond, s.values = self.value(s.cond), self.values(s.values)
        elif isinstance(s, Print):
            s.parts = tuple(p if isinstance(p, str) else (self.value(p[0]), *p[1:]) for p in s.parts)
        elif isinstance(s, Return):
            s.values = self.values(s.values)
        out.append(s)

    def declare(self, var: Var, value, loc, out: list) -> dict:
        """Variables for the members of a struct value."""
        if not isinstance(value, (Make, Load)):
            held = Var(var.name, var.type, False, level=1, temporary=True)
            out.append(Declare(held, value, loc))
            value = variable(held)
        made: dict = {}
        for name, t in var.type.members:
            part = self.member(value, name, t)
            inner = Var(f"{var.name}_{name}", t, var.mutable, level=var.level, temporary=var.temporary)
            if isinstance(t, StructType):
                made[name] = self.declare(inner, part, loc, out)
            else:
                out.append(Declare(inner, part, loc))
                made[name] = inner
        return made

    def store(self, s: Store, out: list) -> None:
        """Member by member, all read before the first is written."""
        target = self.place(s.place)
        held = self.declare(Var("t", s.place.type, False, level=1, temporary=True), self.value(s.value), s.loc, out)
        self._copy(target, held, s.loc, out)

    def _copy(self, target, held: dict, loc, out: list) -> None:
        for name, part in held.items():
            place = target[name] if isinstance(target, dict) else MemberPlace(target, name, target.type.member(name))
            if isinstance(part, dict):
                self._copy(place, part, loc, out)
            else:
                place = VarPlace(place, place.type) if isinstance(place, Var) else place
                out.append(Store(place, variable(part), loc))

    # ------------------------------------------------------------ values and places

    @staticmethod
    def member(value, name: str, t):
        if isinstance(value, Make):
            return value.parts[[k for k, _ in value.type.members].index(name)]
        if isinstance(value, Load):
            return Load(MemberPlace(value.place, name, t), t)
        return Member(value, name, t)

    def place(self, p):
        """A place over member variables; a dict of members for a whole struct variable."""
        if isinstance(p, VarPlace):
            return self.parts.get(p.var.id, p)
        if isinstance(p, Cell):
            return Cell(p.array, self.values(p.indices), p.type)
        base = self.place(p.base)
        if isinstance(p, MemberPlace):
            if isinstance(base, dict):
                part = base[p.name]
                return part if isinstance(part, dict) else VarPlace(part, part.type)
            return MemberPlace(base, p.name, p.type)
        return ElemPlace(base, self.values(p.indices), p.type)

    def values(self, items: tuple) -> tuple:
        return tuple(map(self.value, items))

    def value(self, e):
        if isinstance(e, Load):
            p = self.place(e.place)
            return self.rebuilt(p, e.type) if isinstance(p, dict) else Load(p, e.type)
        if isinstance(e, Member):
            return self.member(self.value(e.a), e.name, e.type)
        if isinstance(e, Unary):
            return Unary(e.op, self.value(e.a), e.type)
        if isinstance(e, Binary):
            return Binary(e.op, self.value(e.a), self.value(e.b), e.type, e.loc)
        if isinstance(e, Cast):
            return Cast(self.value(e.a), e.type, e.bits)
        if isinstance(e, Select):
            return Select(self.value(e.cond), self.value(e.a), self.value(e.b), e.type, e.lazy)
        if isinstance(e, Make):
            return Make(self.values(e.parts), e.type)
        if isinstance(e, MatOp):
            return MatOp(e.op, self.values(e.args), e.type)
        if isinstance(e, Elem):
            return Elem(self.value(e.a), self.values(e.indices), e.type)
        if isinstance(e, Atomic):
            return Atomic(e.op, self.place(e.place), self.values(e.args), e.type, e.plain)
        if isinstance(e, (Call, Builtin)):
            places = (VarPlace, Cell, ElemPlace, MemberPlace)
            args = tuple(a if isinstance(a, places) else self.value(a) for a in e.args)
            return Call(e.func, args, e.type) if isinstance(e, Call) else Builtin(e.name, e.type, args)
        if isinstance(e, Volatile):
            return Volatile(self.place(e.place), e.type)
        return e

    def rebuilt(self, parts: dict, t: StructType) -> Make:
        """The struct value of a struct variable."""
        made = [
            self.rebuilt(part, part_type) if isinstance(part, dict) else variable(part)
            for (_, part_type), part in zip(t.members, parts.values())
        ]
        return Make(tuple(made), t)
