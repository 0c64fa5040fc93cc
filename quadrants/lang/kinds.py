"""What kind of object of ours something is, told by its class without importing the layer that defines it."""

from __future__ import annotations

import enum

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


def is_number(x) -> bool:
    """Whether it is a constant of the kernels that read it: a number, a text, or a matrix or struct of numbers."""
    if isinstance(x, (bool, int, float, str, bytes, np.generic, enum.Enum)):
        return True
    return getattr(x, "_qd_host_matrix", False) or getattr(x, "_qd_host_struct", False)


def holds_numbers(x) -> bool:
    """Whether a container holds nothing but numbers, at any depth."""
    items = x.values() if isinstance(x, dict) else x
    return all(holds_numbers(item) if isinstance(item, (list, tuple, dict)) else is_number(item) for item in items)
