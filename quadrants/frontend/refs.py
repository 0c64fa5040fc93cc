"""Compile-time stand-ins for what a launch binds: arrays and containers of arrays.

A launch re-reads every object behind a reference, so a reference knows its *source*: the parameter number and the
attribute path.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from quadrants.ir.types import DType
from quadrants.lang.func import BoundFunc, Func
from quadrants.lang.kinds import kind_of


@dataclass(slots=True, eq=False)
class ArrayRef:
    """An array argument in kernel scope. `decl` is its IR declaration, `sample` the array of the call that compiles."""

    decl: Any
    sample: Any
    grad: Any = None
    shape_cache: Any = None


@dataclass(slots=True, eq=False)
class ObjectRef:
    """A template object or dataclass argument whose attributes are followed at trace time.

    `members`: for a dataclass parameter, the annotation of every field; None for other objects. `lifts`: numbers that
    are members are run-time values (`data_oriented(template_primitives=False)`).
    """

    obj: Any
    source: tuple  # (parameter number, path)
    members: Any = None
    lifts: bool = False
    immutable: bool = True


_PLAIN = (bool, int, float, str, bytes, enum.Enum, list, tuple, dict, set, type, DType, np.generic)


def needs_reference(x) -> bool:
    """Objects whose members a kernel may reach: their arrays are bound anew at each launch."""
    if getattr(type(x), "_qd_data_oriented", False):
        return True
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return True
    if x is None or isinstance(x, _PLAIN):
        return False
    if isinstance(x, (np.ndarray, Func, BoundFunc)) or kind_of(x) or getattr(x, "_qd_host_matrix", False):
        return False
    if getattr(x, "_qd_host_struct", False) or callable(x) and not hasattr(x, "__dict__"):
        return False
    return hasattr(x, "__dict__") and not callable(x) and type(x).__module__ != "builtins"
