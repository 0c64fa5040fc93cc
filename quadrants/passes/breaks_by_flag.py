"""Loops over several axes that are left from inside, for languages that have no jump.

for i, j in ndrange(m, n):                  left = False
    if done(i, j):                          for i in range(m):
        break                                   for j in range(n):
                                                    if done(i, j):
                                                        left = True
                                                        break
                                                if left:
                                                    break
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import u1


def breaks_by_flag(module: n.Module) -> n.Module:
    """Nest the loops of several axes that have a `break`, and leave each by a flag."""
    numbers = count(1)
    for task in module.tasks:
        task.body = _block(task.body, numbers)
    for function in module.functions:
        function.body = _block(function.body, numbers)
    return module


def _block(body: list[n.Stmt], numbers: Iterator[int]) -> list[n.Stmt]:
    out: list[n.Stmt] = []
    for s in body:
        walk.update_blocks(s, _block, numbers)
        if isinstance(s, n.For) and s.has_break and len(s.vars) > 1:
            out += _nested(s, n.Var(f"qd_left_{next(numbers)}", u1, mutable=True))
        else:
            out.append(s)
    return out


def _nested(s: n.For, flag: n.Var) -> list[n.Stmt]:
    place = n.VarPlace(flag, u1)
    body = _told(s.body, n.Store(place, n.Const(True, u1)))
    for var, bound in zip(s.vars[::-1], s.bounds[::-1]):
        loop = n.For((var,), (bound,), body, has_break=True, loc=s.loc, unroll=s.unroll, backward=s.backward)
        body = [loop, n.If(n.Load(place, u1), [n.Break()], [])]
    return [n.Declare(flag, n.Const(False, u1)), loop]


def _told(body: list[n.Stmt], tell: n.Store) -> list[n.Stmt]:
    """A body with `tell` before every `break` of the loop that it is the body of."""
    out: list[n.Stmt] = []
    for s in body:
        if isinstance(s, n.Break):
            out.append(tell)
        elif isinstance(s, n.If):
            s.then, s.orelse = _told(s.then, tell), _told(s.orelse, tell)
        out.append(s)
    return out
