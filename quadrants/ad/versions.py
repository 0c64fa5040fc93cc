"""The values that a variable of a parallel loop has in turn, for whoever asks what an expression is at one statement.

    k = i; k -= 1; x[i] = x[k]          ->   k_1 = i; k_2 = k_1 - 1; x[i] = x[k_2]
    if c: k = 0                         ->   k_3 = 0 if c else k_2
    for j in range(4): k += 2; ..x[k]   ->   k_4 = k_3 + 2 * (j - 0); k_5 = k_4 + 2; ..x[k_5]

The statements stay as they are. A loop that sets a variable otherwise finds it as it was in its first iteration, and as
nobody knows in later ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from quadrants.ir import rename
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Const,
    Declare,
    ElemPlace,
    For,
    Load,
    Make,
    Select,
    Store,
    Var,
    VarPlace,
)
from quadrants.ir.types import StructType, TensorType, element_dtype, i32, u1
from quadrants.ir.walk import root_var, walk


class Versions:
    """Of the integers in one parallel loop, while its statements are gone through in order.

    defined: what is assigned to a variable, by its id. known: every variable that the loop sets. bounds: of loops.
    """

    def __init__(self, loop: For):
        self.defined: dict = {}
        self.bounds: dict = dict(zip((v.id for v in loop.vars), loop.bounds))
        self.known: set = set()
        self._changed = _changed(loop.body)
        self._now: dict[int, Var] = {}

    def now(self, e):
        """An expression over the values as they are here."""
        return rename.expression(e, self._now) if self._now else e

    def all_now(self, items: Sequence) -> tuple:
        return tuple(map(self.now, items))

    # ------------------------------------------------------------ statements

    def after(self, s) -> None:
        """A statement without a block has run."""
        if isinstance(s, Declare):
            self.known.add(s.var.id)
            if s.var.id in self._changed:
                self._set(s.var, self.now(s.init))
            else:
                self.defined[s.var.id] = self.now(s.init)
        elif isinstance(s, Store) and self._follows(root_var(s.place)):
            self._set(root_var(s.place), self._stored(s))
        for node in walk(s):
            if isinstance(node, Atomic) and self._follows(root_var(node.place)):
                self._set(root_var(node.place), None)

    def branch(self) -> dict:
        """The values at an `if`, for `other` and `join`."""
        return dict(self._now)

    def other(self, before: dict) -> dict:
        """The values behind one side; those at the `if` are the present ones again."""
        behind, self._now = self._now, dict(before)
        return behind

    def join(self, cond, before: dict, then: dict) -> None:
        """Behind both sides, of which `then` was the values behind the first one."""
        orelse, self._now = self._now, dict(before)
        for key in before:
            if then[key] is not orelse[key]:
                var = self._changed[key]
                self._set(var, Select(cond, _load(then[key]), _load(orelse[key]), var.type))

    def enter(self, loop: For) -> list:
        """In front of the body of a loop inside. Returns what the variables that it sets are behind it, for `leave`."""
        bounds = tuple(self.all_now(pair) for pair in loop.bounds)
        self.bounds.update(zip((v.id for v in loop.vars), bounds))
        steps, behind = _steps(loop), []
        for var in self._set_by(loop):
            before = _load(self._now[var.id])
            if var.id in steps:
                self._set(var, _sum(before, steps[var.id], bounds[0][0], _load(loop.vars[0])))
                ran = Binary("lt", *bounds[0], u1)
                behind.append((var, Select(ran, _sum(before, steps[var.id], *bounds[0]), before, var.type)))
            else:
                self._set(var, Select(_is_first(loop, bounds), before, _load(self._unknown(var)), var.type))
                behind.append((var, None))
        return behind

    def leave(self, behind: list) -> None:
        for var, value in behind:
            self._set(var, value)

    # ------------------------------------------------------------ values

    def _set(self, var: Var, value) -> None:
        new = self._now[var.id] = self._unknown(var)
        if value is not None:
            self.defined[new.id] = value

    def _unknown(self, var: Var) -> Var:
        new = Var(var.name, var.type)
        self.known.add(new.id)
        return new

    def _follows(self, var: Var | None) -> bool:
        return var is not None and var.id in self._now

    def _set_by(self, loop: For) -> list:
        return [var for key, var in _changed(loop.body).items() if key in self._now]

    def _stored(self, s: Store):
        """The whole variable behind a store to it or to a component; None where that cannot be told."""
        value = self.now(s.value)
        if isinstance(s.place, VarPlace):
            return value
        place = self.now(s.place)
        if not isinstance(place, ElemPlace) or not isinstance(place.base, VarPlace) or len(place.indices) != 1:
            return None
        at, tensor = place.indices[0], place.base.type
        parts = [Load(ElemPlace(place.base, (Const(k, i32),), place.type), place.type) for k in range(tensor.shape[0])]
        return Make(tuple(_replaced(part, at, k, value) for k, part in enumerate(parts)), tensor)


def _changed(body: list) -> dict:
    """The integers, vectors of them too, that are assigned to behind their declaration, by id."""
    found = (root_var(node.place) for node in walk(body) if isinstance(node, (Store, Atomic)))
    return {var.id: var for var in found if var is not None and _counts(var.type)}


def _counts(t) -> bool:
    return not isinstance(t, StructType) and not element_dtype(t).is_real


def _replaced(part, at, k: int, value):
    """Component `k` behind a store to component `at`."""
    if isinstance(at, Const):
        return value if int(at.value) == k else part
    return Select(Binary("eq", at, Const(k, at.type), u1), value, part, part.type)


def _load(var: Var) -> Load:
    return Load(VarPlace(var, var.type), var.type)


# ---------------------------------------------------------------- loops inside


def _steps(loop: For) -> dict:
    """What each iteration adds to variables that it does nothing else to, by id."""
    if len(loop.vars) != 1:
        return {}
    stores: dict = {}
    for node in walk(loop.body):
        if isinstance(node, (Store, Atomic)) and root_var(node.place) is not None:
            stores.setdefault(root_var(node.place).id, []).append(node)
    found = {key: _step(only[0]) for key, only in stores.items() if len(only) == 1 and only[0] in loop.body}
    return {key: step for key, step in found.items() if step is not None}


def _step(s) -> int | None:
    """c of `k += c`."""
    if not isinstance(s, Store) or not isinstance(s.place, VarPlace) or isinstance(s.place.type, TensorType):
        return None
    e, var = s.value, s.place.var
    if not isinstance(e, Binary) or e.op not in ("add", "sub") or not isinstance(e.b, Const):
        return None
    if not isinstance(e.a, Load) or not isinstance(e.a.place, VarPlace) or e.a.place.var is not var:
        return None
    return int(e.b.value) if e.op == "add" else -int(e.b.value)


def _sum(before, step: int, begin, end) -> Binary:
    """What a variable is after the iterations from `begin` to `end`."""
    passed = Binary("sub", end, begin, begin.type)
    return Binary("add", before, Binary("mul", Const(step, begin.type), passed, begin.type), before.type)


def _is_first(loop: For, bounds: tuple):
    """Whether an iteration is the first one."""
    conditions = [Binary("eq", _load(var), begin, u1) for var, (begin, _) in zip(loop.vars, bounds)]
    first = conditions[0]
    for other in conditions[1:]:
        first = Binary("logic_and", first, other, u1)
    return first
