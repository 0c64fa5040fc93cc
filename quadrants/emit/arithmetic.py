"""Signed arithmetic that wraps, in dialects whose compilers assume that it never overflows.

    x + 1       (int32_t)(x + 1u)
    a * b - c   (int32_t)((uint32_t)a * b - c)
    x += y      x += (uint32_t)y

Where no overflow can be seen it is written plainly (see `ir.ranges`), and so are addresses, in every dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeGuard

from quadrants.emit.spelling import CLEARER, EXACT, INFIX
from quadrants.emit.text import Text, infix, prefix
from quadrants.ir import nodes as n
from quadrants.ir.ranges import ARITHMETIC as WRAPPING
from quadrants.ir.ranges import Ranges
from quadrants.ir.types import DType, ValueType, i32, primitive, scalar

if TYPE_CHECKING:
    from quadrants.emit.dialects import Dialect


class SignedArithmetic:
    """The part of a printer that writes sums, differences, products and negatives of signed integers."""

    dialect: Dialect
    type: Callable[[ValueType], str]
    text: Callable[[n.Expr], Text]
    constant: Callable[[float, DType], Text]
    cast: Callable[[str, Text], Text]
    ranges: Ranges | None = None

    def wraps(self, e: n.Expr) -> TypeGuard[n.Binary | n.Unary]:
        """Whether an expression needs unsigned arithmetic."""
        if not isinstance(e, (n.Binary, n.Unary)) or not isinstance(e.type, DType):
            return False
        if self.ranges is None or not self.may_wrap(e.op, e.type):
            return False
        if isinstance(e, n.Binary) and (e.exact or e.loc is not None):
            return False
        return self.ranges.overflows(e)

    def may_wrap(self, op: str, t: DType) -> bool:
        if self.dialect.signed_wraps or t.kind != "i" or t.bits < 32:
            return False
        return op in WRAPPING or op == "neg" and t.name not in self.dialect.helped_negatives

    def wrapped(self, e: n.Binary | n.Unary) -> Text:
        """An expression that `wraps`."""
        return self.cast(self.type(e.type), self.unsigned(e))

    def unsigned(self, e: n.Expr) -> Text:
        """An expression computed in the unsigned type of its width."""
        if isinstance(e, n.Const) and e.value >= 0:
            return self.constant(e.value, unsigned_of(e.type))
        if not self.wraps(e):
            return self.cast(self.type(unsigned_of(scalar(e.type))), self.text(e))
        if isinstance(e, n.Unary):
            return prefix("-", self.unsigned(e.a))
        # One unsigned operand makes the operation unsigned.
        natural = [self.wraps(x) or isinstance(x, n.Const) and x.value >= 0 for x in (e.a, e.b)]
        left = self.unsigned(e.a) if natural[0] or not natural[1] else self.text(e.a)
        right = self.unsigned(e.b) if natural[1] else self.text(e.b)
        return infix(*INFIX[e.op], left, right)

    def unsigned_operand(self, op: str, e: n.Expr) -> Text:
        """The right side of `x += e`, `x -= e` or `x *= e`."""
        if self.ranges is not None and self.may_wrap(op, scalar(e.type)):
            return self.unsigned(e)
        return self.text(e)

    def counts_freely(self, count: n.Expr | None, t: DType) -> bool:
        """Whether a shift may be asked for more places than there are: then its count is taken modulo the width, as
        instructions of x86 do, where others, and those on vectors, clamp it. count: None where nothing is known of it.
        """
        if t.bits < 8:
            return False
        if isinstance(count, n.Const):
            return not 0 <= count.value < max(t.bits, 32)
        if count is None or self.ranges is None:
            return True
        low, high = self.ranges.of(count)
        return low < 0 or high >= max(t.bits, 32)

    def elementwise(self, op: str, t: DType, a: Text, b: Text) -> Text:
        """An operation on elements of tensors."""
        return self.cast(self.type(t), infix(*INFIX[op], self.cast(self.type(unsigned_of(t)), a), b))

    def negated(self, t: DType, a: Text) -> Text:
        """The negative of an element of a tensor."""
        return self.cast(self.type(t), prefix("-", self.cast(self.type(unsigned_of(t)), a)))

    # ------------------------------------------------------------ addresses

    def index(self, e: n.Expr) -> Text:
        """Between brackets any width will do."""
        return self.exact(e, settled=not _is_computed(e))

    def exact(self, e: n.Expr, settled: bool = False) -> Text:
        """Arithmetic that does not overflow its type. settled: what it is an operand of has that type in any case, so
        that C converts; else one operand has to be written in it.
        """
        if isinstance(e, n.Binary) and e.exact:
            # A sum to the right is computed by itself, in the type of its own operands.
            first = self.exact(e.a)
            symbol, precedence = EXACT[e.op]
            second = self.exact(e.b, settled=not _is_computed(e.b))
            return infix(symbol, precedence, first, second, CLEARER.get(precedence, 0))
        if isinstance(e, n.Const):
            return self.constant(e.value, i32 if settled and _fits_int(e.value) else e.type)
        if isinstance(e, n.Cast) and settled and not e.bits and _widens(e):
            return self.text(e.a)
        return self.text(e)


def unsigned_of(t: DType) -> DType:
    return primitive(f"u{t.bits}")


def _is_computed(e: n.Expr) -> bool:
    """Whether an operand, without the casts that C makes by itself, is computed in a type of its own."""
    if isinstance(e, n.Cast) and not e.bits and _widens(e):
        return False
    return isinstance(e, n.Binary)


def _fits_int(value: int) -> bool:
    return -(2**31) < value < 2**31


def _widens(e: n.Cast) -> bool:
    """Whether C makes this cast by itself for an operand beside one of the wider type."""
    have, t = scalar(e.a.type), scalar(e.type)
    return have.kind == "i" and have.bits < t.bits or have.kind in "bu" and have.bits < 32
