"""Statements of the Python subset, except loops."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsSyntaxError
from quadrants.frontend.assignment import Assignment
from quadrants.frontend.calls import Calls
from quadrants.frontend.containers import Containers
from quadrants.frontend.evaluation import Evaluation
from quadrants.frontend.lookups import Lookups
from quadrants.frontend.order import Operands
from quadrants.frontend.places import Places, immutable_error, refuse_nothing
from quadrants.frontend.realcall import RealCalls
from quadrants.frontend.recognition import Recognition
from quadrants.frontend.returns import Returns
from quadrants.frontend.state import State
from quadrants.frontend.walker import Walker
from quadrants.ir.nodes import If
from quadrants.lang import typed
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.value import Value


class Statements:
    """Statements, except loops and regions."""

    __slots__ = (
        "options", "names", "positions", "reports", "flow", "writer", "walker", "recognition", "evaluation", "places",
        "containers", "returns", "assignment", "lookups", "real", "calls",
    )  # fmt: skip

    def __init__(
        self,
        state: State,
        walker: Walker,
        recognition: Recognition,
        evaluation: Evaluation,
        places: Places,
        containers: Containers,
        returns: Returns,
        assignment: Assignment,
        lookups: Lookups,
        real: RealCalls,
        calls: Calls,
    ) -> None:
        self.options = state.options
        self.names = state.names
        self.positions = state.positions
        self.reports = state.reports
        self.flow = state.flow
        self.writer = state.writer
        self.walker = walker
        self.recognition = recognition
        self.evaluation = evaluation
        self.places = places
        self.containers = containers
        self.returns = returns
        self.assignment = assignment
        self.lookups = lookups
        self.real = real
        self.calls = calls

    def exec_Pass(self, node) -> None:
        pass

    def exec_Expr(self, node) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call):
            self.calls.eval_Call(node.value)
        else:
            self.walker.eval(node.value)

    def exec_FunctionDef(self, node) -> None:
        where = {"kernel": "kernel", "real": "real_func"}.get(self.positions.frame.kind, "func")
        raise QuadrantsSyntaxError(
            f"Function definition is not allowed in 'qd.{where}'. Define it outside and decorate it with @qd.func."
        )

    # ------------------------------------------------------------ assignment

    def exec_Assign(self, node) -> None:
        if len(node.targets) == 1 and self._assign_pairwise(node.targets[0], node.value):
            return
        static = self.recognition.is_static_call(node.value)
        self.names.assigning = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        value = self.walker.eval(node.value)
        self.names.assigning = ""
        if value is None and not static:
            refuse_nothing(node.value)
        if not static:
            self._warn_of_hidden(node.targets[0])
        if len(node.targets) > 1 and isinstance(value, Value):
            value = self.writer.temp(value)
        for target in node.targets:
            self.assign_target(target, value, static)

    def _warn_of_hidden(self, target) -> None:
        """Tell of a variable that gets the name of a field, which is meant to be written more often."""
        frame = self.positions.frame
        if not isinstance(target, ast.Name) or frame.lookup_local(target.id) is not None:
            return
        hidden = frame.hidden_by(target.id)
        if kind_of(hidden) in FIELD_KINDS and hidden.shape == ():
            self.reports.warn_once(
                f"`{target.id} = ...` makes a variable of the kernel, and the field `{target.id}` keeps its value. "
                f"Write `{target.id}[None] = ...` to store to the field, or give the variable another name.",
                SyntaxWarning,
            )

    def _assign_pairwise(self, target, value) -> bool:
        """`a, b = b, a`: every right side is read before the first write."""
        if not (isinstance(target, ast.Tuple) and isinstance(value, (ast.Tuple, ast.List))):
            return False
        if any(isinstance(e, ast.Starred) for e in value.elts):
            return False
        self._check_targets(target)
        if len(target.elts) != len(value.elts):
            raise _not_as_many(target.elts, value.elts)
        values = [self.assignment.snapshot(v) for v in self.evaluation.eval_each(value.elts)]
        for t, v, e in zip(target.elts, values, value.elts):
            self.assign_target(t, v, self.recognition.is_static_call(e))
        return True

    def assign_target(self, target, value, static: bool = False) -> None:
        frame = self.positions.frame
        previous, frame.node = frame.node, target if isinstance(target, ast.AST) else frame.node
        if isinstance(target, ast.Name):
            frame.node = previous
            self.assignment.assign_name(target.id, value, static)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, static)
        elif isinstance(target, ast.Starred):
            raise QuadrantsSyntaxError("Starred targets are not supported.")
        else:
            self.assign_place(target, value)
        frame.node = previous

    def _unpack(self, target, value, static: bool) -> None:
        self._check_targets(target)
        items = self.assignment.unpackable(value)
        if len(items) != len(target.elts):
            raise _not_as_many(target.elts, items)
        for t, item in zip(target.elts, [self.assignment.snapshot(i) for i in items]):
            self.assign_target(t, item, static)

    @staticmethod
    def _check_targets(target) -> None:
        names = isinstance(target, ast.Tuple)
        if not names or any(not isinstance(t, (ast.Name, ast.Subscript, ast.Attribute)) for t in target.elts):
            raise QuadrantsSyntaxError(
                "Nested, list or starred targets are not supported. Write names, items and members with commas between "
                "them, `a, pair = ..`, and take apart what is inside in a line of its own, `b, c = pair`."
            )

    def assign_place(self, target, value) -> None:
        operands = Operands(self.writer)
        operands.add(lambda: value)
        operands.add(lambda: self.lookups.eval_target(target), by_place=True)
        value, place = operands.values
        if isinstance(place, tuple):  # an item of a compile-time container
            container, key = place
            self.places.assign_to(self.containers.assignable_item(container, key, target), value)
            return
        self.places.assign_to(place, value)

    def exec_AnnAssign(self, node) -> None:
        if not isinstance(node.target, ast.Name):
            raise QuadrantsSyntaxError("Only names can be declared with a type.")
        if node.value is None:
            raise QuadrantsSyntaxError("A declaration needs a value: write `x: T = value`.")
        t = self.options.resolve_type(self.walker.eval(node.annotation))
        name = node.target.id
        value = typed.to_expr(self.walker.eval(node.value))
        found = self.positions.frame.lookup_local(name)
        if found is not None:
            if found.kind == "argument":
                raise immutable_error(name)
            if found.kind != "var" or found.value.type != t:
                raise QuadrantsSyntaxError(
                    f'"{name}" is already declared in this scope with another type; an annotation must repeat it '
                    "exactly."
                )
            self.places.assign_to(found.value, Value(value))
            return
        self.positions.frame.bind(name, self.writer.named(typed.convert_expr(value, t), name), "var")

    # ------------------------------------------------------------ if, return

    def exec_If(self, node) -> None:
        if self.recognition.is_static_call(node.test):
            taken = self.evaluation.static_truth(node.test)
            with self.positions.frame.static_scope():
                self.walker.exec_body(node.body if taken else node.orelse)
            return
        cond = typed.condition(self.walker.eval(node.test), "if", node.test)
        then: list = []
        orelse: list = []
        with self.flow.runtime_control():
            with self.writer.in_block(then):
                self.walker.exec_body(node.body)
            with self.writer.in_block(orelse):
                self.walker.exec_body(node.orelse)
        self.writer.emit(If(cond, then, orelse))

    def exec_Return(self, node) -> None:
        frame = self.positions.frame
        if frame.kind == "real":
            self.real.return_from_real(self.walker.eval(node.value) if node.value is not None else None)
            return
        if frame.control_depth:
            raise QuadrantsSyntaxError(
                "Return inside non-static if/for is not supported: assign the result to a variable and return it "
                "at the end."
            )
        value = self.walker.eval(node.value) if node.value is not None else None
        if value is None and frame.kind == "kernel" and frame.has_return_annotation:
            refuse_nothing(node.value)
        frame.result = self.returns.finish_return(value) if frame.kind == "kernel" else value
        frame.returned_by = node
        frame.returned = True


def _not_as_many(targets: list, values) -> QuadrantsSyntaxError:
    return QuadrantsSyntaxError(
        f"The number of targets is not equal to value length: {len(targets)} on the left, {len(values)} on the right. "
        "Write one target for each value; `_` takes one that you do not need."
    )
