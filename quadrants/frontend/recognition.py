"""Calls that the frontend recognises by what is called: `qd.static` and what stands in headers of statements."""

from __future__ import annotations

import ast
import types

from quadrants.frontend import intrinsics
from quadrants.frontend.state import State
from quadrants.lang.value import Value

_DECORATORS = ("static", "ndrange", "grouped")
_DEPRECATED = {
    "graph_do_while": "do_while", "graph_parallel_context": "parallel_context", "graph_parallel": "parallel",
}  # fmt: skip


class Recognition:
    """Finds what a call would call, without evaluating it."""

    __slots__ = ("positions", "reports")

    def __init__(self, state: State) -> None:
        self.positions = state.positions
        self.reports = state.reports

    def quiet_eval(self, node):
        """A name or attribute chain, without errors or notes; None if it is anything else."""
        if isinstance(node, ast.Name):
            found = self.positions.frame.lookup_local(node.id)
            if found is not None:
                return found.value if not isinstance(found.value, Value) else None
            if node.id in self.positions.frame.cells or node.id in self.positions.frame.globals:
                return self.positions.frame.lookup_outer(node.id)
            return None
        if isinstance(node, ast.Attribute):
            base = self.quiet_eval(node.value)
            if isinstance(base, types.ModuleType):
                return getattr(base, node.attr, None)
        return None

    def intrinsic_name(self, func_node) -> str:
        target = self.quiet_eval(func_node)
        return intrinsics.name_of(target) if target is not None else ""

    def is_static_call(self, node) -> bool:
        return isinstance(node, ast.Call) and self.intrinsic_name(node.func) == "static"

    def decorator_of(self, call) -> str:
        """'static', 'ndrange', 'grouped' when the call is one of these, else ''."""
        return self.intrinsic_name(call.func) if self.intrinsic_name(call.func) in _DECORATORS else ""

    def region_call(self, node) -> str:
        """'do_while', 'checkpoint', ... when `node` is a call of one of these, else ''."""
        name = self.intrinsic_name(node.func) if isinstance(node, ast.Call) else ""
        if name in _DEPRECATED:
            new = _DEPRECATED[name]
            self.reports.warn(f"qd.{name}() is deprecated; write qd.graph.{new}()", DeprecationWarning)
            return new
        return name
