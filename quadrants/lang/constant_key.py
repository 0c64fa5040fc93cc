"""Keys for constants of a kernel: Python holds 2, 2.0 and True for equal, and 0.0 for -0.0; their kernels differ."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

_REAL = (float, np.floating)


def constant_key(x: Any) -> Hashable:
    """A hashable that is equal for constants that give the same kernel; NaN is equal to NaN.

    For an object that Python compares by value it is no more than that object and the kinds of numbers in its fields.
    Raises TypeError for what cannot be hashed.
    """
    if isinstance(x, _REAL):
        return (type(x), "nan") if x != x else (type(x), x, _is_minus_zero(x))
    if isinstance(x, tuple):
        return (type(x), tuple(constant_key(item) for item in x))
    if isinstance(x, frozenset):
        return (type(x), frozenset(constant_key(item) for item in x))
    return (type(x), x, _kinds_of_members(x))


def _is_minus_zero(x: Any) -> bool:
    return x == 0 and math.copysign(1.0, x) < 0


def _kinds_of_members(x: Any) -> Hashable:
    """What comparing does not see of the numbers that a value holds."""
    if isinstance(x, type):
        return None
    if dataclasses.is_dataclass(x):
        return tuple(_kind(getattr(x, f.name, None)) for f in dataclasses.fields(x) if f.compare)
    if type(x).__hash__ is object.__hash__ or not hasattr(x, "__dict__"):
        return None
    return tuple((name, _kind(value)) for name, value in vars(x).items() if isinstance(value, (int, *_REAL)))


def _kind(x: Any) -> Hashable:
    if isinstance(x, _REAL):
        return (type(x), _is_minus_zero(x))
    if isinstance(x, tuple):
        return (type(x), tuple(_kind(item) for item in x))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return (type(x), _kinds_of_members(x))
    return type(x)
