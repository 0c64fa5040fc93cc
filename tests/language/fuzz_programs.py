"""Random small programs, drawn by Hypothesis, as trees of tuples and as the Python text of kernels and funcs.

Expressions: ("lit", x) ("var", name) ("elem", array, index) ("bin", op, a, b) ("neg", a) ("inv", a) ("cast", dtype, a)
("toint", dtype, a) ("max" | "min", a, b) ("if", cond, a, b) ("call", func, args). Conditions: ("cmp", op, a, b)
("chain", op, a, b, op, c) ("and" | "or", a, b) ("not", a) ("test", integer).
Statements: ("declare", name, a) ("assign", target, a) ("augment", op, target, a) ("if", cond, body, orelse)
("for", name, bound, body) ("while", name, cond, body) ("break", cond) ("continue", cond) ("eval", call).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import strategies as st

ARRAYS = {"A": "i32", "B": "u8", "C": "i64", "D": "f64", "E": "f32", "S": "i16"}
# Few arrays and cells are used often, so that reads and writes meet.
INT_ARRAYS, REAL_ARRAYS = ("A", "A", "A", "A", "B", "C", "S"), ("D", "D", "E")
SIZE = 8


@dataclass
class Function:
    name: str
    params: list  # (name, kind "int" or "real", mode "value", "i32" or "template")
    body: list
    result: tuple
    kind: str


@dataclass
class Program:
    functions: list
    body: list
    parallel: bool  # the body is that of a parallel loop of one iteration, else it stands at kernel top level

    def __repr__(self) -> str:
        return "\n" + source(self)


class Generator:
    """Makes one program of `seed`. `scope` lists the visible variables: (name, kind, assignable)."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self.functions: list = []
        self.scope: list = []
        self.names = 0

    def pick(self, *choices):
        return self._random.choice(choices)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def program(self, statements: int) -> Program:
        for k in range(self.number(1, 3)):
            self.functions.append(self.function(k))
        self.scope, self.names = [("a", "int", False), ("x", "real", False)], 0
        body = self.body(2, statements, loop=False)
        return Program(list(self.functions), body, self.pick(True, False))

    def function(self, k: int) -> Function:
        params = [
            (f"p{n}", self.pick("int", "int", "real"), self.pick("template", "value", "i32"))
            for n in range(self.number(1, 3))
        ]
        params = [(name, "int" if mode == "i32" else kind, mode) for name, kind, mode in params]
        self.scope, self.names = [(name, kind, True) for name, kind, _ in params], 0
        body = [self.effect(), *self.body(1, self.number(0, 3), loop=False)]
        kind = self.pick("int", "int", "real")
        result = self.expr(kind, 2)
        return Function(f"f{k}", params, body, result, kind)

    def effect(self) -> tuple:
        """A change that callers can see: of a template parameter if there is one, else of an array."""
        kind = self.pick("int", "real")
        return ("augment", "+", self.target(kind), ("lit", self.number(1, 9)))

    # ------------------------------------------------------------ expressions

    def variables(self, kind: str, assignable: bool = False) -> list:
        return [name for name, k, free in self.scope if k == kind and (free or not assignable)]

    def element(self, kind: str, depth: int) -> tuple:
        index = ("lit", self.number(0, 1)) if self.number(0, 2) else self.expr("int", min(depth, 1))
        return ("elem", self.pick(*(INT_ARRAYS if kind == "int" else REAL_ARRAYS)), index)

    def leaf(self, kind: str, depth: int) -> tuple:
        names = self.variables(kind)
        choice = self.number(0, 5)
        if choice < 3 and names:
            return ("var", self.pick(*names))
        if choice < 5 and depth > 0:
            return self.element(kind, depth - 1)
        return ("lit", self.number(-9, 9)) if kind == "int" else ("lit", self.number(-20, 20) / 4)

    def runtime(self, kind: str, depth: int) -> tuple:
        """An expression that is no literal: arithmetic of literals alone is Python's own."""
        e = self.expr(kind, depth)
        return ("cast", "i32" if kind == "int" else "f64", e) if e[0] in ("lit", "neg", "inv", "max", "min") else e

    def read(self, kind: str) -> tuple:
        """A variable or an element: what a call beside it may change."""
        names = self.variables(kind, assignable=True)
        return ("var", self.pick(*names)) if names and self.number(0, 2) else self.element(kind, 0)

    def expr(self, kind: str, depth: int) -> tuple:
        if depth <= 0 or self.number(0, 4) == 4:
            return self.leaf(kind, depth)
        choice = self.number(0, 11)
        if choice <= 3:
            return self.arithmetic(kind, depth - 1)
        if choice == 4:
            found = [f for f in self.functions if f.kind == kind]
            if found:
                op, call = self.pick("+", "-", "*"), self.call(self.pick(*found), 0)
                return ("bin", op, *self.pick((self.read(kind), call), (call, self.read(kind))))
            return self.leaf(kind, depth)
        if choice == 5:
            return ("neg", self.runtime(kind, depth - 1))
        if choice == 6:
            return (self.pick("max", "min"), self.runtime(kind, depth - 1), self.expr(kind, depth - 1))
        if choice == 7:
            return ("if", self.condition(depth - 1), self.runtime(kind, depth - 1), self.expr(kind, depth - 1))
        if choice <= 9:
            found = [f for f in self.functions if f.kind == kind]
            return self.call(self.pick(*found), depth - 1) if found else self.leaf(kind, depth)
        if kind == "int":
            if choice == 10:
                return ("cast", self.pick("i8", "u8", "i16", "u16", "i32", "u32", "i64"), self.expr("int", depth - 1))
            return ("inv", self.runtime("int", depth - 1))
        return ("cast", self.pick("f32", "f64"), self.expr(self.pick("int", "real"), depth - 1))

    def arithmetic(self, kind: str, depth: int) -> tuple:
        if kind == "real":
            op = self.pick("+", "-", "*", "+", "-", "*", "/", "//", "%")
            if op in ("//", "%"):
                return ("bin", op, self.runtime("real", depth), ("lit", self.pick(0.5, 4.0, -2.5, 3.0)))
            if op == "/":
                return ("bin", op, self.runtime("int", depth), self.positive(depth))
            kinds = self.pick(("real", "real"), ("int", "real"), ("real", "int"))
            return ("bin", op, self.runtime(kinds[0], depth), self.expr(kinds[1], depth))
        op = self.pick("+", "-", "*", "+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>", "**", "toint")
        if op == "toint":
            return ("toint", self.pick("i32", "i64"), self.runtime("real", depth))
        if op == "**":
            return ("bin", op, self.runtime("int", depth), ("lit", self.pick(2, 3)))
        if op in ("//", "%"):
            return ("bin", op, self.runtime("int", depth), self.positive(depth))
        if op in ("<<", ">>"):
            return ("bin", op, self.runtime("int", depth), ("bin", "&", self.runtime("int", depth), ("lit", 7)))
        return ("bin", op, self.runtime("int", depth), self.expr("int", depth))

    def positive(self, depth: int) -> tuple:
        return ("bin", "+", ("bin", "&", self.runtime("int", depth), ("lit", 7)), ("lit", 1))

    def condition(self, depth: int) -> tuple:
        choice = self.number(0, 6)
        if depth > 0 and choice == 0:
            return (self.pick("and", "or"), self.condition(depth - 1), self.condition(depth - 1))
        if depth > 0 and choice == 1:
            return ("not", self.condition(depth - 1))
        kind = self.pick("int", "int", "real")
        ops = ("<", "<=", ">", ">=", "==")
        if choice == 2:
            middle, last = self.expr(kind, depth - 1), self.expr(kind, depth - 1)
            return ("chain", self.pick(*ops), self.runtime(kind, depth - 1), middle, self.pick(*ops), last)
        if choice == 3:
            return ("test", self.runtime("int", depth - 1))
        return ("cmp", self.pick(*ops), self.runtime(kind, depth - 1), self.expr(kind, depth - 1))

    def call(self, f: Function, depth: int) -> tuple:
        args = []
        for _, kind, mode in f.params:
            if mode == "template":
                args.append(self.read(kind))
            else:
                args.append(self.expr(kind, depth))
        return ("call", f.name, args)

    # ------------------------------------------------------------ statements

    def body(self, depth: int, count: int, loop: bool) -> list:
        """`count` statements in a block of their own; names declared in it are free again after it."""
        visible, names = len(self.scope), self.names
        out = [self.statement(depth, loop) for _ in range(count)]
        del self.scope[visible:]
        self.names = names
        return out

    def new_name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def target(self, kind: str) -> tuple:
        names = self.variables(kind, assignable=True)
        return ("var", self.pick(*names)) if names and self.number(0, 1) else self.element(kind, 1)

    def statement(self, depth: int, loop: bool) -> tuple:
        choice = self.number(0, 12)
        kind = self.pick("int", "int", "real")
        if choice <= 2 or depth <= 0 and choice >= 7:
            value, name = self.expr(kind, 3), self.new_name()
            self.scope.append((name, kind, True))
            return ("declare", name, value)
        if choice <= 4:
            source_kind = kind if kind == "int" else self.pick("int", "real")
            return ("assign", self.target(kind), self.expr(source_kind, 3))
        if choice <= 6:
            op = self.pick("+", "-", "*", "&", "|", "^") if kind == "int" else self.pick("+", "-", "*")
            return ("augment", op, self.target(kind), self.expr(kind, 2))
        if choice == 7 and loop:
            return (self.pick("break", "continue"), self.condition(1))
        if choice <= 9:
            return ("if", self.condition(2), self.body(depth - 1, self.number(1, 3), loop),
                    self.body(depth - 1, self.number(0, 2), loop))  # fmt: skip
        if choice == 10:
            guard = self.new_name()
            self.scope.append((guard, "int", False))
            return ("while", guard, self.condition(2), self.body(depth - 1, self.number(1, 3), True))
        bound, name = self.expr("int", 1), self.new_name()
        self.scope.append((name, "int", False))
        loop_body = self.body(depth - 1, self.number(1, 3), True)
        self.scope.pop()
        self.names -= 1
        return ("for", name, bound, loop_body)


