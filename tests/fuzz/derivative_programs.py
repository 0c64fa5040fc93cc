"""Random differentiable kernels as Python text: containers, index forms, control flow, atomics, funcs.

A program reads x (f64, N numbers), v (N vectors of 2 f64), the integers n and at (N numbers), and the number c; its
kernel `program` adds to y, stores z and u once per iteration, and may have a second loop that reads z and u. The kernel
`after` reads y, z and u and adds to r, `total` adds all to the loss. Where each of these lies is drawn, too
(`derivative_places`). No kernel reads what it writes within a task, so the global data access rule holds for each.

All numbers stay of the order of 1, whatever the trip counts, so that finite differences mean something.
"""

from __future__ import annotations

import random

from .derivative_places import N, draw, integers

HEADER = """\
import dataclasses

import numpy as np
import quadrants as qd

{imports}
SOA = qd.Layout.SOA
vec2 = qd.types.vector(2, qd.f64)
loss = qd.field(qd.f64, (), needs_grad=True)
weights = qd.field(qd.f64, {n})

{places}


@qd.dataclass
class Body:
    a: qd.f64
    w: qd.types.vector(2, qd.f64)


@qd.func
def move(body: Body, by):
    other = body
    for k in range(2):
        other.w[k] = qd.sin(other.w[1 - k] + by) * other.a
    other.a = qd.tanh(body.a + other.w.sum())
    return other


@qd.func
def mix(p, q):
    return qd.sin(p) * 0.7 + q * qd.cos(q) * 0.2


@qd.func
def settle(p, times):
    r = p
    for k in range(times):
        r = qd.tanh(r * 1.2 + 0.1 * k)
    return r


@qd.func
def spin(w, times):
    r = w
    for k in range(times):
        for l, m in qd.ndrange(2, k + 1):
            r[m % 2] = qd.sin(r[l] * 1.1) + 0.2 * w[1] * r[m % 2]
    return r


@qd.real_func
def hop(k: qd.i32, by: qd.i32) -> qd.i32:
    r = k
    while r > 3:
        r -= 3
    return (r + by) % 4


@qd.real_func
def damp(p: qd.f64, by: qd.f64) -> qd.f64:
    r = p
    for k in range(2):
        r = qd.tanh(r + by * 0.3) * 0.9
    return r


@qd.func
def flip(k):
    return 3 - k


@qd.func
def turn(w, angle):
    return qd.Vector([qd.cos(angle) * w[0] - qd.sin(angle) * w[1], qd.sin(angle) * w[0] + qd.cos(angle) * w[1]])


"""

# {a}, {b}: expressions of the order of 1; so is the result.
_UNARY = (
    "qd.sin({a})", "qd.cos({a})", "qd.tanh({a})", "qd.exp(-{a} * {a})", "qd.log(1.5 + {a} * {a})",
    "qd.sqrt({a} * {a} + 0.1)", "qd.rsqrt({a} * {a} + 0.5)", "qd.tan(0.5 * qd.sin({a}))", "qd.asin(0.6 * qd.cos({a}))",
    "qd.acos(0.6 * qd.sin({a}))", "abs({a})", "(-{a})", "qd.sin({a}) ** 2", "qd.cos({a}) ** 3",
    "qd.f64(qd.floor({a})) * 0.1", "qd.cast(qd.cast({a}, qd.i32), qd.f64) * 0.1",
)  # fmt: skip
_BINARY = (
    "({a} + {b})", "({a} - {b})", "{a} * {b}", "{a} / (1.5 + {b} * {b})", "qd.atan2({a}, 1.5 + {b} * {b})",
    "max({a}, {b})", "min({a}, {b})", "mix({a}, {b})", "(1.2 + qd.sin({a})) ** ({b} * 0.5)",
    "qd.select({a} > {b}, {a}, 0.5 * {b})", "({a} if {b} < 0.3 else {b} * {b})", "settle({a}, 2) * {b}",
    "{b} * ({a} > {b}) + {a}", "{a} - -({a} > 0.1) * {b}", "qd.max({a}, {b}) - qd.min({a}, 0.2)",
)  # fmt: skip
# Indices of N cells, {k} any of them; those of _ONCE reach each cell once. Components of vectors of 2.
_CELLS = (
    "{k}", "{k}", "({k} + 1) % 4", "({k} + 3) % 4", "3 - {k}", "{k} ^ 1", "{k} ^ 2", "{k} & 3", "{k} & 1 | 2",
    "~{k} & 3",
    "{k} >> 1", "{k} // 2 + 1", "{k} << 1 & 3", "3 - ({k} & 1)", "{k} if {k} < 2 else 3", "qd.select({k} > 1, {k}, 0)",
    "min({k} + 1, 3)", "max({k} - 1, 0)", "qd.cast(0.5 * {k}, qd.i32)", "qd.u8({k})", "qd.i64({k}) ^ 1", "{k} > 1",
    "flip({k})", "hop({k}, 1)", "hop({k}, 0) ^ 1", "{k} - ({k} > 1)", "1 + ({k} > 1)", "-(-{k})",
)  # fmt: skip
# Features that can be left out (`grammar.draw.FEATURES`), and what forms with them hold.
_MARKS = {"negated_comparison": "-("}
_ONCE = ("i", "i", "3 - i", "i ^ 1", "(i + 1) % 4", "flip(i)", "-(i - 3)", "i + 1 & 3")
_COMPONENTS = (
    "0", "1", "0", "1", "{k} & 1", "{k} % 2", "1 - {k} % 2", "{k} & 1 ^ 1", "{k} > 1", "0 if {k} > 1 else 1",
    "qd.select({k} > 2, 1, 0)", "3 - {k} & 1", "{k} >> 1 & 1",
)  # fmt: skip
_SPENT = (
    "{q} = qd.sqrt({q} - {q})", "{q} = qd.log({q} * 0.0)", "{q} /= {q} - {q}",
    "{q} += qd.sqrt(c - c) * qd.sqrt({q} - {q})",
)  # fmt: skip
_KEEP = ("qd.sin({e})", "qd.tanh({e})", "0.9 * qd.cos({e})", "({e}) / (1.0 + ({e}) * ({e}))")


