"""Scalar operations and conversions as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quadrants.emit.spelling import BOOLEAN, CLEARER, FUNCTIONS, INFIX, narrow
from quadrants.emit.text import BAND, EQUALITY, MUL, UNARY, Text, call, infix, name, prefix
from quadrants.ir import nodes as n
from quadrants.ir.types import DType, ValueType, f16, f32, u1, u16, u32

if TYPE_CHECKING:
    from quadrants.emit.dialects import Dialect


class Operators:
    """The part of a printer that applies scalar operations to operands that are text already."""

    dialect: Dialect
    need: Callable[..., str]
    type: Callable[[ValueType], str]
    constant: Callable[[float, DType], Text]
    counts_freely: Callable[[n.Expr | None, DType], bool]
    cast: Callable[[str, Text], Text]

    def unary(self, op: str, t: DType, a: Text) -> Text:
        if op == "neg" and t.name in self.dialect.helped_negatives:
            return call(self.need("scalar", "neg", t), a)
        if op == "neg":
            return a if t is u1 else self.narrowed("neg", t, prefix("-", a))
        if op == "bit_not":
            return self.narrowed("bit_not", t, prefix("!" if t is u1 else "~", a))
        if op == "logic_not":
            return prefix("!", a)
        if op in ("isnan", "isinf") and not t.is_real:
            return name(self.dialect.booleans[False])
        return call(self.need("scalar", op, t), a)

    def binary(self, op: str, t: DType, tb: DType, a: Text, b: Text, count: n.Expr | None = None) -> Text:
        """`a op b`. count: the node of b, where that is known."""
        found = (BOOLEAN.get(op) if t is u1 else None) or INFIX.get(op)
        if op in ("raw_div", "truediv") and t.is_real:
            return self.narrowed("truediv", t, infix("/", MUL, a, b))
        if found is None:
            types = (t, tb) if op == "powi" else (t,)
            return call(self.need("scalar", FUNCTIONS.get(op, op), *types), a, b)
        symbol, precedence = found
        if op == "mul" and t is u16 and not self.dialect.signed_wraps:
            # Both become int, which the product may exceed.
            a = self.cast(self.type(u32), a)
        if op in ("shl", "shr") and self.counts_freely(count, t):
            b = infix("&", BAND, b, name(str(max(t.bits, 32) - 1)), UNARY)
        return self.narrowed(op, t, infix(symbol, precedence, a, b, CLEARER.get(precedence, 0)))

    def narrowed(self, op: str, t: DType, text: Text) -> Text:
        return self.cast(self.type(t), text) if narrow(op, t) else text

    # ------------------------------------------------------------ conversions

    def converted(self, have: DType, t: DType, a: Text) -> Text:
        """A value of type `have` as one of type `t`.

        Real numbers become integers by way of i32, for a target of which that holds all values, or else i64: what is
        behind the point is dropped, then the low bits stay. What does not fit on the way, and NaN, is its least number.
        """
        if t is u1:
            return infix("!=", EQUALITY, a, self.constant(0.0 if have.is_real else 0, have))
        if f16 in (have, t) and not self.dialect.spelling.half_arithmetic:
            return call(self.need("cast", "half", have, t), a)
        if t is f16 and have.is_integral and have.max > 65504:
            # gcc 12 takes for finite what an integer is as f16. All that are finite are exact in f32.
            a = self.cast(self.type(f32), a)
        if not have.is_real or t.is_real:
            return self.cast(self.type(t), a)
        if have is f16:
            have, a = f32, self.cast(self.type(f32), a)
        return call(self.need("cast", "to_integer", have, t), a)

    def bit_cast(self, have: DType, t: DType, a: Text) -> Text:
        return call(self.need("cast", "bit_cast", have, t), a)
