"""One function under translation: its names, its block scopes, how it returns."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quadrants.errors import QuadrantsNameError
from quadrants.frontend.source import class_of, of_function
from quadrants.frontend.undefined import not_defined
from quadrants.ir.names import identifier


class Binding:
    """What a name means. kind:

    var        a run-time variable, assignable        target     a loop variable of `range`, not assignable
    argument   a kernel parameter, immutable          static     bound by qd.static, not assignable
    container  a list, tuple or dict                  object     any other compile-time object

    depth: how many run-time `if`, `for` and `while` of the function were around the binding.
    """

    __slots__ = ("value", "kind", "depth")

    def __init__(self, value: Any, kind: str, depth: int) -> None:
        self.value = value
        self.kind = kind
        self.depth = depth


class Frame:
    """The translation of `fn`'s body. kind: "kernel", "inline", "function" or "real".

    label: its name in text. scopes: name -> Binding of each block, from the outside in. node: what is being translated.
    returned_by: the statement that returned, and `result` what. control_depth: how many run-time `if`, `for` and
    `while` are around. in_static: how many `qd.static(...)` are. class_name: of a method, for the names that Python
    mangles.
    """

    __slots__ = (
        "fn", "name", "label", "source", "kind", "globals", "cells", "class_name", "return_annotation",
        "has_return_annotation", "scopes", "node", "returned", "returned_by", "result", "control_depth", "in_static",
    )  # fmt: skip

    def __init__(self, fn, kind: str, return_annotation: Any) -> None:
        self.fn = fn
        self.name: str = fn.__name__
        self.label = identifier(self.name)
        self.source = of_function(fn)
        self.kind = kind
        self.globals: dict = fn.__globals__
        self.cells = _closure_cells(fn)
        self.class_name = class_of(fn)
        self.return_annotation = return_annotation
        self.has_return_annotation = return_annotation is not None
        self.scopes: list[dict[str, Binding]] = [{}]
        self.node: Any = self.source.tree
        self.returned = False
        self.returned_by: Any = None
        self.result: Any = None
        self.control_depth = 0
        self.in_static = 0

    @contextmanager
    def static_scope(self) -> Iterator[None]:
        """Names bound inside end with it."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    def reads(self, name: str) -> bool:
        """Whether the text of the function has a value of that name."""
        loaded = (x for x in ast.walk(self.source.tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load))
        return any(x.id == name for x in loaded)

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
                raise self._not_defined(name) from None
        if name in self.globals:
            return self.globals[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise self._not_defined(name)

    def hidden_by(self, name: str) -> Any:
        """What is outside of the function under the name of a new variable; None where nothing is."""
        if name in self.cells:
            return getattr(self.cells[name], "cell_contents", None)
        return self.globals.get(name)

    def known(self, name: str) -> Any:
        """What a name stands for; None where nothing does."""
        found = self.lookup_local(name)
        try:
            return found.value if found is not None else self.lookup_outer(name)
        except QuadrantsNameError:
            return None

    def _not_defined(self, name: str) -> QuadrantsNameError:
        return not_defined(name, self.source.tree, self.node, self.source.line0)

    def has_parameter(self, node) -> bool:
        """Whether an expression names a parameter of the function."""
        return any(a.arg == getattr(node, "id", None) for a in self.source.tree.args.args)

    def bound_depth(self, container) -> int | None:
        """The `depth` of the name of which `container` is the value, or a part of it; None without one."""
        for binding in (b for scope in self.scopes for b in scope.values() if b.kind == "container"):
            if _has(binding.value, container):
                return binding.depth
        return None

    def bind(self, name: str, value, kind: str) -> None:
        self.scopes[-1][name] = Binding(value, kind, self.control_depth)


def _has(value: Any, container: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return value is container or any(_has(part, container) for part in parts)


def _closure_cells(fn) -> dict:
    if fn.__closure__ is None:
        return {}
    return dict(zip(fn.__code__.co_freevars, fn.__closure__))
