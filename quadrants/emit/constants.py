"""Numbers as literals of a C-family dialect."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from quadrants.emit.text import PRIMARY, UNARY, Text, name
from quadrants.ir.types import DType, ValueType, f16, flushed, u1

if TYPE_CHECKING:
    from quadrants.emit.dialects import Dialect


class Constants:
    """The part of a printer that writes numbers."""

    dialect: Dialect
    type: Callable[[ValueType], str]
    cast: Callable[[str, Text], Text]

    def constant(self, value: float, t: DType) -> Text:
        if t.is_real:
            return self.real(float(value), t)
        value = int(value)
        if t is u1:
            return name(self.dialect.booleans[bool(value)])
        suffix = self.dialect.suffixes.get(t.name, "")
        if value == t.min and t.kind == "i" and t.bits >= 32:
            # The literal 2147483648 has a wider type, and so has its negative.
            return Text(f"(-{t.max}{suffix} - 1)")
        text = Text(f"{value}{suffix}", PRIMARY if value >= 0 else UNARY)
        return self.cast(self.type(t), text) if t.bits < 32 else text

    def real(self, value: float, t: DType) -> Text:
        if t is f16 and not self.dialect.spelling.half_arithmetic:
            return self.cast(self.type(t), name(f"{half_bits(value):#06x}"))
        if math.isnan(value):
            return name(self.dialect.literals[(t.name, "nan")])
        if math.isinf(value):
            infinity = self.dialect.literals[(t.name, "inf")]
            return name(infinity) if value > 0 else Text(f"-{infinity}", UNARY)
        if t.name in self.dialect.flushes:
            value = flushed(value, t)
        digits = shortest(value, t) + ("f" if t is f16 else self.dialect.suffixes.get(t.name, ""))
        text = Text(digits, UNARY if digits[0] == "-" else PRIMARY)
        return self.cast(self.type(t), text) if t is f16 else text


def half_bits(value: float) -> int:
    """The bits of a number in f16, rounded by way of f32 as compilers of the other dialects do."""
    import numpy as np

    with np.errstate(over="ignore"):
        return int(np.float32(value).astype(np.float16).view(np.uint16))


def shortest(value: float, t: DType) -> str:
    """The shortest decimal text that reads back as the same value of type `t`."""
    if t.bits <= 32:
        import numpy as np

        text = str(np.float32(value))
    else:
        text = repr(value)
    return text if any(c in text for c in ".en") else text + ".0"
