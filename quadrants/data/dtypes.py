"""Element types of containers: what a user may write, and what NumPy calls it."""

from __future__ import annotations

from functools import cache

import numpy as np

from quadrants.data import context
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.quant import QuantType
from quadrants.ir.types import PRIMITIVES, DType, TensorType, u1

BY_NUMPY_NAME = {t.numpy_name: t for t in PRIMITIVES.values()}

_NUMPY = {t: np.dtype(t.numpy_name) for t in PRIMITIVES.values()}
# Booleans are handled as bytes on the host, so that a read gives an int and a write goes through one code path.
_STORAGE = {t: np.dtype(np.uint8) if t is u1 else n for t, n in _NUMPY.items()}


def numpy_dtype(dtype: DType) -> np.dtype:
    """The NumPy dtype that users see, `bool` for `u1`."""
    return _NUMPY[dtype]


def storage_dtype(dtype: DType) -> np.dtype:
    """The NumPy dtype that host element access works in, `uint8` for `u1`."""
    return _STORAGE[dtype]


def from_numpy_dtype(dtype: np.dtype) -> DType:
    """The primitive type of a NumPy array, or `TypeError` naming the dtype."""
    found = BY_NUMPY_NAME.get(dtype.name) if dtype.isnative else None
    if found is None:
        raise TypeError(
            f"NumPy dtype {dtype!r} has no Quadrants counterpart; convert the array with "
            f".astype() to one of {sorted(BY_NUMPY_NAME)} in native byte order"
        )
    return found


def scalar(dtype) -> DType | None:
    """A `DType` from what a user wrote (`qd.f32`, `float`, `int`, `bool`); None for anything else."""
    if isinstance(dtype, DType):
        return dtype
    if dtype is float:
        return context.default_fp()
    if dtype is int:
        return context.default_ip()
    if dtype is bool:
        return u1
    resolve = getattr(dtype, "resolve", None)
    return resolve() if resolve is not None and not isinstance(dtype, type) else None


def field_dtype(dtype) -> DType | QuantType:
    """As `scalar`, or a quantised type as it is; raises `ValueError` (`Invalid data type`)."""
    found = dtype if isinstance(dtype, QuantType) else scalar(dtype)
    if found is None:
        raise ValueError(f"Invalid data type {dtype!r}: write one of the package, such as qd.f32 or qd.i32")
    return found


def ndarray_dtype(dtype) -> DType:
    """As `scalar`; raises `QuadrantsRuntimeError` (`is not supported as ndarray element type`)."""
    found = scalar(dtype)
    if found is None:
        raise QuadrantsRuntimeError(f"{dtype} is not supported as ndarray element type")
    return found


def compound(dtype):
    """`(element_shape, scalar dtype as written)` of a vector or matrix type; None for anything else."""
    if isinstance(dtype, TensorType):
        return dtype.shape, dtype.dtype
    if isinstance(dtype, (DType, type)) or not hasattr(dtype, "get_shape"):
        return None
    if getattr(dtype, "unpacked", False):
        dtype.reject_unpacked("make a container of")
    shape = tuple(dtype.get_shape())
    if not shape or any(n is None for n in shape):
        raise ValueError(f"Invalid data type {dtype}: its extents must be given to make a container of it")
    return shape, dtype.dtype


@cache
def element_bytes(dtype: DType, element_shape: tuple) -> int:
    n = dtype.size
    for extent in element_shape:
        n *= extent
    return n
