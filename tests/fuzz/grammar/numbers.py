"""Expressions of one number: integers, reals, truth values."""

from __future__ import annotations

from .types import INTS, REALS, Expr, Type, dtype, integer

U1 = Type(dtype("u1"))
I32 = Type(dtype("i32"))


class Numbers:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    # ------------------------------------------------------------ integers

    def integer(self, depth: int) -> Expr:
        """Any integer (not u1), at run time."""
        forms = {
            "leaf": 6, "arithmetic": 5, "division": 1, "bits": 3, "shift": 2, "minus": 2, "invert": 1, "extremum": 1,
            "ternary": 1, "select": 1, "cast": 2, "from_real": 1, "there_and_back": 1, "comparison_as_integer": 2,
            "logic": 1, "absolute": 1, "power": 1, "call": 2, "count_bits": 1, "component": 1, "reduction": 1,
            "index": 1, "atomic": 1, "bit_cast": 1,
        }  # fmt: skip
        if depth <= 0:
            return self.integer_leaf(0)
        for _ in range(6):
            found = getattr(self, "integer_" + self.draw.weighted(forms))(depth - 1)
            if found is not None:
                return found
        return self.integer_leaf(depth)

    def integer_leaf(self, depth) -> Expr:
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
            return self.comparison(depth)
        return self.integer(depth)

    def pair(self, depth):
        a, b = self.integer(depth), self.operand(depth)
        return (b, a) if self.draw.chance(0.5) else (a, b)

    def integer_arithmetic(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(f"({a.text} {self.draw.pick('+-*')} {b.text})", self.g.promoted(a.type, b.type))

    def integer_bits(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(f"({a.text} {self.draw.pick('&|^')} {b.text})", self.g.promoted(a.type, b.type))

    def positive(self, depth) -> Expr:
        """An integer that is not 0 and no -1."""
        choice = self.draw.number(0, 3)
        if choice < 2:
            return self.g.indices.literal(self.draw.pick((1, 2, 3, 5, 7, 10, -2, -3, -7)))
        return self.g.indices.within(1, self.draw.pick((4, 8)), depth)

    def integer_division(self, depth) -> Expr | None:
        a, b = self.integer(depth), self.positive(depth)
        if b.low < 0 and not self.g.promoted(a.type, b.type).dtype.signed:
            return None
        op = self.draw.pick(("//", "%", "raw_div", "raw_mod"))
        text = f"({a.text} {op} {b.text})" if op in ("//", "%") else f"qd.{op}({a.text}, {b.text})"
        return Expr(text, self.g.promoted(a.type, b.type))

    def integer_shift(self, depth) -> Expr | None:
        a = self.operand(depth) if self.draw.chance(0.3) else self.integer(depth)
        if a.literal or (a.type.dtype.bits == 1 and not self.draw.on("shifted_comparison")):
            return None
        by = self.g.indices.within(0, min(a.type.dtype.bits, 8) - 1 if a.type.dtype.bits > 1 else 4, depth)
        op = self.draw.pick(("<<", ">>", ">>", "bit_shr"))
        if a.type.dtype.bits == 1:
            return Expr(f"qd.cast({a.text} << {by.text}, qd.i32)", I32)
        text = f"({a.text} {op} {by.text})" if op != "bit_shr" else f"qd.bit_shr({a.text}, {by.text})"
        return Expr(text, a.type)

    def integer_minus(self, depth) -> Expr:
        e = self.integer(depth)
        chain = self.draw.pick(("-", "-", "--", "---", "-~", "~-", "-+"))
        text = e.text
        for sign in reversed(chain):
            text = f"({sign}{text})"
        return Expr(text, e.type)

    def integer_invert(self, depth) -> Expr:
        e = self.integer(depth)
        return Expr(f"(~{e.text})", e.type)

    def integer_extremum(self, depth) -> Expr:
        a, b = self.pair(depth)
        name = self.draw.pick(("min", "max", "qd.min", "qd.max"))
        if self.draw.chance(0.2):
            c = self.integer(depth)
            type_ = self.g.promoted(self.g.promoted(a.type, b.type), c.type)
            return Expr(f"{name}({a.text}, {b.text}, {c.text})", type_)
        return Expr(f"{name}({a.text}, {b.text})", self.g.promoted(a.type, b.type))

    def integer_ternary(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(f"({a.text} if {self.condition(depth).text} else {b.text})", self.g.promoted(a.type, b.type))

    def integer_select(self, depth) -> Expr:
        a, b = self.pair(depth)
        return Expr(f"qd.select({self.condition(depth).text}, {a.text}, {b.text})", self.g.promoted(a.type, b.type))

    def integer_cast(self, depth) -> Expr:
        e = self.integer(depth) if self.draw.chance(0.8) else self.comparison(depth)
        return self.cast(e, self.draw.pick((*INTS, "int")))

    def in_range(self, e: Expr) -> Expr:
        """A real that every integer type can hold, where others are a known defect."""
        if not e.type.real or e.type.shape or self.draw.on("wrapped_reals"):
            return e
        return Expr(f"qd.max(qd.min({e.text}, 100.0), 0.0)", self.g.promoted(e.type, Type(self.g.fp)))

    def cast(self, e: Expr, name: str) -> Expr:
        if name in INTS or name == "int":
            e = self.in_range(e)
        if name in ("int", "float"):
            return Expr(f"{name}({e.text})", Type(self.g.ip if name == "int" else self.g.fp))
        if e.literal:
            return Expr(f"qd.cast({e.text}, qd.{name})", Type(dtype(name)))
        return Expr(self.draw.pick((f"qd.cast({e.text}, qd.{name})", f"qd.{name}({e.text})")), Type(dtype(name)))

    def integer_from_real(self, depth) -> Expr:
        return self.cast(self.real(depth), self.draw.pick((*INTS, "int")))

    def integer_there_and_back(self, depth) -> Expr:
        """An integer that was a real for a while."""
        e = self.integer(depth)
        real = self.cast(e, self.draw.pick(("f32", "f64", "float")))
        return self.cast(real, self.draw.pick((*INTS, "int")))

    def integer_comparison_as_integer(self, depth) -> Expr | None:
        c = self.comparison(depth)
        forms = ["cast", "product", "sum"]
        if self.draw.on("negated_comparison"):
            forms += ["minus", "minus_times", "minus_minus"]
        form = self.draw.pick(forms)
        b = self.integer(depth)
        type_ = self.g.promoted(b.type, U1)
        if form == "cast":
            return self.cast(c, self.draw.pick(INTS))
        if form == "product":
            return Expr(f"({c.text} * {b.text})", type_)
        if form == "sum":
            return Expr(f"({b.text} {self.draw.pick('+-')} {c.text})", type_)
        if form == "minus":
            return self.cast(Expr(f"(-{c.text})", U1), self.draw.pick(INTS))
        if form == "minus_times":
            return Expr(f"(-{c.text} {self.draw.pick('*+-')} {b.text})", type_)
        return Expr(f"({b.text} - (-{c.text}))", type_)

    def integer_logic(self, depth) -> Expr:
        a, b = self.integer(depth), self.operand(depth)
        return Expr(f"({a.text} {self.draw.pick(('and', 'or'))} {b.text})", self.g.promoted(a.type, b.type))

    def integer_absolute(self, depth) -> Expr:
        e = self.integer(depth)
        return Expr(f"{self.draw.pick(('abs', 'qd.abs'))}({e.text})", e.type)

    def integer_power(self, depth) -> Expr:
        e = self.integer(depth)
        by = self.g.indices.within(0, 4, depth)
        return Expr(self.draw.pick((f"({e.text} ** {by.text})", f"qd.pow({e.text}, {by.text})")), e.type)

    def integer_call(self, depth) -> Expr | None:
        return self.g.calls.value(lambda t: not t.real and not t.shape and t.dtype.bits > 1, depth)

    def integer_count_bits(self, depth) -> Expr:
        e = self.integer(depth)
        return integer(f"qd.math.{self.draw.pick(('popcnt', 'clz', 'ffs'))}({e.text})", I32, 0, 64)

    def integer_component(self, depth) -> Expr | None:
        return self.g.tensors.component(lambda t: not t.real and t.dtype.bits > 1, depth)

    def integer_reduction(self, depth) -> Expr | None:
        return self.g.tensors.reduction(lambda t: not t.real and t.dtype.bits > 1, depth)

    def integer_index(self, depth) -> Expr:
        return self.g.indices.at_run_time(-3, self.draw.pick((1, 4, 8, 100)), depth)

    def integer_atomic(self, depth) -> Expr | None:
        return self.g.cells.atomic_value(lambda t: not t.real and t.dtype.bits > 1, depth)

    def integer_bit_cast(self, depth) -> Expr | None:
        e = self.integer(depth) if self.draw.chance(0.7) else self.real(depth)
        same = {8: ("i8", "u8"), 16: ("i16", "u16"), 32: ("i32", "u32"), 64: ("i64", "u64")}[e.type.dtype.bits]
        name = self.draw.pick(same)
        return Expr(f"qd.bit_cast({e.text}, qd.{name})", Type(dtype(name)))

    # ------------------------------------------------------------ reals

    def real_names(self) -> tuple:
        return REALS if self.draw.on("half") else ("f32", "f64")

    def real(self, depth: int) -> Expr:
        """Any real, at run time."""
        forms = {
            "leaf": 6, "arithmetic": 6, "quotient": 2, "integers": 1, "minus": 2, "extremum": 1, "ternary": 1, "select": 1,
            "cast": 2, "from_integer": 2, "there_and_back": 2, "comparison": 1, "absolute": 1, "rounding": 1, "root": 1,
            "power": 1, "call": 2, "component": 1, "reduction": 1, "floor_division": 1,
        }  # fmt: skip
        if depth <= 0:
            return self.real_leaf(0)
        for _ in range(6):
            found = getattr(self, "real_" + self.draw.weighted(forms))(depth - 1)
            if found is not None:
                return found
        return self.real_leaf(depth)

    def real_literal(self) -> Expr:
        value = self.draw.number(-40, 40) / 4
        return Expr(f"({value})" if value < 0 else str(value), Type(self.g.fp), literal=True)

    def real_leaf(self, depth) -> Expr:
        if self.draw.chance(0.5):
            found = self.g.scope.values(lambda t: t.real and not t.shape)
            if found:
                v = self.draw.pick(found)
                return Expr(v.name, v.type)
        if self.draw.chance(0.8):
            e = self.g.cells.read(lambda t: t.real, max(depth, 0))
            if e is not None:
                return e
        name = self.draw.pick(self.real_names())
        return Expr(f"qd.{name}({abs(self.draw.number(0, 40)) / 4})", Type(dtype(name)))

    def real_pair(self, depth):
        a = self.real(depth)
        choice = self.draw.number(0, 9)
        b = self.real_literal() if choice < 3 else self.operand(depth) if choice < 5 else self.real(depth)
        return (b, a) if self.draw.chance(0.5) else (a, b)

    def real_arithmetic(self, depth) -> Expr:
        a, b = self.real_pair(depth)
        return Expr(f"({a.text} {self.draw.pick('+-*')} {b.text})", self.g.promoted(a.type, b.type))

    def real_quotient(self, depth) -> Expr:
        a, b = self.real_pair(depth)
        type_ = self.g.promoted(a.type, b.type)
        if not a.type.real or not b.type.real:
            type_ = self.g.promoted(*(t if t.real else Type(self.g.fp) for t in (a.type, b.type)))
        return Expr(self.draw.pick((f"({a.text} / {b.text})", f"({a.text} / {b.text})", f"qd.raw_div({a.text}, {b.text})")), type_) if a.type.real and b.type.real else Expr(f"({a.text} / {b.text})", type_)

    def real_integers(self, depth) -> Expr:
        """A true division of integers."""
        a, b = self.pair(depth)
        return Expr(f"({a.text} / {b.text})", Type(self.g.fp))

    def real_floor_division(self, depth) -> Expr:
        a = self.real(depth)
        b = self.draw.pick(("2.0", "0.75", "(-1.5)", "3", "4.0"))
        return Expr(f"({a.text} {self.draw.pick(('//', '%'))} {b})", self.g.promoted(a.type, Type(self.g.fp if b != "3" else self.g.ip)))

    def real_minus(self, depth) -> Expr:
        e = self.real(depth)
        text = e.text
        for sign in reversed(self.draw.pick(("-", "-", "--", "-+", "---"))):
            text = f"({sign}{text})"
        return Expr(text, e.type)

    def real_extremum(self, depth) -> Expr:
        a, b = self.real_pair(depth)
        return Expr(f"{self.draw.pick(('min', 'max', 'qd.min', 'qd.max'))}({a.text}, {b.text})", self.g.promoted(a.type, b.type))

    def real_ternary(self, depth) -> Expr:
        a, b = self.real_pair(depth)
        return Expr(f"({a.text} if {self.condition(depth).text} else {b.text})", self.g.promoted(a.type, b.type))

    def real_select(self, depth) -> Expr:
        a, b = self.real_pair(depth)
        return Expr(f"qd.select({self.condition(depth).text}, {a.text}, {b.text})", self.g.promoted(a.type, b.type))

    def real_cast(self, depth) -> Expr:
        return self.cast(self.real(depth), self.draw.pick((*self.real_names(), "float")))

    def real_from_integer(self, depth) -> Expr:
        return self.cast(self.integer(depth), self.draw.pick((*self.real_names(), "float")))

    def real_there_and_back(self, depth) -> Expr | None:
        if not self.draw.on("there_and_back"):
            return None
        whole = self.cast(self.real(depth), self.draw.pick((*INTS, "int")))
        if self.draw.chance(0.3):
            return Expr(f"({whole.text} * 0.5)", self.g.promoted(whole.type, Type(self.g.fp)))
        return self.cast(whole, self.draw.pick((*self.real_names(), "float")))

    def real_comparison(self, depth) -> Expr:
        c, b = self.comparison(depth), self.real(depth)
        sign = "-" if self.draw.on("negated_comparison") and self.draw.chance(0.3) else ""
        return Expr(f"({sign}{c.text} * {b.text})", b.type)

    def real_absolute(self, depth) -> Expr:
        e = self.real(depth)
        return Expr(f"{self.draw.pick(('abs', 'qd.abs'))}({e.text})", e.type)

    def real_rounding(self, depth) -> Expr:
        e = self.real(depth)
        return Expr(f"qd.{self.draw.pick(('floor', 'ceil', 'round'))}({e.text})", e.type)

    def real_root(self, depth) -> Expr:
        e = self.real(depth)
        return Expr(f"qd.sqrt(abs({e.text}))", e.type)

    def real_power(self, depth) -> Expr:
        e = self.real(depth)
        return Expr(f"({e.text} ** {self.draw.pick(('2', '3', '0', '1', '2.0', '(-1)', '(-2)'))})", self.g.promoted(e.type, Type(self.g.fp)) if False else e.type)

    def real_call(self, depth) -> Expr | None:
        return self.g.calls.value(lambda t: t.real and not t.shape, depth)

    def real_component(self, depth) -> Expr | None:
        return self.g.tensors.component(lambda t: t.real, depth)

    def real_reduction(self, depth) -> Expr | None:
        return self.g.tensors.reduction(lambda t: t.real, depth)

    # ------------------------------------------------------------ truth values

    def comparison(self, depth: int) -> Expr:
        """A u1."""
        choice = self.draw.number(0, 9)
        ops = ("<", "<=", ">", ">=", "==")
        if choice == 0 and depth > 0:
            return Expr(f"(not {self.condition(depth - 1).text})", U1)
        if choice == 1 and depth > 0:
            a, b, c = self.integer(depth - 1), self.operand(depth - 1), self.integer(depth - 1)
            return Expr(f"({a.text} {self.draw.pick(ops)} {b.text} {self.draw.pick(ops)} {c.text})", U1)
        if choice == 2 and depth > 0:
            word = self.draw.pick(("and", "or", "&", "|", "^"))
            return Expr(f"({self.comparison(depth - 1).text} {word} {self.comparison(depth - 1).text})", U1)
        if choice == 3 and depth > 0:
            found = self.g.tensors.truth(depth - 1)
            if found is not None:
                return found
        if choice == 4 and depth > 0 and self.draw.chance(0.5):
            e = self.real(depth - 1) if self.draw.chance(0.4) else self.integer(depth - 1)
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
            return Expr(f"qd.math.{self.draw.pick(('isnan', 'isinf'))}({self.real(depth - 1).text})", U1)
        if choice == 7 and depth > 0:
            return Expr(f"(~{self.comparison(depth - 1).text})", U1)
        if choice in (8, 9) and depth > 0:
            a, b = self.real_pair(depth - 1)
            return Expr(f"({a.text} {self.draw.pick(ops)} {b.text})", U1)
        a, b = self.pair(depth - 1)
        return Expr(f"({a.text} {self.draw.pick((*ops, '!='))} {b.text})", U1)

    def condition(self, depth: int) -> Expr:
        """What `if` takes: a truth value or an integer."""
        choice = self.draw.number(0, 6)
        if choice == 0 and depth > 0:
            word = self.draw.pick(("and", "or"))
            return Expr(f"({self.condition(depth - 1).text} {word} {self.condition(depth - 1).text})", U1)
        if choice == 1:
            return self.integer(depth - 1)
        return self.comparison(depth)
