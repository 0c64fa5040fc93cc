"""Integers within given bounds, in every form that an index may take."""

from __future__ import annotations

from .types import Expr, Type, Var, dtype, integer

_FORMS = {
    "constant": 2, "variable": 5, "sum": 3, "difference": 3, "mask": 3, "modulo": 2, "comparison": 1, "select": 1,
    "ternary": 1, "clamp": 1, "cast": 1, "xor": 1, "or": 1, "shift_left": 1, "shift_right": 1, "product": 1,
    "quotient": 1, "minus_chain": 1, "inverted": 1, "extremum": 1, "load": 2, "call": 1, "logic": 1,
}  # fmt: skip


class Indices:
    def __init__(self, g):
        self.g = g
        self.i32 = Type(dtype("i32"))

    @property
    def draw(self):
        return self.g.draw

    @property
    def int_type(self) -> Type:
        return Type(self.g.ip)

    def literal(self, value: int) -> Expr:
        text = str(value) if value >= 0 else f"({value})"
        return integer(text, self.int_type, value, value, literal=True)

    def within(self, low: int, high: int, depth: int = 2) -> Expr:
        """An integer of [low, high]."""
        for _ in range(8):
            form = self.draw.weighted(_FORMS) if depth > 0 else self.draw.pick(("constant", "variable", "variable"))
            found = getattr(self, form)(low, high, depth - 1)
            if found is not None and found.ranged and low <= found.low and found.high <= high:
                return found
        return self.literal(self.draw.number(low, high))

    def at_run_time(self, low: int, high: int, depth: int) -> Expr:
        """As `within`, but no literal."""
        e = self.within(low, high, depth)
        return integer(f"qd.cast({e.text}, qd.i32)", self.i32, e.low, e.high) if e.literal else e

    def moved(self, e: Expr, low: int, high: int) -> Expr | None:
        """`e` with a constant added, so that its range lies in [low, high]."""
        if not e.ranged or e.high - e.low > high - low:
            return None
        by = self.draw.number(low - e.low, high - e.high)
        if by == 0:
            return e
        low, high = e.low + by, e.high + by
        if by > 0:
            text = self.draw.pick((f"({e.text} + {by})", f"({by} + {e.text})", f"({e.text} - (-{by}))"))
        else:
            text = self.draw.pick((f"({e.text} - {-by})", f"({e.text} + ({by}))", f"(({by}) + {e.text})"))
        type_ = self.g.promoted(e.type, self.int_type)
        return integer(text, type_, low, high, e.literal)

    # ------------------------------------------------------------ forms; each may give None

    def constant(self, low, high, depth):
        return self.literal(self.draw.number(low, high))

    def variables(self) -> list[Var]:
        found = self.g.scope.values(lambda t: not t.real and not t.shape and t.dtype.bits > 1)
        return [v for v in found if v.low is not None]

    def variable(self, low, high, depth):
        found = self.variables()
        if not found:
            return None
        v = self.draw.pick(found)
        return self.moved(integer(v.name, v.type, v.low, v.high, literal=v.constant), low, high)

    def variable_or_literal(self, low: int, high: int) -> str:
        e = self.variable(low, high, 0)
        return (
            e.text
            if e is not None and e.ranged and low <= e.low and e.high <= high
            else self.literal(self.draw.number(low, high)).text
        )

    def sum(self, low, high, depth):
        part = self.draw.number(0, high - low)
        a, b = self.at_run_time(0, part, depth), self.within(0, high - low - part, depth)
        if self.draw.chance(0.5):
            a, b = b, a
        type_ = self.g.promoted(a.type, b.type)
        return self.moved(integer(f"({a.text} + {b.text})", type_, a.low + b.low, a.high + b.high), low, high)

    def difference(self, low, high, depth):
        part = self.draw.number(0, high - low)
        a, b = self.within(part, high - low, depth), self.at_run_time(0, part, depth)
        type_ = self.g.promoted(a.type, b.type)
        return self.moved(integer(f"({a.text} - {b.text})", type_, a.low - b.high, a.high - b.low), low, high)

    def power_of_two(self, low, high) -> int | None:
        """A number 2^k - 1 that is no more than the width."""
        width = high - low
        options = [m for m in (1, 3, 7, 15) if m <= width]
        return self.draw.pick(options) if options else None

    def mask(self, low, high, depth):
        m = self.power_of_two(low, high)
        if m is None:
            return None
        e = self.g.integers.any(depth)
        if e.type.shape or e.type.dtype.bits == 1:
            return None
        text = self.draw.pick((f"({e.text} & {m})", f"({m} & {e.text})"))
        return self.moved(integer(text, self.g.promoted(e.type, self.int_type), 0, m), low, high)

    def modulo(self, low, high, depth):
        n = self.draw.number(1, high - low + 1)
        e = self.g.integers.any(depth)
        return self.moved(integer(f"({e.text} % {n})", self.g.promoted(e.type, self.int_type), 0, n - 1), low, high)

    def comparison(self, low, high, depth):
        if high - low < 1:
            return None
        c = self.g.truths.comparison(depth)
        if self.draw.chance(0.5):
            name = self.draw.pick(("i32", "u8", "i64"))
            c = integer(f"qd.cast({c.text}, qd.{name})", Type(dtype(name)), 0, 1)
        return self.moved(integer(c.text, c.type, 0, 1), low, high)

    def logic(self, low, high, depth):
        """`and`, `or` of integers give one of them."""
        if low > 0 or high < 0:
            return None
        a, b = self.at_run_time(low, high, depth), self.within(low, high, depth)
        word = self.draw.pick(("and", "or"))
        return integer(
            f"({a.text} {word} {b.text})", self.g.promoted(a.type, b.type), min(a.low, b.low, 0), max(a.high, b.high)
        )

    def select(self, low, high, depth):
        a, b = self.at_run_time(low, high, depth), self.within(low, high, depth)
        text = f"qd.select({self.g.truths.condition(depth).text}, {a.text}, {b.text})"
        return self._either(text, a, b)

    def ternary(self, low, high, depth):
        a, b = self.at_run_time(low, high, depth), self.within(low, high, depth)
        if self.draw.chance(0.5):
            a, b = b, a
        return self._either(f"({a.text} if {self.g.truths.condition(depth).text} else {b.text})", a, b)

    def _either(self, text, a, b):
        return integer(text, self.g.promoted(a.type, b.type), min(a.low, b.low), max(a.high, b.high))

    def clamp(self, low, high, depth):
        e = self.g.integers.any(depth)
        if not e.type.dtype.signed and low < 0 or e.type.dtype.bits == 1:
            return None
        type_ = self.g.promoted(e.type, self.int_type)
        if not type_.dtype.signed and low < 0:
            return None
        lower, upper = self.literal(low).text, self.literal(high).text
        text = self.draw.pick((
            f"max(min({e.text}, {upper}), {lower})",
            f"qd.min(qd.max({e.text}, {lower}), {upper})",
            f"qd.math.clamp({e.text}, {lower}, {upper})",
        ))  # fmt: skip
        return integer(text, type_, low, high)

    def cast(self, low, high, depth):
        e = self.at_run_time(low, high, depth)
        name = self.draw.pick(("i8", "u8", "i16", "u16", "i32", "i64", "u32", "u64", "int"))
        t = self.int_type if name == "int" else Type(dtype(name))
        if name == "int":
            return integer(f"int({e.text})", t, e.low, e.high)
        text = self.draw.pick((f"qd.cast({e.text}, qd.{name})", f"qd.{name}({e.text})"))
        return integer(text, t, e.low, e.high)

    def xor(self, low, high, depth):
        return self._bits("^", low, high, depth)

    def _bits(self, op, low, high, depth):
        m = self.power_of_two(low, high)
        if m is None:
            return None
        a, b = self.at_run_time(0, m, depth), self.within(0, m, depth)
        if self.draw.chance(0.5):
            a, b = b, a
        type_ = self.g.promoted(a.type, b.type)
        return self.moved(integer(f"({a.text} {op} {b.text})", type_, 0, m), low, high)

    def shift_left(self, low, high, depth):
        n = self.draw.number(1, 2)
        if high - low < 1 << n:
            return None
        e = self.at_run_time(0, (high - low) >> n, depth)
        if e.type.dtype.bits < 8:
            return None
        by = self.draw.pick((str(n), f"({n - 1} + 1)", f"({n + 2} ^ 2)" if n == 1 else f"({n} | 0)"))
        by = by if n != 1 else str(n)
        return self.moved(integer(f"({e.text} << {by})", e.type, e.low << n, e.high << n), low, high)

    def shift_right(self, low, high, depth):
        n = self.draw.number(1, 3)
        e = self.at_run_time(0, ((high - low + 1) << n) - 1, depth)
        if e.type.dtype.bits < 8:
            return None
        return self.moved(integer(f"({e.text} >> {n})", e.type, e.low >> n, e.high >> n), low, high)

    def product(self, low, high, depth):
        n = self.draw.number(2, 3)
        if high - low < n:
            return None
        e = self.at_run_time(0, (high - low) // n, depth)
        text = self.draw.pick((f"({e.text} * {n})", f"({n} * {e.text})"))
        return self.moved(integer(text, self.g.promoted(e.type, self.int_type), e.low * n, e.high * n), low, high)

    def quotient(self, low, high, depth):
        n = self.draw.number(2, 5)
        e = self.at_run_time(0, (high - low + 1) * n - 1, depth)
        text = self.draw.pick((f"({e.text} // {n})", f"qd.raw_div({e.text}, {n})"))
        return self.moved(integer(text, self.g.promoted(e.type, self.int_type), e.low // n, e.high // n), low, high)

    def minus_chain(self, low, high, depth):
        e = self.at_run_time(low, high, depth)
        if not e.type.dtype.signed or e.type.dtype.bits < 16:
            return None
        text = self.draw.pick((f"(-(-{e.text}))", f"(-(-(-(-{e.text}))))", f"(~(~{e.text}))", f"(+{e.text})"))
        return integer(text, e.type, e.low, e.high)

    def inverted(self, low, high, depth):
        """`-e`, `~e` of what lies in the mirrored range."""
        if self.draw.chance(0.5):
            e = self.at_run_time(-high, -low, depth)
            text, bounds = f"(-{e.text})", (-e.high, -e.low)
        else:
            e = self.at_run_time(-high - 1, -low - 1, depth)
            text, bounds = f"(~{e.text})", (-e.high - 1, -e.low - 1)
        return integer(text, e.type, *bounds) if e.type.dtype.signed else None

    def extremum(self, low, high, depth):
        a, b = self.at_run_time(low, high, depth), self.within(low, high, depth)
        name = self.draw.pick(("min", "max", "qd.min", "qd.max"))
        form = self.draw.pick(("{}, {}", "{}, {}", "[{}, {}]"))
        return self._either(f"{name}({form.format(a.text, b.text)})", a, b)

    def load(self, low, high, depth):
        """What a cell holds, masked."""
        m = self.power_of_two(low, high)
        e = self.g.cells.read(lambda t: not t.real and t.dtype.bits > 1, depth)
        if m is None or e is None:
            return None
        return self.moved(integer(f"({e.text} & {m})", self.g.promoted(e.type, self.int_type), 0, m), low, high)

    def call(self, low, high, depth):
        m = self.power_of_two(low, high)
        e = self.g.calls.value(lambda t: not t.real and not t.shape and t.dtype.bits > 1, depth)
        if m is None or e is None:
            return None
        return self.moved(integer(f"({e.text} & {m})", self.g.promoted(e.type, self.int_type), 0, m), low, high)


setattr(Indices, "or", lambda self, low, high, depth: self._bits("|", low, high, depth))
