"""Calls of @qd.func: inlined where the language's meaning needs it, else one emitted function a specialisation."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from contextlib import contextmanager

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.companions import WHICH
from quadrants.frontend.frame import Frame, frame_of
from quadrants.frontend.functions import CannotPass
from quadrants.frontend.refs import ArrayRef, ObjectRef
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.views import ViewRef
from quadrants.ir import walk
from quadrants.ir.nodes import Call, Declare, Eval, Function, Return, Var, VarPlace
from quadrants.ir.types import DType, i32, result_struct
from quadrants.lang import access, structs, tensor, typed
from quadrants.lang.access import SlicedValue
from quadrants.lang.annotations import tuple_items
from quadrants.lang.constant_key import constant_key
from quadrants.lang.func import BoundFunc, Func
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.parameters import compound_kind, is_array_annotation, is_template, is_view_annotation
from quadrants.lang.value import Value

EMPTY = inspect.Parameter.empty
MAX_DEPTH = 200
PER_PATH = object()


class FuncCalls:
    """Part of the tracer."""

    def bind_struct_method(self, method, value):
        func = method if isinstance(method, Func) else getattr(method, "_qd_func", None)
        if not isinstance(func, Func):
            func = Func(method)
        return BoundFunc(func, _Self(value))

    def call_func(self, func: Func, args: list, kwargs: dict):
        if func.requires_top_level and not self.flow.top_level:
            raise QuadrantsSyntaxError(
                f"{func.fn.__name__} is declared with requires_top_level=True: "
                "call it at kernel top level, not inside a run-time for, if or while."
            )
        if len(self.functions.calls) > MAX_DEPTH:
            raise QuadrantsSyntaxError(f"{func.fn.__name__}: calls are nested too deeply; {_no_recursion(func)}")
        bound = self.bind_arguments(func, args, kwargs)
        if func.is_real_function:
            return self.call_real(func, bound)
        if func.derivative is not None and self.functions.inlines_all and self.options.ad_mode in WHICH:
            return self.call_differentiated(func, bound)
        objects = any(isinstance(x, KernelObject) for x in bound.values())
        if self.functions.inlines_all or self.flow.top_level or objects or func.fn in self.functions.inline_only:
            return self.inline(func, bound)
        before, in_function = self._position(), self.flow.in_function > 0
        try:
            return self.call_emitted(func, bound)
        except CannotPass:
            if in_function and func.fn in self.functions.inline_only:
                raise  # the function around it is inlined too
            self._return_to(before)
            return self.inline(func, bound)

    def _position(self) -> tuple:
        """Where translation is, for `_return_to`. Cheap: it is asked for at every call of a func."""
        block, names = self.writer.block, self.names
        return (
            block, len(block), names.local, names.hint, len(self.positions.frames), self.flow.position(),
            self.functions.position(),
        )  # fmt: skip

    def _return_to(self, before: tuple) -> None:
        """Give up the function under translation: as if its call had not begun."""
        block, length, self.names.local, self.names.hint, depth, flow, functions = before
        self.writer.block = block
        del block[length:]
        self.positions.return_to(depth)
        self.flow.return_to(flow)
        self.functions.return_to(functions)

    def bind_arguments(self, func: Func, args: list, kwargs: dict) -> dict:
        """Parameter name -> argument, with the binding errors of the language."""
        params = list(func.signature.parameters.values())
        if len(args) > len(params):
            raise QuadrantsSyntaxError(f"Too many arguments. Expected ({_describe(params)}), got {len(args)}.")
        bound = dict(zip((p.name for p in params), args))
        for key, value in kwargs.items():
            if key not in func.signature.parameters:
                raise QuadrantsSyntaxError(f"Unexpected argument '{key}'.")
            if key in bound:
                raise QuadrantsSyntaxError(f"Multiple values for argument '{key}'.")
            bound[key] = value
        for p in params:
            if p.name not in bound:
                if p.default is EMPTY:
                    raise QuadrantsSyntaxError(f"Missing argument '{p.name}'.")
                bound[p.name] = p.default
        return {p.name: bound[p.name] for p in params}

    # ------------------------------------------------------------ what a parameter receives

    def adapt(self, func: Func, name: str, x):
        """(mode, value): mode 'value' (private copy), 'alias' (template place) or 'object' (compile time)."""
        if isinstance(x, _Self):
            return "alias", x.value
        a = func.annotation(name)
        if isinstance(x, (Func, BoundFunc)) and a is EMPTY:
            raise QuadrantsTypeError(
                f"A function was passed for the unannotated parameter '{name}'; annotate it with qd.template()."
            )
        if isinstance(x, ViewRef) and (a is EMPTY or is_template(a) or is_view_annotation(a)):
            return "view", x
        if isinstance(x, KernelObject):
            return "object", x if is_template(a) else x.passed(name)
        if is_template(a):
            if isinstance(x, (Value, StructCell)):
                return "alias", x
            return "object", x
        if dataclasses.is_dataclass(a) and isinstance(a, type):
            if isinstance(x, ObjectRef) or isinstance(x, a):
                return "object", x
            raise QuadrantsSyntaxError(f"Argument '{name}' of {func.fn.__name__} expects a {a.__name__}.")
        if is_array_annotation(a):
            return "object", self.array_argument(func, name, a, x)
        if a is int or a is float or a is bool or isinstance(a, DType):
            return "value", Value(typed.convert_expr(typed.to_expr(x), self.options.resolve_dtype(a), "pass"))
        if compound_kind(a) == "tensor":
            return "value", self._tensor_argument(name, a, x)
        if compound_kind(a) == "struct":
            value = x.as_value() if isinstance(x, StructCell) else x
            return "value", Value(structs.member_expr(value, a.ir_type()))
        return self._unannotated(func, name, x)

    def _unannotated(self, func: Func, name: str, x):
        if isinstance(x, StructCell):
            return "value", x.as_value()
        if isinstance(x, Value):
            return "value", x
        if typed.is_number(x):
            return "value", typed.to_value(x)
        if isinstance(x, (list, tuple, dict)):
            return "container", x
        if getattr(x, "_qd_host_matrix", False) or getattr(x, "_qd_host_struct", False):
            return "value", typed.to_value(x)
        if kind_of(x) in FIELD_KINDS or isinstance(x, (ObjectRef, DType)) or kind_of(x) == "view":
            return "object", x
        if isinstance(x, ArrayRef):
            raise QuadrantsTypeError(
                f"An array was passed for the unannotated parameter '{name}'; annotate it with qd.types.ndarray() "
                "or qd.template()."
            )
        if getattr(type(x), "_qd_data_oriented", False) or name == func.receiver:
            return "object", x
        raise QuadrantsTypeError(
            f"Invalid constant scalar data type: {type(x)} was passed for '{name}'; annotate it with qd.template()."
        )

    def _tensor_argument(self, name: str, a, x) -> Value:
        if not isinstance(x, Value) and tensor.is_sequence(x):
            x = tensor.construct(x)
        if not isinstance(x, Value) or not x.is_tensor:
            got = x.type if isinstance(x, Value) else type(x).__name__
            raise QuadrantsSyntaxError(f"Argument {name} of type {a} is expected to be a Matrix, but got {got}.")
        ndim = a.ndim
        if len(x.shape) != ndim:
            raise QuadrantsSyntaxError(
                f"Argument {name} of type {a} is expected to be a Matrix with ndim {ndim}, but got {len(x.shape)}."
            )
        for label, want, have in (("n", a.n, x.shape[0]), ("m", a.m, x.shape[1] if ndim == 2 else 1)):
            if want is not None and want != have and not (label == "m" and ndim == 1):
                raise QuadrantsSyntaxError(
                    f"Argument {name} of type {a} is expected to be a Matrix with {label} {want}, but got {have}."
                )
        return x

    # ------------------------------------------------------------ inlining

    def make_frame(self, func: Func, kind: str) -> Frame:
        if self.purity.record is not None:
            self.purity.record.function(func.fn)
        annotation = func.annotation("return")
        frame = frame_of(func.fn, kind, None if annotation is EMPTY else annotation)
        self.positions.note_def(frame)
        return frame

    def inline(self, func: Func, bound: dict):
        adapted = {name: self.adapt(func, name, x) for name, x in bound.items()}
        key = (func, "inline", tuple(_seen_by_trace(mode, value) for mode, value in adapted.values()))
        if key in self.functions.calls:
            raise QuadrantsSyntaxError(f"{func.fn.__name__} calls itself; {_no_recursion(func)}")
        prepared = []
        for name, (mode, value) in adapted.items():
            if mode == "alias" and isinstance(value, SlicedValue):
                targets = [self.stable_target(t) for t in value.targets]
                value = access.gather(targets, value.shape, value.type.dtype, value.immutable)
            elif mode == "alias" and isinstance(value, Value) and value.place is not None:
                value = self.stable_target(value)
            prepared.append((name, mode, value))
        frame = self.make_frame(func, "inline")
        self.positions.enter(frame)
        self.functions.calls.append(key)
        for name, mode, value in prepared:
            self._bind_parameter(frame, name, mode, value)
        self.exec_body(frame.source.tree.body)
        self._check_returned(func, frame)
        result = self.cast_result(frame, self._copy_result(frame.result))
        self.functions.calls.pop()
        self.positions.leave()
        return result

    def parameter_variable(self, name: str, expr) -> Value:
        """A variable that holds an argument, and that the body may assign."""
        value = self.writer.declare(name, expr)
        self.declared.parameter_variables.add(value.place.var.id)
        return value

    def _bind_parameter(self, frame, name, mode, value) -> None:
        if mode == "value":
            frame.bind(name, self.parameter_variable(name, typed.to_expr(value)), "var")
        elif mode == "container":
            frame.bind(name, self.copy_container(value, name), "container")
        elif mode == "alias" and not isinstance(value, (StructCell, SlicedValue)) and value.place is None:
            held = self.writer.temp(value)
            frame.bind(name, Value(held.expr, None), "var")
        elif mode == "alias":
            frame.bind(name, value, "var")
        else:
            frame.bind(name, value, "object")

    def _check_returned(self, func, frame) -> None:
        if frame.has_return_annotation and not frame.returned:
            raise QuadrantsSyntaxError(
                f"Function {func.fn.__name__} has a return type but does not have a return statement"
            )

    def _copy_result(self, value):
        """Run-time results are read now: the caller may change what they were read from."""
        if isinstance(value, StructCell):
            return self.writer.temp(value.as_value())
        if isinstance(value, Value):
            return self.writer.temp(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self._copy_result(v) for v in value))
        if isinstance(value, (list, tuple)):
            return type(value)([self._copy_result(v) for v in value])
        if isinstance(value, dict):
            return {k: self._copy_result(v) for k, v in value.items()}
        return value

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

    # ------------------------------------------------------------ emitted functions

    def call_emitted(self, func: Func, bound: dict):
        adapted = {name: self.adapt(func, name, x) for name, x in bound.items()}
        keys, args = [], []
        for mode, value in adapted.values():
            keys.append(self._pass(mode, value, args))
        key = (func, tuple(keys), self.positions.frame.in_static > 0)
        if key in self.functions.calls:
            raise QuadrantsSyntaxError(f"{func.fn.__name__} calls itself; {_no_recursion(func)}")
        function, rebuild = self._emitted(func, key, adapted)
        return self._emit_call(function, args, rebuild)

    def _emitted(self, func: Func, key, adapted: dict):
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

    def _pass(self, mode: str, value, args: list):
        """Append what is passed at run time; returns the part of the specialisation key."""
        if mode == "value":
            e = typed.to_expr(value)
            args.append(e)
            return ("v", e.type)
        if mode == "container":
            if isinstance(value, dict):
                raise CannotPass
            return ("c", type(value), tuple(self._pass(*self._item_mode(v), args) for v in value))
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
        if isinstance(value, KernelObject):
            raise CannotPass
        self.functions.kept.append(value)
        return ("o", _identity(value))

    @staticmethod
    def _item_mode(x):
        if isinstance(x, StructCell):
            return "value", x.as_value()
        if isinstance(x, Value):
            return "value", x
        if isinstance(x, (list, tuple)):
            return "container", x
        return ("view" if isinstance(x, ViewRef) else "object"), x

    def _trace_function(self, func: Func, key, adapted: dict):
        frame = self.make_frame(func, "function")
        with self.function_scope(frame, key) as body:
            params = self.bind_parameters(frame, adapted)
            self.exec_body(frame.source.tree.body)
            self._check_returned(func, frame)
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
            items = [self._parameter(f"{name}_{k}", *self._item_mode(v), params)[0] for k, v in enumerate(value)]
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
            recipes = {k: self._pack_result(v, leaves) for k, v in value.items()}
            return lambda parts: {k: r(parts) for k, r in recipes.items()}
        return lambda parts: value

    def _emit_call(self, function: Function, args: list, rebuild):
        if not function.result:
            if not function.pure:
                self.writer.emit(Eval(Call(function, tuple(args), None)))
            return rebuild([])
        t = function.result[0] if len(function.result) == 1 else result_struct(function.result)
        call = Call(function, tuple(args), t)
        if len(function.result) == 1:
            if function.pure:
                return rebuild([Value(call)])
            return rebuild([self.writer.temp(Value(call))])
        var = self.writer.new_var("r", t, mutable=False)
        self.writer.emit(Declare(var, call))
        held = self.writer.variable(var)
        from quadrants.lang import access

        return rebuild([access.member(held, k) for k, _ in t.members])


@dataclasses.dataclass(slots=True)
class _Self:
    """The struct a method was called on: bound by reference whatever the annotation says."""

    value: object


def _seen_by_trace(mode: str, value):
    """What of an adapted argument can change how the body is traced; a call below itself with the same never ends."""
    if isinstance(value, StructCell):
        return (mode, id(value.field))
    if isinstance(value, Value):
        return (mode, value.type)
    if mode == "container" and isinstance(value, (list, tuple)):
        return (mode, type(value), tuple(_seen_by_trace(mode, v) for v in value))
    return (mode, _identity(value))


def _identity(x):
    if isinstance(x, (Value, StructCell)):
        return id(x)
    if not isinstance(x, (bool, int, float, str, type(None), tuple, frozenset)):
        return id(x)
    try:
        return constant_key(x)
    except TypeError:
        return id(x)


def _describe(params) -> str:
    return ", ".join(p.name if p.annotation is EMPTY else f"{p.name} : {p.annotation}" for p in params)


def _no_recursion(func: Func) -> str:
    return f"recursion is not supported in {func.decorator}."
