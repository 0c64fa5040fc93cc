"""Conversions of types, and where code runs, under the module name that programs import them from."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

from quadrants import caller
from quadrants.ir.types import DType
from quadrants.lang import primitive_types
from quadrants.lang.kernel_hook import in_kernel

__all__ = [
    "cook_dtype", "has_pytorch", "in_python_scope", "in_quadrants_scope", "is_data_oriented", "to_numpy_type",
    "to_pytorch_type", "to_quadrants_type", "warning",
]  # fmt: skip


@functools.cache
def has_pytorch() -> bool:
    """Whether torch is installed. Does not import it."""
    return importlib.util.find_spec("torch") is not None


def cook_dtype(dtype: Any) -> DType:
    """The primitive type that a dtype, `float`, `int` or `bool` stands for now. ValueError for anything else."""
    return primitive_types.resolve_dtype(dtype)


def to_numpy_type(dt: Any) -> type:
    """The scalar type of NumPy for a primitive type: np.float32 for qd.f32. TypeError for other objects."""
    return primitive_types.to_numpy_type(dt).type


def to_pytorch_type(dt: Any) -> Any:
    """The dtype of torch for a primitive type. TypeError for other objects, ImportError where there is no torch."""
    import torch

    return torch.bool if dt is primitive_types.u1 else getattr(torch, to_numpy_type(dt).__name__)


def to_quadrants_type(dt: Any) -> DType:
    """The primitive type for a dtype of NumPy or torch, or for itself. TypeError where there is none."""
    if isinstance(dt, DType):
        return dt
    if type(dt).__module__ == "torch":
        dt = str(dt).removeprefix("torch.")
    return primitive_types.from_numpy_type(dt)


def in_quadrants_scope() -> bool:
    """Whether this thread is tracing a kernel."""
    return in_kernel()


def in_python_scope() -> bool:
    """Whether this thread is not tracing a kernel."""
    return not in_kernel()


def is_data_oriented(obj: Any) -> bool:
    """Whether it is an instance of a class that is decorated with `@qd.data_oriented`."""
    return bool(getattr(type(obj), "_qd_data_oriented", False))


def warning(msg: str, warning_type: type[Warning] = UserWarning, stacklevel: int = 1, print_stack: bool = True) -> None:
    """A Python warning at the line of the user. stacklevel and print_stack have no effect."""
    caller.warn(msg, warning_type)
