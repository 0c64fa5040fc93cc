"""Random kernels on random packings, and what they leave in every cell by `model`."""

from __future__ import annotations

import operator
import random
from dataclasses import dataclass, field

import numpy as np

from .model import Fixed, Float, Group, Int, wrapped

CELLS = 16


@dataclass
class Member:
    """A field: `word` of the program's words that it is in, `group` of floats that share its exponent."""

    name: str
    form: object
    word: int
    group: int = -1
    place: int = 0

    @property
    def is_real(self) -> bool:
        return not isinstance(self.form, Int)


@dataclass
class Packing:
    """Words in the order of their nodes: (bits, cells of a quant_array or 0)."""

    words: list = field(default_factory=list)
    members: list = field(default_factory=list)
    groups: list = field(default_factory=list)


def form(rng: random.Random, room: int, kinds: str):
    kind = rng.choice(kinds)
    if kind == "i":
        return Int(rng.randint(1, min(room, 31)), rng.random() < 0.6)
    if kind == "x":
        bits = rng.randint(2, min(room, 24))
        return Fixed(bits, rng.random() < 0.7, 2.0 ** rng.randint(-2, 6))
    signed = rng.random() < 0.7
    exponent = rng.randint(2, 7)
    return Float(exponent, rng.randint(1 + signed, max(1 + signed, min(room - exponent, 23 + signed))), signed)


