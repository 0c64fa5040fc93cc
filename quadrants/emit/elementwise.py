"""Operations on every element of a tensor: a helper of the prelude that applies one scalar expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from quadrants.emit.spelling import INFIX
from quadrants.emit.text import Text, call, infix, name, prefix, select
from quadrants.ir import nodes as n
from quadrants.ir.ranges import ARITHMETIC as WRAPPING
from quadrants.ir.types import DType, ValueType, element_dtype, f32, f64

if TYPE_CHECKING:
    from quadrants.emit.prelude import Prelude

_A, _B, _C = name("{a}"), name("{b}"), name("{c}")


class Elementwise:
    """The part of a printer that writes operations on tensors."""

    text: Callable[[n.Expr], Text]
    texts: Callable[[Sequence[n.Expr]], list[Text]]
    unary: Callable[[str, DType, Text], Text]
    binary: Callable[[str, DType, DType, Text, Text], Text]
    converted: Callable[[DType, DType, Text], Text]
    bit_cast: Callable[[DType, DType, Text], Text]
    may_wrap: Callable[[str, DType], bool]
    elementwise: Callable[[str, DType, Text, Text], Text]
    negated: Callable[[DType, Text], Text]
    prelude: Prelude

    def mapped(self, stem: str, spelling: Text, result: ValueType, *operands: n.Expr) -> Text:
        """The helper `stem` applied to operands: `spelling` says what it does with their elements {a}, {b} and {c}."""
        types = [o.type for o in operands]
        function = self.prelude.need("map", stem, spelling.bare, result, *types)
        if function == "-" and len(operands) == 1:
            return prefix("-", self.text(operands[0]))
        if function in ("+", "-", "*", "/"):
            a, b = self.texts(operands)
            return infix(function, INFIX[stem][1], a, b)
        return call(function, *self.texts(operands))

    def mapped_unary(self, e: n.Unary) -> Text:
        t = element_dtype(e.a.type)
        if e.op == "neg" and self.may_wrap("neg", t):
            return self.mapped(e.op, self.negated(t, _A), e.type, e.a)
        return self.mapped(e.op, self.unary(e.op, t, _A), e.type, e.a)

    def mapped_binary(self, e: n.Binary) -> Text:
        t, exponent = element_dtype(e.a.type), e.b
        if e.op == "powi" and isinstance(exponent, n.Const) and exponent.value in (2, 3) and t in (f32, f64):
            product = infix(*INFIX["mul"], _A, _A)
            if exponent.value == 2:
                return self.mapped("square", product, e.type, e.a)
            return self.mapped("cube", infix(*INFIX["mul"], product, _A), e.type, e.a)
        if e.op in WRAPPING and self.may_wrap(e.op, t):
            return self.mapped(e.op, self.elementwise(e.op, t, _A, _B), e.type, e.a, e.b)
        return self.mapped(e.op, self.binary(e.op, t, element_dtype(e.b.type), _A, _B), e.type, e.a, e.b)

    def mapped_select(self, e: n.Select) -> Text:
        return self.mapped("select", select(_A, _B, _C), e.type, e.cond, e.a, e.b)

    def mapped_cast(self, e: n.Cast) -> Text:
        have, t = element_dtype(e.a.type), element_dtype(e.type)
        if e.bits:
            return self.mapped(f"bit_cast_{have}_{t}", self.bit_cast(have, t, _A), e.type, e.a)
        return self.mapped(f"cast_{have}_{t}", self.converted(have, t, _A), e.type, e.a)
