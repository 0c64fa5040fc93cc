"""What a trace depended on besides the text of the kernel: what must be the same for its result to be used again."""

from __future__ import annotations

import types
from typing import Any

from quadrants.frontend import closed_functions

_SAFE_MODULES = ("builtins", "math", "numpy", "quadrants", "operator", "enum", "typing")
_LOOKERS = (getattr, hasattr, vars, dir)
_DATA = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, range, type(None))


class Record:
    """Filled by the tracer.

    functions: the kernel's function, then each other that was translated. captures: (number of the function, path
    from one of its outer names) -> value. reads: (parameter, path) -> (value, mode) of the attributes of arguments that
    were looked at; mode is 'value', 'type' where only the type matters, or 'array' with the number of element axes.
    unseen: why the trace may depend on more than is noted here, or "".
    """

    def __init__(self) -> None:
        self.functions: list = []
        self.captures: dict[tuple, Any] = {}
        self.reads: dict[tuple, tuple] = {}
        self.unseen = ""
        self._number: dict[Any, int] = {}
        self._place: dict[int, tuple] = {}

    def function(self, fn) -> None:
        """`fn` is being translated."""
        if fn not in self._number:
            self._number[fn] = len(self.functions)
            self.functions.append(fn)

    def capture(self, fn, name: str, value) -> None:
        """`fn` reads an outer name."""
        self._note((self._number[fn], (name,)), value)

    def attribute(self, base, name: str, value) -> None:
        """An attribute of something that came from an outer name is read."""
        place = self._place.get(id(base))
        if place is not None:
            self._note((place[0], (*place[1], name)), value)

    def _note(self, place: tuple, value) -> None:
        self.captures[place] = value
        if not isinstance(value, _DATA):
            # The value is held in `captures`, so its address stays its own.
            self._place.setdefault(id(value), place)

    def read(self, source: tuple, value, mode: str = "value") -> None:
        """The attribute at `source` of an argument is read."""
        self.reads.setdefault(source, (value, mode))

    def item(self, base) -> None:
        """An item of a host object is read: what an object that is no plain data does then is not seen."""
        if not isinstance(base, _DATA) and not _is_safe(type(base).__module__):
            self.unseen = f"it reads an item of an object of type {type(base).__name__}"

    def call(self, function, args: list) -> None:
        """An ordinary Python function is called; `args` are host values."""
        what = getattr(function, "__qualname__", None) or type(function).__name__
        if not _is_known(function):
            if not self._seen_through(function, args):
                self.unseen = f"it calls the Python function {what}"
        elif function is not isinstance and any(_has_attributes(x) for x in args):
            self.unseen = f"it passes an object to the Python function {what}"

    def _seen_through(self, function, args: list) -> bool:
        depends = closed_functions.dependence(function, args)
        if depends is None:
            return False
        for fn in depends.functions:
            self.function(fn)
        for fn, name, value in depends.captures:
            self.capture(fn, name, value)
        return True


def _is_known(function) -> bool:
    """Whether the result of a call depends on the arguments alone."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, (types.ModuleType, type)):
        return _is_safe(getattr(function, "__module__", None) or type(function).__module__) and function not in _LOOKERS
    return isinstance(owner, _DATA) or _is_safe(type(owner).__module__)


def _is_safe(module: str) -> bool:
    return module.split(".")[0] in _SAFE_MODULES


def _has_attributes(x) -> bool:
    """Whether a Python function may read members of `x` that nobody notes."""
    if isinstance(x, (type, types.ModuleType, types.FunctionType)):
        return False
    return hasattr(x, "__dict__") and not type(x).__module__.startswith(("quadrants.", "numpy"))
