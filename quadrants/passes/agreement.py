"""Conditions and bounds that the threads of a block must agree on, though some of them do not compute any more.

    while cond(x): .. sync() ..         onward = False
                                        while True:
                                            onward = False
                                            if not failed: onward = cond(x)
                                            onward = any thread's onward
                                            if not onward: break
                                            ..

A thread that failed, or that never had an iteration, skips what is between the barriers, so what it knows is stale. It
follows the others: they have equal conditions and bounds where there is a barrier inside, and hand these over through
shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.literals import zero
from quadrants.ir.types import DType, ValueType, i32, i64, scalar, u1
from quadrants.passes.blocks import ALONE, lay_out


def meets(body: Sequence[walk.Nodes], meeting: Set[str]) -> bool:
    """Whether all threads of a block wait for one another in there. meeting: names of functions in which they do."""
    for x in walk.walk(body):
        if isinstance(x, n.Intrinsic) and x.op.startswith("block.") and x.op not in ALONE:
            return True
        if isinstance(x, n.Call) and x.func.name in meeting:
            return True
    return False


def meeting_functions(functions: list[n.Function]) -> frozenset[str]:
    """The names of the functions in which all threads of a block wait for one another, or in what they call."""
    found: set[str] = set()
    while True:
        more = {f.name for f in functions if f.name not in found and meets(f.body, found)}
        if not more:
            return frozenset(found)
        found |= more


def same_for_all(e: n.Expr, known: Set[int]) -> bool:
    """Whether every thread of a launch has the same number there, whatever it did before. known: ids of variables of
    the launch."""
    return all(
        isinstance(x, _OF_THE_LAUNCH) or isinstance(x, n.VarPlace) and (x.var.shared or x.var.id in known)
        for x in walk.walk([e])
    )


_OF_THE_LAUNCH = (n.Const, n.Extent, n.Binary, n.Cast, n.Unary, n.Load)


class Agreement:
    """What the threads of a module's blocks hand over: the statements for it, and the memory that it takes."""

    def __init__(self) -> None:
        self._memory: dict[DType, n.ArrayDecl] = {}

    def any(self, asked: list[n.Stmt], flag: n.VarPlace, failed: n.VarPlace) -> list[n.Stmt]:
        """Make a flag true on all threads where it is on one that did not fail, behind the statements that set it."""
        mine = n.Binary("logic_and", n.Unary("logic_not", n.Load(failed, u1), u1), n.Load(flag, u1), u1)
        place = self._slot(i32, 0)
        found = n.Binary("ne", n.Load(place, i32), n.Const(0, i32), u1)
        said = n.If(mine, [n.Store(place, n.Const(1, i32))], [])
        return self._exchange(asked, [place], said, [n.Store(flag, found)])

    def equal(self, asked: list[n.Stmt], numbers: Sequence[n.VarPlace], failed: n.VarPlace) -> list[n.Stmt]:
        """Give integers on all threads the values that they have on those that did not fail; 0 where all did."""
        places = [self._slot(_kept(p.type), k) for k, p in enumerate(numbers)]
        told: list[n.Stmt] = [
            n.Store(at, _as(n.Load(p, p.type), at.type)) for at, p in zip(places, numbers, strict=True)
        ]
        taken: list[n.Stmt] = [
            n.Store(p, _as(n.Load(at, at.type), p.type)) for at, p in zip(places, numbers, strict=True)
        ]
        return self._exchange(asked, places, n.If(n.Unary("logic_not", n.Load(failed, u1), u1), told, []), taken)

    def describe(self, module: n.Module) -> None:
        """Give the tasks the shared arrays that they use."""
        for task in module.tasks:
            used = {x.array for x in _slots(task.body) if x.array in self._memory.values()}
            if used:
                arrays = [decl for decl, _ in task.shared_arrays] + sorted(used, key=lambda decl: decl.id)
                task.shared_arrays, task.shared_bytes = lay_out(arrays)

    def _exchange(self, asked: list[n.Stmt], places: list[n.Slot], told: n.Stmt, taken: list[n.Stmt]) -> list[n.Stmt]:
        """The barrier in front is for what was handed over before."""
        first = n.Binary("eq", n.Builtin("block.thread_idx", i32), n.Const(0, i32), u1)
        cleared: list[n.Stmt] = [n.Store(place, zero(place.type)) for place in places]
        return [sync(), *asked, n.If(first, cleared, []), sync(), told, sync(), *taken]

    def _slot(self, t: DType, k: int) -> n.Slot:
        if t not in self._memory:
            self._memory[t] = n.ArrayDecl(f"qd_agreed_{t}", "shared", t, 1, (16,))
        return n.Slot(self._memory[t], n.Const(k, i32), t)


def _kept(t: ValueType) -> DType:
    return i64 if scalar(t).bits == 64 else i32


def _as(e: n.Expr, t: ValueType) -> n.Expr:
    return e if scalar(e.type) is t else n.Cast(e, t)


def sync() -> n.Stmt:
    """A barrier of the block."""
    return n.Eval(n.Intrinsic("block.sync", (), None))  # type: ignore[arg-type]


def _slots(body: Iterable[walk.Nodes]) -> Iterable[n.Slot]:
    return (x for x in walk.walk(list(body)) if isinstance(x, n.Slot))
