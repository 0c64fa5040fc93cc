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


def is_variable(item) -> bool:
    """Whether an item of a list or dict is a number, for which the kernel has a variable: it may be assigned later."""
    return typed.is_number(item) and not isinstance(item, enum.Enum)


class Containers:
    """Copies containers, and says what may change in them.

    made: by id, the lists and dicts of the kernel itself, and under how much run-time control each was made.
    """

    __slots__ = ("positions", "writer", "made")

    def __init__(self, state: State) -> None:
        self.positions = state.positions
        self.writer = state.writer
        self.made: dict[int, tuple[list | dict, int]] = {}

    def copy_container(self, value, name: str):
        """A list, tuple or dict of compile-time objects and fresh copies of run-time items.

        Numbers in lists and dicts become variables: they may be assigned later, under run-time control too.
        """
        if isinstance(value, dict):
            return self._note({k: self.copy_item(v, name) for k, v in value.items()})
        if isinstance(value, (list, tuple)):
            copy = self.copy_container if isinstance(value, tuple) else self.copy_item
            items = [copy(v, name) for v in value]
            if isinstance(value, tuple) and hasattr(value, "_fields"):
                return type(value)(*items)
            return tuple(items) if type(value) is tuple else self._note(items)
        if isinstance(value, StructCell):
            value = value.as_value()
        if isinstance(value, Value):
            return self.writer.named(value.expr, name)
        return value

    def copy_item(self, value, name: str):
        """What a list or dict of the kernel holds for `value`."""
        return self.copy_container(typed.to_value(value) if is_variable(value) else value, name)

    def _note(self, container: list | dict) -> list | dict:
        self.made[id(container)] = container, self._control_depth()
        return container

    def _control_depth(self) -> int:
        return sum(frame.control_depth for frame in self.positions.frames)

    @staticmethod
    def assignable_item(container, key, node) -> Value:
        """The run-time item that the target `node`, an item of a list or dict, stands for."""
        try:
            item = container[key]
        except (KeyError, IndexError):
            raise QuadrantsCompilationError(
                f"'{ast.unparse(node)}' does not exist, and an assignment in a kernel cannot add it: make the list or "
                "dict with it."
            ) from None
        if isinstance(key, slice):
            raise QuadrantsSyntaxError(f"'{ast.unparse(node)}': slices of lists cannot be assigned, items can.")
        if not isinstance(item, Value):
            raise QuadrantsSyntaxError(
                f"'{ast.unparse(node)}' cannot be assigned: it is a compile-time object. Only the numbers, vectors, "
                "matrices and structs in a list or dict that the kernel itself made can change."
            )
        return item

    def items_of_method(self, method, args: list, kwargs: dict) -> tuple[list, dict]:
        """The arguments of a method of a list or dict; what makes it grow is copied, as an assignment copies.

        `QuadrantsSyntaxError` if a container made outside of the kernel would change, or one that was made outside a
        run-time `if`, `for` or `while` inside of that.
        """
        name, container = method.__name__, method.__self__
        if name in CHANGING and not self.positions.frame.in_static:
            self._refuse_change(name, container)
        if name in GROWING and args:
            copy = self.copy_container if name == "extend" else self.copy_item
            return [*args[:-1], copy(args[-1], "item")], kwargs
        if name == "update" and len(args) <= 1 and all(isinstance(given, (dict, list, tuple)) for given in args):
            return [self.copy_container(dict(*args, **kwargs), "item")], {}
        if name == "setdefault" and len(args) > 1 and args[0] not in container:
            return [args[0], self.copy_item(args[1], "item")], kwargs
        return args, kwargs

    def _refuse_change(self, name: str, container: list | dict) -> None:
        kind, frame = type(container).__name__, self.positions.frame
        made = self.made.get(id(container))
        depth = frame.bound_depth(container) if made is None else made[1] - self._control_depth() + frame.control_depth
        if depth is None:
            raise QuadrantsSyntaxError(
                f"`{name}` would change a {kind} of Python once, when the kernel is compiled, and not when it runs. "
                f"Change it before the call, or copy it to a name of the kernel (`items = the_{kind}`), or use a field."
            )
        if depth < frame.control_depth:
            raise QuadrantsSyntaxError(
                f"`{name}` changes a {kind} when the kernel is compiled and cannot depend on "
                "a run-time `if`, `for` or `while`; use a vector of fixed size and a counter, or a field."
            )

    @staticmethod
    def missing_item(method, error: Exception) -> QuadrantsIndexError:
        """What a method of a list or dict raises that does not find its item."""
        kind, count = type(method.__self__).__name__, len(method.__self__)
        return QuadrantsIndexError(
            f"`{method.__name__}` of a {kind} of {count} items: {type(error).__name__}: {error}. A {kind} lives "
            "while the kernel is compiled: a statement changes it once, however often it runs."
        )
