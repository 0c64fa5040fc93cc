"""`return` of a kernel: conversion to the annotated types."""

from __future__ import annotations

from quadrants.errors import QuadrantsCompilationError, QuadrantsSyntaxError
from quadrants.frontend.state import State
from quadrants.ir.nodes import Return
from quadrants.ir.types import StructType, TensorType
from quadrants.lang import parameters as ann
from quadrants.lang import structs, tensor, typed
from quadrants.lang.annotations import tuple_items
from quadrants.lang.value import Value


class Returns:
    """Emits the Return of a kernel."""

    __slots__ = ("options", "positions", "writer")

    def __init__(self, state: State) -> None:
        self.options = state.options
        self.positions = state.positions
        self.writer = state.writer

    def finish_return(self, value):
        """Emit the kernel's Return; the parts of the result are one expression each, in annotation order."""
        frame = self.positions.frame
        a = frame.return_annotation
        if value is None:
            if frame.has_return_annotation:
                raise QuadrantsSyntaxError("Kernel has a return type but does not return a value")
            return None
        if not frame.has_return_annotation:
            raise QuadrantsSyntaxError(
                f"A kernel with a return value must be annotated with a return type, e.g. `def {frame.name}(...) -> "
                "qd.f32:`"
            )
        items = tuple_items(a)
        if items is None:
            exprs = (self.return_expr(a, value),)
        else:
            values = value if isinstance(value, (tuple, list)) else None
            if values is None or len(values) != len(items):
                raise QuadrantsSyntaxError(
                    f"The kernel is annotated to return {len(items)} values, but "
                    f"{len(values) if values is not None else 1} is/are returned."
                )
            exprs = tuple(self.return_expr(t, v) for t, v in zip(items, values))
        self.writer.emit(Return(exprs))
        return exprs

    def return_expr(self, a, value):
        t = self.return_type(a)
        if isinstance(t, StructType):
            return structs.member_expr(value.as_value() if hasattr(value, "as_value") else value, t)
        if isinstance(t, TensorType):
            return self._return_tensor(t, value)
        e = typed.to_expr(value)
        if isinstance(e.type, (TensorType, StructType)):
            raise QuadrantsCompilationError(f"Return (type={e.type}) cannot be converted into required type {t}")
        typed.tell_of_lost_bits(e, t)
        return typed.cast_expr(e, t)

    def _return_tensor(self, t: TensorType, value):
        v = (
            value
            if isinstance(value, Value)
            else (tensor.construct(value) if tensor.is_sequence(value) else typed.to_value(value))
        )
        if not v.is_tensor:
            raise QuadrantsCompilationError(
                f"Return matrix ndim mismatch, expecting={len(t.shape)}, got=0. Return as many numbers as the "
                "type of the result has, as in qd.Vector([x, y])."
            )
        if len(v.shape) != len(t.shape):
            raise QuadrantsCompilationError(
                f"Return matrix ndim mismatch, expecting={len(t.shape)}, got={len(v.shape)}."
            )
        if v.shape != t.shape:
            raise QuadrantsCompilationError(f"Return matrix shape mismatch, expecting={t.shape}, got={v.shape}.")
        have = v.type.dtype
        if have.is_real and not t.dtype.is_real:
            raise QuadrantsCompilationError(f"Return (type={have}) cannot be converted into required type {t.dtype}")
        return typed.cast_expr(v.expr, t)

    def return_type(self, a):
        if ann.is_scalar(a):
            return self.options.resolve_dtype(a)
        if ann.compound_kind(a):
            t = a.ir_type()
            if t is not None:
                return t
        raise QuadrantsCompilationError(
            f"Kernels cannot return {a!r}: use a dtype, int, float, bool, a vector, matrix or struct type, or a "
            "tuple of these."
        )
