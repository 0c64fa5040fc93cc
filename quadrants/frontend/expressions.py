"""Literals, containers and comprehensions."""

from __future__ import annotations

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.assignment import Assignment
from quadrants.frontend.evaluation import Evaluation
from quadrants.frontend.format_strings import format_string
from quadrants.frontend.order import Operands
from quadrants.frontend.state import State
from quadrants.frontend.structcell import is_runtime
from quadrants.frontend.walker import Walker
from quadrants.lang.described import type_name
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.value import Value


class Expressions:
    """Every method returns a run-time Value or a plain compile-time object."""

    __slots__ = ("positions", "writer", "walker", "evaluation", "assignment")

    def __init__(self, state: State, walker: Walker, evaluation: Evaluation, assignment: Assignment) -> None:
        self.positions = state.positions
        self.writer = state.writer
        self.walker = walker
        self.evaluation = evaluation
        self.assignment = assignment

    def eval_Constant(self, node):
        if isinstance(node.value, (complex, bytes)):
            raise QuadrantsTypeError(
                f"Invalid constant scalar data type: {type(node.value)}. Kernels have no such numbers and texts; a "
                "complex number is a vector of two, see qd.math.cmul."
            )
        return node.value

    def eval_NamedExpr(self, node):
        value = self.walker.eval(node.value)
        self.assignment.assign_name(node.target.id, value)
        return self.positions.frame.lookup_local(node.target.id).value

    def eval_JoinedStr(self, node):
        return format_string(node, self.walker.eval)

    def eval_Starred(self, node):
        raise QuadrantsSyntaxError("Starred expressions are only supported in call arguments.")

    # ------------------------------------------------------------ containers

    def eval_List(self, node):
        return self.evaluation.eval_arguments(node.elts)

    def eval_Dict(self, node):
        keys = []
        operands = Operands(self.writer)
        for k, v in zip(node.keys, node.values):
            keys.append(None if k is None else self.walker.eval(k))
            operands.add(lambda v=v: self.walker.eval(v))
        out: dict = {}
        for node_key, key, value in zip(node.keys, keys, operands.values):
            out.update(value if node_key is None else {key: value})
        return out

    def eval_ListComp(self, node):
        operands = Operands(self.writer)
        self._comprehend(node.generators, 0, lambda: operands.add(lambda: self.walker.eval(node.elt)))
        return operands.values

    def eval_DictComp(self, node):
        keys: list = []
        operands = Operands(self.writer)

        def add():
            keys.append(self.walker.eval(node.key))
            operands.add(lambda: self.walker.eval(node.value))

        self._comprehend(node.generators, 0, add)
        return dict(zip(keys, operands.values))

    def _comprehend(self, generators, k: int, emit) -> None:
        if k == len(generators):
            emit()
            return
        generator = generators[k]
        items = self.walker.eval(generator.iter)
        if isinstance(items, Value) or isinstance(items, (list, tuple, range, enumerate, zip, map, filter, dict)):
            items = list(items)
        elif getattr(items, "_qd_host_matrix", False):
            items = list(items.to_list())
        elif hasattr(items, "__iter__") and kind_of(items) not in FIELD_KINDS:
            items = list(items)
        else:
            raise QuadrantsTypeError(
                f"A comprehension needs a compile-time iterable, got {type_name(items)}: write a loop, `for i in x:`, "
                "that stores to a field or an ndarray."
            )
        for item in items:
            with self.positions.frame.static_scope():
                names = self.assignment.target_names(generator.target)
                self.assignment.bind_static_targets(names, item)
                if all(self._comprehension_test(test) for test in generator.ifs):
                    self._comprehend(generators, k + 1, emit)

    def _comprehension_test(self, test) -> bool:
        value = self.walker.eval(test)
        if is_runtime(value):
            raise QuadrantsSyntaxError("The `if` of a comprehension must be known at compile time.")
        return bool(value)
