"""What a parameter annotation means."""

from __future__ import annotations

import dataclasses

from quadrants.ir.types import DType
from quadrants.lang.annotations import BufferViewType, NdarrayType, OptionalNdarray, Template
from quadrants.lang.tensor_types import CompoundType, TensorTypeBase


def compound_kind(t) -> str:
    """'tensor' for vector and matrix types, 'struct' for struct types, else ''."""
    if isinstance(t, TensorTypeBase):
        return "tensor"
    return "struct" if isinstance(t, CompoundType) else ""


def is_template(a) -> bool:
    return a is Template or isinstance(a, Template)


def is_tensor_annotation(a) -> bool:
    """The class qd.Tensor."""
    return isinstance(a, type) and a.__name__ == "Tensor" and a.__module__.startswith("quadrants.")


def is_view_annotation(a) -> bool:
    if isinstance(a, BufferViewType):
        return True
    return isinstance(a, type) and a.__name__ == "BufferView" and a.__module__.startswith("quadrants.")


def is_ndarray_annotation(a) -> bool:
    return a is NdarrayType or isinstance(a, (NdarrayType, OptionalNdarray))


def is_array_annotation(a) -> bool:
    return is_ndarray_annotation(a) or is_tensor_annotation(a) or is_view_annotation(a)


def is_scalar(a) -> bool:
    return a in (int, float, bool) if isinstance(a, type) else isinstance(a, DType)


def is_dataclass(a) -> bool:
    return isinstance(a, type) and dataclasses.is_dataclass(a)


def optional_base(a):
    """T of `T | None` and Optional[T]; None if `a` is no optional."""
    args = getattr(a, "__args__", None)
    if args and len(args) == 2 and type(None) in args and _is_union(a):
        return next(t for t in args if t is not type(None))
    if isinstance(a, OptionalNdarray):
        return getattr(a, "base", NdarrayType)
    return None


def _is_union(a) -> bool:
    import types
    import typing

    return isinstance(a, types.UnionType) or getattr(a, "__origin__", None) is typing.Union
