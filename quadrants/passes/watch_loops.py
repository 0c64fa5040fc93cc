"""Loops on devices whose driver ends them when a thread has done too many rounds, and does not say so.

    for i in range(n):              rounds = 0
        if done(i):                 left = False
            break                   for i in range(n):
                                        rounds += 1
                                        if done(i):
                                            left = True
                                            break
                                    check left or rounds == n

What such a driver counts are the rounds of all loops of a thread in one task. Tasks that cannot have that many are left
alone.
"""

from __future__ import annotations

from itertools import count

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.ranges import known_length
from quadrants.ir.types import u1, u32

# Rounds that every such driver allows, with room for loops of helpers.
_HARMLESS = 1 << 14


def watch_loops(module: n.Module) -> n.Module:
    """Fail the launch where a loop ended that had more to do."""
    bodies = [task.body for task in module.tasks if _rounds(task.body) > _HARMLESS]
    strides = any(task.loop is not None for task in module.tasks)
    if not bodies and not strides:
        return module
    module.cut_site = len(module.sites)
    frames = module.sites[0][1][:0] if module.sites else []
    module.sites.append((("loop cut",), frames, module.name))
    numbers = count(1)
    for body in bodies:
        body[:] = _block(body, module.cut_site, numbers)
    if bodies:
        for function in module.functions:
            function.body = _block(function.body, module.cut_site, numbers)
    return module


def _rounds(body: list[n.Stmt]) -> int:
    """The most rounds of all loops in a body; more than any where that is not known."""
    total = 0
    for s in body:
        inner = sum(_rounds(block) for block in _blocks(s)) + _called(s)
        if isinstance(s, n.While):
            return _HARMLESS + 1
        if isinstance(s, n.For):
            rounds = 1
            for bound in s.bounds:
                known = known_length(*bound)
                if known is None:
                    return _HARMLESS + 1
                rounds *= known
            inner = rounds * (1 + inner)
        total += inner
        if total > _HARMLESS:
            break
    return total


def _blocks(s: n.Stmt) -> list[list[n.Stmt]]:
    if isinstance(s, n.If):
        return [s.then, s.orelse]
    return [s.body] if isinstance(s, (n.For, n.While)) else []


def _called(s: n.Stmt) -> int:
    """Rounds of the functions that a statement calls itself."""
    if isinstance(s, (n.If, n.For, n.While)):
        found = [s.cond] if not isinstance(s, n.For) else [e for bound in s.bounds for e in bound]
    else:
        found = [s]  # type: ignore[list-item]
    return sum(_rounds(node.func.body) for node in walk.walk(found) if isinstance(node, n.Call))


def _block(body: list[n.Stmt], site: int, numbers: count[int]) -> list[n.Stmt]:
    out: list[n.Stmt] = []
    for s in body:
        walk.update_blocks(s, _block, site, numbers)
        if isinstance(s, n.While):
            out += _while(s, site, next(numbers))
        elif isinstance(s, n.For) and s.unroll != "full":
            out += _for(s, site, next(numbers))
        else:
            out.append(s)
    return out


def _while(s: n.While, site: int, number: int) -> list[n.Stmt]:
    """The flag is looked at in the next round: what a round computes before it leaves is, on llvmpipe, that of the last
    round of any thread of the subgroup, where those that have left read 0 from memory.

    It is compared with a zero that no compiler knows: one that knows what ended the loop leaves the check out."""
    ended = n.Var(f"qd_ended_{number}", u32, mutable=True)
    place, one = n.VarPlace(ended, u32), n.Const(1, u32)
    s.pre, s.body = [], [*s.pre, n.If(s.cond, _told(s.body, place), [n.Store(place, one)])]
    s.cond = n.Binary("eq", n.Load(place, u32), n.Builtin("zero", u32), u1)
    holds = n.Binary("eq", n.Load(place, u32), one, u1)
    return [n.Declare(ended, n.Const(0, u32)), s, n.Check(holds, site, (), s.loc)]


def _for(s: n.For, site: int, number: int) -> list[n.Stmt]:
    rounds, wanted = n.Var(f"qd_rounds_{number}", u32, mutable=True), n.Var(f"qd_wanted_{number}", u32)
    left = n.Var(f"qd_out_{number}", u32, mutable=True)
    done, out = n.VarPlace(rounds, u32), n.VarPlace(left, u32)
    total: n.Expr = n.Const(1, u32)
    for begin, end in s.bounds:
        length = n.Binary("sub", n.Cast(end, u32), n.Cast(begin, u32), u32)
        some = n.Binary("lt", begin, end, u1)
        total = n.Binary("mul", total, n.Select(some, length, n.Const(0, u32), u32), u32)
    more = n.Store(done, n.Binary("add", n.Load(done, u32), n.Const(1, u32), u32))
    s.body = [more, *_told(s.body, out)]
    enough = n.Binary("eq", n.Load(done, u32), n.Load(n.VarPlace(wanted, u32), u32), u1)
    holds = n.Binary("logic_or", n.Binary("eq", n.Load(out, u32), n.Const(1, u32), u1), enough, u1)
    return [
        n.Declare(rounds, n.Const(0, u32)),
        n.Declare(wanted, total),
        n.Declare(left, n.Const(0, u32)),
        s,
        n.Check(holds, site, (), s.loc),
    ]


def _told(body: list[n.Stmt], place: n.VarPlace) -> list[n.Stmt]:
    """A body that sets a flag before every `break` of the loop that it is the body of."""
    out: list[n.Stmt] = []
    for s in body:
        if isinstance(s, n.Break):
            out.append(n.Store(place, n.Const(1, u32)))
        elif isinstance(s, n.If):
            s.then, s.orelse = _told(s.then, place), _told(s.orelse, place)
        out.append(s)
    return out
