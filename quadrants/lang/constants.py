"""Python numbers as typed constants, with the rounding and wrapping of the target type."""

from __future__ import annotations

import math
import struct

import numpy as np

from quadrants.errors import QuadrantsTypeError
from quadrants.ir.nodes import Const
from quadrants.ir.types import DType, f16, f32, flushed, i32, i64, u1, u32, u64
from quadrants.lang import scope

_LEGIBLE = 128  # bits
NUMBER = (bool, int, float, np.bool_, np.integer, np.floating)


def wrap(value: int, t: DType) -> int:
    """Two's complement truncation of an integer to the width of `t`."""
    if t is u1:
        return int(value != 0)
    value &= (1 << t.bits) - 1
    return value - (1 << t.bits) if t.kind == "i" and value >> (t.bits - 1) else value


def round_to(value: float, t: DType) -> float:
    """The nearest value of the real type `t`; for f32 one that is subnormal is 0, as it is on all archs in a launch."""
    if t is f32:
        try:
            return flushed(struct.unpack("f", struct.pack("f", value))[0], f32)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if t is f16:
        with np.errstate(over="ignore"):
            return float(np.float16(value))
    return float(value)


def convert(value, t: DType):
    """`value` as a cast of a launch converts it to `t`."""
    if t.is_real:
        try:
            return round_to(float(value), t)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if isinstance(value, float):
        if t is u1:
            return int(value != 0.0)
        return wrap(_truncated(value, t), t)
    return wrap(int(value), t)


def _truncated(value: float, t: DType) -> int:
    """What is before the point, so far as the type that the cast goes by holds it, else the least number of that."""
    way = i64 if t.bits == 64 or t is u32 else i32
    largest = u64.max if t is u64 else way.max
    return int(value) if way.min <= value < largest + 1 else way.min


def literal(value) -> Const:
    """A Python or NumPy number met in kernel scope: bool is u1, int is default_ip, float is default_fp."""
    if isinstance(value, (bool, np.bool_)):
        return Const(int(value), u1)
    if isinstance(value, (int, np.integer)):
        value, t = int(value), scope.default_ip()
        if not t.min <= value <= t.max:
            raise QuadrantsTypeError(_too_large(value, t))
        return Const(value, t)
    t = scope.default_fp()
    return Const(round_to(float(value), t), t)


def real_literal(value: float, t: DType) -> Const:
    """A number that is written with its real type `t`. Warns where that has none so far from 0."""
    found = round_to(value, t)
    if math.isinf(found) and not math.isinf(value):
        scope.warn(
            f"{value!r} is further from 0 than every number of {t}, and becomes {found}. Write qd.f64({value!r}), "
            "or qd.math.inf where that is meant."
        )
    return Const(found, t)


def _too_large(value: int, t: DType) -> str:
    tracer = scope.current()
    name = tracer.name_of(value) if tracer is not None else ""
    whose = f" It is the value of `{name}`." if name else ""
    told = f"Integer literal {shown(value)} exceeded the range of default_ip: {t}"
    wider = [w.name for w in (u32, i64, u64) if w.min <= value <= w.max]
    if wider:
        return f"{told}; write qd.{wider[0]}({name or value}) to widen it.{whose}"
    return f"{told} and of every other type. Write a real number, as in `1e20`, or compute in larger units.{whose}"


def shown(value: int) -> str:
    """An integer in a message: of those that no line holds, how long they are."""
    return str(value) if value.bit_length() <= _LEGIBLE else f"of {value.bit_length()} bits"


def of_type(value, t: DType) -> Const:
    return Const(convert(value, t), t)
