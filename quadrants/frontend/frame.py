"""One function under translation: its names, its block scopes, how it returns."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from quadrants.errors import QuadrantsNameError
from quadrants.frontend.source import Source, of_function


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
    source: Source
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
    class_name: str = ""
    in_static: int = 0

    @contextmanager
    def static_scope(self) -> Iterator[None]:
        """Names bound inside end with it."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

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


def frame_of(fn, kind: str, return_annotation: Any) -> Frame:
    """The frame in which the body of `fn` is translated."""
    source = of_function(fn)
    owner = fn.__qualname__.split(".")
    return Frame(
        name=fn.__name__,
        source=source,
        globals=fn.__globals__,
        cells=_closure_cells(fn),
        fn=fn,
        kind=kind,
        return_annotation=return_annotation,
        has_return_annotation=return_annotation is not None,
        class_name=owner[-2] if len(owner) > 1 and owner[-2] != "<locals>" else "",
        node=source.tree,
    )


def _closure_cells(fn) -> dict:
    if fn.__closure__ is None:
        return {}
    return dict(zip(fn.__code__.co_freevars, fn.__closure__))
