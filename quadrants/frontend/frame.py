"""One function under translation: its names, its block scopes, how it returns."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from typing import Any

from quadrants.errors import QuadrantsNameError


@dataclass(slots=True)
class Binding:
    """What a name means. kind:

    var        a run-time variable, assignable        target     a loop variable of `range`, not assignable
    argument   a kernel parameter, immutable          static     bound by qd.static, not assignable
    container  a list, tuple or dict                  object     any other compile-time object

    depth: how many run-time `if`, `for` and `while` of the function were around the binding.
    """

    value: Any
    kind: str
    depth: int = 0


@dataclass(slots=True)
class Frame:
    name: str
    source: Any
    globals: dict
    cells: dict
    fn: Any
    kind: str  # "kernel" | "inline" | "function" | "real"
    scopes: list = field(default_factory=lambda: [{}])
    returned: bool = False
    returned_by: Any = None  # the statement
    result: Any = None
    return_annotation: Any = None
    has_return_annotation: bool = False
    control_depth: int = 0
    node: Any = None
    caller_node: Any = None
    class_name: str = ""
    in_static: int = 0
    impure_reads: list = field(default_factory=list)

    def lookup_local(self, name: str):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def lookup_outer(self, name: str):
        """A closure cell, module global or builtin; raises if there is none."""
        if name in self.cells:
            try:
                return self.cells[name].cell_contents
            except ValueError:
                raise QuadrantsNameError(f'Name "{name}" is not defined') from None
        if name in self.globals:
            return self.globals[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise QuadrantsNameError(f'Name "{name}" is not defined')

    def bind(self, name: str, value, kind: str) -> None:
        self.scopes[-1][name] = Binding(value, kind, self.control_depth)

    def made_outside(self, container) -> bool:
        """Whether a local name stands for `container` that was bound outside the current run-time control flow."""
        return any(
            b.value is container and b.depth < self.control_depth for scope in self.scopes for b in scope.values()
        )


def closure_cells(fn) -> dict:
    if fn.__closure__ is None:
        return {}
    return dict(zip(fn.__code__.co_freevars, fn.__closure__))
