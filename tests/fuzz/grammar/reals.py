"""Reals at run time."""

from __future__ import annotations

from .types import INTS, REALS, Expr, Type, dtype

_DIGITS = ("0.1", "0.7", "3.3", "1000.5", "2049.0", "16777217.0", "0.0001")
_ZEROS = ("qd.cast(0, qd.i32)", "(qd.i32(2) - 2)", "(qd.i32(7) // 8)", "(qd.i32(5) & 2)", "qd.i32(False)")


class Reals:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    def names(self) -> tuple:
        return REALS if self.draw.on("half") else ("f32", "f64")

    def any(self, depth: int) -> Expr:
        """Any real, at run time."""
        forms = {
            "leaf": 6, "arithmetic": 6, "quotient": 2, "integers": 1, "minus": 2, "extremum": 1, "ternary": 1,
            "select": 1, "cast": 2, "from_integer": 2, "there_and_back": 2, "comparison": 1, "absolute": 1,
            "rounding": 1, "root": 1, "power": 1, "call": 2, "component": 1, "reduction": 1, "floor_division": 1,
            "known": 1, "by_zero": 0.3,
        }  # fmt: skip
        if depth <= 0:
            return self.leaf(0)
        for _ in range(6):
            found = getattr(self, self.draw.weighted(forms))(depth - 1)
            if found is not None:
                return found
        return self.leaf(depth)

    def literal(self) -> Expr:
        value = self.draw.number(-40, 40) / 4
        return Expr(f"({value})" if value < 0 else str(value), Type(self.g.fp), literal=True)

    def leaf(self, depth) -> Expr:
        if self.draw.chance(0.5):
            found = self.g.scope.values(lambda t: t.real and not t.shape)
            if found:
                v = self.draw.pick(found)
                return Expr(v.name, v.type)
        if self.draw.chance(0.8):
            e = self.g.cells.read(lambda t: t.real, max(depth, 0))
            if e is not None:
                return e
        name = self.draw.pick(self.names())
        value = abs(self.draw.number(0, 40)) / 4
        if name == "f64" and self.draw.chance(0.1):  # no f32, and beyond what an i32 holds
            value += self.draw.pick((2.0**24, 2.0**31, 2.0**40))
        return Expr(f"qd.{name}({value})", Type(dtype(name)))

    def pair(self, depth):
        a = self.any(depth)
        choice = self.draw.number(0, 9)
        b = self.literal() if choice < 3 else self.g.integers.operand(depth) if choice < 5 else self.any(depth)
        return (b, a) if self.draw.chance(0.5) else (a, b)

    def arithmetic(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(f"({a.text} {self.draw.pick('+-*')} {b.text})", self.g.promoted(a.type, b.type))

    def quotient(self, depth) -> Expr:
        a, b = self.pair(depth)
        type_ = self.g.promoted(a.type, b.type)
        if not a.type.real or not b.type.real:
            type_ = self.g.promoted(*(t if t.real else Type(self.g.fp) for t in (a.type, b.type)))
        raw = a.type.real and b.type.real and self.draw.chance(0.3)
        return Expr(f"qd.raw_div({a.text}, {b.text})" if raw else f"({a.text} / {b.text})", type_)

    def integers(self, depth) -> Expr:
        """A true division of integers."""
        a, b = self.g.integers.pair(depth)
        return Expr(f"({a.text} / {b.text})", Type(self.g.fp))

    def floor_division(self, depth) -> Expr:
        a = self.any(depth)
        if self.draw.chance(0.1):  # of a zero that is known, by whatever: zero or NaN
            text = f"(0.0 {self.draw.pick(('//', '%'))} {a.text})"
            return Expr(text, self.g.promoted(a.type, Type(self.g.fp)))
        b = self.draw.pick(("2.0", "0.75", "(-1.5)", "3", "4.0"))
        return Expr(
            f"({a.text} {self.draw.pick(('//', '%'))} {b})",
            self.g.promoted(a.type, Type(self.g.fp if b != "3" else self.g.ip)),
        )

    def known(self, depth) -> Expr:
        """An operation on numbers that are all known, with digits that its type has not."""
        name = self.draw.pick(self.names())
        a, b = (f"qd.{name}({self.draw.pick(_DIGITS)})" for _ in range(2))
        return Expr(f"({a} {self.draw.pick('+-*')} {b})", Type(dtype(name)))

    def by_zero(self, depth) -> Expr:
        """With an integer, or a real one made of none, that a compiler finds to be zero."""
        a, zero = self.any(depth), self.draw.pick(_ZEROS)
        type_ = a.type if a.type.real else Type(self.g.fp)
        return Expr(f"({a.text} {self.draw.pick('*/')} {zero})", type_)

    def minus(self, depth) -> Expr:
        e = self.any(depth)
        text = e.text
        for sign in reversed(self.draw.pick(("-", "-", "--", "-+", "---"))):
            text = f"({sign}{text})"
        return Expr(text, e.type)

    def extremum(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(
            f"{self.draw.pick(('min', 'max', 'qd.min', 'qd.max'))}({a.text}, {b.text})", self.g.promoted(a.type, b.type)
        )

    def ternary(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(
            f"({a.text} if {self.g.truths.condition(depth).text} else {b.text})", self.g.promoted(a.type, b.type)
        )

    def select(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(
            f"qd.select({self.g.truths.condition(depth).text}, {a.text}, {b.text})", self.g.promoted(a.type, b.type)
        )

    def cast(self, depth) -> Expr:
        return self.g.casts.cast(self.any(depth), self.draw.pick((*self.names(), "float")))

    def from_integer(self, depth) -> Expr:
        return self.g.casts.cast(self.g.integers.any(depth), self.draw.pick((*self.names(), "float")))

    def there_and_back(self, depth) -> Expr | None:
        if not self.draw.on("there_and_back"):
            return None
        whole = self.g.casts.cast(self.any(depth), self.draw.pick((*INTS, "int")))
        if self.draw.chance(0.3):
            return Expr(f"({whole.text} * 0.5)", self.g.promoted(whole.type, Type(self.g.fp)))
        return self.g.casts.cast(whole, self.draw.pick((*self.names(), "float")))

    def comparison(self, depth) -> Expr:
        c, b = self.g.truths.comparison(depth), self.any(depth)
        sign = "-" if self.draw.on("negated_comparison") and self.draw.chance(0.3) else ""
        return Expr(f"({sign}{c.text} * {b.text})", b.type)

    def absolute(self, depth) -> Expr:
        e = self.any(depth)
        return Expr(f"{self.draw.pick(('abs', 'qd.abs'))}({e.text})", e.type)

    def rounding(self, depth) -> Expr:
        e = self.any(depth)
        return Expr(f"qd.{self.draw.pick(('floor', 'ceil', 'round'))}({e.text})", e.type)

    def root(self, depth) -> Expr:
        e = self.any(depth)
        return Expr(f"qd.sqrt(abs({e.text}))", e.type)

    def power(self, depth) -> Expr:
        e = self.any(depth)
        by = self.draw.pick(("2", "3", "0", "1", "2.0", "(-1)", "(-2)"))
        return Expr(f"({e.text} ** {by})", self.g.promoted(e.type, Type(self.g.fp)) if by == "2.0" else e.type)

    def call(self, depth) -> Expr | None:
        return self.g.calls.value(lambda t: t.real and not t.shape, depth)

    def component(self, depth) -> Expr | None:
        return self.g.tensors.component(lambda t: t.real, depth)

    def reduction(self, depth) -> Expr | None:
        return self.g.tensors.reduction(lambda t: t.real, depth)
