"""Variables of a kernel that a serial task hands over by reference, where pointers say which memory they lead to.

                    t = total
v = f(total)        v = f(t)
                    total = t
"""

from __future__ import annotations

from itertools import count
from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.passes.hoisting import Hoisting


def references_by_copy(module: n.Module) -> n.Module:
    """Hand over copies of the variables that all threads see, and take them back."""
    rewrite = _Rewrite()
    for task in module.tasks:
        task.body = rewrite.block(task.body)
    return module


class _Rewrite(Hoisting):
    def __init__(self) -> None:
        super().__init__()
        self.numbers = count(1)
        self.after: list[n.Stmt] = []

    def statement(self, s: n.Stmt) -> list[n.Stmt]:
        outer, self.after = self.after, []
        if isinstance(s, n.While):
            self.condition(s)
        else:
            walk.update(s, self.node)
        made, self.after = [s, *self.after], outer
        return made

    def condition(self, s: n.While) -> None:
        """What a condition calls changes nothing, but what it reads changes from round to round."""
        s.body = self.block(s.body)
        pre = self.block(s.pre)
        outer, self.before = self.before, []
        s.cond = self.node(s.cond)
        s.pre, self.before = [*pre, *self.before], outer

    def node(self, x: Any) -> Any:
        if isinstance(x, list):
            return self.block(x)
        x = walk.rebuilt(x, self.node)
        if not isinstance(x, n.Call) or not any(map(_is_shared, x.args)):
            return x
        return n.Call(x.func, tuple(self.copied(a) if _is_shared(a) else a for a in x.args), x.type)

    def copied(self, place: Any) -> n.Place:
        var = n.Var(f"qd_copy_{next(self.numbers)}", place.type, mutable=True)
        copy = n.VarPlace(var, place.type)
        self.before.append(n.Declare(var, n.Load(place, place.type)))
        self.after.append(n.Store(place, n.Load(copy, place.type)))
        return copy


def _is_shared(argument: n.Expr | n.Place) -> bool:
    return isinstance(argument, n.VarPlace) and argument.var.shared
