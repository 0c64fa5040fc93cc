"""Statements. Each method gives lines without indentation, or None where it has nothing to say."""

from __future__ import annotations

from ..execute import MARK
from .cells import paths
from .draw import VARIABLES
from .types import Expr, StructDecl, Type, Var, dtype


class Statements:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    def body(self, depth: int, count: int, **changes) -> list:
        """`count` statements in a block."""
        out: list = []
        with self.g.scope.block(self.draw, **changes):
            for _ in range(count):
                out += self.one(depth)
        return out or ["pass"]

    def one(self, depth: int) -> list:
        forms = {
            "transcendental": 1, "declare": 4, "assign": 5, "augment": 5, "swap": 1, "swizzle": 1, "call": 2,
            "atomic": 1, "annotated": 1, "walrus": 1, "struct": 1, "fill": 1, "results": 1,
        }  # fmt: skip
        if depth > 0:
            forms.update({"if_": 3, "for_": 2, "while_": 1, "static_for": 1, "static_if": 1})
        if self.g.scope.loop:
            forms["leave"] = 1
        if self.g.scope.prints and self.draw.on("prints"):
            forms["print_"] = 1
        for _ in range(8):
            form = self.draw.weighted(forms)
            found = getattr(self if hasattr(self, form) else self.g.control, form)(depth)
            if found:
                return found
        return self.declare(depth)

    # ------------------------------------------------------------ variables

    def type(self) -> Type:
        """The type of a new variable."""
        names = ["i32", "i32", "i32", "f32", "f32", "f64", "u8", "i64", "u32", "i16", "i8", "u16", "u64"]
        names += ["f16"] if self.draw.on("half") else []
        shape: tuple = ()
        if self.draw.on("matrices") and self.draw.chance(0.25):
            shape = self.draw.pick(((2,), (3,), (4,), (2, 2), (2, 3)))
        return Type(dtype(self.draw.pick(names)), shape)

    def new(self, type_, **more) -> str:
        name = self.draw.name("v", VARIABLES)
        self.g.scope.variables.append(Var(name, type_, level=self.g.scope.level, **more))
        return name

    def declare(self, depth: int) -> list:
        if self.draw.chance(0.15):
            e = self.g.truths.comparison(2)
            return [f"{self.new(e.type)} = {e.text}"]
        if self.draw.chance(0.15):
            e = self.g.indices.at_run_time(-4, 12, 2)
            return [f"{self.new(e.type, writable=False, low=e.low, high=e.high)} = {e.text}"]
        if self.draw.chance(0.1):
            if self.draw.chance(0.5):
                return [f"{self.new(Type(self.g.ip))} = {self.draw.number(-9, 9)}"]
            return [f"{self.new(Type(self.g.fp))} = {self.draw.number(-9, 9) / 4}"]
        e = self.g.value(self.type(), 3)
        return [f"{self.new(e.type)} = {e.text}"]

    def annotated(self, depth: int) -> list:
        type_ = self.type().element()
        e = self.g.reals.any(2) if type_.real else self.g.integers.operand(2)
        return [f"{self.new(type_)}: {type_.text} = {e.text}"]

    def struct(self, depth: int):
        if not self.g.structs:
            return None
        decl = self.draw.pick(self.g.structs)
        cells = [c for c in self.g.scope.readable if c.type is decl]
        if cells and self.draw.chance(0.5):
            c = self.draw.pick(cells)
            index = self.g.cells.index(c, 1)
            return [f"{self.new(decl)} = {c.access}[{index}]"]
        text = self.g.struct(decl, 2).text
        return [f"{self.new(decl)} = {text}"]

    def walrus(self, depth: int):
        if not self.g.scope.level:
            return None
        e = self.g.exact(self.type().element(), 2)
        name = self.new(e.type)
        return [f"{self.new(Type(dtype('u1')))} = ({name} := {e.text}) > 0"]

    def transcendental(self, depth: int):
        """A function whose last bits differ from target to target, stored where nothing reads it."""
        scope = self.g.scope
        if not scope.approximate:
            return None
        own = self.draw.pick(scope.approximate)
        name = self.draw.pick(("sin", "cos", "tan", "asin", "acos", "tanh", "exp", "log", "rsqrt", "atan2", "pow"))
        limit = {"tan": 1.5, "asin": 1.0, "acos": 1.0, "exp": 10.0}.get(name, 20.0)
        e = f"max(min({self.g.reals.any(2).text}, {limit}), -{limit})"
        if name in ("log", "rsqrt"):
            e = f"abs({e}) + 0.5"
        if name == "atan2":
            e = f"{e}, abs({self.g.reals.any(1).text}) + 0.25"
        if name == "pow":
            e = f"abs({e}) + 0.5, {self.draw.pick(('1.5', '0.25', '(-0.75)', '2.5'))}"
        return [f"{own.container.access}[{own.index()}] = qd.{name}({e})"]

    # ------------------------------------------------------------ targets

    def target(self, test, depth: int, component: bool = True) -> tuple | None:
        """Text and type of something that may be assigned."""
        names = self.g.scope.targets(lambda t: test(t))
        if names and self.draw.chance(0.4) or self.g.pure:
            if not names:
                return self.member_target(test)
            v = self.draw.pick(names)
            if v.type.shape and component and self.draw.chance(0.5):
                return v.name + self.g.cells.part(v.type, depth), v.type.element()
            return (v.name, v.type) if v.low is None else None
        found = self.g.cells.place(test, depth, write=True)
        if found is None:
            return self.member_target(test)
        text, type_ = found
        if type_.shape and component and self.draw.chance(0.6):
            return text + self.g.cells.part(type_, depth), type_.element()
        return text, type_

    def member_target(self, test) -> tuple | None:
        scope = self.g.scope
        found = [
            (v.name + path, t)
            for v in scope.variables
            if isinstance(v.type, StructDecl) and v.writable and not (scope.parallel and v.level == 0)
            for path, t in paths(v.type)
            if test(t)
        ]
        return self.draw.pick(found) if found else None

    def assign(self, depth: int):
        found = self.target(lambda t: True, 2)
        if found is None:
            return None
        text, type_ = found
        if self.draw.chance(0.2) and not type_.shape:
            # Another kind: stores convert.
            real = not type_.real if type_.dtype.bits > 1 else False
            value = self.g.casts.in_range(self.g.reals.any(2)) if real else self.g.integers.any(2)
        elif type_.shape and self.draw.chance(0.15):
            value = self.g.tensors.number(type_.real, 2)
        else:
            value = self.g.value(type_, 3)
        if type_.dtype.bits == 1 and value.type.dtype.real:
            return None
        if self.draw.chance(0.05) and type_.shape == ():
            other = self.target(lambda t: t == type_, 1)
            if other is not None and other[1] == type_:
                return [f"{text} = {other[0]} = {value.text}"]
        return [f"{text} = {value.text}"]

    def augment(self, depth: int):
        reduced = self.reduction()
        if reduced and self.draw.chance(0.3):
            return reduced
        found = self.target(lambda t: t.dtype.bits > 1, 2)
        if found is None:
            return None
        text, type_ = found
        if type_.shape and not self.draw.on("soa_floor"):
            return [f"{text} {self.draw.pick('+-')}= {self.g.tensors.number(type_.real, 2).text}"]
        if type_.real:
            op = self.draw.pick(("+", "-", "*", "+", "/"))
            value = self.g.tensors.value(type_, 2) if type_.shape and self.draw.chance(0.5) else self.g.reals.any(2)
            return [f"{text} {op}= {value.text}"]
        op = self.draw.pick(("+", "-", "*", "&", "|", "^", "+", "//", "%", "<<", ">>"))
        if op in ("<<", ">>"):
            return [f"{text} {op}= {self.g.indices.within(0, 7, 1).text}"]
        if op in ("//", "%"):
            return [f"{text} {op}= {self.g.indices.literal(self.draw.pick((2, 3, 7, 8, 64))).text}"]
        if type_.shape and self.draw.chance(0.5):
            value = self.g.tensors.value(type_, 2)
        else:
            value = self.g.integers.operand(2)
        return [f"{text} {op}= {value.text}"]

    def reduction(self):
        """Into what all iterations of a parallel loop share."""
        scope = self.g.scope
        shared = [f"{name} {op}= {self.g.integers.any(2).text}" for name, op in scope.reduced.items()]
        for container, op in scope.atomic.items():
            for path, type_ in paths(container.type):
                if type_.real or type_.dtype.bits == 1:
                    continue
                text = f"{container.access}[{self.g.cells.index(container, 2)}]{path}"
                if type_.shape:
                    text += f"[{self.g.cells.component(type_.shape, 1)}]"
                if op in "+-&|^" and self.draw.chance(0.6):
                    shared.append(f"{text} {op}= {self.g.integers.any(2).text}")
                else:
                    shared.append(self.g.cells.atomic_call(text, type_.element(), 2, op))
        return [self.draw.pick(shared)] if shared else None

    def atomic(self, depth: int):
        if self.g.scope.parallel:
            return self.reduction()
        found = self.g.cells.number_place(lambda t: t.dtype.bits > 1, 2, write=True) if not self.g.pure else None
        if found is None:
            return None
        text, type_ = found
        return [self.g.cells.atomic_call(text, type_, 2)]

    def swap(self, depth: int):
        a = self.target(lambda t: not t.shape, 1)
        b = self.target(lambda t: not t.shape, 1)
        if a is None or b is None:
            return None
        if self.draw.chance(0.5) and a[1].real == b[1].real:
            return [f"{a[0]}, {b[0]} = {b[0]}, {a[0]}"]
        x, y = self.g.value(a[1], 2), self.g.value(b[1], 2)
        return [f"{a[0]}, {b[0]} = {x.text}, {y.text}"]

    def swizzle(self, depth: int):
        if not self.draw.on("matrices"):
            return None
        found = self.target(lambda t: len(t.shape) == 1 and 2 <= t.shape[0] <= 4, 2, component=False)
        if found is None:
            return None
        text, type_ = found
        letters = self.draw.pick(("xyzw", "rgba", "stpq"))
        n = type_.shape[0]
        word = "".join(self.draw.sample(letters[:n], self.draw.number(2, n)))
        part = Type(type_.dtype, (len(word),))
        whole = not self.draw.chance(0.3)
        if not whole:  # a component of the components
            k = self.draw.number(0, len(word) - 1)
            word += self.draw.pick((f"[{self.g.cells.component((len(word),), 1)}]", f"[{k}]", f".{letters[k]}"))
        augmented = self.draw.chance(0.4) and type_.dtype.bits > 1
        if augmented and not self.draw.on("swizzle_index") and "[" in text:
            augmented = False
        if augmented and not self.draw.on("swizzle_order"):
            return [f"{text}.{word} {self.draw.pick(('+', '-', '*'))}= {self.draw.number(1, 5)}"]
        whole &= self.draw.chance(0.7)
        value = self.g.tensors.value(part, 2) if whole else self.g.tensors.number(type_.real, 2)
        if augmented and self.draw.chance(0.4):
            value = self.changing(type_) or value
        if augmented:
            return [f"{text}.{word} {self.draw.pick(('+', '-', '*'))}= {value.text}"]
        return [f"{text}.{word} = {value.text}"]

    def changing(self, type_: Type) -> Expr | None:
        """A number whose evaluation changes memory."""

        def fits(t):
            return t.real == type_.real and t.dtype.bits > 1 and not t.shape

        if self.draw.chance(0.5):
            return self.g.calls.value(fits, 1)
        return self.g.cells.atomic_value(fits, 1)

    def fill(self, depth: int):
        found = self.target(lambda t: bool(t.shape), 2, component=False) if self.draw.on("matrices") else None
        if found is None:
            return None
        text, type_ = found
        return [f"{text}.fill({self.g.tensors.number(type_.real, 1).text})"]

    # ------------------------------------------------------------ calls

    def call(self, depth: int):
        found = self.g.calls.funcs(lambda f: not f.results)
        if not found:
            return None
        text = self.g.calls.text(self.draw.pick(found), 2)
        return None if text is None else [text]

    def results(self, depth: int):
        """Several results of a func, unpacked into new or existing names."""
        found = self.g.calls.funcs(lambda f: len(f.results) > 1)
        if not found:
            return None
        f = self.draw.pick(found)
        text = self.g.calls.text(f, 2)
        if text is None:
            return None
        targets = []
        for type_ in f.results:
            old = self.target(lambda t: t == type_, 1, component=False) if self.draw.chance(0.4) else None
            targets.append(old[0] if old is not None else self.new(type_))
        return [f"{', '.join(targets)} = {text}"]

    def print_(self, depth: int):
        values = []
        for _ in range(self.draw.number(1, 3)):
            type_ = self.type()
            values.append(self.g.value(type_, 1))
        if self.draw.chance(0.4):
            e = values[0]
            if e.type.shape or e.type.dtype.bits == 1:
                return [f'print(f"{MARK} {{{e.text}}} b")'] if '"' not in e.text and "{" not in e.text else None
            spec = self.draw.pick(("", ":.3f", ":10.2f")) if e.type.real else self.draw.pick(("", ":5d", ":03d", ":d"))
            if not e.type.dtype.signed and not e.type.real:
                spec = self.draw.pick(("", ":u", ":x"))
            return [f'print(f"{MARK} {{{e.text}{spec}}} b")']
        return [f'print("{MARK}", {", ".join(e.text for e in values)})']
