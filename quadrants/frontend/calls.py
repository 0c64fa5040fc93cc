"""Calls: of intrinsics, of funcs, of types, of ordinary Python functions at trace time."""

from __future__ import annotations

import ast
import types
from typing import TYPE_CHECKING

import numpy as np

from quadrants.errors import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend import intrinsics, other_spellings, plain_calls, run_time, wrong_arguments
from quadrants.frontend.containers import Containers
from quadrants.frontend.evaluation import Evaluation
from quadrants.frontend.format_strings import format_method
from quadrants.frontend.funccall import FuncCalls
from quadrants.frontend.order import Operands
from quadrants.frontend.refs import ObjectRef, SuperRef
from quadrants.frontend.state import State
from quadrants.frontend.structcell import is_runtime
from quadrants.frontend.views import Views
from quadrants.frontend.walker import Walker
from quadrants.ir.types import DType
from quadrants.lang import structs, tensor, typed
from quadrants.lang.access import KernelMethod
from quadrants.lang.described import type_name
from quadrants.lang.func import BoundFunc, Func, receiver_of
from quadrants.lang.kinds import kind_of
from quadrants.lang.parameters import compound_kind, is_template, is_view_annotation
from quadrants.lang.value import Value

if TYPE_CHECKING:
    from quadrants.frontend.tracer import Tracer

_NO_ITEM = (IndexError, KeyError, ValueError)
METHODS = (BoundFunc, KernelMethod)
_OF_PYTHON = (types.BuiltinFunctionType, type)
# Functions of containers and of the session that change nothing.
_ONLY_LOOK = ("parent", "get_scalar_field", "get_member_field", "get_runtime", "current_cfg")


