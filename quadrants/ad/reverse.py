"""Reverse mode: adjoints by recomputation.

REV(block) is the forward sweep of the block, then its statements backwards:

    v = sin(x[i])             v = sin(x[i])              forward: every assignment makes a new version, so that all
    v = v * v         ->      v_1 = v * v                values of the block stay readable
    y[i] += v                 adj_v = y_grad[i]          backward: one adjoint a variable of the primal
                              g = adj_v; adj_v = 0
                              adj_v += g * v; adj_v += g * v
                              x_grad[i] += adj_v * cos(x[i])          (atomically)

    if      the forward sweep runs it; backward, REV of the branch that was taken, from the versions at its entry
    loop    the forward sweep runs it, and saves at the start of each iteration what the loop carries; backward, for
            the iterations from last to first: take back what was saved, then REV(body)

Nothing else is ever stored: a stack is as deep as its own loop is long. Stores of the primal to arrays are left out,
so an array has in the whole kernel the values that it holds when the derivative is launched. What no derivative
needs is removed afterwards (`prune`).
"""

from __future__ import annotations

from quadrants.ad import adstack_saved
from quadrants.ad.activity import Activity, is_real
from quadrants.ad.build import derivative_call, is_differentiated, neg, variable, zero
from quadrants.ad.refusals import Refusals
from quadrants.ad.replay import Replay, assigned, fresh, loop_over
from quadrants.ad.sweep import Backward, Sweep
from quadrants.ir import rename, walk
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Call,
    Cell,
    Check,
    Comment,
    Const,
    Declare,
    ElemPlace,
    Eval,
    For,
    If,
    Load,
    MemberPlace,
    Print,
    Return,
    StopGrad,
    Store,
    Var,
    VarPlace,
)
from quadrants.ir.types import StructType
from quadrants.ir.walk import root


class Reverse:
    """Reverses the body of one kernel."""

    def __init__(self, activity: Activity, refusals: Refusals, body: list):
        self.activity = activity
        self.refusals = refusals
        self.unknown: dict = {}
        self.replay = Replay(self.unknown)
        self.adjoints: dict = {}
        self.constant: set = set()
        self.stored = {root(s.place).var.id for s in walk.only(body, (Store,)) if walk.root_var(s.place)}

    def block(self, body: list, env: dict) -> list:
        """REV(body), over the versions in `env`."""
        return _Block(self, env).run(body)

    def adjoints_of(self, var: Var) -> list:
        """One for a variable, one a member for what a function with a derivative of its own returned."""
        if not isinstance(var.type, StructType):
            return [self.adjoint(var)]
        made = self.adjoints.get(var.id)
        if made is None:
            names = var.type.members
            made = {name: Var(f"adj_{var.name}_{name}", t, True, level=1) for name, t in names}
            self.adjoints[var.id] = made
        return list(made.values())

    def shares_adjoint(self, s: Declare) -> bool:
        """Whether a declaration only names a member of what a call returned: one adjoint does for both."""
        p = s.init.place if isinstance(s.init, Load) else None
        if not isinstance(p, MemberPlace) or not isinstance(p.base, VarPlace) or s.var.id in self.stored:
            return False
        shared = self.adjoints[s.var.id] = self.adjoints[p.base.var.id][p.name]
        shared.name = f"adj_{s.var.name}"
        return True

    def adjoint(self, var: Var) -> Var:
        made = self.adjoints.get(var.id)
        if made is None:
            made = self.adjoints[var.id] = Var(f"adj_{var.name}", var.type, True, level=1)
        return made


