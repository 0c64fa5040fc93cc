"""Several expressions evaluated together: items, arguments, and what is inside of `qd.static`."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsSyntaxError
from quadrants.frontend import intrinsics, run_time
from quadrants.frontend.order import Operands
from quadrants.frontend.state import State
from quadrants.frontend.walker import Walker
from quadrants.lang.control import ITERATORS
from quadrants.lang.value import Value


class Evaluation:
    """Values of several nodes, from left to right."""

    __slots__ = ("positions", "writer", "walker")

    def __init__(self, state: State, walker: Walker) -> None:
        self.positions = state.positions
        self.writer = state.writer
        self.walker = walker

    def eval_each(self, nodes) -> list:
        """The values of `nodes`, evaluated from left to right."""
        operands = Operands(self.writer)
        for node in nodes:
            operands.add(lambda node=node: self.walker.eval(node))
        return operands.values

    def eval_Tuple(self, node):
        return tuple(self.eval_arguments(node.elts))

    def eval_arguments(self, nodes) -> list:
        values = self.eval_each([a.value if isinstance(a, ast.Starred) else a for a in nodes])
        return self.expand_starred(nodes, values)

    def eval_keywords(self, node) -> dict:
        out = {}
        for k in node.keywords:
            if k.arg is None:
                raise QuadrantsSyntaxError("`**` arguments are not supported in kernels: write `name=value` for each.")
            out[k.arg] = self.walker.eval(k.value)
        return out

    def expand_starred(self, nodes, values) -> list:
        args: list = []
        for a, value in zip(nodes, values):
            if isinstance(a, ast.Starred):
                if isinstance(value, Value) or getattr(value, "_qd_host_matrix", False):
                    args.extend(list(value))
                elif isinstance(value, (list, tuple, range, dict, *ITERATORS)) or getattr(value, "ndim", None) == 1:
                    args.extend(value)
                else:
                    raise QuadrantsSyntaxError(
                        "Only tuples, lists, dicts, ranges, vectors and NumPy arrays with one axis can be expanded by "
                        "`*`."
                    )
            else:
                args.append(value)
        return args

    def eval_static(self, call):
        """The compile-time value inside `qd.static(...)`."""
        if call.keywords:
            raise QuadrantsSyntaxError("qd.static takes no keyword arguments.")
        self.positions.frame.in_static += 1
        try:
            values = [self.walker.eval(a) for a in call.args]
        finally:
            self.positions.frame.in_static -= 1
        for v, a in zip(values, call.args):
            cure = run_time.refuse_static(self.positions.frame, a) if isinstance(v, Value) else ""
            intrinsics.check_static(v, cure)
        return values[0] if len(values) == 1 else values

    def static_truth(self, call) -> bool:
        value = self.eval_static(call)
        return bool(value)
