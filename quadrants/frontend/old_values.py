"""What atomics return: old contents, which become variables only if somebody reads them."""

from __future__ import annotations

from collections.abc import Callable

from quadrants.frontend.writer import Writer
from quadrants.ir.nodes import Declare
from quadrants.lang.value import Value


class OldValue:
    """The old content returned by an atomic; declared as a variable at its first use."""

    __slots__ = ("writer", "block", "stmt", "node", "value")

    def __init__(self, writer: Writer, block: list, stmt, node) -> None:
        self.writer, self.block, self.stmt, self.node = writer, block, stmt, node
        self.value: Value | None = None

    def as_value(self) -> Value:
        if self.value is None:
            var = self.writer.new_var("old", self.node.type, mutable=False)
            at = next(i for i, s in enumerate(self.block) if s is self.stmt)
            self.block[at] = Declare(var, self.node, self.stmt.loc)
            self.value = self.writer.variable(var)
        return self.value


class LazyTensor:
    """A tensor of old values, built only if used."""

    __slots__ = ("build", "value")

    def __init__(self, build: Callable[[], Value]) -> None:
        self.build = build
        self.value: Value | None = None

    def as_value(self) -> Value:
        if self.value is None:
            self.value = self.build()
        return self.value
