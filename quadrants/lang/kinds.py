"""What kind of object of ours something is, told by its class without importing the layer that defines it."""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import weakref
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType
from typing import Any

import numpy as np

_KINDS = {
    "ScalarField": "field",
    "MatrixField": "matrix_field",
    "StructField": "struct_field",
    "Ndarray": "ndarray",
    "Tensor": "tensor",
    "BufferView": "view",
    "SNode": "snode",
    "Func": "func",
    "Kernel": "kernel",
}
_cache: dict = {}
_tensors: dict = {}
_slots_of: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

FIELD_KINDS = ("field", "matrix_field", "struct_field")


def kind_of(x) -> str:
    """'field', 'matrix_field', 'struct_field', 'ndarray', 'tensor', 'view', 'snode', 'func', 'kernel' or ''."""
    t = type(x)
    kind = _cache.get(t)
    if kind is None:
        kind = ""
        for base in t.__mro__:
            if base.__name__ in _KINDS and base.__module__.startswith("quadrants."):
                kind = _KINDS[base.__name__]
                break
        _cache[t] = kind
    return kind


def unwrapped(x: Any) -> Any:
    """The array or field that a qd.Tensor stands for; anything else as it is."""
    return x._unwrap() if kind_of(x) == "tensor" else x


def is_cuda_array(x) -> bool:
    """True for an array of another package on a CUDA device, such as cupy's; torch tensors are known otherwise."""
    return hasattr(type(x), "__cuda_array_interface__") and kind_of(x) == "" and not is_torch_tensor(x)


def is_torch_tensor(x) -> bool:
    """True for a torch tensor, of a subclass too. Does not import torch."""
    t = type(x)
    found = _tensors.get(t)
    if found is None:
        found = any(base.__name__ == "Tensor" and base.__module__ == "torch" for base in t.__mro__)
        if found:
            _tensors[t] = True
    return found


def is_opencl_array(x) -> bool:
    """True for an array of pyopencl. Does not import it."""
    module = sys.modules.get("pyopencl.array")
    return module is not None and isinstance(x, module.Array)


def is_number(x) -> bool:
    """Whether it is a constant of the kernels that read it: a number, a text, or a matrix or struct of numbers."""
    if isinstance(x, (bool, int, float, str, bytes, np.generic, enum.Enum)):
        return True
    return getattr(x, "_qd_host_matrix", False) or getattr(x, "_qd_host_struct", False)


def holds_numbers(x) -> bool:
    """Whether a container holds nothing but numbers, at any depth. One that is in itself holds more."""
    return _holds_numbers(x, ())


def _holds_numbers(x, above: tuple) -> bool:
    if not isinstance(x, (list, tuple, dict)):
        return is_number(x)
    if any(x is outer for outer in above):
        return False
    return all(_holds_numbers(item, (*above, x)) for item in (x.values() if isinstance(x, dict) else x))


_CONTAINERS = (list, tuple, dict, set, frozenset)
_FUNCTIONS = (type, FunctionType, BuiltinFunctionType, MethodType, functools.partial)


def has_members(x) -> bool:
    """Whether it is an object whose attributes kernels may read: its arrays are bound anew at each launch."""
    t = type(x)
    if getattr(t, "_qd_data_oriented", False) or dataclasses.is_dataclass(t):
        return True
    if isinstance(x, _CONTAINERS + _FUNCTIONS) or kind_of(x) or is_number(x) or is_external(x):
        return False
    if callable(x) and (hasattr(x, "__wrapped__") or t.__module__.startswith(("quadrants.", "numpy"))):
        return False
    return (hasattr(x, "__dict__") or bool(_slots(t))) and t.__module__ != "builtins"


def members(x) -> dict:
    """The attributes of an object itself, not those of its class."""
    found = getattr(x, "__dict__", {})
    slots = _slots(type(x))
    if not slots:
        return found
    return {**found, **{name: getattr(x, name) for name in slots if hasattr(x, name)}}


def _slots(t: type) -> tuple:
    """The names of attributes that have slots in the objects of a class that is written in Python."""
    found = _slots_of.get(t)
    if found is None:
        found = _slots_of[t] = tuple(
            name
            for base in t.__mro__
            if "__slots__" in vars(base)
            for name, what in vars(base).items()
            if isinstance(what, MemberDescriptorType)
        )
    return found


def is_external(x) -> bool:
    """Whether it is an array of another package."""
    return isinstance(x, np.ndarray) or is_torch_tensor(x) or is_cuda_array(x) or is_opencl_array(x)
