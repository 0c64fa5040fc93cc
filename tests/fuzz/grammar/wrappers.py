"""How a kernel gets its containers: as globals and arguments, members of a dataclass, or members of a class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .draw import Draw
from .scope import Scope
from .types import Container, Type, Var, dtype, indented

# Numbers that are known while a kernel is compiled: NumPy's count as Python's there.
CONSTANTS = (("3", "np.uint8(3)", "np.int64(3)"), ("5", "np.int16(5)", "np.uint32(5)"))


@dataclass
class Wrapper:
    """How a kernel is written and called. `before`: lines in front of it; `inside`: it is a method of their class.

    `begin`: lines of `main` in front of the calls, `between`: behind the first, `back`: behind the second of three.
    `twins`: containers that take the place of others then.
    """

    parameters: list
    before: list
    call: str
    arguments: list
    begin: list = field(default_factory=list)
    between: list = field(default_factory=list)
    back: list = field(default_factory=list)
    twins: list = field(default_factory=list)
    inside: bool = False

    def around(self, kernel: list) -> list:
        return [*self.before, *(indented(kernel) if self.inside else kernel)]


# Where a field that is a member lies: what is in front of it, and behind.
PLACES = (("", ""), ("", ""), ("inner.", ""), ("", "[0]"), ("", "[-1]"), ("", "['a']"), ("", "[0][0]"), ("", "[0].x"))


@dataclass
class Member:
    place: tuple
    name: str
    cls: str

    def access(self, obj: str) -> str:
        return f"{obj}.{self.place[0]}{self.name}{self.place[1]}"

    def assigned(self, obj: str, value: str) -> list:
        whole = {
            "": value, "[0]": f"[{value}, 1]", "[-1]": f"(2, {value})", "['a']": f"{{'b': 1, 'a': {value}}}",
            "[0][0]": f"[[{value}]]", "[0].x": f"[{self.cls}()]",
        }[self.place[1]]  # fmt: skip
        lines = [f"{obj}.{self.place[0]}{self.name} = {whole}"]
        return [*lines, f"{self.access(obj)} = {value}"] if self.place[1] == "[0].x" else lines

    def changed(self, obj: str, value: str, in_place: bool) -> list:
        if in_place and self.place[1] != "[-1]":
            return [f"{self.access(obj)} = {value}"]
        return self.assigned(obj, value)


class Wrappers:
    def __init__(self, draw: Draw, scope: Scope, options: dict):
        self.draw, self.scope, self.options = draw, scope, options

    def plain(self, name, params, containers, parameters) -> Wrapper:
        typed = [f"{n}: {t.text}" for n, t in params] + [f"{c.access}: {c.annotation}" for c in parameters]
        return Wrapper(typed, [], name, [c.argument for c in parameters])

    def dataclass(self, name, params, containers, parameters) -> Wrapper:
        if not parameters or not self.draw.on("classes"):
            return self.plain(name, params, containers, parameters)
        cls, var = self.draw.name("D"), self.draw.name("d")
        members = [(self.draw.name("m"), c) for c in parameters]
        lines = [self.draw.pick(("@dataclasses.dataclass", "@dataclasses.dataclass(frozen=True)")), f"class {cls}:"]
        lines += [f"    {m}: {c.annotation}" for m, c in members]
        arguments = [c.argument for c in parameters]
        for m, c in members:
            c.access = f"{var}.{m}"
        number = self.draw.pick((*"i32 i64 u8 f32 f64".split(),)) if self.draw.chance(0.6) else None
        if number is not None:
            type_ = Type(dtype(number))
            lines.append(f"    k: {type_.text}")
            arguments.append("2.5" if type_.real else "7")
            self.scope.variables.append(Var(f"{var}.k", type_, writable=False))
        typed = [f"{n}: {t.text}" for n, t in params] + [f"{var}: {cls}"]
        return Wrapper(typed, ["import dataclasses", *lines], name, [f"{cls}({', '.join(arguments)})"])

    def method(self, name, params, containers, parameters) -> Wrapper:
        """Of a data_oriented class; some containers are its members, and numbers, its own and those of an object."""
        cls, inner, obj = self.draw.name("C"), self.draw.name("C"), self.draw.name("o")
        own = [c for c in containers if c.annotation is None and self.draw.chance(0.5)]
        own += [
            c for c in parameters if "ndarray" in c.declaration[0] and self.draw.chance(0.5) and self.may_be_member(c)
        ]
        lifted = self.draw.chance(0.5)
        lines = ["@qd.data_oriented", f"class {inner}:", "    def __init__(self):"]
        n, count = ("3", "5") if lifted else (self.draw.pick(c) for c in CONSTANTS)
        lines += [f"        self.count = {count}", "        self.scale = 1.5", "        self.flag = True"]
        options = "(template_primitives=False)" if lifted else ""
        lines += [f"@qd.data_oriented{options}", f"class {cls}:", "    def __init__(self):"]
        lines += [f"        self.n = {n}", f"        self.inner = {inner}()"]
        twins, swapped, back = [], [], []
        for c in own:
            member = Member(self.draw.pick(PLACES) if c.annotation is None else PLACES[0], self.draw.name("m"), inner)
            lines += [f"        {line}" for line in member.assigned("self", c.host)]
            c.access = member.access("self")
            if self.has_twin(c) and self.draw.chance(0.5):
                twins.append(self.twin(c))
                swapped += member.changed(obj, twins[-1].host, self.draw.chance(0.5))
                back += member.changed(obj, c.host, self.draw.chance(0.5))
        between = swapped + (self.numbers(obj) if lifted else self.constants())
        lines = [line for t in twins for line in t.declaration] + lines
        rest = [c for c in parameters if c not in own]
        typed = ["self"] + [f"{n}: {t.text}" for n, t in params] + [f"{c.access}: {c.annotation}" for c in rest]
        arguments = [c.argument for c in rest]
        begin = [f"{obj} = {cls}()"]
        return Wrapper(typed, lines, f"{obj}.{name}", arguments, begin, between, back, twins, inside=True)

    @staticmethod
    def has_twin(c: Container) -> bool:
        return not c.fresh and len(c.declaration) == 1 and c.declaration[0].startswith(f"{c.host} = ")

    def twin(self, c: Container) -> Container:
        """Another container of the same declaration."""
        name = self.draw.name("x")
        made = c.declaration[0].partition(" = ")[2]
        return replace(c, host=name, access=name, declaration=[f"{name} = {made}"])

    @staticmethod
    def may_be_member(c: Container) -> bool:
        return "BufferView" not in c.annotation and not c.clamped

    def constants(self) -> list:
        """Members that are known while the kernel is read."""
        ip = Type(dtype(self.options.get("default_ip", "i32")))
        for text, value in (("self.n", 3), ("self.inner.count", 5)):
            var = Var(text, ip, writable=False, low=value, high=value, constant=True)
            self.scope.variables.append(var)
            self.scope.statics.append(var)
        return []

    def numbers(self, obj: str) -> list:
        """Members that each launch reads, and lines that change them."""
        ip, fp = (Type(dtype(self.options.get(k, d))) for k, d in (("default_ip", "i32"), ("default_fp", "f32")))
        for text, type_ in (
            ("self.n", ip),
            ("self.inner.count", ip),
            ("self.inner.scale", fp),
            ("self.inner.flag", ip),
        ):
            self.scope.variables.append(Var(text, type_, writable=False))
        changes = (f"{obj}.n = -2", f"{obj}.inner.count = 9", f"{obj}.inner.scale = -0.25", f"{obj}.inner.flag = False")
        return self.draw.sample(changes, self.draw.number(1, 3))
