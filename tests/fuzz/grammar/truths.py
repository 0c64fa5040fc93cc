"""Truth values and conditions."""

from __future__ import annotations

from .types import U1, Expr


class Truths:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    def comparison(self, depth: int) -> Expr:
        """A u1."""
        choice = self.draw.number(0, 9)
        ops = ("<", "<=", ">", ">=", "==")
        if choice == 0 and depth > 0:
            return Expr(f"(not {self.condition(depth - 1).text})", U1)
        if choice == 1 and depth > 0:
            a, b, c = self.g.integers.any(depth - 1), self.g.integers.operand(depth - 1), self.g.integers.any(depth - 1)
            return Expr(f"({a.text} {self.draw.pick(ops)} {b.text} {self.draw.pick(ops)} {c.text})", U1)
        if choice == 2 and depth > 0:
            word = self.draw.pick(("and", "or", "&", "|", "^"))
            return Expr(f"({self.comparison(depth - 1).text} {word} {self.comparison(depth - 1).text})", U1)
        if choice == 3 and depth > 0:
            found = self.g.tensors.truth(depth - 1)
            if found is not None:
                return found
        if choice == 4 and depth > 0 and self.draw.chance(0.5):
            e = self.g.reals.any(depth - 1) if self.draw.chance(0.4) else self.g.integers.any(depth - 1)
            return Expr(self.draw.pick((f"qd.cast({e.text}, qd.u1)", f"bool({e.text})", f"qd.u1({e.text})")), U1)
        if choice == 4:
            found = self.g.scope.values(lambda t: t.dtype.bits == 1 and not t.shape)
            if found:
                return Expr(self.draw.pick(found).name, U1)
        if choice == 5:
            found = self.g.cells.read(lambda t: t.dtype.bits == 1, depth - 1)
            if found is not None:
                return found
        if choice == 6 and depth > 0:
            return Expr(f"qd.math.{self.draw.pick(('isnan', 'isinf'))}({self.g.reals.any(depth - 1).text})", U1)
        if choice == 7 and depth > 0:
            return Expr(f"(~{self.comparison(depth - 1).text})", U1)
        if choice in (8, 9) and depth > 0:
            a, b = self.g.reals.pair(depth - 1)
            return Expr(f"({a.text} {self.draw.pick(ops)} {b.text})", U1)
        a, b = self.g.integers.pair(depth - 1)
        return Expr(f"({a.text} {self.draw.pick((*ops, '!='))} {b.text})", U1)

    def condition(self, depth: int) -> Expr:
        """What `if` takes: a truth value or an integer."""
        choice = self.draw.number(0, 6)
        if choice == 0 and depth > 0:
            word = self.draw.pick(("and", "or"))
            return Expr(f"({self.condition(depth - 1).text} {word} {self.condition(depth - 1).text})", U1)
        if choice == 1:
            return self.g.integers.any(depth - 1)
        return self.comparison(depth)
