"""`qd.simt.block.SharedArray`: memory that the threads of a block share."""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.errors import (
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from quadrants.ir.nodes import ArrayDecl
from quadrants.ir.types import DType, TensorType
from quadrants.lang import access
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.parameters import compound_kind
from quadrants.lang.simt import kernel_scope as at
from quadrants.lang.simt.tile_slices import sliced
from quadrants.lang.value import Value


class SharedArray(KernelObject):
    """An array in the shared memory of the running block; kernel scope only.

    Every call in the program is one array, which lives as long as the task; its contents are undefined at first.

    Args:
        shape: an int or a tuple or list of ints, known at compile time, all positive.
        dtype: a scalar dtype or a vector or matrix type.

    Raises: ValueError for other shapes, QuadrantsTypeError for other dtypes, QuadrantsCompilationError on the CPU,
        whose iterations share no such memory, and AssertionError in Python scope.

        tile = qd.simt.block.SharedArray((64,), qd.f32)
    """

    what = "shared array"

    def __init__(self, shape: Any, dtype: Any):
        self._declare(shape, dtype, "")

    def _declare(self, shape: Any, dtype: Any, name: str) -> None:
        tracer = at.tracer_of("block.SharedArray")
        extents = _extents(shape)
        self.shape = shape if isinstance(shape, list) else extents
        self.dtype = dtype
        element = _element(dtype)
        if at.is_host(tracer):
            raise QuadrantsCompilationError(
                "qd.simt.block.SharedArray needs a GPU: the iterations of a loop on the CPU are no threads of a block. "
                "Use a vector for what one iteration needs, or a field."
            )
        self.decl: ArrayDecl = tracer.declare_shared(extents, element, name)

    @property
    def ndim(self) -> int:
        return self.decl.ndim

    def subscript(self, indices: tuple) -> Any:
        flat = access.flatten_indices(indices)
        if any(isinstance(x, slice) for x in flat):
            return sliced(self.decl, flat, checked=True)
        if len(flat) != self.decl.ndim:
            raise QuadrantsIndexError(f"Expected {self.decl.ndim} indices, got {len(flat)}.")
        tracer = at.tracer_of("block.SharedArray")
        values = tuple(access.index_value(x, k) for k, x in enumerate(flat))
        found: Value = tracer.cell(self.decl, tracer.within(self.decl, values))
        return found

    def __getitem__(self, key: Any) -> Any:
        return self.subscript(key if isinstance(key, tuple) else (key,))

    def rebound(self, value: Any, innermost: bool) -> KernelObject:
        if isinstance(value, SharedArray) and innermost:
            return value
        raise QuadrantsSyntaxError("The name of a shared array cannot be assigned again; use another name.")


def scratch(shape: Any, dtype: Any, name: str) -> SharedArray:
    """A shared array of an operation's own."""
    array = SharedArray.__new__(SharedArray)
    array._declare(shape, dtype, name)
    return array


def _extents(shape: Any) -> tuple:
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not items or any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) for n in items):
        told = "a value known only at run time" if any(isinstance(n, Value) for n in items) else f"{shape!r}"
        raise ValueError(
            f"SharedArray: shape must be an integer or a tuple of integers, known at compile time, not {told}; write a "
            "number, or annotate the parameter that it comes from with qd.template()"
        )
    if any(n <= 0 for n in items):
        raise ValueError(f"SharedArray: every extent of the shape must be positive, got {shape!r}")
    return tuple(int(n) for n in items)


def _element(dtype: Any) -> DType | TensorType:
    if isinstance(dtype, DType):
        return dtype
    if compound_kind(dtype) == "tensor":
        t: TensorType = dtype.ir_type()
        if t is not None:
            return t
    name = getattr(dtype, "__name__", None) or str(dtype)
    raise QuadrantsTypeError(
        f"SharedArray: dtype must be a scalar dtype such as qd.f32, or a vector or matrix type, got {name}"
    )