# ---------------------------------------------------------------- Python text


def text(e: tuple) -> str:
    kind = e[0]
    if kind == "lit":
        return f"({e[1]})" if e[1] < 0 else str(e[1])
    if kind == "var":
        return e[1]
    if kind == "elem":
        return f"{e[1]}[({text(e[2])}) & 7]"
    if kind == "bin":
        return f"({text(e[2])} {e[1]} {text(e[3])})"
    if kind in ("neg", "inv", "not"):
        return f"({ {'neg': '-', 'inv': '~', 'not': 'not '}[kind] }{text(e[1])})"
    if kind == "cast":
        return f"qd.cast({text(e[2])}, qd.{e[1]})"
    if kind == "toint":
        return f"qd.cast(qd.max(qd.min({text(e[2])}, 100.0), -100.0), qd.{e[1]})"
    if kind in ("max", "min"):
        return f"qd.{kind}({text(e[1])}, {text(e[2])})"
    if kind == "if":
        return f"({text(e[2])} if {text(e[1])} else {text(e[3])})"
    if kind == "call":
        return f"{e[1]}({', '.join(map(text, e[2]))})"
    if kind == "cmp":
        return f"({text(e[2])} {e[1]} {text(e[3])})"
    if kind == "chain":
        return f"({text(e[2])} {e[1]} {text(e[3])} {e[4]} {text(e[5])})"
    if kind in ("and", "or"):
        return f"({text(e[1])} {kind} {text(e[2])})"
    return f"(({text(e[1])}) != 0)"


