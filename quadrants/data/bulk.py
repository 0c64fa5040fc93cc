"""Whole-array conversions with C semantics, shared by fields and ndarrays."""

from __future__ import annotations

import numpy as np

from quadrants.data import dtypes
from quadrants.ir.conversion import cast, wrapped
from quadrants.ir.types import DType


def is_quantised(container) -> bool:
    """Whether the numbers of a field are bits of words, so that nobody gets an array of them."""
    return any(leaf.quant is not None for leaf in getattr(container, "_leaves", ()))


def number(value, dtype: DType):
    """A number given to `fill`, cast to `dtype`. `TypeError` for what is no number."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return dtypes.numpy_dtype(dtype).type(_wrap(int(value), dtype))
    if isinstance(value, (float, np.floating)):
        return cast(np.asarray(value), dtypes.numpy_dtype(dtype))[()]
    raise TypeError(f"fill needs a number, not {value!r} ({type(value).__name__})")


def _wrap(value: int, dtype: DType):
    if dtype.kind == "f":
        return np.float64(value)
    if dtype.kind == "b":
        return value != 0
    if not -(1 << 63) <= value < 1 << 64:
        raise TypeError(f"cannot fill {dtype} with {value}: it does not fit in 64 bits")
    return wrapped(value, dtype)


def element(value, shape: tuple, dtype: DType):
    """A number, or an array of exactly `shape` from a nested list, tuple, vector or matrix, cast to `dtype`.

    `AssertionError` if the extents differ, `TypeError` for what is no number.
    """
    if not isinstance(value, (list, tuple)) and not hasattr(value, "to_list"):
        if not (isinstance(value, np.ndarray) and value.ndim):
            return number(value, dtype)
    nested = value.to_list() if hasattr(value, "to_list") else value
    out = np.empty(shape, dtypes.numpy_dtype(dtype))
    if len(nested) != shape[0]:
        raise AssertionError(f"fill needs {shape[0]} entries, got {len(nested)}: {value!r}")
    for k, part in enumerate(nested):
        if len(shape) == 1:
            out[k] = number(part, dtype)
            continue
        if not hasattr(part, "__len__"):
            raise TypeError(f"fill needs {shape[0]} rows of {shape[1]} numbers, got {value!r}")
        if len(part) != shape[1]:
            raise AssertionError(f"fill needs {shape[1]} entries a row, got {len(part)}: {value!r}")
        for j, x in enumerate(part):
            out[k, j] = number(x, dtype)
    return out


def source_array(array, what: str) -> np.ndarray:
    """A NumPy array that may be read from. `TypeError` for other objects and for dtypes without counterpart."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{np.ndarray} expected, but {type(array)} provided to {what}")
    dtypes.from_numpy_dtype(array.dtype)
    return np.asarray(array)


def requested_dtype(dtype, own: np.dtype) -> np.dtype:
    """The `dtype=` of `to_numpy`: a NumPy dtype, or None for the container's own."""
    return own if dtype is None else np.dtype(dtype)
