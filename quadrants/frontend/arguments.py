"""Kernel parameters and what hangs below them: scalars, small tensors, arrays, containers, template objects."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect

from quadrants import spelling
from quadrants.calls.array import describe
from quadrants.calls.dataclass_value import no_kind
from quadrants.calls.kind import Kind, Source
from quadrants.errors import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend import other_spellings, plain_calls
from quadrants.frontend.companions import Companions
from quadrants.frontend.containers import GROWING
from quadrants.frontend.fields import Fields
from quadrants.frontend.loop_writer import LoopWriter
from quadrants.frontend.memory import Memory
from quadrants.frontend.places import Places
from quadrants.frontend.refs import ArrayRef, ObjectRef, SuperRef
from quadrants.frontend.state import State
from quadrants.frontend.views import ViewRef, Views
from quadrants.ir.nodes import ArrayDecl, Load, Var, VarPlace
from quadrants.ir.types import DType
from quadrants.lang import constants, tensor, typed
from quadrants.lang import parameters as ann
from quadrants.lang._fast_caching import FIELD_METADATA_CACHE_VALUE
from quadrants.lang.func import BoundFunc, Func
from quadrants.lang.kinds import FIELD_KINDS, has_members, holds_numbers, kind_of, members, unwrapped
from quadrants.lang.tensor_types import TensorTypeBase
from quadrants.lang.value import Value

HOST_ONLY = ("to_numpy", "from_numpy", "to_torch", "from_torch", "copy_from", "to_dlpack")


class Arguments:
    """Gives the parameters of the kernel their meaning, and the attributes of what was passed."""

    __slots__ = (
        "options", "names", "positions", "writer", "declared", "purity", "fields", "memory", "views", "places",
        "loop_writer", "companions",
    )  # fmt: skip

    def __init__(
        self,
        state: State,
        fields: Fields,
        memory: Memory,
        views: Views,
        places: Places,
        loop_writer: LoopWriter,
        companions: Companions,
    ) -> None:
        self.options = state.options
        self.names = state.names
        self.positions = state.positions
        self.writer = state.writer
        self.declared = state.declared
        self.purity = state.purity
        self.fields = fields
        self.memory = memory
        self.views = views
        self.places = places
        self.loop_writer = loop_writer
        self.companions = companions

    def bind_kernel_parameter(self, index: int, name: str, kind: Kind, x) -> None:
        """Give the parameter its meaning in the kernel's frame."""
        self._note_kind(kind, name)
        self.positions.frame.bind(name, kind.declare(self, (index, ()), name, x), kind.binding(x))

    def _note_kind(self, kind: Kind, name: str) -> None:
        if self.purity.record is not None and not kind.of_package:
            self.purity.record.unseen = f"the kind of '{name}' is that of another package"

    # ------------------------------------------------------------ what kinds of arguments are declared by

    def number(self, source: Source, name: str, dtype) -> Value:
        return self.by_value(source, name, self.options.resolve_dtype(dtype))

    def by_value(self, source: Source, name: str, t, slot: str = "scalar") -> Value:
        found = self.declared.bound.get(source)
        if found is None:
            found = self.declared.bound[source] = Var(self.names.global_name(name), t, mutable=False, level=0)
            self.declared.bind_source(source, slot, found)
        place = VarPlace(found, t)
        return Value(Load(place, t), place, immutable=name)

    def variable(self, source: Source, name: str, t, slot: str) -> Value:
        value = self.by_value(source, name, t, slot)
        value.immutable = ""
        return self.declared.holding_argument(self.writer.declare(name, value.expr))

    def view(self, source: Source, name: str, x, annotation=None) -> ViewRef:
        return self.views.view_parameter(source, name, annotation, x)

    def object(self, source: Source, x, members=None, lifts: bool = False) -> ObjectRef:
        found = self.declared.bound.get(source)
        if found is None:
            found = self.declared.bound[source] = ObjectRef(x, source, members, lifts or _lifts(x))
        return found

    def template(self, source: Source, x):
        return self.object(source, x) if has_members(x) else x

    # ------------------------------------------------------------ arrays

    def array(self, source: Source, name: str, x, annotation=None) -> ArrayRef:
        """The array found at `source`; declared once however often it is mentioned."""
        found = self.declared.bound.get(source)
        if found is not None:
            return found
        x = unwrapped(x)
        if kind_of(x) == "ndarray":
            x._check_usable()
        element, ndim, layout, has_grad = describe(x, annotation)
        clamp = getattr(annotation, "boundary", 0) == 1
        decl = ArrayDecl(
            name=self.names.array_name(name),
            kind="array",
            type=element,
            ndim=ndim,
            layout=layout,
            clamp=clamp,
            label=name,
        )
        decl.source = source
        decl.may_be_empty = clamp and ndim > 0 and kind_of(x) != "ndarray"  # ours have no extents of zero
        self.declared.add_array(decl)
        ref = ArrayRef(decl, x)
        if has_grad:
            grad = ArrayDecl(
                name=self.names.array_name(f"{name}_grad"), kind="array", type=element, ndim=ndim, layout=layout,
                clamp=clamp, label=f"{name}.grad", source=source, may_be_empty=decl.may_be_empty,
            )  # fmt: skip
            ref.grad = ArrayRef(grad, x)
        self.declared.bound[source] = ref
        self.declared.bind_source(source, "array", decl)
        self.companions.array_companion(ref, annotation)
        return ref

    def array_attribute(self, ref: ArrayRef, name: str):
        decl = ref.decl
        if name == "shape":
            return tuple(Value(e) for e in self.memory.extents(decl))
        if name == "grad":
            if ref.grad is None:
                raise QuadrantsCompilationError(
                    f"The array '{decl.label}' has no gradient; make it with needs_grad=True to use `.grad`."
                )
            self.companions.refuse_gradient(ref)
            return self.companions.array_gradient(ref)
        if name == "dtype":
            return typed.element_dtype(decl.type)
        if name in HOST_ONLY:
            raise QuadrantsCompilationError(plain_calls.in_python_only(name))
        if name in ("n", "m", "ndim") and hasattr(ref.sample, name):
            return getattr(ref.sample, name)
        raise QuadrantsCompilationError(other_spellings.no_attribute("An array", name, decl.label))

    def array_argument(self, func: Func, name: str, a, x):
        """An array parameter of a func: checks what can be known at trace time."""
        base = ann.optional_base(a)
        if base is not None:
            if x is None:
                return None
            a = base
        if ann.is_tensor_annotation(a):
            return x
        if ann.is_view_annotation(a):
            return self.views.view_argument(func, name, x)
        if not isinstance(x, ArrayRef):
            raise QuadrantsTypeError(
                f"Invalid type for argument '{name}' of {func.fn.__name__}: an array is expected, got "
                f"{x.type if isinstance(x, Value) else type(x).__name__}"
            )
        want_ndim = getattr(a, "ndim", None)
        if want_ndim is not None and not isinstance(a, type) and x.decl.ndim != want_ndim:
            raise QuadrantsCompilationError(
                f"ValueError: Invalid argument '{name}': required ndim={want_ndim}, but {x.decl.ndim}d ndarray is "
                "provided"
            )
        self.check_element(name, getattr(a, "dtype", None), x.decl.type)
        return x

    def check_element(self, name: str, want, have) -> None:
        """Compare the dtype of an annotation, if it has one, with the elements of an array."""
        if want is None or isinstance(want, TensorTypeBase):
            return
        want = self.options.resolve_dtype(want)
        if typed.element_dtype(have) is not want:
            raise QuadrantsCompilationError(
                f"TypeError: Expect element type {want} for argument '{name}', but get {have}"
            )

    # ------------------------------------------------------------ attributes of what was passed

    def object_attribute(self, ref: ObjectRef, name: str):
        index, path = ref.source
        source = (index, (*path, name))
        if source in self.declared.bound and not isinstance(self.declared.bound[source], Var):
            return self.declared.bound[source]
        if ref.members is not None:
            return self._dataclass_member(ref, name, source)
        obj = ref.obj
        try:
            x = getattr(obj, name)
        except AttributeError as error:
            raise QuadrantsCompilationError(f"AttributeError: {spelling.no_attribute(error, obj, name)}") from None
        if isinstance(x, BoundFunc):
            return BoundFunc(x.func, ref)
        x = unwrapped(x)
        if not callable(x) or has_members(x) or not _is_of_class(obj, name):
            self.declared.attributes[source] = None
        lifted = ref.lifts and type(x) in (int, float, bool)
        if self.purity.record is not None:
            self.purity.record.read(source, x, "type" if lifted else "value")
        if kind_of(x) == "ndarray":
            return self.array(source, name, x)
        if kind_of(x) == "view":
            return self.view(source, name, x)
        if kind_of(x) in FIELD_KINDS:
            return self._field_member(ref, source, x)
        if lifted:
            return self._lifted_primitive(source, name, x)
        if has_members(x):
            self._select_by(ref, (index, (*source[1], "__class__")))
            return self.object(source, x, lifts=ref.lifts and _is_part(x))
        if _decides(obj, name, x):
            self._select_by(ref, source)
        return x

    def method_of_super(self, base: SuperRef, name: str) -> BoundFunc:
        """`super().name`: a func, on the object itself, so that what it reads there is looked up at every launch."""
        try:
            x = getattr(super(base.cls, base.ref.obj), name)
        except (AttributeError, TypeError) as error:
            raise QuadrantsCompilationError(f"{type(error).__name__}: {error}") from None
        if not isinstance(x, BoundFunc):
            raise QuadrantsSyntaxError(
                f"super() finds methods with @qd.func in kernels, and '{name}' is none: write `self.{name}`."
            )
        return BoundFunc(x.func, base.ref)

    def _field_member(self, ref: ObjectRef, source: tuple, x):
        """Its address is part of the code, so that another field is another specialisation."""
        self._select_by(ref, source)
        self.declared.bound[source] = x
        return x

    def _select_by(self, ref: ObjectRef, source: tuple) -> None:
        """Something else at `source` is another specialisation."""
        if source not in self.declared.selecting and not getattr(type(ref.obj), "_qd_stable_members", False):
            self.declared.selecting.add(source)
            self.declared.bind_source(source, "token")

    def _lifted_primitive(self, source: tuple, name: str, x):
        if self.positions.frame.in_static:
            raise QuadrantsSyntaxError(
                f"'{name}' is a run-time value because its class was decorated with template_primitives=False; "
                "it cannot be used inside qd.static()."
            )
        if not isinstance(x, float):
            constants.literal(x)  # raises where it does not fit
        # A bool is the integer that Python takes it for: later it may be another one.
        return self.by_value(source, name, self.options.default_fp if isinstance(x, float) else self.options.default_ip)

    def _dataclass_member(self, ref: ObjectRef, name: str, source: tuple):
        if name not in ref.members:
            raise QuadrantsCompilationError(
                f"{type(ref.obj).__name__} has no field '{name}'; only annotated fields exist in kernels: "
                f"{list(ref.members)}"
            )
        kind, x = ref.members[name], getattr(ref.obj, name)
        if self.purity.record is not None:
            self.purity.record.read(source, x, _mode(ref.obj, name, kind))
        if kind is None:
            raise no_kind(type(ref.obj), name)
        self._note_kind(kind, name)
        value = kind.declare_member(self, source, name, x)
        nested = isinstance(value, ObjectRef) and value.members is not None
        if not nested and not isinstance(value, (Value, ArrayRef, ViewRef)):
            self.declared.bind_source(source, "token")
            if not isinstance(value, ObjectRef):
                self.declared.bound[source] = value
        return value

    def field_attribute(self, field, name: str):
        if name == "fill":
            return lambda v: self.fill_field(field, v)
        if name in HOST_ONLY:
            raise QuadrantsCompilationError(plain_calls.in_python_only(name))
        try:
            return getattr(field, name)
        except AttributeError:
            if hasattr(type(field), name):
                raise  # one that is there and fails says more
            written = ast.unparse(getattr(self.positions.frame.node, "value", None) or ast.Name("x"))
            told = other_spellings.no_attribute("A field", name, written)
            if name in GROWING and field.parent().kind == "dynamic":
                told = other_spellings.grows(name, written)
            raise QuadrantsCompilationError(told) from None

    def fill_field(self, field, value) -> None:
        """`f.fill(v)` inside a kernel: a loop over the field, parallel at top level."""
        if kind_of(field) == "struct_field":
            for key in field.keys:
                self.fill_field(field.get_member_field(key), value)
            return
        decl = self.fields.field_decl(field)
        held = self.writer.temp(Value(typed.convert_expr(typed.to_expr(value), decl.type)))
        bounds, axes = self.loop_writer.field_bounds(decl)

        def store(canonical):
            self.places.assign_to(self.memory.subscript_array(decl, canonical, "Field"), held)

        self.loop_writer.product_loop([f"i{a}" for a in range(decl.ndim)], bounds, axes, store, kind="struct_for")

    def host_matrix_attribute(self, m, name: str):
        from quadrants.lang import access

        if name in access._METHODS or (len(name) <= 4 and any(all(c in s for c in name) for s in access.SWIZZLES)):
            return access.attribute(tensor.construct(m), name)
        try:
            return getattr(m, name)
        except AttributeError as error:
            raise QuadrantsCompilationError(f"AttributeError: {spelling.no_attribute(error, m, name)}") from None


