"""Reductions and scans of a subgroup.

    reduce_add min max                          the fold of the tile in its first lane; other lanes hold parts
    reduce_all_add min max                      the fold in every lane
    inclusive_add mul min max and or xor        the fold of the lanes of the tile up to this one
    exclusive_...                               of those before this one; the first lane of a tile has the identity
    segmented_reduce_add min max (v, head)      the fold of the lanes from the last head on; a head has head_flag != 0

Every one has a form `_tiled(..., log2_size)`, which works on each tile.
"""

from __future__ import annotations

import math

from quadrants.errors import QuadrantsTypeError
from quadrants.ir.nodes import Const
from quadrants.ir.types import DType
from quadrants.lang.simt import kernel_scope as at
from quadrants.lang.simt.lanes import log2_group_size, tile_size
from quadrants.lang.value import Value

REDUCTIONS = ("add", "min", "max")
SCANS = ("add", "mul", "min", "max", "and", "or", "xor")
BITWISE = ("and", "or", "xor")
# Operators of the language by the names of folds.
OPERATORS = {"add": "add", "mul": "mul", "min": "min", "max": "max", "and": "bit_and", "or": "bit_or", "xor": "bit_xor"}


def identity(how: str, t: DType) -> Value:
    """What a fold of no values of type `t` is."""
    if how in ("min", "max"):
        if t.is_real:
            return Value(Const(math.inf if how == "min" else -math.inf, t))
        return Value(Const(t.max if how == "min" else t.min, t))
    number = 1 if how == "mul" else 0
    if how == "and":
        number = t.max if t.kind != "i" else -1
    return Value(Const(float(number) if t.is_real else number, t))


def _operand(value, how: str, name: str) -> Value:
    value = at.scalar(value, name)
    if how in BITWISE and value.type.is_real:
        raise QuadrantsTypeError(f"qd.simt.{name} takes integers only, however '{value.type}' is provided")
    return value


def fold(kind: str, how: str, value, log2_size, name: str):
    """A fold over tiles: `kind` is reduce, reduce_all, inclusive or exclusive."""
    value, log2 = _operand(value, how, name), tile_size(log2_size, name)
    start = (identity(how, value.type),) if kind == "exclusive" else ()
    if log2 == 0:
        return start[0] if start else value
    tracer = at.on_device(name)
    return tracer.intrinsic(f"subgroup.{kind}", (value, *start), value.type, (how, value.type, log2))


def _segmented(how: str, value, head_flag, log2_size, name: str):
    if at.constant(log2_size, "log2_size", name) > 6:
        raise AssertionError(f"{name}: log2_size must be at most 6, got {log2_size}")
    value, log2 = _operand(value, how, name), tile_size(log2_size, name)
    head = at.predicate(head_flag, name)
    if log2 == 0:
        return value
    tracer = at.on_device(name)
    return tracer.intrinsic("subgroup.segmented", (value, head), value.type, (how, value.type, log2))


_TEXT = {
    "reduce": "The {how} of `value` over the {group}, in its first lane; the other lanes hold parts.",
    "reduce_all": "The {how} of `value` over the {group}, in every lane.",
    "inclusive": "The {how} of `value` over the lanes of the {group} up to this one.",
    "exclusive": "The {how} of `value` over the lanes of the {group} before this one; the identity in its first lane.",
    "segmented_reduce": "The {how} of `value` over the lanes of the {group} from the last one up to this with "
    "`head_flag` (integer) != 0; its first lane counts as one.",
}


def _define(kind: str, how: str) -> list:
    """The two public functions of a fold."""
    name = f"{kind}_{how}"

    if kind == "segmented_reduce":

        def tiled(value, head_flag, log2_size):
            return _segmented(how, value, head_flag, log2_size, f"subgroup.{name}_tiled")

        def whole(value, head_flag):
            return _segmented(how, value, head_flag, log2_group_size(), f"subgroup.{name}")
    else:

        def tiled(value, log2_size):
            return fold(kind, how, value, log2_size, f"subgroup.{name}_tiled")

        def whole(value):
            return fold(kind, how, value, log2_group_size(), f"subgroup.{name}")

    word = {"add": "sum", "mul": "product", "min": "minimum", "max": "maximum"}.get(how, f"bitwise {how}")
    for function, group, end in ((whole, "subgroup", ""), (tiled, "tile of 2**log2_size lanes", "_tiled")):
        function.__name__ = function.__qualname__ = name + end
        arguments = "a[i], " + "first[i], " * (kind == "segmented_reduce") + "5, " * bool(end)
        example = f"total = qd.simt.subgroup.{name + end}({arguments[:-2]})"
        function.__doc__ = f"{_TEXT[kind].format(how=word, group=group)}\n\n    {example}\n"
        globals()[name + end] = function
    return [name, f"{name}_tiled"]


__all__: list = []
for _kind in _TEXT:
    for _how in SCANS if _kind in ("inclusive", "exclusive") else REDUCTIONS:
        __all__ += _define(_kind, _how)