class Calls:
    """Calls whatever a name stands for. `tracer`: what handlers of intrinsics get."""

    __slots__ = (
        "positions", "reports", "writer", "purity", "walker", "evaluation", "views", "containers", "func_calls",
        "tracer",
    )  # fmt: skip

    def __init__(
        self,
        state: State,
        walker: Walker,
        evaluation: Evaluation,
        views: Views,
        containers: Containers,
        func_calls: FuncCalls,
        tracer: Tracer,
    ) -> None:
        self.positions = state.positions
        self.reports = state.reports
        self.writer = state.writer
        self.purity = state.purity
        self.walker = walker
        self.evaluation = evaluation
        self.views = views
        self.containers = containers
        self.func_calls = func_calls
        self.tracer = tracer

    def eval_Call(self, node):
        function = self.walker.eval(node.func)
        handler = intrinsics.handler_of(function)
        if handler is not None:
            if handler.takes_node:
                return handler.function(self.tracer, node)
            _, args, kwargs = self.eval_call_arguments(node, function)
            if isinstance(function, _OF_PYTHON):
                other_spellings.refuse(function, args, node)
            return self._guarded(handler.function, handler.name, (self.tracer, *args), kwargs)
        function, args, kwargs = self.eval_call_arguments(node, function)
        if function is super:
            return self._super(args)
        return self.call_object(function, args, kwargs, node)

    def eval_call_arguments(self, node, function):
        """(function, positional, keyword arguments) of a call, evaluated from left to right.

        A method stands for the place of its object.
        """
        operands = Operands(self.writer)
        if isinstance(function, METHODS):
            operands.add(lambda: function.instance, by_place=True)
        for k, a in enumerate(node.args):
            inner = a.value if isinstance(a, ast.Starred) else a
            operands.add(lambda inner=inner: self.walker.eval(inner), by_place=_takes_place(function, k))
        for k in node.keywords:
            if k.arg is None:
                raise QuadrantsSyntaxError("`**` arguments are not supported in kernels: write `name=value` for each.")
            operands.add(lambda k=k: self.walker.eval(k.value), by_place=_takes_place(function, k.arg))
        values = operands.values
        if isinstance(function, METHODS):
            function = function.of(values.pop(0))
        count = len(node.args)
        args = self.evaluation.expand_starred(node.args, values[:count])
        return function, args, {k.arg: v for k, v in zip(node.keywords, values[count:])}

    def call_object(self, function, args, kwargs, node):
        if isinstance(function, Func):
            return self.func_calls.call_func(function, args, kwargs)
        if isinstance(function, BoundFunc):
            return self.func_calls.call_func(function.func, [function.instance, *args], kwargs)
        if isinstance(function, KernelMethod):
            return self._guarded(function, function.name, args, kwargs)
        if isinstance(function, DType):
            return self.cast_or_literal(function, args, kwargs, node)
        compound = compound_kind(function)
        if compound == "tensor":
            return self._make_tensor(function, args, kwargs)
        if compound == "struct":
            return self._make_struct(function, args, kwargs)
        if isinstance(function, type) and is_view_annotation(function):
            return self._guarded(self.views.construct_view, "BufferView", args, kwargs)
        if kind_of(function) == "kernel":
            name = ast.unparse(node.func)
            raise QuadrantsSyntaxError(
                "Kernels cannot call other kernels. I.e., nested kernels are not allowed. Decorate "
                f"`{name}` with @qd.func to call it from kernels, or call both kernels from Python, one by one."
            )
        if isinstance(function, ObjectRef):
            function = function.obj
        if getattr(function, "__name__", "") == "format" and isinstance(getattr(function, "__self__", None), str):
            return format_method(function.__self__, args, kwargs)
        if not callable(function):
            raise QuadrantsTypeError(f"An object of type {type_name(function)} cannot be called.")
        return self._call_python(function, args, kwargs, node)

    def _super(self, args):
        """As Python does without arguments: the class that the method is written in, and its first parameter."""
        frame = self.positions.frame
        receiver = frame.lookup_local(receiver_of(frame.fn))
        if not args and "__class__" in frame.cells and receiver is not None:
            args = [frame.lookup_outer("__class__"), receiver.value]
        if len(args) != 2 or not isinstance(args[0], type) or not isinstance(args[1], ObjectRef):
            raise QuadrantsSyntaxError(
                "super() needs a method of a class, and its object: write the class, as in `Base.method(self, ..)`."
            )
        return SuperRef(*args)

    def _make_tensor(self, t, args, kwargs):
        if kwargs:
            raise QuadrantsSyntaxError(f"{t} takes positional arguments only")
        if not args:
            raise QuadrantsSyntaxError(f"A {t} need to be created with an initial value, such as {t}(0).")
        return tensor.of_type(t.ir_type(), tuple(args))

    def _make_struct(self, t, args, kwargs):
        ir_type = t.ir_type()
        return structs.construct(ir_type, tuple(args), kwargs)

    def cast_or_literal(self, t: DType, args, kwargs, node):
        if kwargs or len(args) != 1:
            raise QuadrantsSyntaxError("A primitive type can only decorate a single expression.")
        x = args[0]
        if isinstance(x, (list, tuple)) or (isinstance(x, Value) and not x.is_scalar):
            raise QuadrantsSyntaxError("A primitive type cannot decorate an expression with a compound type.")
        if isinstance(x, Value):
            return typed.cast(x, t)
        if not typed.is_number(x):
            raise QuadrantsSyntaxError(f"A primitive type can only decorate a number, found {type_name(x)}")
        return Value(intrinsics.typed_literal(x, t))

    def _guarded(self, function, name, args, kwargs):
        try:
            with np.errstate(all="ignore"):  # constants may be nan and inf, as values of the run may
                return function(*args, **kwargs)
        except TypeError as error:
            if isinstance(error, QuadrantsCompilationError):
                raise
            what = self._wrong_arguments(function, name, args, kwargs) or error
            raise QuadrantsTypeError(f"TypeError when calling `{name}`: {what}") from None

    def _wrong_arguments(self, function, name, args, kwargs):
        if isinstance(function, KernelMethod):
            return wrong_arguments.told(function.function, name, 1, (function.instance, *args), kwargs)
        hidden = 1 if args and args[0] is self.tracer else 0
        return wrong_arguments.told(function, name, hidden, args, kwargs)

    def _call_python(self, function, args, kwargs, node):
        module = getattr(function, "__module__", "") or ""
        looks_up = getattr(function, "__name__", "") in _ONLY_LOOK
        if module.startswith(("quadrants.data", "quadrants.session")) and not looks_up:
            raise QuadrantsCompilationError(plain_calls.in_python_only(function.__name__))
        name = getattr(function, "__name__", type(function).__name__)
        runtime = any(is_runtime(a) for a in args) or any(is_runtime(a) for a in kwargs.values())
        if runtime and (module in ("math", "numpy") or isinstance(function, np.ufunc)):
            raise QuadrantsTypeError(other_spellings.instead_of_numpy(module or "numpy", name))
        if runtime:
            plain_calls.refuse_to_ask(name, function)
            if function is range:
                raise run_time.refuse_range(self.positions.frame, node)
            if function is divmod and len(node.args) == 2:
                a, b = map(ast.unparse, node.args)
                raise QuadrantsTypeError(f"`divmod` takes no run-time values: write `({a}) // ({b}), ({a}) % ({b})`.")
        other_spellings.refuse(function, args, node)
        if isinstance(function, types.FunctionType) and not self.positions.frame.in_static and not _is_ours(function):
            self.reports.warn_once(
                f'Calling non-quadrants function "{name}". Scope inside the function is not processed by the Quadrants '
                "AST transformer. The function may not work as expected. Proceed with caution! Maybe you can consider "
                "turning it into a @qd.func?",
                SyntaxWarning,
            )
        if not self.positions.frame.in_static and plain_calls.answers_anew(function):
            self.reports.warn_once(plain_calls.frozen(name), SyntaxWarning)
        if isinstance(getattr(function, "__self__", None), (list, dict)):
            args, kwargs = self.containers.items_of_method(function, args, kwargs)
        args = [self.to_host(a) for a in args]
        kwargs = {k: self.to_host(v) for k, v in kwargs.items()}
        if self.purity.record is not None:
            self.purity.record.call(function, [*args, *kwargs.values()])
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if isinstance(getattr(function, "__self__", None), (list, dict)) and isinstance(error, _NO_ITEM):
                raise self.containers.missing_item(function, error) from None
            if plain_calls.passes_through(error):
                raise
            raise plain_calls.failed(function, name, error, runtime) from None

    def to_host(self, x):
        """What an ordinary Python function sees: held values, plain objects instead of references."""
        if isinstance(x, ObjectRef):
            return x.obj
        if isinstance(x, Value):
            return self.writer.temp(x) if x.place is None else x
        return x


def _takes_place(function, parameter) -> bool:
    """Whether an argument (by position or name) stands for a place: a template of a func, the target of an atomic."""
    if isinstance(function, BoundFunc):
        function, parameter = function.func, parameter + 1 if isinstance(parameter, int) else parameter
    if not isinstance(function, Func):
        return parameter == 0 and intrinsics.name_of(function).startswith(("atomic_", "volatile_load"))
    names = list(function.signature.parameters)
    if isinstance(parameter, int):
        parameter = names[parameter] if parameter < len(names) else None
    return parameter in names and is_template(function.annotation(parameter))


def _is_ours(function) -> bool:
    return (function.__module__ or "").split(".")[0] == "quadrants"
