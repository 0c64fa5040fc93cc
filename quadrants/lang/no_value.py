"""What is said of objects that kernels cannot compute with."""

from __future__ import annotations

import dataclasses
from typing import Any

from quadrants.lang.described import type_name
from quadrants.lang.kinds import FIELD_KINDS, kind_of

_SMALL = 16  # numbers that still make a vector


def no_value(x: Any) -> str:
    """Why `x` is no run-time value, and what to write instead."""
    return f"Invalid constant scalar data type: {type(x)}. {_instead(x)}"


def no_array(x: Any) -> str:
    """The same of an array of NumPy with axes."""
    told = "Only 0-dimensional numpy array can be used to initialize a scalar expression"
    small = "write `qd.Vector([...])` for a few numbers, or " if x.ndim == 1 and x.size <= _SMALL else ""
    return f"{told}: {small}make a field or an ndarray in Python, before the call of the kernel."


def _instead(x: Any) -> str:
    if x is None:
        return "None is no value that kernels compute with; a function without `return` gives it."
    if kind_of(x) in FIELD_KINDS:
        index = "None" if getattr(x, "shape", None) == () else "i"
        return f"A field is computed with cell by cell: index it, as in `x[{index}]`."
    if type_name(x) in ("ndarray", "BufferView"):
        return "An array is computed with element by element: index it, as in `x[i]`."
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return (
            f"Kernels do not make and keep objects of a @dataclasses.dataclass: decorate the class {type(x).__name__} "
            "with @qd.dataclass, or write qd.types.struct(...)."
        )
    if isinstance(x, (str, bytes)):
        return "A text has no name in kernels: write it where it is used, or give it one outside of the kernel."
    return (
        "Only numbers, vectors, matrices and structs are run-time values; keep other objects in a compile-time name "
        "with `name = qd.static(...)`."
    )
