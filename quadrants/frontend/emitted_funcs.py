"""Funcs that stay functions: one emitted function a specialisation."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import Any

from quadrants.errors import QuadrantsSyntaxError
from quadrants.frontend.containers import is_variable
from quadrants.frontend.frame import Frame
from quadrants.frontend.func_arguments import EMPTY, FuncArguments
from quadrants.frontend.functions import CannotPass
from quadrants.frontend.state import State
from quadrants.frontend.struct_methods import Receiver
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.views import ViewRef
from quadrants.frontend.walker import Walker
from quadrants.ir import walk
from quadrants.ir.nodes import Call, Declare, Eval, Function, Return, Var, VarPlace
from quadrants.ir.types import DType, i32, result_struct
from quadrants.lang import access, typed
from quadrants.lang.access import KernelMethod, SlicedValue
from quadrants.lang.annotations import tuple_items
from quadrants.lang.constant_key import constant_key
from quadrants.lang.func import BoundFunc, Func
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.value import Value

PER_PATH = object()


class EmittedFuncs:
    """Translates funcs into functions of the module, and emits calls of these."""

    __slots__ = ("options", "names", "positions", "flow", "writer", "functions", "purity", "walker", "func_arguments")

    def __init__(self, state: State, walker: Walker, func_arguments: FuncArguments) -> None:
        self.options = state.options
        self.names = state.names
        self.positions = state.positions
        self.flow = state.flow
        self.writer = state.writer
        self.functions = state.functions
        self.purity = state.purity
        self.walker = walker
        self.func_arguments = func_arguments

    def call_emitted(self, func: Func, bound: dict):
        adapted = {name: self.func_arguments.adapt(func, name, x) for name, x in bound.items()}
        keys: list = []
        args: list = []
        for mode, value in adapted.values():
            keys.append(self.pass_argument(mode, value, args))
        key = (func, tuple(keys), self.positions.frame.in_static > 0)
        if key in self.functions.calls:
            raise QuadrantsSyntaxError(f"{func.fn.__name__} calls itself; {no_recursion(func)}")
        function, rebuild = self.specialised(func, key, adapted)
        return self.emit_call(function, args, rebuild)

    def specialised(self, func: Func, key, adapted: dict):
        """The emitted function of a specialisation, traced when it is new.

        What a debug check reports can depend on the calls that lead to it: then each path of calls has its own.
        """
        entry = self.functions.known.get(key)
        if entry is PER_PATH:
            self.functions.stack_matters = True
            entry = self.functions.known.get((key, self.positions.call_path()))
        if entry is None:
            outer, self.functions.stack_matters = self.functions.stack_matters, False
            entry = self._trace_function(func, key, adapted)
            if self.functions.stack_matters:
                self.functions.known[key] = PER_PATH
                self.functions.known[key, self.positions.call_path()] = entry
            else:
                self.functions.known[key] = entry
                self.functions.stack_matters = outer
        return entry

    def make_frame(self, func: Func, kind: str) -> Frame:
        if self.purity.record is not None:
            self.purity.record.function(func.fn)
        annotation = func.annotation("return")
        frame = Frame(func.fn, kind, None if annotation is EMPTY else annotation)
        self.positions.note_def(frame)
        return frame

    # ------------------------------------------------------------ what is passed

    def pass_argument(self, mode: str, value, args: list):
        """Append what is passed at run time; returns the part of the specialisation key."""
        if mode == "value":
            e = typed.to_expr(value)
            args.append(e)
            return ("v", e.type)
        if mode == "container":
            if isinstance(value, dict):
                raise CannotPass
            return ("c", type(value), tuple(self.pass_argument(*way, args) for way in self.item_modes(value)))
        if mode == "alias":
            if isinstance(value, StructCell):
                raise CannotPass
            if value.place is None:
                if isinstance(value, SlicedValue):
                    raise CannotPass
                args.append(value.expr)
                return ("n", value.type)
            if not isinstance(value.place, VarPlace) or not self.writer.is_local_place(value.place) or value.immutable:
                raise CannotPass
            args.append(value.place)
            return ("r", value.type)
        if mode == "view":
            args += [value.offset.expr, value.size.expr]
            return ("w", id(value.decl))
        if holds_run_time(value):
            raise CannotPass
        self.functions.kept.append(value)
        return ("o", identity(value))

    @staticmethod
    def item_modes(container) -> list[tuple[str, Any]]:
        """How each item is passed. Numbers in lists are variables of the function, as where it is inlined."""
        return [EmittedFuncs._item_mode(x, isinstance(container, list)) for x in container]

    @staticmethod
    def _item_mode(x, changes: bool) -> tuple[str, Any]:
        if changes and is_variable(x):
            return "value", typed.to_value(x)
        if isinstance(x, dict):
            raise CannotPass  # its numbers can change, as those of a list
        if isinstance(x, StructCell):
            return "value", x.as_value()
        if isinstance(x, Value):
            return "value", x
        if isinstance(x, (list, tuple)):
            return "container", x
        return ("view" if isinstance(x, ViewRef) else "object"), x

    # ------------------------------------------------------------ functions

    def _trace_function(self, func: Func, key, adapted: dict):
        frame = self.make_frame(func, "function")
        with self.function_scope(frame, key) as body:
            params = self.bind_parameters(frame, adapted)
            self.walker.exec_body(frame.source.tree.body)
            self.check_returned(func, frame)
            leaves: list = []
            rebuild = self._pack_result(self.cast_result(frame, frame.result), leaves)
            if leaves:
                frame.node = frame.returned_by or frame.node
                self.writer.emit(Return(tuple(leaves)))
            function = Function(
                name=self.function_name(func),
                params=params,
                body=body,
                result=tuple(e.type for e in leaves),
                pure=not walk.has_effects(body),
                doc=(ast.get_docstring(frame.source.tree) or "").split("\n")[0],
                loc=self.positions.loc(),
                block_dim=self.flow.function_block,
                lanes=self.flow.function_lanes,
            )
        self.functions.emitted.append(function)
        return function, rebuild

    @contextmanager
    def function_scope(self, frame: Frame, key):
        """Translate into the body of an emitted function; an error leaves the frames as they are, for its message."""
        block, names, around = self.writer.block, self.names.local, self.flow.position()
        body: list = []
        self.writer.block, self.names.local = body, set()
        self.flow.enter_function()
        self.positions.enter(frame)
        self.functions.calls.append(key)
        yield body
        self.functions.calls.pop()
        self.positions.leave()
        self.flow.return_to(around)
        self.writer.block, self.names.local = block, names

    def bind_parameters(self, frame: Frame, adapted: dict) -> list:
        """Give the parameters of an emitted function their meaning; returns what it is declared with."""
        params: list = []
        for name, (mode, value) in adapted.items():
            frame.bind(name, *self._parameter(name, mode, value, params))
        return params

    def _parameter(self, name: str, mode: str, value, params: list):
        """(bound value, kind of binding) of a parameter inside the emitted function."""
        if mode == "object":
            return value, "object"
        if mode == "container":
            ways = self.item_modes(value)
            items = [self._parameter(f"{name}_{k}", *way, params)[0] for k, way in enumerate(ways)]
            if isinstance(value, tuple) and hasattr(value, "_fields"):
                return type(value)(*items), "container"
            return type(value)(items), "container"
        if mode == "view":
            window = [Var(self.names.unique_name(f"{name}_{part}"), i32, False, level=1) for part in ("offset", "size")]
            params += window
            offset, size = (Value(self.writer.variable(v).expr) for v in window)
            return ViewRef(value.decl, offset, size), "object"
        by_ref = mode == "alias" and value.place is not None
        e = typed.to_expr(value)
        var = Var(self.names.unique_name(name), e.type, mode == "value" or by_ref, by_ref, level=1)
        params.append(var)
        variable = self.writer.variable(var)
        if mode == "alias" and not by_ref:
            return Value(variable.expr, None), "var"
        return variable, "var"

    def function_name(self, func: Func) -> str:
        return self.names.global_name(func.fn.__name__)

    # ------------------------------------------------------------ results

    def check_returned(self, func, frame) -> None:
        if frame.has_return_annotation and not frame.returned:
            raise QuadrantsSyntaxError(
                f"Function {func.fn.__name__} has a return type but does not have a return statement"
            )

    def cast_result(self, frame, value):
        """Scalar return annotations cast; those of tuples cast each item."""
        a = frame.return_annotation
        if a is None or value is None:
            return value
        items = tuple_items(a)
        if items is not None and isinstance(value, (tuple, list)):
            if len(items) != len(value):
                raise QuadrantsSyntaxError(f"{frame.name} is annotated to return {len(items)} values, not {len(value)}")
            return tuple(self._cast_one(t, v) for t, v in zip(items, value))
        return self._cast_one(a, value)

    def _cast_one(self, a, value):
        if a in (int, float, bool) or isinstance(a, DType):
            return Value(typed.convert_expr(typed.to_expr(value), self.options.resolve_dtype(a), "return"))
        return value

    def _pack_result(self, value, leaves: list):
        """A recipe that rebuilds the returned object from the leaves the emitted function returns."""
        if isinstance(value, KernelObject):
            self.functions.must_inline()
        if isinstance(value, StructCell):
            value = value.as_value()
        if isinstance(value, Value):
            leaves.append(value.expr)
            at = len(leaves) - 1
            return lambda parts: parts[at]
        if isinstance(value, ViewRef):
            offset, size = self._pack_result(value.offset, leaves), self._pack_result(value.size, leaves)
            return lambda parts: ViewRef(value.decl, offset(parts), size(parts))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            recipes = [self._pack_result(v, leaves) for v in value]
            return lambda parts: type(value)(*(r(parts) for r in recipes))
        if isinstance(value, (list, tuple)):
            recipes = [self._pack_result(v, leaves) for v in value]
            return lambda parts: type(value)([r(parts) for r in recipes])
        if isinstance(value, dict):
            by_key = {k: self._pack_result(v, leaves) for k, v in value.items()}
            return lambda parts: {k: r(parts) for k, r in by_key.items()}
        return lambda parts: value

    def emit_call(self, function: Function, args: list, rebuild):
        if not function.result:
            if not function.pure:
                self.writer.emit(Eval(Call(function, tuple(args), None)))  # type: ignore[arg-type]  # see Call
            return rebuild([])
        if len(function.result) == 1:
            call = Call(function, tuple(args), function.result[0])
            if function.pure:
                return rebuild([Value(call)])
            return rebuild([self.writer.temp(Value(call))])
        t = result_struct(function.result)
        call = Call(function, tuple(args), t)
        var = self.writer.new_var("r", t, mutable=False)
        self.writer.emit(Declare(var, call))
        held = self.writer.variable(var)

        return rebuild([access.member(held, k) for k, _ in t.members])


def holds_run_time(x) -> bool:
    """Whether an object that a template parameter stands for has values of the run time of its caller in it."""
    if isinstance(x, dict):
        return any(holds_run_time(v) for v in x.values())
    if isinstance(x, (list, tuple)):
        return any(holds_run_time(v) for v in x)
    if isinstance(x, BoundFunc):
        return holds_run_time(x.instance)
    return isinstance(x, (Value, StructCell, ViewRef, KernelObject, Receiver, KernelMethod))


def identity(x):
    if isinstance(x, (Value, StructCell)):
        return id(x)
    if not isinstance(x, (bool, int, float, str, type(None), tuple, frozenset)):
        return id(x)
    try:
        key = constant_key(x)
        hash(key)
    except TypeError:  # of a list in a tuple
        return id(x)
    return key


def no_recursion(func: Func) -> str:
    told = f"recursion is not supported in {func.decorator}."
    if func.is_real_function:
        return told
    return (
        f"{told} Decorate `{func.fn.__name__}` with @qd.real_func, annotate its parameters and its result, and end the "
        "recursion in a branch that returns without a call of it; or write a loop."
    )
