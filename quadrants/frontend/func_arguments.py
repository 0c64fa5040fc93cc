"""What the parameters of a func receive."""

from __future__ import annotations

import dataclasses
import inspect

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.arguments import Arguments
from quadrants.frontend.refs import ArrayRef, ObjectRef
from quadrants.frontend.state import State
from quadrants.frontend.struct_methods import Receiver
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.views import ViewRef
from quadrants.ir.types import DType
from quadrants.lang import structs, tensor, typed
from quadrants.lang.described import type_name
from quadrants.lang.func import BoundFunc, Func
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.parameters import compound_kind, is_array_annotation, is_template, is_view_annotation
from quadrants.lang.value import Value

EMPTY = inspect.Parameter.empty


class FuncArguments:
    """Adapts arguments to what the parameters of a func are declared as."""

    __slots__ = ("options", "reports", "arguments")

    def __init__(self, state: State, arguments: Arguments) -> None:
        self.options = state.options
        self.reports = state.reports
        self.arguments = arguments

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

    def adapt(self, func: Func, name: str, x):
        """(mode, value): mode 'value' (private copy), 'alias' (template place) or 'object' (compile time)."""
        if isinstance(x, Receiver):
            return "alias", x.value
        a = func.annotation(name)
        if isinstance(x, (Func, BoundFunc)) and a is EMPTY:
            raise QuadrantsTypeError(
                f"A function was passed for the unannotated parameter '{name}'; annotate it with qd.template()."
            )
        if isinstance(x, ViewRef) and (a is EMPTY or is_template(a) or is_view_annotation(a)):
            self.arguments.check_element(name, getattr(a, "dtype", None), x.decl.type)
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
            return "object", self.arguments.array_argument(func, name, a, x)
        if a is int or a is float or a is bool or isinstance(a, DType):
            return "value", Value(typed.convert_expr(typed.to_expr(x), self.options.resolve_dtype(a), "pass"))
        if compound_kind(a) == "tensor":
            return "value", self._of_elements(func, name, a, self._tensor_argument(name, a, x))
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
                f"An array was passed for the unannotated parameter '{name}'; annotate it with qd.types.ndarray(), "
                "or with qd.Tensor or qd.template() if it may be a field too."
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
            got = x.type if isinstance(x, Value) else type_name(x)
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

    def _of_elements(self, func: Func, name: str, a, x: Value) -> Value:
        """A vector or matrix whose elements are of another type than its annotation says: real funcs convert it."""
        if a.dtype is None or x.type.dtype is a.dtype:
            return x
        if func.is_real_function:
            return typed.cast(x, a.dtype)
        self.reports.warn_once(
            f"'{name}' of the func {func.fn.__name__} is annotated as {a}, and gets elements of {x.type.dtype}, which "
            f"it keeps: only numbers are converted. Pass `{name}.cast(qd.{a.dtype})`, or annotate it as it is.",
            SyntaxWarning,
        )
        return x


def _describe(params) -> str:
    return ", ".join(p.name if p.annotation is EMPTY else f"{p.name} : {p.annotation}" for p in params)
