"""Exact models of the twelve dtypes: a number, its conversions, promotion."""

from __future__ import annotations

import ctypes
import math
import struct
from dataclasses import dataclass

import numpy as np

from .errors import Undefined, Unmodelled

_SMALLEST = {"f16": 2.0**-14, "f32": 2.0**-126, "f64": 2.0**-1022}  # below these a result may be flushed to zero


@dataclass(frozen=True, eq=False)
class DType:
    """A primitive type. `rank` orders types for promotion: the greater one wins."""

    name: str
    bits: int
    real: bool
    signed: bool

    @property
    def rank(self) -> tuple:
        return (self.real, self.bits, not self.signed)

    @property
    def numpy(self):
        return np.dtype(
            "bool" if self.bits == 1 else {"f": "float", "i": "int", "u": "uint"}[self.name[0]] + self.name[1:]
        )

    def __call__(self, x):
        from .operations import typed

        return typed(x, self)

    def __repr__(self) -> str:
        return f"qd.{self.name}"


NAMES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "u1", "f16", "f32", "f64")
DTYPES = {name: DType(name, int(name[1:]), name[0] == "f", name[0] != "u") for name in NAMES}
i32, i64, u1, f16, f32, f64 = (DTYPES[name] for name in ("i32", "i64", "u1", "f16", "f32", "f64"))


class Defaults:
    """What `int` and `float` mean, and whether checks are on; set for each program."""

    ip = i32
    fp = f32
    debug = False
    checked = False  # indices are


class Num:
    """A number of a dtype: a Python int that fits, or a Python float that the dtype has. whole: it was an integer."""

    __slots__ = ("dtype", "value", "whole")

    def __init__(self, dtype: DType, value, whole: bool | None = None):
        self.dtype, self.value = dtype, value
        self.whole = not dtype.real if whole is None else whole

    def __repr__(self) -> str:
        return f"{self.dtype.name}({self.value})"

    def __bool__(self) -> bool:
        raise Unmodelled("a run-time value decides something while the program is read")


def wrap(value: int, dtype: DType) -> int:
    """The integer whose low bits are those of `value`."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.signed and value >> (dtype.bits - 1) else value


def rounded(value: float, dtype: DType) -> float:
    """The number of a real dtype nearest to a Python float. Undefined where devices may flush it to zero."""
    if dtype is f32:
        value = ctypes.c_float(value).value
    elif dtype is f16 and math.isfinite(value):
        try:
            value = struct.unpack("e", struct.pack("e", value))[0]
        except OverflowError:
            value = math.copysign(math.inf, value)
    if value and -_SMALLEST[dtype.name] < value < _SMALLEST[dtype.name]:
        raise Undefined("a subnormal number")
    return value


def _real_of_int(value: int, dtype: DType) -> float:
    if -(1 << 53) <= value <= 1 << 53 or dtype is f64:
        return rounded(float(value), dtype)
    wide = np.uint64(value) if value > 0 else np.int64(value)
    with np.errstate(over="ignore"):
        return float(wide.astype(dtype.numpy))


def _int_of_real(value: float, dtype: DType) -> int:
    way = 31 if dtype.bits < 32 or dtype.name == "i32" else 63
    least, top = -(1 << way), 1 << (64 if dtype.name == "u64" else way)
    whole = math.trunc(value) if math.isfinite(value) else least
    return wrap(whole if least <= whole < top else least, dtype)


def convert(x: Num, dtype: DType) -> Num:
    """`qd.cast` of a number: reals become integers by way of i32 or i64, of which the low bits are kept."""
    have = x.dtype
    if have is dtype:
        return x
    if dtype is u1:
        if x.value != x.value:
            raise Undefined("a NaN as a truth value")
        return Num(u1, int(x.value != 0))
    if dtype.real:
        return Num(dtype, rounded(x.value, dtype) if have.real else _real_of_int(x.value, dtype), x.whole)
    return Num(dtype, _int_of_real(x.value, dtype) if have.real else wrap(x.value, dtype))


def promote(a: DType, b: DType) -> DType:
    return a if a.rank >= b.rank else b


def literal(x, dtype: DType | None = None) -> Num:
    """A Python number as the language takes it."""
    if isinstance(x, Num):
        return x
    if isinstance(x, (bool, np.bool_)):
        return Num(u1, int(x))
    if isinstance(x, (int, np.integer)):
        x, dtype = int(x), dtype or Defaults.ip
        low, high = (
            (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1) if dtype.signed else (0, (1 << dtype.bits) - 1)
        )
        if not low <= x <= high:
            raise Unmodelled(f"the literal {x} does not fit in {dtype.name}")
        return Num(dtype, x)
    if isinstance(x, (float, np.floating)):
        return Num(dtype or Defaults.fp, rounded(float(x), dtype or Defaults.fp))
    raise Unmodelled(f"no number: {x!r}")