class _Block(Sweep):
    """One block: its forward sweep, and what to do backwards for each statement."""

    def __init__(self, reverse: Reverse, env: dict):
        super().__init__(reverse.activity, reverse.adjoints, env)
        self.reverse = reverse
        self.constant = reverse.constant
        self.steps: list = []
        self.declared: list = []

    def run(self, body: list) -> list:
        for s in body:
            if isinstance(s, Declare) and self.activity.is_active(s.var) and not self.reverse.shares_adjoint(s):
                self.declared += self.reverse.adjoints_of(s.var)
        for s in body:
            self.loc = s.loc
            getattr(self, "forward_" + type(s).__name__.lower())(s)
        out = self.lines
        out += [Declare(var, zero(var.type)) for var in self.declared]
        for loc, step in reversed(self.steps):
            backward = Backward(loc)
            step(backward)
            out += backward.lines
        return out

    def later(self, step) -> None:
        """Do `step(backward)` when the backward sweep comes back to the present statement."""
        self.steps.append((self.loc, step))

    # ------------------------------------------------------------ assignments

    def forward_declare(self, s: Declare) -> None:
        if isinstance(s.init, Atomic):
            self.atomic(s.init, s.loc)
            var = self.env[s.var.id] = fresh(s.var, False)
            self.lines.append(self.reverse.replay.lost(var, s))
            return
        if not self.activity.is_active(s.var):
            init = self.plain(s.init)
        elif is_differentiated(s.init):
            self.call(s)
            return
        elif self.reverse.shares_adjoint(s):
            init = self.plain(s.init)
        else:
            init, pull = self.expression(s.init)
            adjoint = self.reverse.adjoint(s.var)
            if pull is not None:
                self.later(lambda out: pull(variable(adjoint), out))
        self.version(s.var, init)

    def call(self, s: Declare) -> None:
        """A function with a derivative of its own, of one argument."""
        [(copy, pull)] = [self.expression(a) for a in s.init.args]
        call = Call(s.init.func, (self.atom(copy),), s.init.type)
        results = self.version(s.var, call)
        self.kept.add(results.id)
        adjoints = [variable(v) for v in self.reverse.adjoints_of(s.var)]
        self.later(lambda out: pull(derivative_call(call, adjoints, results), out))

    def version(self, var: Var, value) -> Var:
        """A new version of a variable of the primal."""
        made = self.env[var.id] = fresh(var, False)
        if var.id not in self.reverse.stored:
            self.constant.add(made.id)
        self.lines.append(Declare(made, value, self.loc))
        return made

    def forward_store(self, s: Store) -> None:
        at = root(s.place)
        if isinstance(at, Cell):
            self.store_to_array(s)
        elif s.place is at:
            self.assign(s, at.var)
        else:
            self.assign_part(s, at.var)

    def assign(self, s: Store, var: Var) -> None:
        if not self.activity.is_active(var):
            self.version(var, self.plain(s.value))
            return
        self.version(var, self.assigned(s, var, _added(s.value, var)))

    def assigned(self, s: Store, var: Var, added):
        """The copy of what is assigned to an active variable or a part of it; its adjoint goes to what that is made of.

        `added`: x of `v = v + x`, where the adjoint of v goes on, and x gets it too.
        """
        if added is None:
            value, pull = self.expression(s.value)
            self.clear(self.fixed_place(s.place), pull)
            return value
        fixed = self.fixed_place(s.place)
        x, pull = self.expression(added)
        if pull is not None:
            minus = s.value.op == "sub"
            self.later(lambda out: _send(pull, fixed, minus, var.id in rename.uses([added]), out))
        return Binary(s.value.op, self.plain(s.value.a), x, s.value.type, s.value.loc)

    def clear(self, place, pull) -> None:
        """Backwards, an adjoint goes to what the primal assigned, and starts over at zero."""

        def back(out: Backward) -> None:
            g = out.snapshot(place) if pull is not None else None
            out.store(place, zero(place.type))
            if pull is not None:
                pull(g, out)

        self.later(back)

    def assign_part(self, s: Store, var: Var) -> None:
        """A component of a vector or matrix: written in place unless the whole is still needed as it is."""
        if self.activity.is_active(var):
            value = self.assigned(s, var, _added_to_part(s))
        else:
            value = self.plain(s.value)
        current = self.env[var.id]
        if current.id in self.kept:
            current = self.version(var, variable(current))
        current.mutable = True
        self.lines.append(Store(rename.expression(s.place, self.env), value, s.loc))

    # ------------------------------------------------------------ arrays

    def store_to_array(self, s: Store) -> None:
        if self.activity.companion(root(s.place).array) is None or not is_real(s.place.type):
            return
        _, pull = self.expression(s.value)
        self.clear(self.companion_place(self.fixed_place(s.place)), pull)

    def atomic(self, e: Atomic, loc) -> None:
        """An accumulation: the gradient of the target goes to what is added, and stays."""
        array = root(e.place).array
        if self.activity.companion(array) is None or not is_real(e.place.type):
            return
        if e.op not in ("add", "sub"):
            self.reverse.refusals.atomic(e.op, array, loc)
        _, pull = self.expression(e.args[0])
        if pull is None:
            return
        cell = self.companion_place(self.fixed_place(e.place))

        def back(out: Backward) -> None:
            g = out.snapshot(cell)
            pull(neg(g) if e.op == "sub" else g, out)

        self.later(back)

    def forward_eval(self, s: Eval) -> None:
        if isinstance(s.value, Atomic):
            self.atomic(s.value, s.loc)

    # ------------------------------------------------------------ control flow

    def merge(self, body: list) -> dict:
        """Versions for what `body` assigns, which a replay of it changes in place; the entry versions stay."""
        made = {}
        for var in assigned(body):
            entry = self.env[var.id]
            self.kept.add(entry.id)
            version = fresh(var, True)
            self.lines.append(Declare(version, variable(entry), self.loc))
            made[var.id] = version
        return made

    def forward_if(self, s: If) -> None:
        cond = self.atom(self.plain(s.cond), "taken")
        entry = dict(self.env)
        merged = self.merge([*s.then, *s.orelse])
        if merged:
            inner = {**entry, **merged}
            replay = self.reverse.replay
            self.lines.append(If(cond, replay.block(s.then, inner), replay.block(s.orelse, inner), s.loc))
            self.env.update(merged)
        self.keep(entry)
        self.later(lambda out: self.back_if(s, cond, entry, out))

    def keep(self, env: dict) -> None:
        """The backward sweep starts again from these versions."""
        self.kept.update(v.id for v in env.values())

    def back_if(self, s: If, cond, entry: dict, out: Backward) -> None:
        then, orelse = self.reverse.block(s.then, entry), self.reverse.block(s.orelse, entry)
        if then or orelse:
            out.lines.append(If(cond, then, orelse, s.loc))

    def forward_for(self, s: For) -> None:
        if s.parallel:
            self.forward_parallel(s)
            return
        bounds = tuple(tuple(self.atom(self.plain(e), "bound") for e in pair) for pair in s.bounds)
        entry = dict(self.env)
        merged = self.merge(s.body)
        saved: dict = {}
        if merged:
            env = {**entry, **merged}
            loop = loop_over(s, env, bounds)
            for var in assigned(s.body):
                saved[var.id] = adstack_saved.new(env[var.id])
                loop.body.append(saved[var.id].push(loop, variable(env[var.id])))
            loop.body += self.reverse.replay.block(s.body, env)
            self.lines.append(loop)
            self.env.update(merged)
        self.keep(entry)
        self.later(lambda out: self.back_for(s, bounds, entry, saved, out))

    def back_for(self, s: For, bounds: tuple, entry: dict, saved: dict, out: Backward) -> None:
        env = dict(entry)
        loop = loop_over(s, env, bounds, backward=True)
        for var in assigned(s.body) if saved else ():
            version = fresh(var, False)
            loop.body.append(Declare(version, saved[var.id].top(loop), s.loc))
            env[var.id] = version
        loop.body += self.reverse.block(s.body, env)
        out.lines.append(loop)

    def forward_parallel(self, s: For) -> None:
        entry = dict(self.env)

        def back(out: Backward) -> None:
            env = dict(entry)
            loop = loop_over(s, env, tuple(rename.expressions(pair, entry) for pair in s.bounds))
            loop.body = self.reverse.block(s.body, env)
            out.lines.append(loop)

        self.later(back)

    # ------------------------------------------------------------ the rest

    def forward_check(self, s: Check) -> None:
        self.lines.append(Check(self.plain(s.cond), s.site, rename.expressions(s.values, self.env), s.loc))

    def forward_return(self, s: Return) -> None:
        self.lines.append(Return(tuple(self.plain(e) for e in s.values), s.loc))

    def forward_print(self, s: Print) -> None:
        """Printed by the primal."""

    def forward_comment(self, s: Comment) -> None:
        """Belongs to the primal."""

    def forward_stopgrad(self, s: StopGrad) -> None:
        """Known to the activity analysis."""


