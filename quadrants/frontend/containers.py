"""Lists, tuples and dicts of a kernel: compile-time containers, some of whose items are run-time variables."""

from __future__ import annotations

import ast
import enum

from quadrants.errors import QuadrantsCompilationError, QuadrantsIndexError, QuadrantsSyntaxError
from quadrants.frontend.state import State
from quadrants.frontend.structcell import StructCell
from quadrants.lang import typed
from quadrants.lang.value import Value

GROWING = ("append", "extend", "insert")
CHANGING = (*GROWING, "pop", "remove", "clear", "reverse", "sort", "update", "setdefault", "popitem")


class Containers:
    """Copies containers, and says what may change in them."""

    __slots__ = ("positions", "writer")

    def __init__(self, state: State) -> None:
        self.positions = state.positions
        self.writer = state.writer

    def copy_container(self, value, name: str):
        """A list, tuple or dict of compile-time objects and fresh copies of run-time items.

        Numbers in lists and dicts become variables: they may be assigned later, under run-time control too.
        """
        if isinstance(value, dict):
            return {k: self.copy_item(v, name) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            copy = self.copy_container if isinstance(value, tuple) else self.copy_item
            items = [copy(v, name) for v in value]
            if isinstance(value, tuple) and hasattr(value, "_fields"):
                return type(value)(*items)
            return type(value)(items) if type(value) in (list, tuple) else items
        if isinstance(value, StructCell):
            value = value.as_value()
        if isinstance(value, Value):
            return self.writer.named(value.expr, name)
        return value

    def copy_item(self, value, name: str):
        """What a list or dict of the kernel holds for `value`."""
        if typed.is_number(value) and not isinstance(value, enum.Enum):
            value = typed.to_value(value)
        return self.copy_container(value, name)

    @staticmethod
    def assignable_item(container, key, node) -> Value:
        """The run-time item that the target `node`, an item of a list or dict, stands for."""
        try:
            item = container[key]
        except (KeyError, IndexError):
            raise QuadrantsCompilationError(
                f"'{ast.unparse(node)}' does not exist, and an assignment in a kernel cannot add it."
            ) from None
        if not isinstance(item, Value):
            raise QuadrantsSyntaxError(
                f"'{ast.unparse(node)}' cannot be assigned: it is a compile-time object. Only the numbers, vectors, "
                "matrices and structs in a list or dict that the kernel itself made can change."
            )
        return item

    def items_of_method(self, method, args: list) -> list:
        """The arguments of a method of a list or dict; what makes it grow is copied, as an assignment copies.

        `QuadrantsSyntaxError` if a container made outside a run-time `if`, `for` or `while` would change inside.
        """
        name, container = method.__name__, method.__self__
        if name in CHANGING and self.positions.frame.made_outside(container):
            raise QuadrantsSyntaxError(
                f"`{name}` changes a {type(container).__name__} when the kernel is compiled and cannot depend on "
                "a run-time `if`, `for` or `while`; use a vector of fixed size and a counter, or a field."
            )
        if name in GROWING and args:
            copy = self.copy_container if name == "extend" else self.copy_item
            return [*args[:-1], copy(args[-1], "item")]
        return args

    @staticmethod
    def missing_item(method, error: Exception) -> QuadrantsIndexError:
        """What a method of a list or dict raises that does not find its item."""
        kind, count = type(method.__self__).__name__, len(method.__self__)
        return QuadrantsIndexError(
            f"`{method.__name__}` of a {kind} of {count} items: {type(error).__name__}: {error}. A {kind} lives "
            "while the kernel is compiled: a statement changes it once, however often it runs."
        )
