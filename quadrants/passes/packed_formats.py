"""Numbers as bits of words and back, as IR: what quantised formats mean in a kernel.

Words are computed with as u32, or as u64 where they have 64 bits. `data/packed_numbers.py` says the same for the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from quadrants.ir import nodes as n
from quadrants.ir.quant import Packing, QuantFixed, QuantFloat, QuantInt
from quadrants.ir.types import DType, f16, f32, i32, i64, scalar, u64
from quadrants.passes.bit_arithmetic import Body, binary, cast, chosen, compared, load, unit
from quadrants.passes.packed_floats import float_bits, read_float, read_shared, share

Key = tuple[str, Packing]


class Formats:
    """Reads and writes packed numbers. functions: those that it has made for that."""

    def __init__(self) -> None:
        self.functions: dict[Key, n.Function] = {}

    def read(self, p: Packing, word: n.Expr, shift: n.Expr | None) -> n.Expr:
        """The number in a word, which is used once. shift: how far a `quant_array` moves it, in bits."""
        form, u = p.format, unit(p)
        word = cast(word, u)
        if isinstance(form, QuantInt):
            return cast(_integer(word, p.bit, shift, form), form.compute)
        if isinstance(form, QuantFixed):
            return _from_fixed(_integer(word, p.bit, shift, form.digits), form)
        made = self._function("read", p, read_shared if p.group else read_float)
        return n.Call(made, (word,), form.compute)

    def bits(self, p: Packing, value: n.Expr) -> n.Expr:
        """The bits of a number that has an exponent of its own or none: of floats where they are in the word, of others
        from bit 0 on.
        """
        u = unit(p)
        if isinstance(p.format, QuantInt):
            return binary("bit_and", cast(value, u), (1 << p.width) - 1)
        if isinstance(p.format, QuantFloat):
            return n.Call(self._function("bits", p, float_bits), (value,), u)
        kept = Packing(p.word, p.format, 0)
        far = self._function("far_bits", kept, _far_fixed_bits)
        return n.Call(self._function("bits", kept, partial(_fixed_bits, far)), (value,), u)

    def shared(self, p: Packing, word: n.Expr, value: n.Expr) -> n.Expr:
        """The word with a new number in a group that shares its exponent."""
        return n.Call(self._function("share", p, share), (cast(word, unit(p)), value), unit(p))

    def _function(self, what: str, p: Packing, make: Callable[[Packing, str], n.Function]) -> n.Function:
        key = (what, p)
        if key not in self.functions:
            self.functions[key] = make(p, f"qd_{what}_{_label(p)}_{len(self.functions)}")
        return self.functions[key]


def _label(p: Packing) -> str:
    kind = {QuantFixed: "fixed", QuantFloat: "float"}[type(p.format)]
    return f"{kind}{p.format.bits}"


# ---------------------------------------------------------------- integers


def _integer(word: n.Expr, bit: int, shift: n.Expr | None, form: QuantInt) -> n.Expr:
    u = scalar(word.type)
    if form.signed:
        up = u.bits - bit - form.bits
        by: n.Expr | int = up if shift is None else n.Binary("sub", n.Const(up, u), shift, u, exact=True)
        return binary("shr", cast(binary("shl", word, by), i64 if u is u64 else i32), u.bits - form.bits)
    down = binary("shr", word, bit if shift is None else binary("add", shift, bit))
    whole = shift is None and bit + form.bits == u.bits
    return down if whole else binary("bit_and", down, (1 << form.bits) - 1)


# ---------------------------------------------------------------- fixed


def _computing(form: QuantFixed) -> DType:
    return f32 if form.compute is f16 else form.compute


def _from_fixed(digits: n.Expr, form: QuantFixed) -> n.Expr:
    t = _computing(form)
    if form.bits < 32:  # processors convert signed numbers
        digits = cast(digits, i32)
    return cast(n.Binary("mul", n.Cast(digits, t), n.Const(form.scale, t), t), form.compute)


def _fixed_bits(far: n.Function, p: Packing, name: str) -> n.Function:
    """Rounds half away from zero, by way of an i32. far: the same of more units than that has."""
    form, u = p.format, unit(p)
    assert isinstance(form, QuantFixed)
    t = _computing(form)
    value = n.Var("x", form.compute)
    body = Body([value])
    x = body.let("units", _scaled(cast(load(value), t), form.scale, t))
    size = body.let("size", n.Unary("abs", x, t))
    below = body.let("below", n.Cast(size, i32))
    up = compared("ge", n.Binary("sub", size, n.Cast(below, t), t), 0.5)
    whole = body.let("whole", binary("add", cast(below, u), chosen(up, n.Const(1, u), n.Const(0, u))))
    near = _with_sign(x, whole, form)
    return body.function(name, n.Select(compared("lt", size, 2.0**30), near, n.Call(far, (x,), u), u, lazy=True))


def _with_sign(x: n.Expr, size: n.Expr, form: QuantFixed) -> n.Expr:
    """The low bits of a number with the sign of x."""
    u = scalar(size.type)
    both = chosen(compared("lt", x, 0.0), n.Binary("sub", n.Const(0, u), size, u), size)
    return binary("bit_and", both, (1 << form.bits) - 1)


def _far_fixed_bits(p: Packing, name: str) -> n.Function:
    """Of any number of units, by arithmetic that is exact, also where these are more than integers have."""
    form, u = p.format, unit(p)
    assert isinstance(form, QuantFixed)
    t = _computing(form)
    units = n.Var("units", t)
    body = Body([units])
    x = load(units)
    size = body.let("size", n.Unary("abs", x, t))
    below = body.let("below", n.Unary("floor", size, t))
    up = compared("ge", n.Binary("sub", size, below, t), 0.5)
    whole = body.let("whole", n.Binary("add", below, chosen(up, n.Const(1.0, t), n.Const(0.0, t)), t))
    period = n.Const(2.0**form.bits, t)
    turns = n.Unary("floor", n.Binary("mul", whole, n.Const(2.0**-form.bits, t), t), t)
    rest = body.let("rest", n.Binary("sub", whole, n.Binary("mul", turns, period, t), t))
    there = chosen(compared("lt", rest, period), rest, n.Const(0.0, t))  # neither NaN nor infinite
    kept = body.let("kept", _whole(body, there, form.bits, u))
    return body.function(name, _with_sign(x, kept, form))


def _scaled(x: n.Expr, scale: float, t: DType) -> n.Expr:
    if math.frexp(scale)[0] == 0.5:
        return n.Binary("mul", x, n.Const(1.0 / scale, t), t)
    return n.Binary("truediv", x, n.Const(scale, t), t)


def _whole(body: Body, x: n.Expr, bits: int, u: DType) -> n.Expr:
    """A real in 0 .. 2**bits - 1 as an unsigned number, by way of a signed one of the same size."""
    signed = i64 if bits > 32 else i32
    if bits < signed.bits:
        return cast(n.Cast(x, signed), u)
    held, t = body.let("held", x), scalar(x.type)
    half = 2.0 ** (bits - 1)
    large = compared("ge", held, half)
    low = n.Cast(chosen(large, n.Binary("sub", held, n.Const(half, t), t), held), signed)
    return binary("bit_or", cast(low, u), chosen(large, n.Const(1 << (bits - 1), u), n.Const(0, u)))