class Writer:
    """Makes the program of a seed, of about `budget` statements. `floats`, `vectors`, `ints`: what is in sight."""

    def __init__(self, seed: int, budget: int, off=frozenset()):
        self._random = random.Random(seed)
        self._plain_components = "component_index" in off
        self.reads_own = False  # whether `program` reads z and u, so that another launch of it overwrites what it needs
        self._left_out = tuple(mark for feature, mark in _MARKS.items() if feature in off)
        self.budget = budget
        self.places = draw(self._random, blocked="blocked_index" not in off)
        self.places.update((name, integers(self._random, name, "blocked_index" not in off)) for name in ("n", "at"))
        self.lines: list[str] = []
        self.floats: list[str] = []
        self.vectors: list[str] = []
        self.ints: list[str] = ["i"]
        self.counters: list[str] = []  # integers that iterations change
        self.flags: list[str] = []
        self.bodies: list[str] = []  # structs
        self.matrices: list[str] = []
        self.depth = 0
        self.serial = 0

    def pick(self, choices):
        return self._random.choice(list(choices))

    def form(self, forms) -> str:
        """One of the forms that are not left out."""
        return self.pick([f for f in forms if not any(mark in f for mark in self._left_out)])

    def chance(self) -> bool:
        return self._random.random() < 0.5

    def number(self) -> str:
        return str(self._random.randint(-15, 15) / 10)

    def name(self, prefix: str) -> str:
        self.serial += 1
        return f"{prefix}{self.serial}"

    def write(self, text: str) -> None:
        self.lines.append("    " * (self.depth + 1) + text)

    def at(self, name: str, index: str) -> str:
        return self.places[name].at(index)

    def cell(self) -> str:
        """An integer from 0 to 3."""
        held = [f"({j} & 3)" for j in self.ints[1:] + self.counters]
        return self.pick(["i", "i", self.at("at", "i"), self.at("at", "i ^ 1"), *held])

    def index(self) -> str:
        which = self.pick(("plain", "form", "form", "form", "counter"))
        if which == "plain" or which == "counter" and not self.counters:
            return "i"
        if which == "counter":
            return self.pick(("{m} % 4", "{m} & 3", "hop({m}, 2)")).format(m=self.pick(self.counters))
        return self.pick(_CELLS).format(k=self.cell())

    def component(self) -> str:
        forms = _COMPONENTS[:4] if self._plain_components else _COMPONENTS
        return self.pick(forms).format(k=self.cell())

    def leaf(self) -> str:
        options = [self.at("x", self.index()), f"{self.at('v', self.index())}[{self.component()}]", "c", self.number()]
        options += [f"damp(c, {self.number()})"] if self.chance() else []
        options += self.floats * 3 + [f"{w}[{self.component()}]" for w in self.vectors]
        options += [f"{w}[{j} % 2]" for w in self.vectors for j in self.ints[1:]]
        options += [f"0.1 * {j}" for j in self.ints[1:] + self.counters]
        options += [f"{g}[{self.pick((0, 1))}, {self.pick((0, 1))}]" for g in self.matrices]
        options += [f"{b}.{self.pick(('a', 'a', 'w[0]', 'w[1]'))}" for b in self.bodies]
        return self.pick(options)

    def expr(self, depth: int) -> str:
        if depth <= 0 or self.pick((0, 1, 2)) == 0:
            return self.leaf()
        if self.chance():
            return self.form(_UNARY).format(a=self.wrapped(depth - 1))
        return self.form(_BINARY).format(a=self.wrapped(depth - 1), b=self.wrapped(depth - 1))

    def wrapped(self, depth: int) -> str:
        text = self.expr(depth)
        return f"({text})" if not text.isidentifier() else text

    def kept(self, depth: int = 2) -> str:
        """An expression that stays of the order of 1 however often it is iterated."""
        return self.pick(_KEEP).format(e=self.expr(depth))

    def vector(self) -> str:
        made = f"qd.Vector([{self.kept(1)}, {self.kept(1)}])"
        options = [made, self.at("v", self.index())]
        for w in self.vectors:
            options += [
                f"turn({w}, {self.expr(1)})",
                f"spin({w}, {self.pick(('2', self.at('n', 'i')))})",
                f"0.5 * {w} + 0.5 * {made}",
                f"{w} / (1.0 + {w}.dot({w}))",
            ]
            options += [f"0.5 * ({g} @ {w})" for g in self.matrices]
        return self.pick(options)

    def condition(self) -> str:
        simple = f"{self.expr(1)} {self.pick(('<', '>'))} {self.number()}"
        options = [simple, f"not ({simple})", f"{simple} and {self.expr(0)} < 0.9", f"{simple} or {self.expr(0)} > 0.4"]
        options += [f"{j} % 2 == 0" for j in self.ints + self.counters] + self.flags * 2
        options += [f"{self.at('at', self.index())} & 1", f"({self.cell()} & 1) == 1 or {self.cell()} > 2"]
        return self.pick(options)

    def statement(self, loops: int) -> None:
        self.budget -= 1
        kinds = ["assign", "assign", "augment", "accumulate", "declare", "if"]
        kinds += ["vector", "component"] if self.vectors else []
        kinds += ["swap"] if len(self.floats) > 1 else []
        kinds += ["spend"] if self.floats else []
        kinds += ["count"] if self.counters else []
        kinds += ["flip"] if self.flags else []
        kinds += ["matrix"] if self.matrices else []
        kinds += ["body", "member", "member"] if self.bodies else []
        kinds += ["for", "for", "static", "product"] if loops < 3 else []
        getattr(self, f"_{self.pick(kinds)}")(loops)

    def _declare(self, loops: int) -> None:
        text, kind, into = self.pick((
            (self.kept(), "f", self.floats), (self.vector(), "w", self.vectors), (self.matrix(), "g", self.matrices),
            (f"{self.pick(self.ints)} + 1", "m", self.counters), (f"{self.expr(1)} < 0.2", "b", self.flags),
            (self.body(), "o", self.bodies),
        ))  # fmt: skip
        name = self.name(kind)
        self.write(f"{name} = {text}")
        into.append(name)

    def matrix(self) -> str:
        return f"qd.Matrix([[{self.kept(1)}, {self.number()}], [{self.number()}, {self.kept(0)}]])"

    def body(self) -> str:
        made = f"Body(a={self.kept(1)}, w={self.vector()})"
        return self.pick([made, *(f"move({b}, {self.expr(1)})" for b in self.bodies), *self.bodies])

    def _body(self, loops: int) -> None:
        self.write(f"{self.pick(self.bodies)} = {self.body()}")

    def _member(self, loops: int) -> None:
        b, at = self.pick(self.bodies), self.pick(self.ints)
        self.write(self.pick((
            f"{b}.a = {self.kept(1)}", f"{b}.a += 0.1 * {self.kept(1)}", f"{b}.w = {self.vector()}",
            f"{b}.w[{at} % 2] = {self.kept(1)}",
        )))  # fmt: skip

    def _matrix(self, loops: int) -> None:
        g = self.pick(self.matrices)
        self.write(
            f"{g} = {self.pick((self.matrix(), f'0.5 * ({g} @ {self.pick(self.matrices)})', f'{g}.transpose()'))}"
        )

    def _count(self, loops: int) -> None:
        m = self.pick(self.counters)
        self.write(
            self.pick(
                (
                    f"{m} += 1",
                    f"qd.atomic_cas({m}, {self.pick((0, 1, 2))}, 3)",
                    f"qd.atomic_exchange({m}, 2)",
                    f"{m} = ({m} * 3 + {self.pick(self.ints)}) % 5",
                    f"{m} = {self.at('at', f'{m} % 4')}",
                )
            )
        )

    def _flip(self, loops: int) -> None:
        b = self.pick(self.flags)
        self.write(f"{b} = {self.pick((f'not {b}', f'{self.expr(1)} > 0.1'))}")

    def _assign(self, loops: int) -> None:
        self.write(f"{self.pick(self.floats)} = {self.kept()}")

    def _augment(self, loops: int) -> None:
        a = self.pick(self.floats)
        self.write(self.pick((
            f"{a} += 0.1 * {self.kept(1)}", f"{a} -= 0.1 * {self.kept(1)}", f"{a} *= {self.kept(1)}",
            f"qd.atomic_add({a}, 0.1 * {self.kept(1)})", f"qd.atomic_exchange({a}, {self.kept(1)})",
            f"{self.pick(self.floats)} = 0.9 * qd.atomic_exchange({a}, {self.kept(1)})",
        )))  # fmt: skip

    def _swap(self, loops: int) -> None:
        a, b = self.pick(self.floats), self.pick(self.floats)
        if a != b:
            self.write(f"{a}, {b} = {b}, {self.kept(1)}")

    def _spend(self, loops: int) -> None:
        """A variable ends as something of which the slope is infinite, and which nobody reads."""
        q, j = self.name("q"), self.name("j")
        self.write(f"{q} = {self.pick(self.floats)}")
        self.write(f"{self.pick(self.floats)} += 0.2 * qd.sin({q})")
        self.write(self.pick((
            f"if {self.condition()}:", f"for {j} in range(2):", f"for {j} in range({self.at('n', 'i')}):",
            f"for {j} in qd.static(range(2)):", "if True:",
        )))  # fmt: skip
        self.write("    " + self.pick(_SPENT).format(q=q))

    def _vector(self, loops: int) -> None:
        self.write(f"{self.pick(self.vectors)} = {self.vector()}")

    def _component(self, loops: int) -> None:
        self.write(f"{self.pick(self.vectors)}[{self.component()}] {self.pick(('', '', '+'))}= 0.5 * {self.kept(1)}")

    def _accumulate(self, loops: int) -> None:
        cell = self.at("y", self.index())
        self.write(self.pick((
            f"{cell} += {self.kept(1)}", f"{cell} -= {self.kept(1)}", f"qd.atomic_add({cell}, {self.kept(1)})",
            f"qd.atomic_sub({cell}, {self.kept(1)})",
        )))  # fmt: skip

    def _if(self, loops: int) -> None:
        self.write(f"if {self.condition()}:")
        self.block(loops)
        if self.budget > 4 and self.chance():
            self.write(f"elif {self.condition()}:")
            self.block(loops)
        if self.chance():
            self.write("else:")
            self.block(loops)

    def _for(self, loops: int) -> None:
        n = self.at("n", "i")
        bounds = ["0", "1", "2", "3", n, self.at("n", self.at("at", "i")), f"1, {n}", f"{n}, 3"]
        bounds += [f"{j}" for j in self.ints] + [f"{j} % 3 + 1" for j in self.ints] + [f"{j}, 3" for j in self.ints]
        j = self.name("j")
        self.write(f"for {j} in range({self.pick(bounds)}):")
        self.ints.append(j)
        self.block(loops + 1)
        self.ints.pop()

    def _product(self, loops: int) -> None:
        j, m = self.name("j"), self.name("j")
        first = self.pick(("2", self.at("n", "i"), f"(0, {self.pick(self.ints)})"))
        second = self.pick(("2", "(1, 3)", self.at("n", self.at("at", "i"))))
        self.write(f"for {j}, {m} in qd.ndrange({first}, {second}):")
        self.ints += [j, m]
        self.block(loops + 1)
        del self.ints[-2:]

    def _static(self, loops: int) -> None:
        j = self.name("s")
        self.write(f"for {j} in qd.static(range(2)):")
        self.ints.append(j)
        self.block(loops)
        self.ints.pop()

    def block(self, loops: int) -> None:
        scopes = (self.floats, self.vectors, self.counters, self.flags, self.matrices, self.bodies)
        sizes = [len(scope) for scope in scopes]
        self.depth += 1
        for _ in range(self._random.randint(1, 3)):
            if self.budget <= 0:
                break
            self.statement(loops)
        self._assign(loops)
        self.depth -= 1
        for scope, size in zip(scopes, sizes, strict=True):
            del scope[size:]

    def parallel(self, name: str) -> None:
        """The head of a loop over all elements."""
        if self.pick((0, 0, 1)):
            self.write(f"qd.loop_config({self.pick(('serialize=True', 'block_dim=32', 'parallelize=2'))})")
        over = (f"range({N})", f"range({N})", f"qd.ndrange({N})", "weights", f"range(0, {self.at('n', '0')} * 0 + {N})")
        self.write(f"for {name} in {self.pick(over)}:")

    def task(self) -> None:
        self.parallel("i")
        self.depth = 1
        for source in (self.at("x", self.index()), "c"):
            name = self.name("f")
            self.write(f"{name} = ({source}) * 0.5")
            self.floats.append(name)
        w = self.name("w")
        self.write(f"{w} = {self.at('v', 'i')}")
        self.vectors.append(w)
        for _ in range(self._random.randint(0, 4)):
            self._declare(0)
        for _ in range(self._random.randint(2, 6)):
            self.statement(0)
        self.write(f"{self.at('z', self.pick(_ONCE))} = {self.kept()}")
        u = self.at("u", self.pick(_ONCE))
        if self.chance():
            self.write(f"{u} = {self.vector()}")
        else:
            first, second = ("i % 2", "1 - i % 2") if self._plain_components else ("i & 1", "i & 1 ^ 1")
            self.write(f"{u}[{first}] = {self.kept()}")
            self.write(f"{u}[{second}] = {self.kept()}")
        self.write(f"{self.at('y', 'i')} += {self.pick(self.floats)} + {self.pick(self.vectors)}[1]")
        self.depth = 0

    def reader(self, target: str) -> None:
        """A loop that adds to `target` what it makes of z and u."""
        u, step = self.at("u", self.pick(("k", "3 - k"))), self.pick(("2", self.at("n", "k"), "k"))
        self.parallel("k")
        self.write(f"    t = {self.at('z', self.pick(('k', 'k', 'k ^ 1', '3 - k')))}")
        if target == "r":
            self.write(f"    t += qd.sin({self.at('y', 'k')})")
        self.write(f"    for j in range({step}):")
        self.write(
            f"        t = {self.pick((f't * qd.sin(t + {u}[0])', f'qd.tanh(t + {u}[j % 2])', f't * {u}[1 - j % 2]'))}"
        )
        self.write(f"    {self.at(target, self.pick(('k', '3 - k', 'k >> 1', 'k ^ 2')))} += t * {u}.norm(1e-3)")

    def kernel(self, name: str) -> None:
        taken = "".join(f", {p.parameter[0]}: {p.parameter[1]}" for p in self.places.values() if p.parameter)
        self.lines += ["", "", "@qd.kernel", f"def {name}(c: qd.f64{taken}):"]

    def module(self) -> str:
        self.kernel("program")
        self.task()
        self.reads_own = self.chance()
        if self.reads_own:
            self.reader("y")
        self.kernel("after")
        self.reader("r")
        self.kernel("total")
        sums = [self.at(name, "k") for name in ("y", "r", "z")]
        self.write(f"for k in range({N}):")
        self.write(f"    loss[None] += weights[k] * ({' + '.join(sums)}) + weights[3 - k] * {self.at('u', 'k')}.sum()")
        made = "\n".join(p.make for p in self.places.values())
        imports = "import torch\n" if "torch." in made else ""
        values = "".join(f"{p.parameter[2]}, " for p in self.places.values() if p.parameter)
        table = {p.name: (p.where, p.dual) for p in self.places.values()}
        end = ["", "", f"arguments = ({values})", f"places = {table}", ""]
        return HEADER.format(n=N, imports=imports, places=made) + "\n".join(self.lines[2:] + end)