def _added(e, var: Var):
    """x of `v + x` or `v - x`, both of the type of v; else None."""
    if not isinstance(e, Binary) or e.op not in ("add", "sub") or e.b.type != var.type:
        return None
    is_old = isinstance(e.a, Load) and isinstance(e.a.place, VarPlace) and e.a.place.var is var
    return e.b if is_old else None


def _added_to_part(s: Store):
    """The same for a component: x of `v[k] = v[k] + x`."""
    e = s.value
    if not isinstance(e, Binary) or e.op not in ("add", "sub") or e.b.type != s.place.type:
        return None
    return e.b if isinstance(e.a, Load) and _same_place(e.a.place, s.place) else None


def _same_place(a, b) -> bool:
    if isinstance(a, VarPlace) and isinstance(b, VarPlace):
        return a.var is b.var
    if not isinstance(a, ElemPlace) or not isinstance(b, ElemPlace) or not _same_place(a.base, b.base):
        return False
    return all(map(_same_index, a.indices, b.indices))


def _same_index(a, b) -> bool:
    if isinstance(a, Const) and isinstance(b, Const):
        return a.value == b.value
    both = isinstance(a, Load) and isinstance(b, Load)
    return both and isinstance(a.place, VarPlace) and _same_place(a.place, b.place) and not a.place.var.mutable


def _send(pull, place, minus: bool, again: bool, out: Backward) -> None:
    """Hand an adjoint on that stays as it is; `again`: what it is handed to may add to it."""
    g = out.snapshot(place) if again else Load(place, place.type)
    pull(neg(g) if minus else g, out)
