"""Grids of which only the cells that were written exist for loops."""

from __future__ import annotations

import math
from typing import Any

from quadrants import absent, axes, grouped, i32, kernel, root, template, types

__all__ = ["grid", "usage"]


def grid(field_dict: dict, shape: tuple) -> Any:
    """A struct field of two or three axes whose cells become active when they are written.

    field_dict: names of members, and their types. shape: extents. `Exception` for another number of axes;
    `QuadrantsRuntimeError` where the arch has no sparse fields.

    cells = qd.sparse.grid({"mass": qd.f32, "velocity": qd.types.vector(2, qd.f32)}, shape=(64, 64))
    """
    if len(shape) not in (2, 3):
        raise Exception("Only 2D and 3D sparse grids are supported")
    cells = types.struct(**field_dict).field()
    root.bitmasked(axes(*range(len(shape))), shape).place(cells)
    return cells


@kernel
def _count(x: template()) -> i32:
    count = 0
    for _ in grouped(x):
        count += 1
    return count


def usage(x: Any) -> float:
    """The share of the cells of a field that is active, between 0 and 1.

    used = qd.sparse.usage(cells)
    """
    return _count(x) / math.prod(x.shape)


__getattr__ = absent.names_of("sparse", globals())
