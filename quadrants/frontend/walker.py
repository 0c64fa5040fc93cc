"""The walk over the AST of the user's functions: from the type of a node to the method that translates it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from quadrants.errors import QuadrantsCompilationError
from quadrants.frontend.old_values import LazyTensor, OldValue
from quadrants.frontend.state import State
from quadrants.frontend.unsupported import unsupported
from quadrants.lang.kinds import FIELD_KINDS, kind_of, unwrapped

HANDED_OVER = ("ndarray", "tensor", "view")  # a launch hands these over, by parameter or member, and no other way


class Walker:
    """Translates nodes. Every part may ask for that; what the tables hold, `quadrants.frontend.tracer` says.

    expressions: type of a node -> method that returns a run-time Value or a plain compile-time object.
    statements: type of a node -> method that emits it.
    """

    __slots__ = ("positions", "expressions", "statements")

    def __init__(self, state: State) -> None:
        self.positions = state.positions
        self.expressions: dict[type, Callable[[Any], Any]] = {}
        self.statements: dict[type, Callable[[Any], None]] = {}

    def eval(self, node: ast.AST) -> Any:
        """The value of an expression."""
        frame = self.positions.frame
        previous, frame.node = frame.node, node
        method = self.expressions.get(type(node))
        if method is None:
            raise unsupported(node)
        result = method(node)
        if isinstance(result, (OldValue, LazyTensor)):
            result = result.as_value()
        elif kind_of(result) in HANDED_OVER:
            result = unwrapped(result)
            if kind_of(result) not in FIELD_KINDS:
                raise QuadrantsCompilationError(_not_handed_over(node))
        frame.node = previous
        return result

    def exec_body(self, body: list) -> None:
        """Translate statements up to one that returns."""
        for node in body:
            if self.positions.frame.returned:
                return
            self.exec(node)

    def exec(self, node: ast.stmt) -> None:
        """Translate one statement."""
        self.positions.statements += 1
        frame = self.positions.frame
        previous, frame.node = frame.node, node
        method = self.statements.get(type(node))
        if method is None:
            raise unsupported(node)
        method(node)
        frame.node = previous

    def close(self) -> None:
        """Let go of the parts, which hold the walker: so what a trace held is freed with it."""
        self.expressions.clear()
        self.statements.clear()


def _not_handed_over(node: ast.AST) -> str:
    return (
        f"The ndarray or tensor `{ast.unparse(node)}` is not registered as a kernel parameter: a launch does not look "
        "into lists, tuples and dicts, nor at what functions return. Pass it as an argument, or make it a member of a "
        "@qd.data_oriented object by itself (`self.a = ...`)."
    )
