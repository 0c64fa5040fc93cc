"""The primal once more, without what others could see: no stores to arrays, no prints.

Nothing of it is kept for the backward sweep; it brings variables that live on behind an `if` or a loop up to date.
"""

from __future__ import annotations

from quadrants.ir import rename, walk
from quadrants.ir.nodes import (
    Atomic,
    Check,
    Comment,
    Declare,
    Eval,
    For,
    If,
    Print,
    StopGrad,
    Store,
    Var,
)


def assigned(body: list) -> list:
    """The variables that `body` assigns without declaring them, in order of appearance."""
    own, found = set(), {}
    for node in walk.statements(body):
        if isinstance(node, Declare):
            own.add(node.var.id)
        elif isinstance(node, For):
            own.update(v.id for v in node.vars)
        elif isinstance(node, Store):
            var = walk.root_var(node.place)
            if var is not None and var.id not in own:
                found[var.id] = var
    return list(found.values())


def fresh(var: Var, mutable: bool | None = None) -> Var:
    """A variable of the same name and type."""
    mutable = var.mutable if mutable is None else mutable
    return Var(var.name, var.type, mutable, level=1, temporary=var.temporary)


class Replay:
    """Copies statements. `unknown` collects the variables that only the primal run can know, with the reason."""

    def __init__(self, unknown: dict):
        self.unknown = unknown

    def block(self, body: list, env: dict) -> list:
        """`body` over the variables of `env`, which it assigns in place."""
        env, out = dict(env), []
        for s in body:
            self.statement(s, env, out)
        return out

    def statement(self, s, env: dict, out: list) -> None:
        if isinstance(s, Declare):
            var = env[s.var.id] = fresh(s.var, True)
            if isinstance(s.init, Atomic):
                out.append(self.lost(var, s))
            else:
                out.append(Declare(var, rename.expression(s.init, env), s.loc))
        elif isinstance(s, Store):
            if walk.root_var(s.place) is not None:
                out.append(Store(rename.expression(s.place, env), rename.expression(s.value, env), s.loc))
        elif isinstance(s, If):
            cond = rename.expression(s.cond, env)
            out.append(If(cond, self.block(s.then, env), self.block(s.orelse, env), s.loc))
        elif isinstance(s, For):
            out.append(self.loop(s, env))
        elif isinstance(s, Check):
            out.append(Check(rename.expression(s.cond, env), s.site, rename.expressions(s.values, env), s.loc))
        elif not isinstance(s, (Eval, Print, Comment, StopGrad)):
            raise AssertionError(f"{type(s).__name__} cannot be replayed")

    def loop(self, s: For, env: dict) -> For:
        env = dict(env)
        bounds = tuple(rename.expressions(pair, env) for pair in s.bounds)
        made = loop_over(s, env, bounds)
        made.body = self.block(s.body, env)
        return made

    def lost(self, var: Var, s: Declare) -> Declare:
        """A declaration of what an atomic operation returned in the primal run."""
        from quadrants.ad.build import zero

        self.unknown[var.id] = (s.loc, "the value that an atomic operation returned")
        return Declare(var, zero(var.type), s.loc)


def loop_over(s: For, env: dict, bounds: tuple, backward: bool = False) -> For:
    """A loop like `s` with an empty body; its variables are entered into `env`."""
    variables = []
    for v in s.vars:
        env[v.id] = fresh(v, False)
        variables.append(env[v.id])
    return For(
        tuple(variables), bounds, [], s.parallel, s.config, s.kind, loc=s.loc, unroll=s.unroll, backward=backward,
        over=s.over,
    )  # fmt: skip