def _mode(obj, name: str, kind: Kind | None) -> str:
    """How a dataclass member selects the specialisation: by its value, its type, or as an array."""
    metadata = type(obj).__dataclass_fields__[name].metadata
    return "value" if kind is None or metadata.get(FIELD_METADATA_CACHE_VALUE) else kind.selects


def _lifts(obj) -> bool:
    """Whether the class of an object makes numbers that are its members run-time values."""
    return getattr(type(obj), "_qd_template_primitives", True) is False


_CHOICES = (DType, str, enum.Enum)


def _decides(obj, name: str, x) -> bool:
    """Whether an attribute that is compiled in is more than a number: these are constants, as the manual says."""
    if isinstance(x, (list, tuple, dict)):
        return not holds_numbers(x)
    return x is None or (callable(x) or isinstance(x, _CHOICES)) and not _is_of_class(obj, name)


def _is_of_class(obj, name: str) -> bool:
    """Whether an attribute is that of the class: neither the object's own nor what a property finds each time."""
    if name in members(obj):
        return False
    found = inspect.getattr_static(type(obj), name, None)
    made = found is None or isinstance(found, property)
    return not made or getattr(obj, name) is not getattr(obj, name)


def _is_part(obj) -> bool:
    """Whether an object inside of one that lifts its numbers does so as well."""
    return getattr(type(obj), "_qd_data_oriented", False) or dataclasses.is_dataclass(obj)
