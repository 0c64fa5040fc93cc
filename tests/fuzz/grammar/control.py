"""Branches and loops in one thread."""

from __future__ import annotations

from . import bounds as bounds_of
from .draw import VARIABLES
from .types import I32, Type, Var, dtype, indented


class Control:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    def count(self) -> int:
        return self.draw.number(1, 3)

    def if_(self, depth: int):
        lines = [
            f"if {self.g.truths.condition(2).text}:",
            *indented(self.g.statements.body(depth - 1, self.count(), top=False)),
        ]
        if self.draw.chance(0.3):
            lines += [
                f"elif {self.g.truths.condition(2).text}:",
                *indented(self.g.statements.body(depth - 1, 1, top=False)),
            ]
        if self.draw.chance(0.5):
            lines += ["else:", *indented(self.g.statements.body(depth - 1, self.count(), top=False))]
        return lines

    def static_if(self, depth: int):
        statics = [v.name for v in self.g.scope.statics]
        test = (
            f"{self.draw.pick(statics)} > {self.draw.number(0, 2)}"
            if statics
            else self.draw.pick(("True", "False", "1 < 2"))
        )
        lines = [f"if qd.static({test}):", *indented(self.g.statements.body(depth - 1, 1))]
        if self.draw.chance(0.5):
            lines += ["else:", *indented(self.g.statements.body(depth - 1, 1))]
        return lines

    def static_for(self, depth: int):
        if self.g.scope.top:
            return None
        with self.g.scope.block(self.draw):
            name = self.draw.name("s")
            var = Var(name, Type(self.g.ip), writable=False, low=0, high=2, constant=True)
            self.g.scope.variables.append(var)
            statics, self.g.scope.statics = self.g.scope.statics, [*self.g.scope.statics, var]
            lines = self.g.statements.body(depth - 1, self.draw.number(1, 2), loop=False)
            self.g.scope.statics = statics
        return [f"for {name} in qd.static(range({self.draw.number(1, 3)})):", *indented(lines)]

    def for_(self, depth: int):
        """A loop in one thread."""
        header = ["qd.loop_config(serialize=True)"] if self.g.scope.top else []
        choice = self.draw.number(0, 3)
        names: list = []
        with self.g.scope.block(self.draw):
            if choice <= 1:
                high = self.g.indices.within(0, 4, 1)
                low = self.g.indices.within(-1, 2, 1) if self.draw.chance(0.4) else None
                text = f"range({low.text}, {high.text})" if low else f"range({high.text})"
                names = [self.loop_name(low.low if low else 0, max(high.high - 1, 0))]
                head = f"for {names[0]} in {text}:"
            else:
                bounds = [
                    (self.draw.number(-1, 1), self.draw.number(1, 3))
                    for _ in range(choice - 1 + self.draw.number(0, 1))
                ]
                entries = [f"({a}, {b})" if a else str(b) for a, b in bounds]
                if self.draw.chance(0.4):
                    grouped = self.draw.name("I")
                    self.g.scope.variables.append(
                        Var(grouped, Type(dtype("i32"), (len(bounds),)), writable=False, level=self.g.scope.level)
                    )
                    head = f"for {grouped} in qd.grouped(qd.ndrange({', '.join(entries)})):"
                else:
                    axes = [bounds_of.entry(self.draw, a, b, self.g.indices.within, self.g.ip.name) for a, b in bounds]
                    names = [self.loop_name(a, b - 1, t) for (a, b), (_, t) in zip(bounds, axes)]
                    if self.draw.chance(0.25):
                        axes.append(bounds_of.far(self.draw, self.draw.number(1, 2)))
                        bounds.append((None, None))
                        names.append(self.loop_name(None, None, axes[-1][1]))
                    entries = [text for text, _ in axes]
                    axes = self.draw.sample(range(len(bounds)), len(bounds))
                    more = f", axes={tuple(axes)}" if len(bounds) > 1 and self.draw.chance(0.3) else ""
                    head = f"for {', '.join(names)} in qd.ndrange({', '.join(entries)}{more}):"
            lines = self.g.statements.body(depth - 1, self.count(), loop=True, own_loop=False, top=False)
        return [*header, head, *indented(lines)]

    def loop_name(self, low: int | None, high: int | None, t: Type = I32) -> str:
        name = self.draw.name("i", VARIABLES)
        self.g.scope.variables.append(Var(name, t, writable=False, low=low, high=high, level=self.g.scope.level))
        return name

    def while_(self, depth: int):
        guard = self.draw.name("w")
        with self.g.scope.block(self.draw):
            self.g.scope.variables.append(
                Var(guard, Type(self.g.ip), writable=False, low=0, high=4, level=self.g.scope.level)
            )
            cond = self.g.truths.condition(1).text
            lines = self.g.statements.body(depth - 1, self.count(), loop=True, own_loop=False, top=False)
        self.draw.take(guard)
        style = self.draw.pick(("and", "break"))
        step = self.draw.pick((f"{guard} += 1", f"{guard} = {guard} + 1"))
        if style == "and":
            return [f"{guard} = 0", f"while {guard} < 4 and {cond}:", f"    {step}", *indented(lines)]
        leave = [f"    if not ({guard} < 4 and {cond}):", "        break"]
        return [f"{guard} = 0", "while True:", *leave, f"    {step}", *indented(lines)]

    def leave(self, depth: int):
        word = self.draw.pick(("break", "continue"))
        if word == "break" and self.g.scope.own_loop:
            word = "continue"
        return [f"if {self.g.truths.condition(1).text}:", f"    {word}"]
