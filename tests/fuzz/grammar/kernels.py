"""The body of a kernel: serial statements and parallel loops in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from . import bounds as bounds_of
from .cells import paths
from .draw import VARIABLES, Draw
from .generators import Generators
from .types import I32, Container, Own, Type, Var, dtype, indented

REDUCTIONS = ("+", "-", "&", "|", "^")


class Kernels:
    def __init__(self, draw: Draw, g: Generators, containers: list, results: list, flags: list):
        self.draw, self.g, self.containers = draw, g, containers
        self.results = results  # containers that are compared with a tolerance
        self.flags = flags  # of the loops around tasks, outer before inner
        self.alone = False  # in a section, which shares no variable with others

    def body(self, budget: int) -> list:
        lines: list = []
        scope = self.g.scope
        scope.top = True
        if self.flags and self.draw.chance(0.5):
            lines += self.passes(self.flags)
        while budget > 0:
            parts = self.draw.number(1, min(budget, 4))
            budget -= parts
            if self.flags and self.draw.chance(0.2):
                lines += self.sections()
            elif self.draw.chance(0.55):
                lines += self.parallel(parts)
            else:
                scope.prints = True
                for _ in range(parts):
                    lines += self.g.statements.one(2)
                scope.prints = False
        if self.flags and not any("do_while" in line for line in lines):
            lines += self.passes(self.flags)
        return lines or ["pass"]

    def passes(self, flags: list) -> list:
        """A loop around tasks, which counts its flag down, and perhaps another one in it."""
        first, *inner = flags
        lines = []
        for _ in range(self.draw.number(1, 2)):
            lines += self.sections() if self.draw.chance(0.2) else self.parallel(self.draw.number(1, 2))
        if inner:
            again = ["for _ in range(1):", f"    {inner[0].access}[()] = {self.draw.number(1, 3)}"]
            lines += [*again, *self.passes(inner)]
        flag = f"{first.access}[{self.draw.pick(('()', 'None'))}]"
        less = self.draw.pick((f"{flag} -= 1", f"{flag} = {flag} - 1", f"qd.atomic_sub({flag}, 1)"))
        count = ["for _ in range(1):", f"    {less}"]
        lines = [*count, *lines] if self.draw.chance(0.3) else [*lines, *count]
        return [f"while qd.graph.do_while({first.access}):", *indented(lines)]

    def sections(self) -> list:
        """Sections that may run in any order: none knows of the containers of another one."""
        groups: list = [[] for _ in range(self.draw.number(1, 3))]
        for c in self.containers:
            self.draw.pick(groups).append(c)
        lines = []
        for group in groups:
            with self.only(group):
                loops = [self.parallel(1) for _ in range(self.draw.number(1, 2))]
            section = [line for loop in loops for line in loop]
            lines += ["with qd.graph.parallel():", *indented(section)]
        return ["with qd.graph.parallel_context():", *indented(lines)]

    @contextmanager
    def only(self, containers: list) -> Iterator[None]:
        before = self.containers, self.results, self.alone
        self.containers, self.results, self.alone = containers, [], True
        try:
            yield
        finally:
            self.containers, self.results, self.alone = before

    # ------------------------------------------------------------ parallel loops

    def parallel(self, count: int) -> list:
        """A loop whose iterations may run in any order: each has cells of its own."""
        scope = self.g.scope
        header = self.config()
        with scope.block(self.draw):
            head, axes, owned = self.head()
            own, rest = self.shares(axes, owned)
            atomic = {c: self.draw.pick(("+", "min", "max", "&", "|", "^")) for c in rest if self.draw.chance(0.25)}
            atomic = {
                c: op for c, op in atomic.items() if any(not t.real and t.dtype.bits > 1 for _, t in paths(c.type))
            }
            reduced = {}
            for v in scope.variables:
                if self.alone:
                    break
                if v.level == 0 and v.writable and isinstance(v.type, Type) and not v.type.real and not v.type.shape:
                    if v.type.dtype.bits > 1 and v.low is None and self.draw.chance(0.4):
                        reduced[v.name] = self.draw.pick(REDUCTIONS)
            copies = self.copies(axes) if self.draw.chance(0.2) else []
            readable = [c for c in rest if c not in atomic]
            approximate = [o for o in (self.approximate(c, axes) for c in self.results) if o is not None]
            lines = self.g.statements.body(
                2, count, readable=readable, writable=[], own=own, atomic=atomic, reduced=reduced, parallel=True,
                approximate=approximate,
                top=False, loop=True, own_loop=True,
            )  # fmt: skip
            if not copies and self.draw.chance(0.15):
                lines = [f"if {self.guard(axes)}:", *indented(lines)]
        return [*header, head, *indented([*copies, *lines])]

    def guard(self, axes: list) -> str:
        """A condition on the place of the iteration, as loops over the inside of a grid have it."""
        terms = []
        for _ in range(self.draw.number(1, 3)):
            text, low, high = self.draw.pick(axes)
            at, op = self.draw.number(low - 1, high + 1), self.draw.pick(("<", "<=", ">", ">=", ">", "<"))
            terms.append(f"{at} {op} {text}" if self.draw.chance(0.3) else f"{text} {op} {at}")
        return " and ".join(terms)

    def copies(self, axes: list) -> list:
        """Copies of loop indices that change: the indices do not."""
        lines = []
        types = {v.name: v.type for v in self.g.scope.variables}
        for text, _, _ in axes:
            name = self.draw.name("v", VARIABLES)
            lines += [f"{name} = {text}", f"{name} {self.draw.pick(('=', '+=', '*='))} {self.draw.number(0, 9)}"]
            self.g.scope.variables.append(Var(name, types.get(text, I32), level=1))
        return lines

    def approximate(self, c: Container, axes: list) -> Own | None:
        index = self.injective(c, axes)
        return None if index is None else Own(c, index)

    def config(self) -> list:
        choice = self.draw.number(0, 9)
        if choice == 0:
            return ["qd.loop_config(block_dim=32)"]
        if choice == 1:
            return ["qd.loop_config(parallelize=2)"]
        if choice == 2:
            return ["qd.loop_config(block_dim=64, resident_blocks=4)"]
        if choice == 3:
            return ["qd.loop_config(block_dim=64)", "qd.loop_config(parallelize=2)"]
        return []

    def name(self, low: int, high: int, t: Type = I32) -> Var:
        name = self.draw.name("i", VARIABLES)
        var = Var(name, t, writable=False, low=low, high=high, level=self.g.scope.level)
        self.g.scope.variables.append(var)
        return var

    def head(self) -> tuple:
        """The line, the loop's axes as (text, low, high), and the container it goes over, if any."""
        form = self.draw.weighted({"range": 4, "ndrange": 3, "over": 3, "grouped": 2, "grouped_over": 2})
        if form in ("over", "grouped_over"):
            wide = not self.draw.on("wide_indices") and self.g.options.get("default_ip") == "i64"
            found = [c for c in self.containers if c.loops and c.shape and not (wide and c.blocked)]
            if found:
                return self.over(self.draw.pick(found), form)
            form = "range"
        if form == "range":
            low = self.draw.pick((0, 0, 0, 1, -2))
            high = low + self.draw.pick((1, 3, 4, 7, 8, 15))
            v = self.name(low, high)
            bounds = f"{low}, {high + 1}" if low else f"{high + 1}"
            return f"for {v.name} in range({bounds}):", [(v.name, low, high)], None
        bounds = [
            (low, low + self.draw.pick((1, 2, 3)))
            for low in (self.draw.pick((0, 0, 1, -1)) for _ in range(self.draw.number(1, 2)))
        ]
        entries = ", ".join(f"({a}, {b + 1})" if a else str(b + 1) for a, b in bounds)
        if form == "ndrange":
            axes = [bounds_of.entry(self.draw, a, b + 1, self.g.indices.within, self.g.ip.name) for a, b in bounds]
            vs = [self.name(a, b, t) for (a, b), (_, t) in zip(bounds, axes)]
            return (
                f"for {', '.join(v.name for v in vs)} in qd.ndrange({', '.join(text for text, _ in axes)}):",
                [(v.name, v.low, v.high) for v in vs],
                None,
            )
        name = self.grouped(len(bounds))
        return (
            f"for {name} in qd.grouped(qd.ndrange({entries})):",
            [(f"{name}[{k}]", a, b) for k, (a, b) in enumerate(bounds)],
            None,
        )

    def grouped(self, rank: int) -> str:
        name = self.draw.name("I")
        self.g.scope.variables.append(Var(name, Type(dtype("i32"), (rank,)), writable=False, level=self.g.scope.level))
        return name

    def over(self, c: Container, form: str) -> tuple:
        bounds = [(start, start + n - 1) for start, n in zip(c.offset, c.shape)]
        if form == "grouped_over":
            name = self.grouped(len(bounds))
            return (
                f"for {name} in qd.grouped({c.access}):",
                [(f"{name}[{k}]", a, b) for k, (a, b) in enumerate(bounds)],
                (c, name),
            )
        vs = [self.name(a, b) for a, b in bounds]
        return f"for {', '.join(v.name for v in vs)} in {c.access}:", [(v.name, v.low, v.high) for v in vs], (c, None)

    def shares(self, axes: list, owned) -> tuple:
        """Containers with a cell for each iteration, and the others."""
        own, rest, seen = [], [], set()
        for c in self.containers:
            index = self.injective(c, axes) if self.draw.chance(0.6) or (owned and owned[0] is c) else None
            if index is None:
                rest.append(c)
            else:
                if owned and owned[0] is c and owned[1] and self.draw.chance(0.7):
                    index = partial(str, owned[1])
                own.append(Own(c, index))
        return own, rest

    def injective(self, c: Container, axes: list):
        """A function that gives the text of the iteration's own cell, or None."""
        if len(c.shape) != len(axes):
            return None
        forms = []
        for (text, low, high), start, extent in zip(axes, c.offset, c.shape):
            if high - low > extent - 1:
                return None
            if self.draw.chance(0.2):
                # The other way round: total - i.
                total = self.draw.number(start + high, start + extent - 1 + low)
                forms.append((text, total, True))
            else:
                forms.append((text, self.draw.number(start - low, start + extent - 1 - high), False))
        weak_ok = not c.blocked or self.draw.on("blocked_index")

        def index() -> str:
            return ", ".join(self.own_index(text, by, back, weak_ok) for text, by, back in forms)

        return index

    def own_index(self, text: str, by: int, back: bool, weak_ok: bool) -> str:
        if back:
            out = self.draw.pick((f"({by} - {text})", f"(-{text} + {by})", f"({by} + -{text})"))
        elif by == 0:
            return text
        else:
            out = self.draw.pick((f"({text} + {by})", f"({by} + {text})", f"({text} - {-by})"))
        return out if weak_ok else f"qd.max({out}, -100)"
