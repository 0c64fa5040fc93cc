"""Components of a tensor in several arrays, chosen at run time, for languages without pointers.

    v = x[i][k]         v = x_0[i] if k == 0 else x_1[i] if k == 1 else x_2[i]
    x[i][k] = v         if k == 0: x_0[i] = v ..

An atomic update of such a component takes the same branches, before the statement that uses what was there.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import ValueType, scalar, u1
from quadrants.passes.hoisting import Hoisting


def choices_by_branch(module: n.Module) -> n.Module:
    """Take one branch for each place that a place may be."""
    rewrite = _Rewrite()
    for task in module.tasks:
        task.body = rewrite.block(task.body)
        for _, final in task.reductions:
            final.then = rewrite.block(final.then)
    for function in module.functions:
        function.body = rewrite.block(function.body)
    return module


class _Rewrite(Hoisting):
    def __init__(self) -> None:
        super().__init__()
        self.numbers = count(1)

    def statement(self, s: n.Stmt) -> list[n.Stmt]:
        if isinstance(s, n.Store) and isinstance(s.place, n.Choice):
            value, choice = self.node(s.value), s.place
            return [_branches(choice, self.node, lambda place: n.Store(place, value, s.loc))]
        if isinstance(s, n.Eval) and isinstance(s.value, n.Atomic) and isinstance(s.value.place, n.Choice):
            atomic, loc = s.value, s.loc
            args = tuple(map(self.node, atomic.args))
            return [_branches(s.value.place, self.node, lambda place: n.Eval(_updated(atomic, place, args), loc))]
        walk.update(s, self.node)
        return [s]

    def node(self, x: Any) -> Any:
        if isinstance(x, list):
            return self.block(x)
        if isinstance(x, (n.Load, n.Volatile)) and isinstance(x.place, n.Choice):
            return _chain(x.place, self.node, lambda place: type(x)(place, x.type), x.type)
        if isinstance(x, n.Atomic) and isinstance(x.place, n.Choice):
            return self.update(x, x.place)
        return walk.rebuilt(x, self.node)

    def update(self, e: n.Atomic, choice: n.Choice) -> n.Load:
        """The value that was there, in a variable that is set before."""
        args = tuple(map(self.node, e.args))
        was = n.Var(f"qd_was_{next(self.numbers)}", e.type, mutable=True)
        place = n.VarPlace(was, e.type)
        t = scalar(e.type)
        zero = n.Const(0.0 if t.is_real else 0, t)
        taken = _branches(choice, self.node, lambda chosen: n.Store(place, _updated(e, chosen, args)))
        self.before += [n.Declare(was, zero), taken]
        return n.Load(place, e.type)


def _updated(e: n.Atomic, place: n.Place, args: tuple[n.Expr, ...]) -> n.Atomic:
    return n.Atomic(e.op, place, args, e.type, e.plain)


def _is(index: n.Expr, k: int) -> n.Binary:
    return n.Binary("eq", index, n.Const(k, scalar(index.type)), u1)


def _chain(choice: n.Choice, rewrite: Callable[[Any], Any], read: Callable[[n.Place], n.Expr], t: ValueType) -> n.Expr:
    index, places = rewrite(choice.index), [rewrite(place) for place in choice.places]
    found = read(places[-1])
    for k in range(len(places) - 2, -1, -1):
        found = n.Select(_is(index, k), read(places[k]), found, t)
    return found


def _branches(choice: n.Choice, rewrite: Callable[[Any], Any], write: Callable[[n.Place], n.Stmt]) -> n.Stmt:
    index, places = rewrite(choice.index), [rewrite(place) for place in choice.places]
    found = write(places[-1])
    for k in range(len(places) - 2, -1, -1):
        found = n.If(_is(index, k), [write(places[k])], [found])
    return found
