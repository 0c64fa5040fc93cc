"""What quantised numbers are, in exact fractions and Python's integers: nothing here knows of masks or shifts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


def half_away(x: Fraction) -> int:
    """The nearest integer; halves go away from zero."""
    return int(math.copysign(math.floor(abs(x) + Fraction(1, 2)), x))


def wrapped(value: int, bits: int, signed: bool) -> int:
    value %= 1 << bits
    return value - (1 << bits) if signed and value >> (bits - 1) else value


@dataclass(frozen=True)
class Int:
    bits: int
    signed: bool = True

    def type(self, qd):
        return qd.types.quant.int(self.bits, self.signed)

    def stored(self, value: int) -> int:
        return wrapped(value, self.bits, self.signed)

    def added(self, held: int, value: int) -> int:
        return self.stored(held + value)


@dataclass(frozen=True)
class Fixed:
    """`max_value` is a power of two, so that nothing is rounded but to a whole number of steps."""

    bits: int
    signed: bool = True
    max_value: float = 1.0

    @property
    def scale(self) -> Fraction:
        return Fraction(self.max_value) / 2 ** (self.bits - self.signed)

    def type(self, qd):
        return qd.types.quant.fixed(self.bits, self.signed, self.max_value)

    def _read(self, steps: int) -> float:
        return float(np.float32(steps) * np.float32(self.scale))

    def stored(self, value: float) -> float:
        steps = half_away(Fraction(value) / self.scale) if math.isfinite(value) else 0
        return self._read(wrapped(steps, self.bits, self.signed))

    def added(self, held: float, value: float) -> float:
        steps = half_away(Fraction(held) / self.scale) + half_away(Fraction(value) / self.scale)
        return self._read(wrapped(steps, self.bits, self.signed))


@dataclass(frozen=True)
class Float:
    exponent: int
    digits: int  # the sign included
    signed: bool = True

    @property
    def bits(self) -> int:
        return self.exponent + self.digits

    @property
    def fraction(self) -> int:
        return self.digits - self.signed

    @property
    def bias(self) -> int:
        return 2 ** (self.exponent - 1) - 1

    @property
    def highest(self) -> int:
        return 2**self.exponent - 1 - self.bias

    def type(self, qd):
        return qd.types.quant.float(self.exponent, self.digits, self.signed)

    def sign(self, value: float) -> int:
        return -1 if self.signed and math.copysign(1.0, value) < 0 else 1

    def rounded(self, value: float, fraction: int) -> Fraction:
        """The magnitude with so many binary digits behind the leading one."""
        x = abs(Fraction(value))
        if x < Fraction(2) ** -126:
            return Fraction(0)
        step = Fraction(2) ** (log2(x) - fraction)
        return half_away(x / step) * step

    def stored(self, value: float) -> float:
        largest = (2 - Fraction(1, 2**self.fraction)) * Fraction(2) ** self.highest
        if not math.isfinite(value):
            return self.sign(value) * float(largest)
        x = min(self.rounded(value, self.fraction), largest)
        if x == 0 or log2(x) < 1 - self.bias:
            return 0.0
        return self.sign(value) * float(x)

    def added(self, held: float, value: float) -> float:
        return self.stored(float(np.float32(held) + np.float32(value)))


def log2(x: Fraction) -> int:
    """The exponent of the largest power of two that is not above x."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


class Group:
    """Floats with one exponent, that of the largest; the others lose digits."""

    def __init__(self, formats: list[Float]):
        self.formats = formats
        self.values = [Fraction(0)] * len(formats)

    def store(self, k: int, value: float) -> None:
        form = self.formats[k]
        largest = (2 - Fraction(2, 2**form.fraction)) * Fraction(2) ** form.highest
        exact = min(abs(Fraction(value)), largest)
        if exact < Fraction(2) ** -126:
            exact = Fraction(0)
        x = min(form.rounded(float(exact), form.fraction - 1), largest)
        low = 1 - form.bias
        there = x > 0 and log2(x) >= low
        exponents = [log2(x)] if there else []
        exponents += [max(log2(abs(v)), low) for j, v in enumerate(self.values) if j != k and v]
        exponent = max(exponents, default=low)
        for j, (f, v) in enumerate(zip(self.formats, self.values)):
            sign = form.sign(value) if j == k else (1 if v >= 0 else -1)
            size = (exact if there else Fraction(0)) if j == k else abs(v)
            step = Fraction(2) ** (exponent - (f.fraction - 1))
            self.values[j] = sign * half_away(size / step) * step

    def read(self) -> list[float]:
        return [float(v) for v in self.values]
