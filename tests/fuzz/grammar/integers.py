"""Integers (not u1) at run time."""

from __future__ import annotations

from .types import I32, INTS, U1, Expr, Type, dtype, integer


class Integers:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    def any(self, depth: int) -> Expr:
        """Any integer (not u1), at run time."""
        forms = {
            "leaf": 6, "arithmetic": 5, "division": 1, "bits": 3, "shift": 2, "minus": 2, "invert": 1, "extremum": 1,
            "ternary": 1, "select": 1, "cast": 2, "from_real": 1, "there_and_back": 1, "comparison_as_integer": 2,
            "logic": 1, "absolute": 1, "power": 1, "call": 2, "count_bits": 1, "component": 1, "reduction": 1,
            "index": 1, "atomic": 1, "bit_cast": 1, "held": 1, "negatives": 0.5,
        }  # fmt: skip
        if depth <= 0:
            return self.leaf(0)
        for _ in range(6):
            found = getattr(self, self.draw.weighted(forms))(depth - 1)
            if found is not None:
                return found
        return self.leaf(depth)

    def leaf(self, depth) -> Expr:
        def is_integer(t):
            return not t.real and t.dtype.bits > 1

        if self.draw.chance(0.5):
            found = [v for v in self.g.scope.values(lambda t: is_integer(t) and not t.shape) if not v.constant]
            if found:
                v = self.draw.pick(found)
                return integer(v.name, v.type, v.low, v.high)
        if self.draw.chance(0.8):
            e = self.g.cells.read(is_integer, max(depth, 0))
            if e is not None:
                return e
        name = self.draw.pick(INTS)
        value = self.draw.pick((0, 1, 2, 3, 7, 100, 5))
        return integer(f"qd.{name}({value})", Type(dtype(name)), value, value)

    def operand(self, depth, avoid_u1: bool = False) -> Expr:
        """An integer, a literal, or now and then a truth value."""
        choice = self.draw.number(0, 9)
        if choice < 2:
            return self.g.indices.literal(self.draw.pick((0, 1, 2, 3, 5, 7, 8, 31, 100, -1, -2, -3, -7)))
        if choice == 2 and not avoid_u1:
            return self.g.truths.comparison(depth)
        return self.any(depth)

    def pair(self, depth):
        a, b = self.any(depth), self.operand(depth)
        return (b, a) if self.draw.chance(0.5) else (a, b)

    def arithmetic(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(f"({a.text} {self.draw.pick('+-*')} {b.text})", self.g.promoted(a.type, b.type))

    def bits(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(f"({a.text} {self.draw.pick('&|^')} {b.text})", self.g.promoted(a.type, b.type))

    def positive(self, depth) -> Expr:
        """An integer that is not 0 and no -1."""
        choice = self.draw.number(0, 3)
        if choice < 2:
            divisors = (1, 2, 3, 5, 7, 10, -2, -3, -7) if choice else (2, 4, 8, 32, 128, 1024, 1 << 30, -4)
            return self.g.indices.literal(self.draw.pick(divisors))
        return self.g.indices.within(1, self.draw.pick((4, 8)), depth)

    def division(self, depth) -> Expr | None:
        a, b = self.any(depth), self.positive(depth)
        if b.low < 0 and not self.g.promoted(a.type, b.type).dtype.signed:
            return None
        op = self.draw.pick(("//", "%", "raw_div", "raw_mod"))
        text = f"({a.text} {op} {b.text})" if op in ("//", "%") else f"qd.{op}({a.text}, {b.text})"
        return Expr(text, self.g.promoted(a.type, b.type))

    def negatives(self, depth) -> Expr | None:
        """A quotient beside that of the negative, of which compilers find one from the other."""
        a, b = self.leaf(0), self.positive(depth)
        if not a.type.dtype.signed:
            return None
        form = self.draw.pick(("{} // {}", "qd.raw_div({}, {})"))
        dividends = self.draw.pick(((a.text, f"-{a.text}"), (f"-{a.text}", a.text)))
        quotients = [form.format(text, b.text) for text in dividends]
        return Expr(f"(({quotients[0]}) {self.draw.pick('+-^')} ({quotients[1]}))", self.g.promoted(a.type, b.type))

    def shift(self, depth) -> Expr | None:
        a = self.g.truths.comparison(depth) if self.draw.chance(0.2) else self.any(depth)
        if a.literal or (a.type.dtype.bits == 1 and not self.draw.on("shifted_comparison")):
            return None
        by = self.g.indices.within(0, min(a.type.dtype.bits, 8) - 1 if a.type.dtype.bits > 1 else 4, depth)
        op = self.draw.pick(("<<", ">>", ">>", "bit_shr"))
        if a.type.dtype.bits == 1:
            return Expr(f"qd.cast({a.text} << {by.text}, qd.i32)", I32)
        text = f"({a.text} {op} {by.text})" if op != "bit_shr" else f"qd.bit_shr({a.text}, {by.text})"
        return Expr(text, a.type)

    def minus(self, depth) -> Expr:
        e = self.any(depth)
        chain = self.draw.pick(("-", "-", "--", "---", "-~", "~-", "-+"))
        text = e.text
        for sign in reversed(chain):
            text = f"({sign}{text})"
        return Expr(text, e.type)

    def invert(self, depth) -> Expr:
        e = self.any(depth)
        return Expr(f"(~{e.text})", e.type)

    def extremum(self, depth) -> Expr:
        a, b = self.pair(depth)
        name = self.draw.pick(("min", "max", "qd.min", "qd.max"))
        if self.draw.chance(0.2):
            c = self.any(depth)
            type_ = self.g.promoted(self.g.promoted(a.type, b.type), c.type)
            form = self.draw.pick(("{}, {}, {}", "[{}, {}, {}]", "({}, {}, {})", "*[{}, {}], {}"))
            return Expr(f"{name}({form.format(a.text, b.text, c.text)})", type_)
        return Expr(f"{name}({a.text}, {b.text})", self.g.promoted(a.type, b.type))

    def held(self, depth) -> Expr | None:
        """One of what a list, tuple or dict holds; the second may change what the first has read."""
        items = [self.any(depth), self.any(depth)]
        name = self.g.calls.place(I32, depth, variables_only=True) if self.draw.chance(0.5) else None
        if name is not None:
            items = [Expr(name, I32), Expr(f"qd.atomic_add({name}, {self.draw.number(1, 9)})", I32)]
        k = self.draw.number(0, 1)
        if items[k].literal:
            return None
        a, b = (e.text for e in items)
        form = self.draw.pick((f"[{a}, {b}][{k}]", f"({a}, {b})[{k}]", f"({{0: {a}, 1: {b}}})[{k}]"))
        return Expr(form, items[k].type)

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
        e = self.any(depth) if self.draw.chance(0.8) else self.g.truths.comparison(depth)
        return self.g.casts.cast(e, self.draw.pick((*INTS, "int")))

    def from_real(self, depth) -> Expr:
        return self.g.casts.cast(self.g.reals.any(depth), self.draw.pick((*INTS, "int")))

    def there_and_back(self, depth) -> Expr:
        """An integer that was a real for a while."""
        e = self.any(depth)
        real = self.g.casts.cast(e, self.draw.pick(("f32", "f64", "float")))
        return self.g.casts.cast(real, self.draw.pick((*INTS, "int")))

    def comparison_as_integer(self, depth) -> Expr | None:
        c = self.g.truths.comparison(depth)
        forms = ["cast", "product", "sum"]
        if self.draw.on("negated_comparison"):
            forms += ["minus", "minus_times", "minus_minus"]
        form = self.draw.pick(forms)
        b = self.any(depth)
        type_ = self.g.promoted(b.type, U1)
        if form == "cast":
            return self.g.casts.cast(c, self.draw.pick(INTS))
        if form == "product":
            return Expr(f"({c.text} * {b.text})", type_)
        if form == "sum":
            return Expr(f"({b.text} {self.draw.pick('+-')} {c.text})", type_)
        if form == "minus":
            return self.g.casts.cast(Expr(f"(-{c.text})", U1), self.draw.pick(INTS))
        if form == "minus_times":
            return Expr(f"(-{c.text} {self.draw.pick('*+-')} {b.text})", type_)
        return Expr(f"({b.text} - (-{c.text}))", type_)

    def logic(self, depth) -> Expr:
        a, b = self.any(depth), self.operand(depth)
        return Expr(f"({a.text} {self.draw.pick(('and', 'or'))} {b.text})", self.g.promoted(a.type, b.type))

    def absolute(self, depth) -> Expr:
        e = self.any(depth)
        return Expr(f"{self.draw.pick(('abs', 'qd.abs'))}({e.text})", e.type)

    def power(self, depth) -> Expr:
        e = self.any(depth)
        by = self.g.indices.within(0, 4, depth)
        return Expr(self.draw.pick((f"({e.text} ** {by.text})", f"qd.pow({e.text}, {by.text})")), e.type)

    def call(self, depth) -> Expr | None:
        return self.g.calls.value(lambda t: not t.real and not t.shape and t.dtype.bits > 1, depth)

    def count_bits(self, depth) -> Expr:
        e = self.any(depth)
        return integer(f"qd.math.{self.draw.pick(('popcnt', 'clz', 'ffs'))}({e.text})", I32, 0, 64)

    def component(self, depth) -> Expr | None:
        return self.g.tensors.component(lambda t: not t.real and t.dtype.bits > 1, depth)

    def reduction(self, depth) -> Expr | None:
        return self.g.tensors.reduction(lambda t: not t.real and t.dtype.bits > 1, depth)

    def index(self, depth) -> Expr | None:
        e = self.g.indices.at_run_time(-3, self.draw.pick((1, 4, 8, 100)), depth)
        return e if e.type.dtype.bits > 1 else None  # a truth value may be an index

    def atomic(self, depth) -> Expr | None:
        return self.g.cells.atomic_value(lambda t: not t.real and t.dtype.bits > 1, depth)

    def bit_cast(self, depth) -> Expr | None:
        e = self.any(depth) if self.draw.chance(0.7) else self.g.reals.any(depth)
        same = {8: ("i8", "u8"), 16: ("i16", "u16"), 32: ("i32", "u32"), 64: ("i64", "u64")}[e.type.dtype.bits]
        name = self.draw.pick(same)
        return Expr(f"qd.bit_cast({e.text}, qd.{name})", Type(dtype(name)))
