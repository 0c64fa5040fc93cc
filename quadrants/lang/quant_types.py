"""Quantised element types of bit-packed fields. They describe storage only; kernels compute in `compute`."""

from __future__ import annotations

import builtins
from typing import Any

from quadrants.ir.quant import QuantFixed as QuantFixed
from quadrants.ir.quant import QuantFloat as QuantFloat
from quadrants.ir.quant import QuantInt as QuantInt
from quadrants.ir.quant import QuantType as QuantType
from quadrants.ir.types import DType, f32, i32, i64, u32, u64
from quadrants.lang.primitive_types import default_fp, resolve_dtype

MAX_BITS = 64
MAX_EXPONENT_BITS = 8
MAX_FRACTION_BITS = 23


def _bits(value: Any, name: str, low: builtins.int, high: builtins.int) -> builtins.int:
    if isinstance(value, bool) or not isinstance(value, builtins.int):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be in {low}..{high}, but is {value}")
    return value


def _integer(bits: builtins.int, signed: bool) -> DType:
    if bits > 32:
        return i64 if signed else u64
    return i32 if signed else u32


def int(bits: builtins.int, signed: bool = True, compute: DType | None = None) -> QuantInt:
    """Integer type of `bits` bits (1 to 64).

    compute: primitive integer type of as many bits or more; by default i32, or u32 if unsigned, and i64 or u64 for more
    than 32 bits. `ValueError` for another one.
    """
    _bits(bits, "bits", 1, MAX_BITS)
    computed = resolve_dtype(compute) if compute is not None else _integer(bits, signed)
    if computed.kind not in "iu" or computed.bits < bits:
        raise ValueError(f"compute type of quant.int({bits}) must be an integer of {bits} bits or more, not {computed}")
    return QuantInt(bits, bool(signed), computed)


def fixed(
    bits: builtins.int,
    signed: bool = True,
    max_value: builtins.float = 1.0,
    compute: DType | None = None,
    scale: builtins.float | None = None,
) -> QuantFixed:
    """Fixed-point type of `bits` bits (1 to 64) for magnitudes below `max_value`.

    scale: value of the lowest bit, by default max_value / 2**(bits-1), or max_value / 2**bits if unsigned.
    compute: real primitive type, by default default_fp. `ValueError` for an integer, or for a scale that is not
    positive and finite.
    """
    _bits(bits, "bits", 1, MAX_BITS)
    if scale is None:
        scale = max_value / 2 ** (bits - 1 if signed else bits)
    if not 0.0 < scale < builtins.float("inf"):
        raise ValueError(f"scale of quant.fixed must be positive and finite, but is {scale}")
    computed = resolve_dtype(compute) if compute is not None else default_fp()
    if not computed.is_real:
        raise ValueError(f"compute type of quant.fixed must be real, not {computed}")
    digits = QuantInt(bits, bool(signed), _integer(bits, signed))
    return QuantFixed(bits, bool(signed), computed, digits, builtins.float(scale))


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
