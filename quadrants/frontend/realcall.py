"""Calls of @qd.real_func: one emitted function a specialisation, with early returns and recursion."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsSyntaxError
from quadrants.frontend import paths
from quadrants.frontend.emitted_funcs import EmittedFuncs
from quadrants.frontend.func_arguments import FuncArguments
from quadrants.frontend.functions import CannotPass
from quadrants.frontend.returns import Returns
from quadrants.frontend.state import State
from quadrants.frontend.walker import Walker
from quadrants.ir import walk
from quadrants.ir.nodes import Function, Return
from quadrants.lang import structs, typed
from quadrants.lang.annotations import RefType, tuple_items
from quadrants.lang.described import type_name
from quadrants.lang.func import Func
from quadrants.lang.value import Value


class RealCalls:
    """Calls of real funcs."""

    __slots__ = (
        "options", "positions", "reports", "writer", "functions", "walker", "returns", "func_arguments", "emitted",
    )  # fmt: skip

    def __init__(
        self, state: State, walker: Walker, returns: Returns, func_arguments: FuncArguments, emitted: EmittedFuncs
    ) -> None:
        self.options = state.options
        self.positions, self.reports = state.positions, state.reports
        self.writer = state.writer
        self.functions = state.functions
        self.walker = walker
        self.returns = returns
        self.func_arguments = func_arguments
        self.emitted = emitted

    def call_real(self, func: Func, bound: dict):
        adapted: dict = {}
        keys: list = []
        args: list = []
        for name, x in bound.items():
            mode, value = adapted[name] = self._real_argument(func, name, x)
            try:
                keys.append(self.emitted.pass_argument(mode, value, args))
            except CannotPass:
                if mode == "object":
                    raise QuadrantsSyntaxError(
                        f"'{name}' of the real func {func.fn.__name__} is a template, and gets a "
                        f"{type_name(value)} that has run-time values in it. Pass a vector, a struct or the "
                        "items, or make it a @qd.func."
                    ) from None
                raise QuadrantsSyntaxError(
                    f"'{name}' of the real func {func.fn.__name__} cannot be passed by reference: only local variables "
                    "can. Copy the element to a variable first."
                ) from None
        key = (func, "real", tuple(keys))
        function = self.functions.known.get(key) or self._trace_real(func, key, adapted)
        function.recursive |= key in self.functions.calls
        items = tuple_items(func.annotation("return"))
        return self.emitted.emit_call(
            function, args, lambda parts: tuple(parts) if items else parts[0] if parts else None
        )

    def _real_argument(self, func: Func, name: str, x):
        a = func.annotation(name)
        if not isinstance(a, RefType):
            return self.func_arguments.adapt(func, name, x)
        t = self.options.resolve_dtype(a.tp)
        if not isinstance(x, Value) or x.place is None or x.type is not t or walk.fixed_var(x.place) is not None:
            raise QuadrantsSyntaxError(f"'{name}' of {func.fn.__name__} is by reference: pass a variable of type {t}.")
        return "alias", x

    def _trace_real(self, func: Func, key, adapted: dict) -> Function:
        frame = self.emitted.make_frame(func, "real")
        annotations = self._return_annotations(frame)
        function = self.functions.known[key] = Function(
            name=self.emitted.function_name(func),
            params=[],
            body=[],
            result=tuple(self.returns.return_type(a) for a in annotations),
            pure=False,  # what it does is not known yet where it is called while it runs
            doc=(ast.get_docstring(frame.source.tree) or "").split("\n")[0],
        )
        with self.emitted.function_scope(frame, key) as body:
            function.body = body
            function.params = self.emitted.bind_parameters(frame, adapted)
            function.loc = self.positions.loc()
            self.walker.exec_body(frame.source.tree.body)
            if annotations and frame.result is None:
                self.emitted.check_returned(func, frame)
            if annotations and not frame.returned:
                self._tell_of_missing_return(frame)
                self.writer.emit(Return(tuple(structs.zero(t) for t in function.result)))
            function.block_dim = self.emitted.flow.function_block
            function.lanes = self.emitted.flow.function_lanes
        self.functions.emitted.append(function)
        return function

    def _tell_of_missing_return(self, frame) -> None:
        if not paths.ends(frame.source.tree.body):
            self.positions.frame.node = frame.source.tree
            self.reports.warn_once(
                f"The real func {frame.name} may come to its end without a `return`, and its result is zero then. "
                "Write a `return` at the end.",
                SyntaxWarning,
            )

    @staticmethod
    def _return_annotations(frame) -> tuple:
        if not frame.has_return_annotation:
            return ()
        items = tuple_items(frame.return_annotation)
        return (frame.return_annotation,) if items is None else items

    def return_from_real(self, value) -> None:
        """`return` anywhere in a real func; what follows it in the same block is never run."""
        frame = self.positions.frame
        annotations = self._return_annotations(frame)
        if value is not None and not annotations:
            raise QuadrantsSyntaxError(f"The real func {frame.name} returns a value: annotate it with a return type.")
        values = value if len(annotations) > 1 and isinstance(value, (tuple, list)) else (value,)
        if annotations and (value is None or len(values) != len(annotations)):
            raise QuadrantsSyntaxError(f"{frame.name} is annotated to return {len(annotations)} value(s).")
        exprs = tuple(self._real_result(a, v) for a, v in zip(annotations, values))
        self.writer.emit(Return(exprs))
        frame.result = exprs
        frame.returned = frame.control_depth == 0

    def _real_result(self, a, value):
        return self.returns.return_expr(a, typed.to_value(value) if typed.is_number(value) else value)
