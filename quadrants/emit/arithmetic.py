"""Signed arithmetic that wraps, in dialects whose compilers assume that it never overflows.

    x + 1       (int32_t)(x + 1u)
    a * b - c   (int32_t)((uint32_t)a * b - c)
    x += y      x += (uint32_t)y

Where no overflow can be seen it is written plainly (see `ranges`).
"""

from __future__ import annotations

from typing import Any

from quadrants.emit.ranges import Ranges, carries
from quadrants.emit.spelling import INFIX, UNARY, paren
from quadrants.ir import nodes as n
from quadrants.ir.types import DType, primitive

WRAPPING = ("add", "sub", "mul")


class SignedArithmetic:
    """The part of a printer that writes sums, differences, products and negatives of signed integers."""

    dialect: Any
    type: Any
    text: Any
    constant: Any
    ranges: Ranges | None = None
    indexing = False  # inside the index of a cell

    def wraps(self, e) -> bool:
        """Whether an expression needs unsigned arithmetic."""
        if not isinstance(e, (n.Binary, n.Unary)) or not isinstance(e.type, DType) or self.indexing:
            return False
        if self.ranges is None or not self.may_wrap(e.op, e.type) or getattr(e, "loc", None) is not None:
            return False
        return self.ranges.overflows(e)

    def may_wrap(self, op: str, t: DType) -> bool:
        return t.kind == "i" and t.bits >= 32 and op in (*WRAPPING, "neg") and not self.dialect.signed_wraps

    def wrapped(self, e):
        """Text and precedence of an expression that `wraps`."""
        return f"({self.type(e.type)}){paren(*self.unsigned(e), UNARY)}", UNARY

    def unsigned(self, e):
        """Text and precedence of an expression computed in the unsigned type of its width."""
        if isinstance(e, n.Const) and e.value >= 0:
            return self.constant(e.value, unsigned_of(e.type))
        if not self.wraps(e):
            return f"({self.type(unsigned_of(e.type))}){self.text(e, UNARY)}", UNARY
        if isinstance(e, n.Unary):
            text, have = self.unsigned(e.a)
            # Two signs in a row are a decrement.
            return f"-{paren(text, -1 if text.startswith('-') else have, UNARY)}", UNARY
        symbol, need = INFIX[e.op]
        # One unsigned operand makes the operation unsigned.
        natural = [self.wraps(x) or isinstance(x, n.Const) and x.value >= 0 for x in (e.a, e.b)]
        left = paren(*self.unsigned(e.a), need) if natural[0] or not natural[1] else self.text(e.a, need)
        right = paren(*self.unsigned(e.b), need + 1) if natural[1] else self.text(e.b, need + 1)
        return f"{left} {symbol} {right}", need

    def unsigned_operand(self, op: str, e) -> str:
        """The right side of `x += e`, `x -= e` or `x *= e`."""
        if self.may_wrap(op, e.type) and self.ranges is not None:
            return self.unsigned(e)[0]
        return self.text(e)

    def counts_freely(self, count, t: DType) -> bool:
        """Whether a shift may be asked for more places than there are: then its count is taken modulo the width, as the
        CPU does, where a device would clamp it.
        """
        if self.dialect.signed_wraps or t.bits < 8:
            return False
        if isinstance(count, str) or self.ranges is None:
            return True
        low, high = self.ranges.of(count)
        return low < 0 or high >= max(t.bits, 32)

    def elementwise(self, op: str, t: DType) -> str:
        """The spelling of an operation on the elements of tensors."""
        symbol = INFIX[op][0]
        return f"(({self.type(t)})(({self.type(unsigned_of(t))}){{a}} {symbol} {{b}}))"

    def carried(self, e) -> bool:
        """Whether the operands of an expression are inside an index, too."""
        return self.indexing and carries(e)


def unsigned_of(t: DType) -> DType:
    return primitive(f"u{t.bits}")