def packing(rng: random.Random) -> Packing:
    made = Packing()
    while len(made.words) < rng.randint(2, 4):
        number = len(made.words)
        if rng.random() < 0.35:
            cells = rng.choice([2, 4, 8])
            bits = rng.choice([8, 16, 32])
            made.words.append((bits, cells))
            one = form(rng, bits // cells, "ix" if bits > cells else "i")
            made.members.append(Member(f"f{len(made.members)}", one, number))
            continue
        bits = rng.choice([8, 16, 32, 32])
        made.words.append((bits, 0))
        room = bits
        for turn in range(rng.randint(1, 4)):
            if room >= 24 and rng.random() < 0.3:
                exponent, first = rng.randint(3, 6), len(made.members)
                sizes = [rng.randint(3, (room - exponent) // 2) for _ in range(2)]
                forms = [Float(exponent, size, rng.random() < 0.7) for size in sizes]
                for k, one in enumerate(forms):
                    made.members.append(Member(f"f{first + k}", one, number, len(made.groups), k))
                made.groups.append(forms)
                room -= exponent + sum(sizes)
            elif room >= 2:
                one = form(rng, room, "iixf" if room >= 8 and turn else "ix")
                if one.bits > room:
                    continue
                made.members.append(Member(f"f{len(made.members)}", one, number))
                room -= one.bits
    return made


def placed(qd, made: Packing) -> dict:
    """The fields by name."""
    fields = {}
    for member in made.members:
        f = member.form
        kind = qd.types.quant.int(f.bits, f.signed, compute=qd.i32) if isinstance(f, Int) else f.type(qd)
        fields[member.name] = qd.field(kind, name=member.name)
    for number, (bits, cells) in enumerate(made.words):
        here = [m for m in made.members if m.word == number]
        if cells:
            qd.root.dense(qd.i, CELLS // cells).quant_array(qd.i, cells, bits).place(fields[here[0].name])
            continue
        word = qd.BitpackedFields(bits)
        done: set = set()
        for m in here:
            if m.group < 0:
                word.place(fields[m.name])
            elif m.group not in done:
                done.add(m.group)
                word.place(*[fields[o.name] for o in here if o.group == m.group], shared_exponent=True)
        qd.root.dense(qd.i, CELLS).place(word)
    return fields


# ---------------------------------------------------------------- statements


class Writer:
    """Draws a kernel. A real number is the result of one operation, which no compiler can do in another way."""

    def __init__(self, rng: random.Random, made: Packing):
        self.rng, self.made, self.lines = rng, made, []
        self.locals: list[str] = []  # variables of the loop that is written

    def text(self) -> str:
        self.lines = ["def step():"]
        for _ in range(self.rng.randint(2, 5)):
            self.rng.choice([self.own, self.moved, self.sums, self.serial])()
        return "\n".join(self.lines)

    def some(self, count: int) -> list:
        return self.rng.sample(self.made.members, min(count, len(self.made.members)))

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def own(self) -> None:
        """Every iteration its own cells."""
        written = self.some(3)
        over = self.rng.choice(written).name if self.rng.random() < 0.7 else f"range({CELLS})"
        self.add(1, f"for i in {over}:")
        for name in self.rng.sample([*(f"{m.name}_word" for m in written), "i_word", "i_lane"], self.rng.randint(0, 2)):
            self.add(2, f"{name} = {self.rng.choice(['i % 3', 'i + 2', '7 - i'])}")
            self.locals.append(name)
        for m in [*written, *written[:1]]:
            self.statement(2, m, "i", self.made.members, "i")
        self.locals = []

    def moved(self) -> None:
        """Cells that other iterations share words with; nothing that is written is read."""
        written, groups = [], set()
        for m in self.some(3):
            if m.group < 0 or m.group not in groups:
                written.append(m)
                groups.add(m.group)
        readable = [m for m in self.made.members if m not in written and (m.group < 0 or m.group not in groups)]
        self.add(1, f"for i in range({CELLS}):")
        for m in written:
            step, first = self.rng.choice([1, 3, 5, 7]), self.rng.randrange(CELLS)
            at = f"(i * {step} + {first}) % {CELLS}"
            if self.rng.random() < 0.3:
                self.add(2, f"if i % 3 != {self.rng.randrange(3)}:")
                self.add(3, f"{m.name}[{at}] = {self.value(m, readable, 'i')}")
            else:
                self.add(2, f"{m.name}[{at}] = {self.value(m, readable, 'i')}")

    def sums(self) -> None:
        """Many iterations add to few cells."""
        found = [m for m in self.some(3) if not isinstance(m.form, Float)]
        readable = [m for m in self.made.members if m not in found]
        self.add(1, f"for i in range({4 * CELLS}):")
        for m in found:
            at = self.rng.choice([f"i * i % {CELLS}", "3", f"i % {CELLS}", "i // 4"])
            sign = self.rng.choice("+-")
            self.add(2, f"{m.name}[{at}] {sign}= {self.value(m, readable, f'i % {CELLS}')}")
        self.add(2, "pass")

    def serial(self) -> None:
        self.add(1, "qd.loop_config(serialize=True)")
        self.add(1, f"for i in range({CELLS}):")
        for m in self.some(3):
            at = self.rng.choice(["i", f"(i * 5 + 2) % {CELLS}", f"i * i % {CELLS}"])
            self.statement(2, m, at, self.made.members, f"(i + 1) % {CELLS}")

    def statement(self, depth: int, m: Member, at: str, readable: list, other: str) -> None:
        kind = self.rng.random()
        value = self.value(m, readable, self.rng.choice(["i", other]))
        if kind < 0.25:
            self.add(depth, f"{m.name}[{at}] {self.rng.choice('+-')}= {value}")
        elif kind < 0.4 and not m.is_real:
            self.add(depth, f"{m.name}[{at}] {self.rng.choice('&|^')}= {value}")
        else:
            self.add(depth, f"{m.name}[{at}] = {value}")

    def value(self, m: Member, readable: list, at: str) -> str:
        return self.real(readable, at) if m.is_real else self.whole(readable, at, 2)

    def whole(self, readable: list, at: str, depth: int) -> str:
        found = [m for m in readable if not m.is_real]
        if depth == 0 or self.rng.random() < 0.3:
            kind = self.rng.randrange(3)
            if kind == 0 or not found:
                return self.rng.choice(["i", *self.locals, str(self.rng.randint(-40, 200))])
            return f"{self.rng.choice(found).name}[{at}]"
        a, b = self.whole(readable, at, depth - 1), self.whole(readable, at, depth - 1)
        return f"({a} {self.rng.choice('+-*&|')} {b})"

    def real(self, readable: list, at: str) -> str:
        found = [m for m in readable if m.is_real]
        if not found or self.rng.random() < 0.3:
            return f"(i - {self.rng.randrange(CELLS)}) * {2.0 ** self.rng.randint(-6, 2)}"
        one = f"{self.rng.choice(found).name}[{at}]"
        number = self.rng.uniform(-3, 3) * 2.0 ** self.rng.randint(-6, 6)
        return self.rng.choice([one, f"-{one}", f"{one} * {2.0 ** self.rng.randint(-3, 3)}", f"{one} + {number:.4f}"])


# ---------------------------------------------------------------- meaning


class Cells:
    """A field of the model: `f[i]` is what a kernel reads, `f[i] = x` what it stores."""

    def __init__(self, member: Member, groups: list | None):
        self.member, self.groups = member, groups
        self.values = [0.0 if member.is_real else 0] * CELLS

    def __getitem__(self, i):
        i = operator.index(i)
        if self.groups is not None:
            value = self.groups[i].read()[self.member.place]
        else:
            value = self.values[i]
        return Real(value) if self.member.is_real else Whole(value)

    def store(self, i: int, value) -> None:
        if self.groups is not None:
            self.groups[i].store(self.member.place, float(value.x))
        elif self.member.is_real:
            self.values[i] = self.member.form.stored(float(value.x))
        else:
            self.values[i] = self.member.form.stored(value.x)

    def update(self, i: int, op: str, value) -> None:
        old, form = self[i], self.member.form
        if isinstance(form, Fixed):
            self.values[i] = form.added(float(old.x), float(value.x) if op == "+" else -float(value.x))
        else:
            self.store(i, old + value if op == "+" else old - value if op == "-" else old.bitwise(op, value))


class Whole:
    """A number of i32."""

    def __init__(self, x: int):
        self.x = wrapped(x, 32, True)

    def bitwise(self, op: str, other) -> Whole:
        return Whole({"&": self.x & other.x, "|": self.x | other.x, "^": self.x ^ other.x}[op])

    def __index__(self) -> int:
        return self.x

    __mod__ = lambda a, b: Whole(a.x % b)  # noqa: E731
    __floordiv__ = lambda a, b: Whole(a.x // b)  # noqa: E731
    __add__ = lambda a, b: Whole(a.x + whole(b).x)  # noqa: E731
    __sub__ = lambda a, b: Whole(a.x - whole(b).x)  # noqa: E731
    __mul__ = lambda a, b: Real(a.x) * b if isinstance(b, float) else Whole(a.x * whole(b).x)  # noqa: E731
    __and__ = lambda a, b: a.bitwise("&", whole(b))  # noqa: E731
    __or__ = lambda a, b: a.bitwise("|", whole(b))  # noqa: E731
    __radd__ = lambda a, b: Whole(b) + a  # noqa: E731
    __rsub__ = lambda a, b: Whole(b) - a  # noqa: E731
    __rmul__ = lambda a, b: Whole(b) * a  # noqa: E731
    __rand__ = lambda a, b: Whole(b) & a  # noqa: E731
    __ror__ = lambda a, b: Whole(b) | a  # noqa: E731


def whole(x) -> Whole:
    return x if isinstance(x, Whole) else Whole(x)


class Real:
    """A number of f32."""

    def __init__(self, x):
        self.x = np.float32(x)

    __add__ = lambda a, b: Real(a.x + real(b).x)  # noqa: E731
    __sub__ = lambda a, b: Real(a.x - real(b).x)  # noqa: E731
    __mul__ = lambda a, b: Real(a.x * real(b).x)  # noqa: E731
    __neg__ = lambda a: Real(-a.x)  # noqa: E731


def real(x) -> Real:
    return x if isinstance(x, Real) else Real(x.x if isinstance(x, Whole) else x)


def meaning(text: str, made: Packing) -> dict:
    """The contents of every field when the kernel has run on zeros."""
    groups = [[Group(forms) for _ in range(CELLS)] for forms in made.groups]
    cells = {m.name: Cells(m, groups[m.group] if m.group >= 0 else None) for m in made.members}
    loop: list = []
    count = 0
    for line in [*text.splitlines()[1:], "    end"]:
        if line.startswith(" " * 8):
            loop.append(line[8:])
            continue
        for i in range(count):
            _iteration(loop, i, cells)
        loop, count = [], 0
        if line.startswith("    for "):
            head = line.split(" in ")[1].rstrip(":")
            count = int(head[6:-1]) if head.startswith("range") else CELLS
    return {name: [float(c[i].x) if c.member.is_real else c[i].x for i in range(CELLS)] for name, c in cells.items()}


def _iteration(body: list, number: int, cells: dict) -> None:
    """Statement by statement; one that is indented belongs to the condition in front of it."""
    scope = {"i": Whole(number), **cells}
    taken = True
    for line in body:
        if line == "pass":
            continue
        if line.startswith("if "):
            taken = eval(line[3:-1], {"i": number})  # noqa: S307
            continue
        if line.startswith("    ") and not taken:
            continue
        target, value = line.strip().split("= ", 1)
        if "[" not in target:
            scope[target.strip()] = whole(eval(value, scope))  # noqa: S307
            continue
        name, rest = target.split("[", 1)
        at, _, op = rest.rpartition("]")
        index = operator.index(eval(at, scope))  # noqa: S307
        found = eval(value, scope)  # noqa: S307
        found = real(found) if cells[name].member.is_real else whole(found)
        if op.strip():
            cells[name].update(index, op.strip(), found)
        else:
            cells[name].store(index, found)
