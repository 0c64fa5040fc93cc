"""Quantised element types of bit-packed fields. They describe storage only; kernels compute in `compute`."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

from quadrants.ir.types import DType, f32, i32, u32
from quadrants.lang.primitive_types import default_fp, resolve_dtype

MAX_BITS = 64
MAX_EXPONENT_BITS = 8
MAX_FRACTION_BITS = 23


@dataclass(frozen=True, eq=False)
class QuantType:
    """Base: `bits` of storage, computed with as the primitive type `compute`."""

    bits: builtins.int
    signed: bool
    compute: DType


@dataclass(frozen=True, eq=False)
class QuantInt(QuantType):
    """Two's-complement (or unsigned) integer of `bits` bits; stores wrap."""

    def __str__(self) -> str:
        return f"q{'i' if self.signed else 'u'}{self.bits}"


@dataclass(frozen=True, eq=False)
class QuantFixed(QuantType):
    """Integer `digits` times `scale`; stores round halves away from zero, then wrap."""

    digits: QuantInt
    scale: builtins.float

    def __str__(self) -> str:
        return f"qfx({self.digits}, scale={self.scale})"


@dataclass(frozen=True, eq=False)
class QuantFloat(QuantType):
    """`exponent` bits and `digits` bits of mantissa (its sign included, if signed); underflow stores 0."""

    digits: QuantInt
    exponent: QuantInt

    def __str__(self) -> str:
        return f"qfl({self.digits}, exponent={self.exponent})"


def _bits(value: Any, name: str, low: builtins.int, high: builtins.int) -> builtins.int:
    if isinstance(value, bool) or not isinstance(value, builtins.int):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be in {low}..{high}, but is {value}")
    return value


def int(bits: builtins.int, signed: bool = True, compute: DType | None = None) -> QuantInt:
    """Integer type of `bits` bits (1 to 64). compute: primitive integer type, by default i32, or u32 if unsigned."""
    if compute is None:
        compute = i32 if signed else u32
    return QuantInt(_bits(bits, "bits", 1, MAX_BITS), bool(signed), resolve_dtype(compute))


def fixed(
    bits: builtins.int,
    signed: bool = True,
    max_value: builtins.float = 1.0,
    compute: DType | None = None,
    scale: builtins.float | None = None,
) -> QuantFixed:
    """Fixed-point type of `bits` bits (1 to 64) for magnitudes below `max_value`.

    scale: value of the lowest bit, by default max_value / 2**(bits-1), or max_value / 2**bits if unsigned.
    compute: real primitive type, by default default_fp.
    """
    _bits(bits, "bits", 1, MAX_BITS)
    if scale is None:
        scale = max_value / 2 ** (bits - 1 if signed else bits)
    digits = QuantInt(bits, bool(signed), i32 if signed else u32)
    return QuantFixed(bits, bool(signed), resolve_dtype(compute or default_fp()), digits, builtins.float(scale))


def float(exp: builtins.int, frac: builtins.int, signed: bool = True, compute: DType | None = None) -> QuantFloat:
    """Floating-point type of `exp` exponent bits (1 to 8) and `frac` bits of mantissa, its sign included.

    The mantissa has at most 23 bits besides the sign; compute is f32.
    """
    _bits(exp, "exp", 1, MAX_EXPONENT_BITS)
    _bits(frac, "frac", 1 + bool(signed), MAX_FRACTION_BITS + bool(signed))
    if compute is not None and resolve_dtype(compute) is not f32:
        raise ValueError(f"compute type of quant.float must be f32, not {compute}")
    digits = QuantInt(frac, bool(signed), i32)
    exponent = QuantInt(exp, False, i32)
    return QuantFloat(exp + frac, bool(signed), f32, digits, exponent)
