"""The values that a variable of a parallel loop has in turn, for whoever asks what an expression is at one statement.

    k = i; k -= 1; x[i] = x[k]          ->   k_1 = i; k_2 = k_1 - 1; x[i] = x[k_2]
    if c: k = 0                         ->   k_3 = 0 if c else k_2
    for j in range(n): k += 2; ..x[k]   ->   k_4 = k_3 + 2 * (j - 0); k_5 = k_4 + 2; ..x[k_5]
    for j in range(2): k *= 2; ..x[k]   ->   k_6 = 2 * k_5; k_7 = k_6 if j == 1 else k_5; ..

The statements stay as they are. What a longer loop sets otherwise is known as far as one iteration tells, such as
`k = j`, but not what many made of each other.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from quadrants.ir import rename
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Const,
    Declare,
    ElemPlace,
    For,
    If,
    Load,
    Make,
    Select,
    Store,
    Var,
    VarPlace,
)
from quadrants.ir.types import StructType, TensorType, element_dtype, i32, u1
from quadrants.ir.walk import only, root_var, walk

_UNROLLED = 4  # iterations of a loop inside, each of which is gone through
_TRIALS = 200  # iterations that are gone through in one parallel loop; later ones count as unknown


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
        self._trials = 0
        self._depth = 0  # of trials in trials

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
            if s.var.id in self._changed or self._depth:
                self._set(s.var, self.now(s.init))
            else:
                self.defined[s.var.id] = self.now(s.init)
        elif isinstance(s, Store) and self._follows(root_var(s.place)):
            self._set(root_var(s.place), self._stored(s))
        for atomic in only(s, (Atomic,)):
            if self._follows(root_var(atomic.place)):
                self._set(root_var(atomic.place), None)

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
            if key in self._changed and then[key] is not orelse[key]:
                var = self._changed[key]
                self._set(var, Select(cond, _load(then[key]), _load(orelse[key]), var.type))

    def enter(self, loop: For) -> dict:
        """In front of the body of a loop inside. Returns what the variables that it sets are behind it, for `leave`."""
        bounds = tuple(self.all_now(pair) for pair in loop.bounds)
        counters = tuple(map(self._counter, loop.vars))
        self.bounds.update(zip((v.id for v in counters), bounds))
        changed = [var for key, var in _changed(loop.body).items() if key in self._now]
        if not changed:
            return {}
        inner = _Inner(loop, bounds, _load(counters[0]), changed)
        if inner.trips is not None and inner.trips <= _UNROLLED:
            entries, behind = self._unrolled(inner)
        else:
            entries, behind = self._summed(inner)
        for var in changed:
            self._set(var, entries[var.id])
        return {var: behind[var.id] for var in changed}

    def leave(self, behind: dict) -> None:
        for var, value in behind.items():
            self._set(var, value)

    def _counter(self, var: Var) -> Var:
        """The variable of a loop; another one each time that a loop is gone through for trial."""
        if not self._depth:
            return var
        self._now[var.id] = new = Var(var.name, var.type)
        return new

    # ------------------------------------------------------------ loops inside

    def _unrolled(self, inner: _Inner) -> tuple[dict, dict]:
        """What variables are in front of an iteration, and behind all, by going through all."""
        states = [{var.id: self._now[var.id] for var in inner.changed}]
        for k in range(inner.trips):
            states.append(self._trial(inner, Const(inner.begin.value + k, inner.begin.type), states[-1]))
        entries = {key: _load(var) for key, var in states[0].items()}
        for k, state in enumerate(states[1:-1], 1):
            at = Binary("eq", inner.counter, Const(inner.begin.value + k, inner.begin.type), u1)
            for var in inner.changed:
                entries[var.id] = Select(at, _load(state[var.id]), entries[var.id], var.type)
        return entries, {key: _load(var) for key, var in states[-1].items()}

    def _summed(self, inner: _Inner) -> tuple[dict, dict]:
        """The same for variables that are counted; for others as the iteration before left them, whatever that found,
        and as the last one left them.
        """
        steps = _steps(inner.loop)
        entries, behind, lost = {}, {}, {}
        for var in inner.changed:
            before = _load(self._now[var.id])
            lost[var.id] = self._unknown(var)
            if var.id in steps:
                entries[var.id] = _sum(before, steps[var.id], inner.begin, inner.counter)
                behind[var.id] = Select(inner.ran, _sum(before, steps[var.id], *inner.bounds[0]), before, var.type)
        others = [var for var in inner.changed if var.id not in steps]
        if others and len(inner.bounds) == 1:
            one = Const(1, inner.counter.type)
            previous = self._trial(inner, Binary("sub", inner.counter, one, one.type), lost)
            last = self._trial(inner, Binary("sub", inner.bounds[0][1], one, one.type), lost)
        else:
            previous = last = lost
        for var in others:
            before = _load(self._now[var.id])
            entries[var.id] = Select(inner.first, before, _load(previous[var.id]), var.type)
            behind[var.id] = Select(inner.ran, _load(last[var.id]), before, var.type)
        return entries, behind

    def _trial(self, inner: _Inner, counter, entries: dict) -> dict:
        """What variables are behind one iteration, by what they are in front of it."""
        self._trials += 1
        if self._trials > _TRIALS:
            return {var.id: self._unknown(var) for var in inner.changed}
        saved, self._now = self._now, {**self._now, **entries}
        self._set(inner.loop.vars[0], counter)
        self._depth += 1
        self._run(inner.loop.body)
        self._depth -= 1
        found, self._now = {var.id: self._now[var.id] for var in inner.changed}, saved
        return found

    def _run(self, body: list) -> None:
        for s in body:
            if isinstance(s, If):
                cond, before = self.now(s.cond), self.branch()
                self._run(s.then)
                then = self.other(before)
                self._run(s.orelse)
                self.join(cond, before, then)
            elif isinstance(s, For):
                behind = self.enter(s)
                self._run(s.body)
                self.leave(behind)
            else:
                self.after(s)

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
    found = (root_var(node.place) for node in only(body, (Store, Atomic)))
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


class _Inner:
    """A loop inside, its bounds and counter as they are in front of it."""

    def __init__(self, loop: For, bounds: tuple, counter: Load, changed: list):
        self.loop = loop
        self.bounds = bounds
        self.counter = counter
        self.changed = changed  # the variables that it sets
        self.begin, end = bounds[0]
        known = len(bounds) == 1 and isinstance(self.begin, Const) and isinstance(end, Const)
        self.trips = max(0, int(end.value) - int(self.begin.value)) if known else None

    @property
    def first(self):
        """Whether an iteration is the first one."""
        begins = [Binary("eq", _load(var), begin, u1) for var, (begin, _) in zip(self.loop.vars, self.bounds)]
        begins[0] = Binary("eq", self.counter, self.begin, u1)
        return functools.reduce(lambda a, b: Binary("logic_and", a, b, u1), begins)

    @property
    def ran(self):
        """Whether there was any iteration."""
        runs = [Binary("lt", begin, end, u1) for begin, end in self.bounds]
        return functools.reduce(lambda a, b: Binary("logic_and", a, b, u1), runs)


def _steps(loop: For) -> dict:
    """What each iteration adds to variables that it does nothing else to, by id."""
    if len(loop.vars) != 1:
        return {}
    stores: dict = {}
    for node in walk(loop.body):
        if isinstance(node, (Store, Atomic)) and root_var(node.place) is not None:
            stores.setdefault(root_var(node.place).id, []).append(node)
    steps = {key: [_step(s) if s in loop.body else None for s in found] for key, found in stores.items()}
    return {key: sum(each) for key, each in steps.items() if None not in each}


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
