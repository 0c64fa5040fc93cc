"""Kernels that are differentiated: gradients and duals of their arrays, and what their top level may hold."""

from __future__ import annotations

import ast

from quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError, QuadrantsTypeError
from quadrants.frontend import memory
from quadrants.frontend.refs import ArrayRef
from quadrants.ir.nodes import ArrayDecl, Check, Comment, Declare, For, Print, Return, StopGrad
from quadrants.ir.types import TensorType, tensor_type, u8
from quadrants.lang import parameters as ann
from quadrants.lang.kinds import FIELD_KINDS, kind_of

WHICH = {"reverse": "grad", "forward": "dual"}
WATCHED = ("validate", "observe")  # modes of the primal that note what it reads
MIXED = (
    "Invalid program input for autodiff: Mixed usage of for-loops and statements without looping. Make two kernels of "
    "it, one of loops and one of the other statements, or move the statements into the loops."
)


class Companions:
    """Part of the tracer."""

    # ------------------------------------------------------------ fields

    def field_companions(self, field, decl: ArrayDecl) -> None:
        """Declare the gradient or dual of a field, where it has one, and tell the declaration of the field."""
        if self.options.ad_mode in WATCHED:
            if field._is_primal and self.is_watched(decl, field.has_grad()):
                self._field_flags(field, decl)
            return
        which = WHICH.get(self.options.ad_mode, "")
        has = getattr(field, f"has_{which}", None)
        if not field._is_primal or has is None or not has():
            return
        companion = getattr(field, which)
        found = self.field_decl(companion, f"{decl.name}_{which}")
        setattr(decl, which, found)
        for k, part in enumerate(decl.components or ()):
            whole = found.components
            setattr(part, which, whole[k] if whole else self._component_of(companion, k, f"{found.name}_{k}"))

    def is_watched(self, decl: ArrayDecl, has_grad: bool) -> bool:
        """Whether an array gets flags: the rule holds for all with gradients, and for what derivatives read."""
        decl.needed = self.options.needed.has(decl)
        for part in decl.components or ():
            part.needed = decl.needed
        return decl.needed or has_grad and self.options.ad_mode == "validate"

    def _field_flags(self, field, decl: ArrayDecl) -> None:
        flags = field._flags
        flags._name = field._name or decl.label  # what messages of the tape call it
        decl.flags = self.field_decl(flags, f"{decl.name}_flags")
        for k, part in enumerate(decl.components or ()):
            part.flags = self._component_of(flags, k, f"{decl.flags.name}_{k}")

    def _component_of(self, field, k: int, name: str) -> ArrayDecl:
        """One component of a matrix field as an array of numbers."""
        made = memory._scalar_decl(field, field.cells[k], self.names.array_name(name))
        self.declared.add_array(made)
        return made

    def check_placed(self, field) -> None:
        """QuadrantsCompilationError for a gradient or dual without memory."""
        if not field._is_primal and not field._is_placed():
            name = field._name
            if name.startswith("."):  # of a field without a name: what the user writes
                node = getattr(self.positions.frame.node, "value", None)
                name = ast.unparse(node) if isinstance(node, ast.Attribute) else f"x{name}"
            which = "needs_dual" if name.endswith("dual") else "needs_grad"
            raise QuadrantsCompilationError(
                f"Gradient {name} has not been placed, check whether `{which}=True` was given to its field, or place "
                "it with qd.root.lazy_grad()."
            )

    # ------------------------------------------------------------ array arguments

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
        annotation = ann.optional_base(annotation) or annotation
        mode, wanted = self.options.ad_mode, getattr(annotation, "needs_grad", None) is not False
        if mode == "reverse" and ref.grad is not None and wanted:
            ref.decl.grad = self.array_gradient(ref).decl
        elif mode in WATCHED and self.is_watched(ref.decl, ref.grad is not None):
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
        x = x._unwrap() if kind_of(x) == "tensor" else x
        if kind_of(x) == "struct_field":
            for key in x.keys:
                self.stop_grad(x.get_member_field(key))
        elif isinstance(x, ArrayRef):
            self._stop(x.decl)
        elif kind_of(x) in FIELD_KINDS:
            self._stop(self.field_decl(x))
        else:
            raise QuadrantsTypeError(f"qd.stop_grad takes a field or an array, not {type(x).__name__}")

    def _stop(self, decl: ArrayDecl) -> None:
        if self.options.ad_mode:
            for part in (decl, *(decl.components or ())):
                self.writer.emit(StopGrad(part))

    def check_top_level(self, body: list) -> None:
        """A kernel with loops at its top level has nothing else there, but what hands arguments to funcs."""
        if self.options.ad_mode not in ("reverse", "forward") or not any(isinstance(s, For) for s in body):
            return
        for s in body:
            if isinstance(s, Declare) and (not s.var.mutable or s.var.id in self.declared.parameter_variables):
                continue
            if not isinstance(s, (For, Return, StopGrad, Print, Check, Comment)):
                self.positions.frame.node = None
                where = f'File "{s.loc.file}", line {s.loc.line}, in {s.loc.frames[-1][2]}'
                error = QuadrantsRuntimeError(f"{where}:\n{MIXED}")
                error._qd_located = True
                raise error
