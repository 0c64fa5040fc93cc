"""Constants of any type as expressions."""

from __future__ import annotations

from quadrants.ir.nodes import Const, Make, MatOp
from quadrants.ir.types import StructType, ValueType, element_dtype


def const(value: float, t: ValueType) -> Const | MatOp:
    """`value` as every element of type `t`."""
    number = Const(value, element_dtype(t))
    return number if number.type is t else MatOp("splat", (number,), t)


def zero(t: ValueType) -> Const | MatOp | Make:
    """Zero of a type: in every element, in every member."""
    if isinstance(t, StructType):
        return Make(tuple(zero(kind) for _, kind in t.members), t)
    return const(0.0 if element_dtype(t).is_real else 0, t)
