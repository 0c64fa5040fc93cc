"""Vectors and matrices."""

from __future__ import annotations

from .cells import paths
from .types import INTS, Expr, Type, dtype

U1 = Type(dtype("u1"))


class Tensors:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    def value(self, type_: Type, depth: int) -> Expr:
        """A tensor of a shape; the dtype may be another one of the same kind."""
        forms = {
            "leaf": 5, "literal": 3, "arithmetic": 4, "scaled": 2, "minus": 1, "extremum": 2, "select": 1, "cast": 1,
            "product": 1, "swizzle": 2, "ternary": 1, "call": 1, "slice": 1,
        }  # fmt: skip
        if not type_.real:
            forms.update(bits=1, division=1, comparison=1)
        for _ in range(5):
            form = self.draw.weighted(forms) if depth > 0 else self.draw.pick(("leaf", "leaf", "literal"))
            found = getattr(self, form)(type_, depth - 1)
            if found is not None:
                return found
        return self.literal(type_, depth - 1)

    def same_kind(self, type_: Type):
        return lambda t: t.shape == type_.shape and t.real == type_.real and t.dtype.bits > 1

    def number(self, real: bool, depth: int) -> Expr:
        return self.g.reals.any(depth) if real else self.g.integers.any(depth)

    def leaf(self, type_, depth):
        if self.draw.chance(0.5):
            found = self.g.scope.values(self.same_kind(type_))
            if found:
                v = self.draw.pick(found)
                return Expr(v.name, v.type)
        found = self.g.cells.place(self.same_kind(type_), max(depth, 0))
        return None if found is None else Expr(*found)

    def literal(self, type_, depth):
        count = 1
        for n in type_.shape:
            count *= n
        parts = [
            self.number(type_.real, min(depth, 1)) if self.draw.chance(0.6) else self.constant(type_)
            for _ in range(count)
        ]
        texts = [e.text for e in parts]
        if len(type_.shape) == 2:
            m = type_.shape[1]
            rows = [f"[{', '.join(texts[k : k + m])}]" for k in range(0, count, m)]
            body = f"[{', '.join(rows)}]"
        else:
            if self.draw.chance(0.15):
                k = self.draw.number(1, count)
                texts = [f"*{self.draw.pick(('[{}]', '({},)'))}".format(", ".join(texts[:k])), *texts[k:]]
            body = f"[{', '.join(texts)}]"
        name = "Vector" if len(type_.shape) == 1 else "Matrix"
        if self.draw.chance(0.4):
            return Expr(f"qd.{name}({body}, qd.{type_.dtype.name})", type_)
        if self.draw.chance(0.3):
            return Expr(f"{type_.text}({', '.join(texts)})", type_)
        result = parts[0].type
        for e in parts[1:]:
            result = self.g.promoted(result, e.type)
        return Expr(f"qd.{name}({body})", Type(result.dtype, type_.shape))

    def constant(self, type_) -> Expr:
        return self.g.reals.literal() if type_.real else self.g.indices.literal(self.draw.number(-3, 9))

    def both(self, type_, depth):
        a, b = self.value(type_, depth), self.value(type_, depth)
        return a, b, self.g.promoted(a.type, b.type)

    def arithmetic(self, type_, depth):
        a, b, t = self.both(type_, depth)
        return Expr(f"({a.text} {self.draw.pick('+-*')} {b.text})", t)

    def bits(self, type_, depth):
        a, b, t = self.both(type_, depth)
        return Expr(f"({a.text} {self.draw.pick('&|^')} {b.text})", t)

    def division(self, type_, depth):
        a = self.value(type_, depth)
        b = self.g.indices.literal(self.draw.pick((2, 3, 5)))
        return Expr(f"({a.text} {self.draw.pick(('//', '%'))} {b.text})", self.g.promoted(a.type, b.type))

    def scaled(self, type_, depth):
        a, b = self.value(type_, depth), self.number(type_.real, depth)
        op = self.draw.pick("+-*")
        t = self.g.promoted(a.type, b.type)
        return Expr(self.draw.pick((f"({a.text} {op} {b.text})", f"({b.text} {op} {a.text})")), t)

    def minus(self, type_, depth):
        a = self.value(type_, depth)
        return Expr(f"({'-' if type_.real or self.draw.chance(0.6) else '~'}{a.text})", a.type)

    def extremum(self, type_, depth):
        if not self.draw.on("extrema_of_tensors"):
            return None
        a, b, t = self.both(type_, depth)
        return Expr(f"{self.draw.pick(('min', 'max', 'qd.min', 'qd.max'))}({a.text}, {b.text})", t)

    def select(self, type_, depth):
        a, b, t = self.both(type_, depth)
        if t.dtype.name == "f16" and not self.draw.on("half_select"):
            return None
        cond = self.g.truths.condition(depth).text if self.draw.chance(0.5) else self.comparison_text(type_, depth)
        return Expr(f"qd.select({cond}, {a.text}, {b.text})", t)

    def comparison_text(self, type_, depth) -> str:
        a, b, _ = self.both(type_, depth)
        return f"({a.text} {self.draw.pick(('<', '<=', '>', '>=', '=='))} {b.text})"

    def comparison(self, type_, depth):
        name = self.draw.pick(INTS)
        return Expr(f"qd.cast({self.comparison_text(type_, depth)}, qd.{name})", Type(dtype(name), type_.shape))

    def cast(self, type_, depth):
        source = Type(
            type_.dtype if self.draw.chance(0.5) else self.draw.pick((dtype("f32"), dtype("i32"))), type_.shape
        )
        if source.real and not type_.real and not self.draw.on("there_and_back"):
            source = type_
        a = self.value(source, depth)
        name = type_.dtype.name
        return Expr(self.draw.pick((f"qd.cast({a.text}, qd.{name})", f"{a.text}.cast(qd.{name})")), type_)

    def ternary(self, type_, depth):
        a, b, t = self.both(type_, depth)
        if t.dtype.name == "f16" and not self.draw.on("half_select"):
            return None
        return Expr(f"({a.text} if {self.g.truths.comparison(depth).text} else {b.text})", t)

    def product(self, type_, depth):
        """A product of matrices, an outer product, a transposed matrix."""
        if len(type_.shape) == 1:
            n = type_.shape[0]
            if n == 3 and self.draw.chance(0.4):
                a, b, t = self.both(type_, depth)
                return Expr(f"{a.text}.cross({b.text})", t)
            k = self.draw.number(2, 3)
            m, v = self.value(Type(type_.dtype, (n, k)), depth), self.value(Type(type_.dtype, (k,)), depth)
            return Expr(f"({m.text} @ {v.text})", Type(self.g.promote(m.type.dtype, v.type.dtype), (n,)))
        n, m = type_.shape
        if self.draw.chance(0.3):
            a = self.value(Type(type_.dtype, (m, n)), depth)
            return Expr(f"{a.text}.transpose()", Type(a.type.dtype, (n, m)))
        if self.draw.chance(0.4):
            a, b = self.value(Type(type_.dtype, (n,)), depth), self.value(Type(type_.dtype, (m,)), depth)
            return Expr(
                f"{a.text}.outer_product({b.text})", Type(self.g.promote(a.type.dtype, b.type.dtype), type_.shape)
            )
        a, b = self.value(Type(type_.dtype, (n, 2)), depth), self.value(Type(type_.dtype, (2, m)), depth)
        return Expr(f"({a.text} @ {b.text})", Type(self.g.promote(a.type.dtype, b.type.dtype), type_.shape))

    def swizzle(self, type_, depth):
        if len(type_.shape) != 1 or not 2 <= type_.shape[0] <= 4:
            return None
        n = self.draw.number(2, 4)
        a = self.value(Type(type_.dtype, (n,)), depth)
        letters = self.draw.pick(("xyzw", "rgba", "stpq"))
        word = "".join(letters[self.draw.number(0, n - 1)] for _ in range(type_.shape[0]))
        return Expr(f"{a.text}.{word}", Type(a.type.dtype, type_.shape))

    def slice(self, type_, depth):
        if len(type_.shape) != 1:
            return None
        n = type_.shape[0]
        if self.draw.chance(0.5):
            a = self.named(Type(type_.dtype, (n + 1,)), depth)
            return (
                None
                if a is None
                else Expr(f"{a.text}[{self.draw.pick((f':{n}', '1:', f'0:{n}'))}]", Type(a.type.dtype, (n,)))
            )
        a = self.named(Type(type_.dtype, (n, 2)), depth)
        if a is None:
            return None
        return Expr(f"{a.text}[:, {self.g.indices.within(0, 1, depth).text}]", Type(a.type.dtype, (n,)))

    def named(self, type_, depth):
        """A tensor in a variable or in memory."""
        return self.leaf(type_, depth)

    def call(self, type_, depth):
        return self.g.calls.value(self.same_kind(type_), depth)

    # ------------------------------------------------------------ numbers out of tensors

    def some(self, test, depth) -> Expr | None:
        """A tensor whose elements pass a test."""
        if not self.draw.on("matrices"):
            return None
        names = [n for n in ("i32", "f32", "i64", "f64", "u8", "i16") if test(Type(dtype(n)))]
        if not names:
            return None
        shape = self.draw.pick(((2,), (3,), (4,), (2, 2), (3, 2)))
        return self.value(Type(dtype(self.draw.pick(names)), shape), depth)

    def member(self, test, depth) -> Expr | None:
        """A member of a struct that is a value."""
        found = [(s, p, t) for s in self.g.structs for p, t in paths(s) if test(t.element())]
        if not found:
            return None
        returned = [f.results[0] for f in self.g.calls.funcs(lambda f: f.results and f.results[0] in self.g.structs)]
        decl, path, type_ = self.draw.pick([x for x in found if x[0] in returned] or found)
        text = (self.g.calls.struct(decl) or self.g.struct(decl, depth).text) + path
        return Expr(text, type_) if not type_.shape else Expr(text + self.g.cells.part(type_, depth), type_.element())

    def component(self, test, depth) -> Expr | None:
        if self.draw.chance(0.35):
            e = self.member(test, depth)
            if e is not None:
                return e
        e = self.some(test, depth)
        if e is None or not test(e.type.element()):
            return None
        return Expr(e.text + self.g.cells.part(e.type, depth), e.type.element())

    def reduction(self, test, depth) -> Expr | None:
        e = self.some(test, depth)
        if e is None or not test(e.type.element()):
            return None
        if len(e.type.shape) == 1 and self.draw.chance(0.3):
            b = self.value(e.type, depth)
            return Expr(f"{e.text}.dot({b.text})", self.g.promoted(e.type, b.type).element())
        if e.type.shape == (2, 2) and not e.type.real and self.draw.chance(0.4):
            return Expr(f"{e.text}.{self.draw.pick(('determinant', 'trace'))}()", e.type.element())
        name = self.draw.pick(("sum", "max", "min", "norm_sqr"))
        return Expr(f"{e.text}.{name}()", e.type.element())

    def truth(self, depth) -> Expr | None:
        if not self.draw.on("matrices"):
            return None
        type_ = Type(dtype(self.draw.pick(("i32", "f32", "u8"))), self.draw.pick(((2,), (3,), (2, 2))))
        text = self.comparison_text(type_, depth)
        return Expr(self.draw.pick((f"{text}.any()", f"{text}.all()", f"any({text})", f"all({text})")), U1)
