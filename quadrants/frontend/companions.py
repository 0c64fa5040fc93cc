"""Kernels that are differentiated: gradients and duals of their arrays, and what their top level may hold."""

from __future__ import annotations

from quadrants.errors import QuadrantsRuntimeError, QuadrantsTypeError
from quadrants.frontend.fields import WATCHED, Fields
from quadrants.frontend.positions import mark_located
from quadrants.frontend.refs import ArrayRef
from quadrants.frontend.state import State
from quadrants.ir.companions import writes_companions
from quadrants.ir.nodes import ArrayDecl, Check, Comment, Declare, For, Print, Return, StopGrad
from quadrants.ir.types import TensorType, tensor_type, u8
from quadrants.lang.described import type_name
from quadrants.lang.kinds import FIELD_KINDS, kind_of, unwrapped

MIXED = (
    "Invalid program input for autodiff: Mixed usage of for-loops and statements without looping. Make two kernels of "
    "it, one of loops and one of the other statements, or move the statements into the loops. What a kernel wrapped "
    "by qd.ad.no_grad computes counts as constant in tapes."
)


class Companions:
    """What a kernel has besides when derivatives are made of it."""

    __slots__ = ("options", "names", "positions", "writer", "declared", "fields")

    def __init__(self, state: State, fields: Fields) -> None:
        self.options = state.options
        self.names = state.names
        self.positions = state.positions
        self.writer = state.writer
        self.declared = state.declared
        self.fields = fields

    def array_gradient(self, ref: ArrayRef) -> ArrayRef:
        """The gradient of an array argument, handed over by every launch."""
        grad = ref.grad
        if grad.decl.number < 0:
            self.declared.add_array(grad.decl)
            source = ref.decl.source
            if kind_of(ref.sample) == "ndarray":
                index, path = source
                self.declared.bind_source((index, (*path, "grad")), "array", grad.decl)
            else:
                self.declared.bind_source(source, "grad", grad.decl)
        return grad

    def array_companion(self, ref: ArrayRef, annotation) -> None:
        """Tell the declaration of an array argument its gradient, if the derivative is to reach it."""
        mode, wanted = self.options.ad_mode, getattr(annotation, "needs_grad", None) is not False
        if mode == "reverse" and ref.grad is not None and wanted:
            ref.decl.grad = self.array_gradient(ref).decl
        elif mode in WATCHED and self.fields.is_watched(ref.decl, ref.grad is not None):
            self._array_flags(ref)

    def _array_flags(self, ref: ArrayRef) -> None:
        decl = ref.decl
        kind = tensor_type(decl.type.shape, u8) if isinstance(decl.type, TensorType) else u8
        flags = decl.flags = ArrayDecl(
            name=self.names.array_name(f"{decl.label}_flags"), kind="array", type=kind, ndim=decl.ndim,
            layout=decl.layout, clamp=decl.clamp, label=f"{decl.label}.flags", source=decl.source,
            may_be_empty=decl.may_be_empty,
        )  # fmt: skip
        self.declared.add_array(flags)
        index, path = decl.source
        if kind_of(ref.sample) == "ndarray":
            ref.sample._flags._name = decl.label
            self.declared.bind_source((index, (*path, "_flags")), "array", flags)
        else:
            self.declared.bind_source(decl.source, "flags", flags)

    def refuse_gradient(self, ref: ArrayRef) -> None:
        """A derivative kernel cannot mention the gradient of an array by hand."""
        if self.options.ad_mode in ("reverse", "forward"):
            raise QuadrantsRuntimeError(
                f"Cannot automatically differentiate through a grad tensor: the kernel uses '{ref.decl.label}.grad', "
                "and so would its derivative. Put what uses it into a kernel that is not differentiated."
            )

    # ------------------------------------------------------------ statements

    def stop_grad(self, x) -> None:
        """`qd.stop_grad(x)`: a mark in the present block."""
        x = unwrapped(x)
        if kind_of(x) == "struct_field":
            for key in x.keys:
                self.stop_grad(x.get_member_field(key))
        elif isinstance(x, ArrayRef):
            self._stop(x.decl)
        elif kind_of(x) in FIELD_KINDS:
            self._stop(self.fields.field_decl(x))
        else:
            raise QuadrantsTypeError(f"qd.stop_grad takes a field or an array, not {type_name(x)}")

    def _stop(self, decl: ArrayDecl) -> None:
        if self.options.ad_mode:
            for part in (decl, *(decl.components or ())):
                self.writer.emit(StopGrad(part))

    def check_top_level(self, body: list) -> None:
        """A kernel with loops at its top level has nothing else there, but what hands arguments to funcs."""
        which = {"reverse": "grad", "forward": "dual"}.get(self.options.ad_mode or "")
        if which is None or not any(isinstance(s, For) for s in body) or not writes_companions(body, which):
            return
        for s in body:
            if isinstance(s, Declare) and (not s.var.mutable or s.var.id in self.declared.parameter_variables):
                continue
            if not isinstance(s, (For, Return, StopGrad, Print, Check, Comment)):
                self.positions.frame.node = None
                where = f'File "{s.loc.file}", line {s.loc.line}, in {s.loc.frames[-1][2]}'
                raise mark_located(QuadrantsRuntimeError(f"{where}:\n{MIXED}"))
