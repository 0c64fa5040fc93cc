"""Struct variables taken apart: one variable a member, so that the rest of differentiation knows no structs.

    p = Particle(pos=x[i], mass=m[i])        p_pos = x[i]; p_mass = m[i]
    p.pos[0] += p.mass                 ->    p_pos[0] += p_mass

What a function with a derivative of its own returns stays together: the derivative is that of all its members.
"""

from __future__ import annotations

from quadrants.ad.build import is_differentiated, variable
from quadrants.ir import walk
from quadrants.ir.nodes import Declare, Load, Make, Member, MemberPlace, Store, Var, VarPlace
from quadrants.ir.types import StructType


def split_structs(body: list) -> list:
    """The statements without struct variables; `body` itself where there are none."""
    found = any(isinstance(s, Declare) and isinstance(s.var.type, StructType) for s in walk.statements(body))
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
            self.parts[s.var.id] = self.declare(s.var, self.rewrite(s.init), s.loc, out)
        elif isinstance(s, Store) and isinstance(s.place.type, StructType):
            self.store(s, out)
        else:
            walk.update(s, self.rewrite)
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
        target = self.rewrite(s.place)
        held = self.declare(Var("t", s.place.type, False, level=1, temporary=True), self.rewrite(s.value), s.loc, out)
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
            return Load(MemberPlace(value.place, name, t), t, value.origin)
        return Member(value, name, t)

    def rewrite(self, x):
        """A block, expression or place over member variables; a dict of members for a whole struct variable
        as a place."""
        kind = type(x)
        if kind is list:
            return self.block(x)
        if kind is VarPlace:
            return self.parts.get(x.var.id, x)
        if kind is MemberPlace:
            base = self.rewrite(x.base)
            if not isinstance(base, dict):
                return x if base is x.base else MemberPlace(base, x.name, x.type)
            part = base[x.name]
            return part if isinstance(part, dict) else VarPlace(part, part.type)
        if kind is Load:
            place = self.rewrite(x.place)
            if isinstance(place, dict):
                return self.whole(place, x.type)
            return x if place is x.place else Load(place, x.type, x.origin)
        if kind is Member:
            return self.member(self.rewrite(x.a), x.name, x.type)
        return walk.rebuilt(x, self.rewrite)

    def whole(self, parts: dict, t: StructType) -> Make:
        """The struct value of a struct variable."""
        made = [
            self.whole(part, part_type) if isinstance(part, dict) else variable(part)
            for (_, part_type), part in zip(t.members, parts.values())
        ]
        return Make(tuple(made), t)
