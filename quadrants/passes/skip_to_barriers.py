"""Threads that failed among others that wait for them: no thread may leave, so it skips what is between the barriers.

    check a                             holds = a; check holds; if not holds: failed = True
    x[i] = 1                            if not failed: x[i] = 1
    sync()                              sync()
    y[i] = x[j]                         if not failed: y[i] = x[j]

Threads without an iteration skip likewise, from the start. What is declared between two barriers and used behind the
second is declared in front of the condition. Where a condition or a bound decides about a barrier, threads that skip
get it from the others: `passes.staying`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.literals import zero
from quadrants.ir.ranges import known_length
from quadrants.ir.types import u1
from quadrants.passes.blocks import ALONE

# The largest block.
_MOST = 1024


def all_busy(loop: n.For | None) -> bool:
    """Whether the iterations of a loop fill blocks."""
    if loop is None or not loop.vars:
        return True
    count = 1
    for bound in loop.bounds:
        count *= known_length(*bound) or 1
        if known_length(*bound) is None:
            return False
    return count % ((loop.config.block_dim if loop.config is not None else None) or _MOST) == 0


def waiting_functions(functions: list[n.Function]) -> frozenset[str]:
    """The names of the functions in which threads wait for one another, or in what they call."""
    found: set[str] = set()
    while True:
        more = {f.name for f in functions if f.name not in found and waits(f.body, found)}
        if not more:
            return frozenset(found)
        found |= more


def waits(body: Sequence[walk.Nodes], waiting: Set[str]) -> bool:
    """Whether threads wait for one another in there. waiting: names of functions that do."""
    for x in walk.walk(body):
        if isinstance(x, n.Intrinsic) and x.op not in ALONE or isinstance(x, n.Call) and x.func.name in waiting:
            return True
    return False


class Skipping:
    """A part of a rewriter of blocks, which has the rest. possible: a failure may have happened that no condition is
    around."""

    flag: n.VarPlace
    leave: n.Stmt | None
    before: list[n.Stmt]
    waiting: Set[str]
    statement: Callable[[n.Stmt], list[n.Stmt]]
    may_fail: Callable[[n.Stmt], bool]
    possible = False
    stale = False  # the innermost condition does not know of the last failure

    def block(self, body: list[n.Stmt]) -> list[n.Stmt]:
        """The statements of a block; in a loop without barriers a failure breaks out of it."""
        if self.leave is not None:
            return [made for s in body for made in self.one(s, False)]
        out: list[n.Stmt] = []
        possible, guarded, at = self.possible, out, 0  # at: where the conditions behind the last barrier begin
        for k, s in enumerate(body):
            waiting, fails = waits([s], self.waiting), self.may_fail(s)
            loops = isinstance(s, (n.For, n.While))
            made = self.one(s, waiting and (possible or loops and fails))
            if waiting or not possible:
                out += made
                guarded, at = out, len(out)
            else:
                if guarded is out or self.stale:
                    guarded, self.stale = self._add(guarded), False
                if any(waits([later], self.waiting) for later in body[k + 1 :]):
                    made = _declared_before(made, out, at)
                guarded += made
            possible, self.stale = possible or fails, fails
        return out

    def one(self, s: n.Stmt, possible: bool) -> list[n.Stmt]:
        """The statements for one, with what comes in front of it. possible: a failure may have happened before it."""
        outer, self.before = self.before, []
        around, stale, self.possible, self.stale = self.possible, self.stale, possible, False
        made = self.statement(s)
        made = [*self.before, *made]
        self.before, self.possible, self.stale = outer, around, stale
        return made

    def guard(self, body: list[n.Stmt]) -> n.If:
        return n.If(n.Unary("logic_not", n.Load(self.flag, u1), u1), body, [])

    def _add(self, out: list[n.Stmt]) -> list[n.Stmt]:
        made = self.guard([])
        out.append(made)
        return made.then


def _declared_before(made: list[n.Stmt], out: list[n.Stmt], at: int) -> list[n.Stmt]:
    """Statements whose variables are declared at `at` in `out`."""
    inside: list[n.Stmt] = []
    for s in made:
        if not isinstance(s, n.Declare) or s.var.shared:
            inside.append(s)
            continue
        s.var.mutable = True
        out.insert(at, n.Declare(s.var, zero(s.var.type)))
        inside.append(n.Store(n.VarPlace(s.var, s.var.type), s.init, s.loc))
    return inside
