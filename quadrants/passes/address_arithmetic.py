"""Arithmetic of addresses: numbers that are known not to wrap, simplified where a part is known."""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.types import DType, scalar, u32, u64


def convert(e: n.Expr, t: DType) -> n.Expr:
    """An integer as one of another type."""
    if isinstance(e, n.Const):
        return n.Const(int(e.value), t)
    return e if e.type is t else n.Cast(e, t)


def total(a: n.Expr, b: n.Expr) -> n.Expr:
    """The sum of two numbers of one type."""
    if isinstance(b, n.Const):
        return plus(a, b.value)
    return n.Binary("add", a, b, a.type, exact=True)


def plus(e: n.Expr, constant: int) -> n.Expr:
    """A number and a constant."""
    if isinstance(e, n.Const):
        return n.Const(e.value + constant, e.type)
    if constant == 0:
        return e
    op = "add" if constant > 0 else "sub"
    return n.Binary(op, e, n.Const(abs(constant), scalar(e.type)), e.type, exact=True)


def times(e: n.Expr, factor: int) -> n.Expr:
    """A number as often as a constant says."""
    if isinstance(e, n.Const):
        return n.Const(e.value * factor, e.type)
    return e if factor == 1 else n.Binary("mul", e, n.Const(factor, scalar(e.type)), e.type, exact=True)


def digit(e: n.Expr, divisor: int, extent: int, anything: bool = False) -> n.Expr:
    """`e // divisor % extent` of a number that is not negative; no remainder where `extent` is 0.

    anything: the number may be negative. Then the result means nothing, but a remainder is one, and a quotient is
    larger than any index.
    """
    if divisor > 1:
        e = _by_bits(e, "shr", "raw_div", divisor.bit_length() - 1, divisor, anything)
    return _by_bits(e, "bit_and", "raw_mod", extent - 1, extent, anything) if extent else e


def _by_bits(e: n.Expr, bit_op: str, op: str, bits: int, number: int, anything: bool) -> n.Expr:
    """An operation by a power of two as one on bits, else by any number."""
    t = scalar(e.type)
    if number & (number - 1) == 0:
        return n.Binary(bit_op, e, n.Const(bits, t), t, exact=True)
    if anything:
        unsigned = u32 if t.bits <= 32 else u64
        return n.Cast(n.Binary(op, n.Cast(e, unsigned), n.Const(number, unsigned), unsigned, exact=True), t)
    return n.Binary(op, e, n.Const(number, t), t, exact=True)