def lines(body: list, indent: str, top: bool):
    for s in body:
        kind = s[0]
        if kind in ("declare", "assign"):
            yield f"{indent}{s[1] if kind == 'declare' else text(s[1])} = {text(s[2])}"
        elif kind == "augment":
            yield f"{indent}{text(s[2])} {s[1]}= {text(s[3])}"
        elif kind == "if":
            yield f"{indent}if {text(s[1])}:"
            yield from lines(s[2], indent + "    ", False)
            if s[3]:
                yield f"{indent}else:"
                yield from lines(s[3], indent + "    ", False)
        elif kind == "while":
            yield f"{indent}{s[1]} = 0"
            yield f"{indent}while {s[1]} < 4 and {text(s[2])}:"
            yield f"{indent}    {s[1]} += 1"
            yield from lines(s[3], indent + "    ", False)
        elif kind == "for":
            if top:
                yield f"{indent}qd.loop_config(serialize=True)"
            yield f"{indent}for {s[1]} in range(({text(s[2])}) & 3):"
            yield from lines(s[3], indent + "    ", False)
        else:
            yield f"{indent}if {text(s[1])}:"
            yield f"{indent}    {kind}"


def source(program: Program) -> str:
    """A module: the funcs, and a kernel `run(a: i32, x: f64)`. The arrays are to be set as globals of the module."""
    out = ["import quadrants as qd", ""]
    for f in program.functions:
        annotations = {"value": "", "i32": ": qd.i32", "template": ": qd.template()"}
        params = ", ".join(name + annotations[mode] for name, _, mode in f.params)
        out += [
            "",
            "@qd.func",
            f"def {f.name}({params}):",
            *lines(f.body, "    ", True),
            f"    return {text(f.result)}",
            "",
        ]
    out += ["", "@qd.kernel", "def run(a: qd.i32, x: qd.f64):"]
    if program.parallel:
        out += ["    for _ in range(1):", *lines(program.body, "        ", False)]
    else:
        out += list(lines(program.body, "    ", True))
    return "\n".join(out) + "\n"


def programs():
    """A strategy. The seed is Hypothesis's, so that programs differ much; failures shrink to fewer statements."""
    return st.builds(lambda seed, size: Generator(seed).program(size), st.integers(0, 2**32), st.integers(1, 12))
