"""Vectors and matrices as torch tensors, which they are taken for on the python arch."""

from __future__ import annotations

from typing import Any

from quadrants.lang import kernel_hook


def tensor(value: Any) -> Any:
    """A torch tensor on the memory of a vector or matrix."""
    import torch

    cell = getattr(type(value), "_cell", None)
    return torch.from_numpy(value._data if cell is None else value._cell)


def attribute(value: Any, name: str) -> Any:
    """What a tensor in the place of `value` has under that name. AttributeError if nothing, and on other archs."""
    if name.startswith("_") or not kernel_hook.python_arch():
        raise AttributeError(f"'{type(value).__name__}' object has no attribute '{name}'")
    return getattr(tensor(value), name)


class TensorLike:
    """Mixin: torch's functions take vectors and matrices, on the python arch alone."""

    __slots__ = ()

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if not kernel_hook.python_arch():
            return NotImplemented
        return function(*_tensors(args), **{key: _tensors(value) for key, value in (kwargs or {}).items()})


def _tensors(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([_tensors(item) for item in x])
    return tensor(x) if isinstance(x, TensorLike) else x
