"""SciPy, which keeps the matrices and factors them: optional, asked for where it is needed first."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import quadrants as qd
from quadrants.data import dtypes
from quadrants.errors import QuadrantsRuntimeError


def scipy(module: str) -> Any:
    """A module of SciPy. ImportError that says how to install it."""
    try:
        return importlib.import_module(f"scipy.{module}")
    except ImportError as error:
        raise ImportError(f"The sparse matrices of qd.linalg need SciPy ({error}): pip install scipy") from error


def real(dtype: Any, what: str) -> Any:
    """f32 or f64 from what a user wrote. QuadrantsRuntimeError for other types."""
    found = dtypes.scalar(dtype)
    if found not in (qd.f32, qd.f64):
        raise QuadrantsRuntimeError(f"{what} {dtype} is not supported: use qd.f32 or qd.f64.")
    return found


def numpy_dtype(dtype: Any) -> np.dtype:
    return np.dtype(np.float32 if dtype == qd.f32 else np.float64)


def ndarray_of(array: np.ndarray, dtype: Any) -> Any:
    """A qd.ndarray with these numbers; arrays of no numbers have one, which is 0."""
    made = qd.ndarray(dtype, max(1, len(array)))
    if len(array):
        made.from_numpy(np.ascontiguousarray(array))
    else:
        made.fill(0)
    return made
