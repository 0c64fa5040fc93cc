"""The number of iterations of a parallel loop as a number, or a program over the argument block.

`launch.tasks` says what a program is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quadrants.emit.layout import ArgsLayout
from quadrants.ir import nodes as n
from quadrants.ir.ranges import Range, known_length
from quadrants.ir.types import DType, StructType, TensorType, element_dtype, i32, struct_offsets

if TYPE_CHECKING:
    from quadrants.launch.tasks import Program

OPERATIONS = {
    "add": "add", "sub": "sub", "mul": "mul", "min": "min", "max": "max", "bit_and": "and", "bit_or": "or",
    "bit_xor": "xor", "floordiv": "floordiv", "mod": "mod",
}  # fmt: skip
Instruction = tuple[Any, ...]
Steps = tuple[list[Instruction], int, int]

_I32 = (-(2**31), 2**31 - 1)


def count_of(loop: n.For, layout: ArgsLayout, before: Sequence[n.Declare] = ()) -> int | Program | None:
    """The number of iterations of a parallel loop. `before`: declarations that its bounds use."""
    values = {d.var.id: d.init for d in before}
    known = 1
    program: list[Instruction] = []
    for begin, end in loop.bounds:
        length = known_length(begin, end)
        if length is not None:
            known *= length
            continue
        extent = _extent(begin, end, _Arguments(layout, values))
        if extent is None:
            return None
        program += [*extent, ("mul",)] if program else extent
    if known == 0 or not program:
        return known
    return tuple(program) if known == 1 else (*program, ("const", known), ("mul",))


@dataclass(slots=True, eq=False, repr=False)
class _Arguments:
    """Where the arguments are, and what is computed from them."""

    layout: ArgsLayout
    values: dict[int, n.Expr]


def _extent(begin: n.Expr, end: n.Expr, arguments: _Arguments) -> list[Instruction] | None:
    last = _program(end, arguments)
    if last is None:
        return None
    steps, low, _ = last
    if not (isinstance(begin, n.Const) and begin.value == 0):
        first = _program(begin, arguments)
        if first is None:
            return None
        steps, low = [*steps, *first[0], ("sub",)], low - first[2]
    return steps if low >= 0 else [*steps, ("const", 0), ("max",)]


def _program(e: n.Expr, arguments: _Arguments) -> Steps | None:
    """(instructions, least value, largest value) of an integer expression over the arguments, or None."""
    if isinstance(e, n.Const) and e.type.is_integral:
        return [("const", int(e.value))], int(e.value), int(e.value)
    if isinstance(e, n.Extent):
        if e.array.shape is not None:
            return [("const", e.array.shape[e.axis])], e.array.shape[e.axis], e.array.shape[e.axis]
        offset = arguments.layout.arrays[e.array.number][1]
        return None if offset < 0 else ([("i32", offset + 4 * e.axis)], 0, _I32[1])
    if isinstance(e, n.Load):
        if isinstance(e.place, n.VarPlace) and e.place.var.id in arguments.values:
            return _program(arguments.values[e.place.var.id], arguments)
        at, t = _offset(e.place, arguments.layout), e.type
        if at is None or not isinstance(t, DType) or not t.is_integral:
            return None
        return [(t.name, at)], t.min, t.max
    if isinstance(e, n.Cast) and not e.bits and e.type is i32 and element_dtype(e.a.type).is_integral:
        inner = _program(e.a, arguments)
        return None if inner is None else _wrapped(*inner)
    if isinstance(e, n.Binary) and e.op in OPERATIONS and e.loc is None and e.type is i32:
        return _binary(e, arguments)
    return None


def _binary(e: n.Binary, arguments: _Arguments) -> Steps | None:
    a, b = _program(e.a, arguments), _program(e.b, arguments)
    if a is None or b is None or e.a.type is not i32 or e.b.type is not i32:
        return None
    low, high = _range(e.op, a[1:], b[1:])
    return _wrapped([*a[0], *b[0], (OPERATIONS[e.op],)], low, high)


def _range(op: str, a: Range, b: Range) -> Range:
    """Between what `op` of two 32-bit numbers lies, before it wraps."""
    if op == "add":
        return a[0] + b[0], a[1] + b[1]
    if op == "sub":
        return a[0] - b[1], a[1] - b[0]
    if op == "mul":
        corners = [x * y for x in a for y in b]
        return min(corners), max(corners)
    if op in ("min", "max"):
        pick = min if op == "min" else max
        return pick(a[0], b[0]), pick(a[1], b[1])
    if op == "floordiv":
        # The one quotient out of range is that of the least number by -1.
        return (0, a[1]) if a[0] >= 0 and b[0] >= 0 else (_I32[0], _I32[1] + 1)
    return _I32


def _wrapped(steps: list[Instruction], low: int, high: int) -> Steps:
    if _I32[0] <= low and high <= _I32[1]:
        return steps, low, high
    return [*steps, ("wrap",)], *_I32


def _offset(place: n.Place, layout: ArgsLayout) -> int | None:
    """Where a parameter, or a constant part of one, is in the argument block."""
    if isinstance(place, n.VarPlace):
        return layout.values.get(place.var.id)
    if isinstance(place, n.MemberPlace):
        base, t = _offset(place.base, layout), place.base.type
        return base + struct_offsets(t)[place.name] if base is not None and isinstance(t, StructType) else None
    if isinstance(place, n.ElemPlace) and isinstance(place.base.type, TensorType):
        base, t = _offset(place.base, layout), place.base.type
        if base is None:
            return None
        flat = 0
        for i, extent in zip(place.indices, t.shape):
            if not isinstance(i, n.Const) or not 0 <= i.value < extent:
                return None
            flat = flat * extent + i.value
        return base + flat * t.dtype.size
    return None
