"""Statements in which threads wait for one another, on threads that failed or had no iteration.

They follow the others (`passes.agreement`), and evaluate nothing on the way that could be out of range. So does a
thread that leaves a loop with barriers, until the last one has left it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

from quadrants.errors import QuadrantsCompilationError
from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.literals import zero
from quadrants.ir.types import u1
from quadrants.passes.agreement import Agreement, meets, same_for_all
from quadrants.passes.user_lines import at_users_line

Waiting = n.If | n.For | n.While


def leaves(body: Sequence[n.Stmt], *kinds: type[n.Break | n.Continue]) -> bool:
    """Whether the loop around a body is left there, or a round of it."""
    return any(
        isinstance(s, kinds) or not isinstance(s, (n.For, n.While)) and any(leaves(b, *kinds) for b in walk.blocks(s))
        for s in body
    )


class Staying:
    """A part of a rewriter of blocks, which has the rest. in_function: what it rewrites has no shared arrays.

    flag: of threads that do nothing where we are. outer: flags of the loops around, which a failure sets, too. exits:
    what `break` and `continue` set of the innermost loop.
    """

    flag: n.VarPlace
    outer: list[n.VarPlace]
    exits: tuple[n.VarPlace, n.VarPlace] | None
    before: list[n.Stmt]
    numbers: Iterator[int]
    meeting: Set[str]
    known: Set[int]
    agreement: Agreement
    in_function: bool
    node: Callable[[Any], Any]
    block: Callable[[list[n.Stmt]], list[n.Stmt]]
    guard: Callable[[list[n.Stmt]], n.If]

    def followed(self, s: n.Stmt) -> list[n.Stmt] | None:
        """A statement with barriers inside so that all threads of a block go the same way, or None where they do."""
        if not isinstance(s, Waiting) or not meets([s], self.meeting):
            return None
        if isinstance(s, n.If):
            return self._branch(s)
        return self._loop(s)

    def _loop(self, s: n.For | n.While) -> list[n.Stmt] | None:
        breaks, goes_on = leaves(s.body, n.Break), leaves(s.body, n.Continue)
        bounded = isinstance(s, n.For) and all(same_for_all(e, self.known) for pair in s.bounds for e in pair)
        if bounded and not breaks and not goes_on:
            return None
        self._refuse_in_function(s)
        flag, exits, outer = self.flag, self.exits, len(self.outer)
        made: list[n.Stmt] = []
        if isinstance(s, n.For) and not bounded:
            made += self._bounds(s)
        gone = self._gone(made) if breaks else self.flag
        if isinstance(s, n.For):
            s.body = [*(self._until_all_left() if breaks else []), *self._round(s.body, gone, goes_on)]
        else:
            made += self._condition(s)
            s.body = [*self._round(s.body, gone, goes_on)]
        self.flag, self.exits = flag, exits
        del self.outer[outer:]
        return [*made, s]

    def _branch(self, s: n.If) -> list[n.Stmt]:
        self._refuse_in_function(s)
        onward = self._onward()
        told = self.agreement.any(self.block([n.Store(onward, s.cond)]), onward, self.flag)
        s.cond, s.then, s.orelse = n.Load(onward, u1), self.block(s.then), self.block(s.orelse)
        return [n.Declare(onward.var, n.Const(False, u1)), *told, s]

    def _condition(self, s: n.While) -> list[n.Stmt]:
        onward = self._onward()
        told = self.agreement.any(self.block([*s.pre, n.Store(onward, s.cond)]), onward, self.flag)
        s.pre, s.cond = [n.Store(onward, n.Const(False, u1)), *told], n.Load(onward, u1)
        return [n.Declare(onward.var, n.Const(False, u1))]

    def _bounds(self, s: n.For) -> list[n.Stmt]:
        bounds = [e for pair in s.bounds for e in pair]
        places = [self._variable(e) for e in bounds]
        stores: list[n.Stmt] = [n.Store(p, e) for p, e in zip(places, bounds, strict=True)]
        told = self.agreement.equal(self.block(stores), places, self.flag)
        loads = [n.Load(p, p.type) for p in places]
        s.bounds = tuple(zip(loads[::2], loads[1::2], strict=True))
        return [*(n.Declare(p.var, zero(p.type)) for p in places), *told]

    # ------------------------------------------------------------ threads that leave a loop, or a round of it

    def _gone(self, made: list[n.Stmt]) -> n.VarPlace:
        """A flag for threads that failed, or that have left what begins here: they follow the others to its end."""
        gone = n.VarPlace(n.Var(f"qd_gone_{next(self.numbers)}", u1, mutable=True), u1)
        made.append(n.Declare(gone.var, n.Load(self.flag, u1)))
        self.outer.append(gone)
        self.flag = gone
        return gone

    def _round(self, body: list[n.Stmt], gone: n.VarPlace, goes_on: bool) -> list[n.Stmt]:
        head: list[n.Stmt] = []
        self.exits = gone, self._gone(head) if goes_on else gone
        return [*head, *self.block(body)]

    def _until_all_left(self) -> list[n.Stmt]:
        onward = self._onward()
        told = self.agreement.any([n.Store(onward, n.Const(True, u1))], onward, self.flag)
        over = n.If(n.Unary("logic_not", n.Load(onward, u1), u1), [n.Break()], [])
        return [n.Declare(onward.var, n.Const(False, u1)), *told, over]

    def exit(self, s: n.Break | n.Continue) -> list[n.Stmt]:
        """What is in place of a statement that leaves a loop whose threads wait for one another."""
        assert self.exits is not None
        loop, turn = self.exits
        places = [loop, turn] if isinstance(s, n.Break) and loop is not turn else [turn]
        return [n.Store(place, n.Const(True, u1)) for place in places]

    def exits_from(self, s: n.Stmt) -> bool:
        return self.exits is not None and leaves([s], n.Break, n.Continue)

    def _onward(self) -> n.VarPlace:
        return n.VarPlace(n.Var(f"qd_onward_{next(self.numbers)}", u1, mutable=True), u1)

    def spare(self, s: n.Stmt) -> None:
        """Take what an operation of several threads is handed out of it, so that nothing is read in vain."""
        e = s.init if isinstance(s, n.Declare) else s.value if isinstance(s, (n.Eval, n.Store)) else None
        if isinstance(e, (n.Call, n.Intrinsic)):
            e.args = tuple(self._spared(a) for a in e.args)

    def _spared(self, a: n.Expr | n.Place) -> n.Expr | n.Place:
        if isinstance(a, (n.Const, *n.PLACES)) or isinstance(a, n.Load) and isinstance(a.place, n.VarPlace):
            return a
        place = self._variable(a)
        self.before += [n.Declare(place.var, zero(a.type)), *self.block([n.Store(place, a)])]
        return n.Load(place, a.type)

    def _variable(self, e: n.Expr) -> n.VarPlace:
        return n.VarPlace(n.Var(f"qd_told_{next(self.numbers)}", e.type, mutable=True), e.type)

    def _refuse_in_function(self, s: Waiting) -> None:
        if self.in_function:
            text = (
                "A barrier in a loop or a branch of a @qd.real_func, called where some threads of a block have no "
                "iteration or may fail: on this arch they cannot follow the others there. Make it a @qd.func."
            )
            raise QuadrantsCompilationError(at_users_line(s.loc, text) if s.loc is not None else text)
