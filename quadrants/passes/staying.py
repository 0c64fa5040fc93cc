"""Statements in which threads wait for one another, on threads that failed or had no iteration.

They follow the others (`passes.agreement`), and evaluate nothing on the way that could be out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import Any

from quadrants.errors import QuadrantsCompilationError
from quadrants.ir import nodes as n
from quadrants.ir.literals import zero
from quadrants.ir.types import u1
from quadrants.passes.agreement import Agreement, meets, same_for_all, sync
from quadrants.passes.user_lines import at_users_line

Waiting = n.If | n.For | n.While


class Staying:
    """A part of a rewriter of blocks, which has the rest. in_function: what it rewrites has no shared arrays."""

    flag: n.VarPlace
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
        """A statement with barriers inside so that all threads of a block go the same way, or None where they do.

        The barrier at the end of a loop's body keeps compilers from joining that end with the beginning of the next
        round: PoCL 3.1 ends the process over such loops.
        """
        if not isinstance(s, Waiting) or not meets([s], self.meeting):
            return None
        if isinstance(s, n.For):
            return self._bounds(s)
        onward = n.VarPlace(n.Var(f"qd_onward_{next(self.numbers)}", u1, mutable=True), u1)
        self._refuse_in_function(s)
        if isinstance(s, n.If):
            told = self.agreement.any(self.block([n.Store(onward, s.cond)]), onward, self.flag)
            s.cond, s.then, s.orelse = n.Load(onward, u1), self.block(s.then), self.block(s.orelse)
            return [n.Declare(onward.var, n.Const(False, u1)), *told, s]
        told = self.agreement.any(self.block([*s.pre, n.Store(onward, s.cond)]), onward, self.flag)
        s.pre, s.cond, s.body = [n.Store(onward, n.Const(False, u1)), *told], n.Load(onward, u1), self.block(s.body)
        s.body.append(sync())
        return [n.Declare(onward.var, n.Const(False, u1)), s]

    def _bounds(self, s: n.For) -> list[n.Stmt] | None:
        bounds = [e for pair in s.bounds for e in pair]
        if all(same_for_all(e, self.known) for e in bounds):
            return None
        self._refuse_in_function(s)
        places = [self._variable(e) for e in bounds]
        stores: list[n.Stmt] = [n.Store(p, e) for p, e in zip(places, bounds, strict=True)]
        told = self.agreement.equal(self.block(stores), places, self.flag)
        loads = [n.Load(p, p.type) for p in places]
        s.bounds, s.body = tuple(zip(loads[::2], loads[1::2], strict=True)), self.block(s.body)
        return [*(n.Declare(p.var, zero(p.type)) for p in places), *told, s]

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
