"""Failed checks in languages whose threads end in no other way than by returning.

    v = f(x[i])                         failed = False
    assert v > 0                        v = f(x[i], failed)        (by reference)
                                        if failed: return
                                        holds = v > 0
                                        check holds
                                        if not holds: return

A function that may fail sets `failed` of its caller, and returns zeros. Its calls become statements of their own, in
the order they had: nothing that comes after a failure happens.

A task that folds values of all threads at its end has no thread return before that: one that failed breaks out of the
loops that it is in instead, and of its iterations. Where threads wait for one another before that, see
`skip_to_barriers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import count
from typing import Any, NamedTuple

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.literals import zero
from quadrants.ir.types import u1
from quadrants.passes.agreement import Agreement, meeting_functions
from quadrants.passes.closing_barriers import close
from quadrants.passes.hoisting import Hoisting
from quadrants.passes.skip_to_barriers import Skipping, all_busy, waiting_functions, waits
from quadrants.passes.staying import Staying, leaves


def leave_by_return(module: n.Module, returns: bool = True) -> n.Module:
    """Return after each check that does not hold, and after each call in which one did not.

    returns: a block may return behind a failure of another task, though barriers follow; else it does nothing there.
    """
    failing, waiting = _failing(module.functions), waiting_functions(module.functions)
    over = False
    for task in module.tasks:
        task.stays = waits(task.body, waiting)
        loops = task.loop is not None and bool(task.loop.vars)
        task.idle = task.stays and (not all_busy(task.loop) or over and loops)
        over |= not returns and _may_fail(task.body, failing)
    if any(task.stays and (task.idle or _leaves(task, failing)) for task in module.tasks):
        failing |= waiting  # callers that failed call them, too
    known = frozenset(v.id for v in module.params)
    shared = _Shared(failing, count(1), waiting, meeting_functions(module.functions), Agreement(), known)
    for function in module.functions:
        if function.name in failing:
            flag = n.Var("qd_failed", u1, mutable=True, by_ref=True)
            function.params.append(flag)
            leave = n.Return(tuple(map(zero, function.result)))
            if function.name in waiting:
                body = _Skip(shared, flag, possible=True, in_function=True).block(function.body)
                function.body = [*body, leave] if function.result else body
            else:
                function.body = _Rewrite(shared, flag, leave, joins=False).block(function.body)
    for task in module.tasks:
        flag = n.Var("qd_failed", u1, mutable=True)
        fails = _may_fail(task.body, failing)
        follows = task.stays and (task.idle or _leaves(task, failing))
        if follows:
            begin = n.Load(n.VarPlace(n.IDLE, u1), u1) if task.idle else n.Const(False, u1)
            body = _Skip(shared, flag, possible=task.idle).block(task.body)
            task.body = [n.Declare(flag, begin), *body]
        elif fails:
            body = _Rewrite(shared, flag, n.Leave(), joins=bool(task.reductions)).block(task.body)
            task.body = [n.Declare(flag, n.Const(False, u1)), *body]
        if task.stays and not returns:
            task.body = close(task.body, shared.meeting, together=follows)
    shared.agreement.describe(module)
    return module


class _Shared(NamedTuple):
    """What the rewriters of a module have in common. failing: names of the functions that are handed the flag.
    waiting: of those in which threads wait for one another; meeting: all of a block. known: ids of variables of the
    launch."""

    failing: Set[str]
    numbers: Iterator[int]
    waiting: Set[str]
    meeting: Set[str]
    agreement: Agreement
    known: Set[int]


def _failing(functions: list[n.Function]) -> frozenset[str]:
    """The names of the functions that may fail, by themselves or by what they call."""
    found: set[str] = set()
    while True:
        more = {f.name for f in functions if f.name not in found and _may_fail(f.body, found)}
        if not more:
            return frozenset(found)
        found |= more


def _may_fail(body: Sequence[walk.Nodes], failing: Set[str]) -> bool:
    return any(isinstance(x, n.Check) or isinstance(x, n.Call) and x.func.name in failing for x in walk.walk(body))


def _leaves(task: n.Task, failing: Set[str]) -> bool:
    """Whether threads may end in front of the end of a task."""
    return leaves(task.body, n.Continue) or _may_fail(task.body, failing)


def _outermost(s: n.Stmt) -> n.Expr | None:
    """The expression that a statement evaluates last, before it changes a variable at most."""
    if isinstance(s, n.Declare):
        return s.init
    if isinstance(s, n.Eval) or isinstance(s, n.Store) and isinstance(s.place, n.VarPlace):
        return s.value
    return None


class _Rewrite(Hoisting):
    """Rewrites one function or task. leave: what ends it, None for nothing. joins: its threads meet at its end."""

    def __init__(self, shared: _Shared, flag: n.Var, leave: n.Stmt | None, joins: bool) -> None:
        super().__init__()
        self.failing, self.numbers, self.leave, self.joins = shared.failing, shared.numbers, leave, joins
        self.flag = n.VarPlace(flag, u1)

    def statement(self, s: n.Stmt) -> list[n.Stmt]:
        if self.joins and isinstance(s, (n.For, n.While)) and _may_fail([s], self.failing):
            return self.left(s)
        if isinstance(s, n.While):
            return [self.loop(s)]
        call = _outermost(s)
        if isinstance(call, n.Call) and self.fails(call):
            made = self.called(call)
            setattr(s, "init" if isinstance(s, n.Declare) else "value", made)
            return [s, *self.unless_failed()]
        walk.update(s, self.node)
        return self.checked(s) if isinstance(s, n.Check) else [s]

    def left(self, s: n.For | n.While) -> list[n.Stmt]:
        """A loop that a failure breaks out of, and what leaves the one around it then."""
        if isinstance(s, n.For):
            s.bounds, s.has_break = tuple((self.node(begin), self.node(end)) for begin, end in s.bounds), True
        around, self.leave = self.leave, n.Break()
        if isinstance(s, n.While):
            self.loop(s)
        else:
            s.body = self.block(s.body)
        self.leave = around
        return [s, *self.unless_failed()]

    def loop(self, s: n.While) -> n.While:
        """Calls of the condition come before it in every round."""
        s.pre = self.block(s.pre)
        outer, self.before = self.before, []
        s.cond = self.node(s.cond)
        s.pre += self.before
        self.before = outer
        s.body = self.block(s.body)
        return s

    def checked(self, s: n.Check) -> list[n.Stmt]:
        holds = n.Var(f"qd_holds_{next(self.numbers)}", u1)
        found = n.Load(n.VarPlace(holds, u1), u1)
        cond, s.cond = s.cond, found
        if isinstance(cond, n.Const):
            s.cond = cond
            return [s] if cond.value else [s, *self.told()]
        return [n.Declare(holds, cond), s, n.If(n.Unary("logic_not", found, u1), self.told(), [])]

    def told(self) -> list[n.Stmt]:
        told = n.Store(self.flag, n.Const(True, u1))
        return [told] if self.leave is None else [told, self.leave]

    def unless_failed(self) -> list[n.Stmt]:
        return [] if self.leave is None else [n.If(n.Load(self.flag, u1), [self.leave], [])]

    # ------------------------------------------------------------ expressions

    def fails(self, e: n.Expr) -> bool:
        return isinstance(e, n.Call) and e.func.name in self.failing

    def called(self, e: n.Call) -> n.Call:
        return n.Call(e.func, (*map(self.node, e.args), self.flag), e.type)

    def node(self, x: Any) -> Any:
        if isinstance(x, list):
            return self.block(x)
        if isinstance(x, n.Select) and x.lazy or isinstance(x, n.Binary) and x.op in ("logic_and", "logic_or"):
            return self.one_side(x)
        if not self.fails(x):
            return walk.rebuilt(x, self.node)
        result = n.Var(f"qd_result_{next(self.numbers)}", x.type)
        self.before += [n.Declare(result, self.called(x)), *self.unless_failed()]
        return n.Load(n.VarPlace(result, x.type), x.type)

    def one_side(self, x: n.Select | n.Binary) -> n.Expr:
        """What evaluates one side only: branches in front of the statement, where a side may fail."""
        sides = (x.a, x.b) if isinstance(x, n.Select) else (x.b,)
        if not _may_fail(list(sides), self.failing):
            return walk.rebuilt(x, self.node)
        found = n.Var(f"qd_chosen_{next(self.numbers)}", x.type, mutable=True)
        place = n.VarPlace(found, x.type)
        if isinstance(x, n.Select):
            chosen, cond = n.If(self.node(x.cond), self._aside(place, x.a), self._aside(place, x.b)), zero(x.type)
        else:
            cond, value = self.node(x.a), n.Load(place, x.type)
            chosen = n.If(
                value if x.op == "logic_and" else n.Unary("logic_not", value, u1), self._aside(place, x.b), []
            )
        self.before += [n.Declare(found, cond), chosen]
        return n.Load(place, x.type)

    def _aside(self, place: n.VarPlace, e: n.Expr) -> list[n.Stmt]:
        """The statements that give a variable the value of an expression, with what comes in front of it."""
        outer, self.before = self.before, []
        value = self.node(e)
        made = [*self.before, n.Store(place, value)]
        self.before = outer
        return made


class _Skip(Staying, Skipping, _Rewrite):
    """Rewrites one function or task whose threads wait for one another."""

    def __init__(self, shared: _Shared, flag: n.Var, possible: bool, in_function: bool = False) -> None:
        _Rewrite.__init__(self, shared, flag, None, joins=True)
        self.waiting, self.meeting, self.agreement, self.known = (
            shared.waiting,
            shared.meeting,
            shared.agreement,
            shared.known,
        )
        self.possible, self.in_function = possible, in_function
        self.failed, self.outer, self.exits = self.flag, [], None if in_function else (self.flag, self.flag)

    def may_fail(self, s: n.Stmt) -> bool:
        return self.exits_from(s) or _may_fail([s], self.failing)

    def called(self, e: n.Call) -> n.Call:
        return n.Call(e.func, (*map(self.node, e.args), self.failed), e.type)

    def told(self) -> list[n.Stmt]:
        told: list[n.Stmt] = [n.Store(flag, n.Const(True, u1)) for flag in (self.failed, *self.outer)]
        return told if self.leave is None else [*told, self.leave]

    def one(self, s: n.Stmt, possible: bool) -> list[n.Stmt]:
        """A failure of a function that the statement calls ends the rounds of the loops around, too."""
        calls = bool(self.outer) and any(isinstance(x, n.Call) and self.fails(x) for x in walk.walk([s]))
        outer = [*self.outer]
        made = super().one(s, possible)
        if not calls:
            return made
        failed = n.Load(self.failed, u1)
        return [*made, *(n.Store(f, n.Binary("logic_or", n.Load(f, u1), failed, u1)) for f in outer)]

    def statement(self, s: n.Stmt) -> list[n.Stmt]:
        if self.exits is not None and isinstance(s, (n.Break, n.Continue)):
            return self.exit(s)
        outside = self.exits
        if isinstance(s, (n.For, n.While)):
            self.exits = None
        made = self._statement(s)
        self.exits = outside
        return made

    def _statement(self, s: n.Stmt) -> list[n.Stmt]:
        waiting = waits([s], self.waiting)
        if waiting and self.possible:
            self.spare(s)
            followed = self.followed(s)
            if followed is not None:
                return followed
        if isinstance(s, (n.For, n.While)) and waiting:
            if isinstance(s, n.While):
                return [self.loop(s)]
            walk.update(s, self.node)
            return [s]
        made = super().statement(s)
        skips = self.leave is None and bool(self.before) and not waiting
        return [self.guard(made)] if skips and not isinstance(s, n.Declare) else made
