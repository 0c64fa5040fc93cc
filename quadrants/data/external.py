"""NumPy and torch arrays as kernel arguments: what they are, where their memory is, what happens after the launch."""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from quadrants._ext.core import intern_token
from quadrants.data import dtypes, interop_torch
from quadrants.errors import QuadrantsRuntimeTypeError

_MAX_INDEX = 2**31 - 1


class External(NamedTuple):
    """Memory of a foreign array for one launch.

    dtype_name: "f32", .. shape: all axes, element axes included. pointer: address of the first element of C-contiguous
    memory, valid while `keepalive` lives. finish: None, or what copies results back after the launch. grad: the same
    for the gradient of a torch tensor with `requires_grad`, else None.
    """

    dtype_name: str
    shape: tuple
    pointer: int
    keepalive: object
    finish: Callable[[], None] | None
    grad: External | None = None


def torch_enabled() -> bool:
    """False if the environment says `QD_ENABLE_TORCH=0`."""
    return os.environ.get("QD_ENABLE_TORCH", "1") not in ("0", "false", "False")


def is_external(obj) -> bool:
    """True for a NumPy array or (unless disabled) a torch tensor."""
    return isinstance(obj, np.ndarray) or (interop_torch.is_tensor(obj) and torch_enabled())


def dtype_and_ndim(obj, name: str = "") -> tuple:
    """`(DType, number of axes)` of a foreign array. `QuadrantsRuntimeTypeError` for a dtype without counterpart."""
    if isinstance(obj, np.ndarray):
        found = dtypes.BY_NUMPY_NAME.get(obj.dtype.name) if obj.dtype.isnative else None
        kind = obj.dtype.str if not obj.dtype.isnative else obj.dtype
    else:
        kind = str(obj.dtype).removeprefix("torch.")
        found = dtypes.BY_NUMPY_NAME.get(kind)
    if found is None:
        raise QuadrantsRuntimeTypeError(
            f"Array argument {name} has dtype {kind}, which kernels do not know; convert it to one of "
            f"{', '.join(dtypes.BY_NUMPY_NAME)} first"
        )
    return found, obj.ndim


def token(obj, name: str = "") -> int:
    """The specialisation token of a foreign array: dtype, number of axes, and whether it brings a gradient.

    Checks contiguity, so that an array which cannot be passed fails before anything is compiled.
    """
    dtype, ndim = dtype_and_ndim(obj, name)
    _check_contiguous(obj)
    if has_grad(obj):
        return intern_token(("external", dtype.name, ndim, "grad"))
    return intern_token(("external", dtype.name, ndim))


def has_grad(obj) -> bool:
    """True for a torch tensor with `requires_grad`."""
    return not isinstance(obj, np.ndarray) and bool(obj.requires_grad)


def describe_external(obj, param: str = "") -> External:
    """Memory of a NumPy array or torch tensor for one launch; `param` is the parameter's name for messages.

    `ValueError` for memory that is not contiguous, `QuadrantsRuntimeTypeError` for an unsupported dtype.
    """
    dtype, _ = dtype_and_ndim(obj, param)
    _check_contiguous(obj)
    described = _describe_numpy(obj, dtype) if isinstance(obj, np.ndarray) else _describe_torch(obj, dtype)
    count = int(np.prod(described.shape, dtype=np.int64))
    if count > _MAX_INDEX:
        warnings.warn(
            f"Array argument {param} has {count} elements; kernels index with 32 bits and cannot reach all of them",
            stacklevel=3,
        )
    return described


def _check_contiguous(obj) -> None:
    if isinstance(obj, np.ndarray):
        if not (obj.flags.c_contiguous or obj.flags.f_contiguous):
            raise ValueError(
                "Non contiguous numpy arrays are not supported, please call np.ascontiguousarray(arr) before "
                "passing it into quadrants kernel."
            )
    elif not obj.is_contiguous():
        raise ValueError(
            "Non contiguous tensors are not supported, please call tensor.contiguous() before passing it into "
            "quadrants kernel."
        )


# ---------------------------------------------------------------- NumPy


def _describe_numpy(array: np.ndarray, dtype) -> External:
    if array.flags.c_contiguous:
        return External(dtype.name, array.shape, _address(array), array, None)
    copy = np.array(array, order="C", copy=True, subok=False)
    return External(dtype.name, array.shape, _address(copy), copy, lambda: _copy_back(array, copy))


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _copy_back(array: np.ndarray, copy: np.ndarray) -> None:
    # Kernels write through read-only arrays; a C-ordered one is simply written to, so this must do the same.
    raw = (ctypes.c_char * array.nbytes).from_address(_address(array))
    np.ndarray(array.shape, array.dtype, buffer=memoryview(raw), order="F")[...] = copy


# ---------------------------------------------------------------- torch


def _describe_torch(tensor, dtype) -> External:
    grad = None
    if tensor.requires_grad:
        grad = _describe_plain(_gradient_of(tensor), dtype)
    return _describe_plain(tensor, dtype)._replace(grad=grad)


def _gradient_of(tensor):
    torch = interop_torch.loaded()
    if tensor.grad is None:
        tensor.grad = torch.zeros_like(tensor)
    if not tensor.grad.is_contiguous():
        raise ValueError(
            "Non contiguous gradient tensors are not supported, please call tensor.grad.contiguous() before passing "
            "it into quadrants kernel."
        )
    return tensor.grad


def _describe_plain(tensor, dtype) -> External:
    shape = tuple(tensor.shape)
    if tensor.device.type == "cpu":
        return External(dtype.name, shape, tensor.data_ptr(), tensor, None)
    host = tensor.detach().cpu()
    return External(dtype.name, shape, host.data_ptr(), host, lambda: _send_back(tensor, host))


def _send_back(tensor, host) -> None:
    with interop_torch.loaded().no_grad():
        tensor.detach().copy_(host)
