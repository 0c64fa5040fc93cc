"""Quantised formats: what the bits of a packed cell mean, and where they are.

A cell of a field may be some bits of a *word*, an unsigned integer in memory. `Packing` says which; kernels compute in
the primitive type `compute` of the format.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from quadrants.ir.types import DType, u8, u16, u32, u64

WORDS = {t.bits: t for t in (u8, u16, u32, u64)}


@dataclass(frozen=True, repr=False)
class QuantType:
    """Base: `bits` of storage, computed with as the primitive type `compute`."""

    bits: int
    signed: bool
    compute: DType

    @property
    def is_real(self) -> bool:
        """Whether kernels compute with real numbers."""
        return self.compute.is_real


@dataclass(frozen=True, repr=False)
class QuantInt(QuantType):
    """Two's-complement (or unsigned) integer of `bits` bits; stores wrap."""

    def __repr__(self) -> str:
        return f"q{'i' if self.signed else 'u'}{self.bits}"


@dataclass(frozen=True, repr=False)
class QuantFixed(QuantType):
    """Integer `digits` times `scale`; stores round halves away from zero, then wrap."""

    digits: QuantInt
    scale: float

    def __repr__(self) -> str:
        return f"qfx(d={self.digits} c={self.compute} s={self.scale})"


@dataclass(frozen=True, repr=False)
class QuantFloat(QuantType):
    """`exponent` bits and `digits` bits of mantissa (its sign included, if signed); underflow stores 0.

    Exponent 0 is the number 0, e is 2**(e - bias). There are no infinities and no NaN, but where the exponent has the 8
    bits of f32; what is too large is stored as the largest number.
    """

    digits: QuantInt
    exponent: QuantInt

    def __repr__(self) -> str:
        return f"qfl(d={self.digits} e={self.exponent} c={self.compute})"

    @property
    def fraction(self) -> int:
        """Bits of the mantissa without its sign."""
        return self.digits.bits - self.signed

    @property
    def bias(self) -> int:
        """What the exponent is counted from."""
        return (1 << (self.exponent.bits - 1)) - 1


class Part(NamedTuple):
    """The mantissa of one member of a group with a shared exponent: its first bit and its format."""

    bit: int
    format: QuantFloat


class Packing(NamedTuple):
    """Where the bits of a cell are in its word.

    bit: the first one. exponent: that of a float's exponent, -1 for others. levels: (axis, extent, divisor, bits) of a
    `quant_array`: a canonical index I moves the bits on by `(I[axis] - index_offset[axis]) // divisor % extent * bits`.
    group: what shares the exponent, this one included; () for a float that has one of its own. used: the bits of the
    word that anything is in, as a mask.
    """

    word: DType
    format: QuantType
    bit: int
    exponent: int = -1
    levels: tuple[tuple[int, int, int, int], ...] = ()
    group: tuple[Part, ...] = ()
    used: int = 0

    @property
    def width(self) -> int:
        """Bits of a number without its exponent."""
        return self.format.digits.bits if isinstance(self.format, (QuantFixed, QuantFloat)) else self.format.bits
