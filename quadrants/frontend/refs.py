"""Compile-time stand-ins for what a launch binds: arrays and containers of arrays.

A launch re-reads every object behind a reference, so a reference knows its *source*: the parameter number and the
attribute path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, eq=False, repr=False)
class ArrayRef:
    """An array argument in kernel scope. `decl` is its IR declaration, `sample` the array of the call that compiles."""

    decl: Any
    sample: Any
    grad: Any = None
    shape_cache: Any = None


@dataclass(slots=True, eq=False, repr=False)
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


@dataclass(slots=True, eq=False, repr=False)
class SuperRef:
    """What `super()` gives in a method of `cls`: methods of the classes behind it, on the object `ref`."""

    cls: type
    ref: ObjectRef
