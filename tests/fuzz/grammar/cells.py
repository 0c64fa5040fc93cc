"""Reading, naming and atomically changing the cells of containers."""

from __future__ import annotations

from .types import Container, Expr, StructDecl, Type

_ATOMIC_CALLS = {
    "+": "qd.atomic_add", "-": "qd.atomic_sub", "*": "qd.atomic_mul", "min": "qd.atomic_min", "max": "qd.atomic_max",
    "&": "qd.atomic_and", "|": "qd.atomic_or", "^": "qd.atomic_xor",
}  # fmt: skip


def paths(type_, prefix: str = ""):
    """(text, Type) of every number, vector or matrix inside of a type."""
    if isinstance(type_, StructDecl):
        for name, member in type_.members:
            yield from paths(member, f"{prefix}.{name}")
    else:
        yield prefix, type_


WEAK = ("(", "qd.select", "int(", "qd.cast", *(f"qd.{bits}" for bits in "iu"), "qd.raw_div", "qd.bit_cast")


class Cells:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    def index(self, container: Container, depth: int) -> str:
        """Text of a subscript that is in range."""
        if not container.shape:
            return self.draw.pick(("None", "()"))
        parts = []
        for start, extent in zip(container.offset, container.shape):
            e = self.g.indices.within(start, start + extent - 1, depth)
            text = e.text
            if start < 0 and not e.literal and not self.draw.on("negative_constants"):
                text = self.g.indices.variable_or_literal(start, start + extent - 1)
            if container.blocked and not self.draw.on("blocked_index") and text.startswith(WEAK):
                text = f"max({text}, {start})"
            if self.draw.chance(0.05) and not e.literal:
                text = self.wrapped(text, depth)
            elif container.clamped and self.draw.chance(0.4):
                text = self.beyond(depth)
            parts.append(text)
        if len(parts) > 1 and self.draw.chance(0.1):
            return f"qd.Vector([{', '.join(parts)}])"
        return ", ".join(parts)

    def beyond(self, depth: int) -> str:
        """An index that may be out of range. Constants below zero are none of the language."""
        found = [v.name for v in self.g.scope.values(lambda t: not t.real and not t.shape) if not v.constant]
        if not found:
            return str(self.draw.number(0, 12))
        index = self.g.integers.any(depth - 1).text if depth > 0 else str(self.draw.number(0, 9))
        first = self.draw.pick(found)
        if self.draw.chance(0.15):  # what 32 bits of it say is another index
            first = f"(qd.cast({first}, qd.i64) << 32)"
        return f"({first} {self.draw.pick('+-')} {index})"

    def wrapped(self, text: str, depth: int) -> str:
        """An index that overflows into the range: indices have 32 bits."""
        other = self.g.integers.any(depth - 1).text
        return self.draw.pick((
            f"({text} + 65536 * ({other} * 65536))",
            f"({text} - {other} * 65536 * 65536)",
            f"((({text} + 2147483647) + 2147483647) + 2)",
        ))  # fmt: skip

    def component(self, shape: tuple, depth: int) -> str:
        """Text of the indices of one component."""
        parts = []
        for extent in shape:
            e = self.g.indices.within(0, extent - 1, depth)
            weak = e.text.startswith(WEAK) and not self.draw.on("component_index")
            parts.append(f"max({e.text}, 0)" if weak else e.text)
        return ", ".join(parts)

    def candidates(self, test, write: bool = False) -> list:
        """(container, subscript function, path, type) of all that may be touched."""
        scope = self.g.scope
        out = []
        for c in scope.writable if write else scope.readable:
            out += [(c, lambda d, c=c: self.index(c, d), p, t) for p, t in paths(c.type) if test(t)]
        for own in scope.own:
            for p, t in paths(own.container.type):
                if test(t):
                    # Twice, as these are what the loop is about.
                    out += [(own.container, lambda d, own=own: own.index(), p, t)] * 2
        return out

    def place(self, test, depth: int, write: bool = False) -> tuple | None:
        """Text and type of a number, vector or matrix in memory that passes `test`, which sees element types."""
        found = self.candidates(test, write)
        if not found:
            return None
        container, subscript, path, type_ = self.draw.pick(found)
        return f"{container.access}[{subscript(depth)}]{path}", type_

    def number_place(self, test, depth: int, write: bool = False) -> tuple | None:
        """A place of one number: a scalar or a component."""
        found = self.candidates(lambda t: test(t.element()), write)
        if not found:
            return None
        container, subscript, path, type_ = self.draw.pick(found)
        text = f"{container.access}[{subscript(depth)}]{path}"
        if not type_.shape:
            return text, type_
        if container.clamped and self.draw.chance(0.3):
            parts = [self.beyond(depth - 1) for _ in type_.shape]
            return f"{text}[{', '.join(parts)}]", type_.element()
        return text + self.part(type_, depth), type_.element()

    def part(self, type_: Type, depth: int) -> str:
        """Text behind a vector or matrix that picks a component."""
        if len(type_.shape) == 1 and type_.shape[0] <= 4 and self.draw.chance(0.3):
            letters = self.draw.pick(("xyzw", "rgba", "stpq"))
            return "." + letters[self.draw.number(0, type_.shape[0] - 1)]
        if self.draw.chance(0.15):
            text, shape = self.view(type_.shape, depth)
            return f"{text}[{self.component(shape, depth)}]"
        return f"[{self.component(type_.shape, depth)}]"

    def view(self, shape: tuple, depth: int) -> tuple[str, tuple]:
        """Text behind a vector or matrix that picks several components, and their shape."""
        n = shape[0]
        if len(shape) == 1 and n <= 4 and self.draw.chance(0.5):
            word = "".join(self.draw.pick("xyzw"[:n]) for _ in range(self.draw.number(2, 4)))
            return f".{word}", (len(word),)
        spans = [self.span(extent) for extent in shape]
        if len(shape) == 1:
            return f"[{spans[0][0]}]", (spans[0][1],)
        kind = self.draw.number(0, 2)
        if kind == 2:
            return f"[{spans[0][0]}, {spans[1][0]}]", (spans[0][1], spans[1][1])
        texts = [span[0] for span in spans]
        texts[kind] = self.component((shape[kind],), depth)
        return f"[{', '.join(texts)}]", (spans[1 - kind][1],)

    def span(self, extent: int) -> tuple[str, int]:
        """Text of a slice, and how many it has."""
        begin = self.draw.number(0, extent - 1)
        end = self.draw.number(begin + 1, extent)
        step = self.draw.number(1, 2)
        text = self.draw.pick((f"{begin or ''}:{end if end < extent else ''}", f"{begin}:{end}"))
        return (text, end - begin) if step == 1 else (f"{begin}:{end}:2", (end - begin + 1) // 2)

    def read(self, test, depth: int) -> Expr | None:
        found = self.number_place(test, depth)
        return None if found is None else Expr(*found)

    def atomic_value(self, test, depth: int) -> Expr | None:
        """The old value of an atomic operation; only where iterations have an order."""
        if self.g.scope.parallel or not self.draw.on("atomics") or self.g.pure:
            return None
        found = self.number_place(test, depth, write=True)
        if found is None:
            return None
        text, type_ = found
        return Expr(self.atomic_call(text, type_, depth), type_)

    def exchange(self, text: str, type_: Type, depth: int) -> str:
        new = self.g.exact(type_, depth).text
        if type_.dtype.bits < 32 or self.draw.chance(0.5):
            return f"qd.atomic_exchange({text}, {new})"
        return f"qd.atomic_cas({text}, {self.g.exact(type_, depth).text}, {new})"

    def atomic_call(self, text: str, type_: Type, depth: int, op: str | None = None) -> str:
        if op is None and self.draw.chance(0.12) and not type_.real:
            return self.exchange(text, type_, depth)
        op = op or self.draw.pick(("+", "-", "min", "max") if type_.real else tuple(_ATOMIC_CALLS))
        value = self.g.reals.any(depth) if type_.real else self.g.integers.any(depth)
        return f"{_ATOMIC_CALLS[op]}({text}, {value.text})"
