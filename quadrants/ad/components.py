"""Components of vectors that are put together of numbers."""

from __future__ import annotations

from collections.abc import Callable

from quadrants.ir.nodes import Binary, Make, MatOp
from quadrants.ir.types import TensorType, element_dtype


def component(e, at: int, resolved: Callable):
    """Component `at` of a vector; None where it is not put together of numbers. resolved: what stands behind a name."""
    e = resolved(e)
    if isinstance(e, Make):
        return e.parts[at] if 0 <= at < len(e.parts) else None
    if isinstance(e, MatOp) and e.op == "splat":
        return e.args[0]
    if not isinstance(e, Binary) or not isinstance(e.type, TensorType):
        return None
    sides = [component(x, at, resolved) if isinstance(x.type, TensorType) else x for x in (e.a, e.b)]
    return None if None in sides else Binary(e.op, *sides, element_dtype(e.type))
