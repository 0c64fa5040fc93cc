"""Numbers as bits of words and back, as IR: what quantised formats mean in a kernel.

Words are computed with as u32, or as u64 where they have 64 bits. `data/packed_numbers.py` says the same for the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from quadrants.ir import nodes as n
from quadrants.ir.quant import Packing, Part, QuantFixed, QuantFloat, QuantInt
from quadrants.ir.types import DType, f16, f32, i32, i64, scalar, u1, u32, u64

_MANTISSA, _HIDDEN = (1 << 23) - 1, 1 << 23
Key = tuple[str, Packing]


def unit(p: Packing) -> DType:
    """The type that a word is computed with."""
    return u64 if p.word.bits > 32 else u32


def load(var: n.Var) -> n.Load:
    """The value of a variable."""
    return n.Load(n.VarPlace(var, var.type), var.type)


def cast(e: n.Expr, t: DType) -> n.Expr:
    """An expression as one of another type."""
    if e.type is t:
        return e
    return n.Const(int(e.value), t) if isinstance(e, n.Const) and t.is_integral and e.value >= 0 else n.Cast(e, t)


def binary(op: str, a: n.Expr, b: n.Expr | int | float) -> n.Expr:
    """An operation on operands of one type; of integers that are known, what it gives."""
    t = scalar(a.type)
    other = n.Const(b, t) if isinstance(b, (int, float)) else b
    if isinstance(other, n.Const) and other.value == 0 and op in ("add", "sub", "shl", "shr", "bit_or"):
        return a
    if isinstance(a, n.Const) and isinstance(other, n.Const) and op in _FOLDED:
        return n.Const(_FOLDED[op](int(a.value), int(other.value)) & t.max, t)
    return n.Binary(op, a, other, t)


_FOLDED = {"shl": int.__lshift__, "bit_and": int.__and__, "bit_or": int.__or__}


def compared(op: str, a: n.Expr, b: n.Expr | int | float) -> n.Binary:
    """A comparison."""
    other = n.Const(b, scalar(a.type)) if isinstance(b, (int, float)) else b
    return n.Binary(op, a, other, u1)


def chosen(cond: n.Expr, a: n.Expr, b: n.Expr) -> n.Select:
    """`a if cond else b`, both computed."""
    return n.Select(cond, a, b, a.type, lazy=False)


@dataclass(slots=True)
class _Body:
    """A function in the making."""

    params: list[n.Var]
    statements: list[n.Stmt] = field(default_factory=list)

    def let(self, name: str, e: n.Expr) -> n.Load:
        var = n.Var(name, e.type)
        self.statements.append(n.Declare(var, e))
        return load(var)

    def function(self, name: str, result: n.Expr) -> n.Function:
        self.statements.append(n.Return((result,)))
        return n.Function(name, self.params, self.statements, (result.type,))


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
        made = self._function("read", p, _read_shared if p.group else _read_float)
        return n.Call(made, (word,), form.compute)

    def bits(self, p: Packing, value: n.Expr) -> n.Expr:
        """The bits of a number that has an exponent of its own or none: of floats where they are in the word, of others
        from bit 0 on.
        """
        u = unit(p)
        if isinstance(p.format, QuantInt):
            return binary("bit_and", cast(value, u), (1 << p.width) - 1)
        kept = p if isinstance(p.format, QuantFloat) else Packing(p.word, p.format, 0)
        made = self._function("bits", kept, _float_bits if isinstance(p.format, QuantFloat) else _fixed_bits)
        return n.Call(made, (value,), u)

    def shared(self, p: Packing, word: n.Expr, value: n.Expr) -> n.Expr:
        """The word with a new number in a group that shares its exponent."""
        return n.Call(self._function("share", p, _share), (cast(word, unit(p)), value), unit(p))

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


def _fixed_bits(p: Packing, name: str) -> n.Function:
    """Every step but the division is exact."""
    form, u = p.format, unit(p)
    assert isinstance(form, QuantFixed)
    t = _computing(form)
    value = n.Var("x", form.compute)
    body = _Body([value])
    x = body.let("units", _scaled(cast(load(value), t), form.scale, t))
    size = body.let("size", n.Unary("abs", x, t))
    below = body.let("below", n.Unary("floor", size, t))
    up = compared("ge", n.Binary("sub", size, below, t), 0.5)
    whole = body.let("whole", n.Binary("add", below, chosen(up, n.Const(1.0, t), n.Const(0.0, t)), t))
    period = n.Const(2.0**form.bits, t)
    turns = n.Unary("floor", n.Binary("mul", whole, n.Const(2.0**-form.bits, t), t), t)
    rest = body.let("rest", n.Binary("sub", whole, n.Binary("mul", turns, period, t), t))
    there = chosen(compared("lt", rest, period), rest, n.Const(0.0, t))  # neither NaN nor infinite
    kept = body.let("kept", _whole(body, there, form.bits, u))
    negative = binary("bit_and", n.Binary("sub", n.Const(0, u), kept, u), (1 << form.bits) - 1)
    return body.function(name, chosen(compared("lt", x, 0.0), negative, kept))


def _scaled(x: n.Expr, scale: float, t: DType) -> n.Expr:
    if math.frexp(scale)[0] == 0.5:
        return n.Binary("mul", x, n.Const(1.0 / scale, t), t)
    return n.Binary("truediv", x, n.Const(scale, t), t)


def _whole(body: _Body, x: n.Expr, bits: int, u: DType) -> n.Expr:
    """A real in 0 .. 2**bits - 1 as an unsigned number, by way of a signed one of the same size."""
    signed = i64 if bits > 32 else i32
    if bits < signed.bits:
        return cast(n.Cast(x, signed), u)
    held, t = body.let("held", x), scalar(x.type)
    half = 2.0 ** (bits - 1)
    large = compared("ge", held, half)
    low = n.Cast(chosen(large, n.Binary("sub", held, n.Const(half, t), t), held), signed)
    return binary("bit_or", cast(low, u), chosen(large, n.Const(1 << (bits - 1), u), n.Const(0, u)))


# ---------------------------------------------------------------- floats


def _part(word: n.Expr, bit: int, bits: int) -> n.Expr:
    """Some bits of a word, at most 32, as u32."""
    return cast(binary("bit_and", binary("shr", word, bit), (1 << bits) - 1), u32)


def _top(form: QuantFloat, fraction: int) -> int:
    """The largest number with so many bits behind its leading one, as f32 holds it."""
    exponent = (1 << form.exponent.bits) - 1 - form.bias + 127
    return exponent << 23 | ((1 << fraction) - 1) << (23 - fraction)


def _magnitude(body: _Body, value: n.Var, form: QuantFloat, fraction: int) -> tuple[n.Load, n.Load, n.Load]:
    """(bits of f32, the number without its sign and no larger than the largest, the same rounded)"""
    top, drop = _top(form, fraction), 23 - fraction
    raw = body.let("raw", n.Cast(load(value), u32, bits=True))
    size = body.let("size", n.Binary("min", binary("bit_and", raw, 0x7FFFFFFF), n.Const(top, u32), u32))
    up = n.Binary("min", binary("add", size, (1 << drop) >> 1), n.Const(top, u32), u32)
    return raw, size, body.let("rounded", binary("shr", up, drop))


def _float_bits(p: Packing, name: str) -> n.Function:
    form, u = p.format, unit(p)
    assert isinstance(form, QuantFloat)
    value = n.Var("x", f32)
    body = _Body([value])
    raw, _, rounded = _magnitude(body, value, form, form.fraction)
    exponent = body.let("exponent", _exponent(rounded, form.fraction, form))
    digits = binary("bit_and", rounded, (1 << form.fraction) - 1)
    if form.signed:
        digits = binary("bit_or", digits, binary("shl", binary("shr", raw, 31), form.fraction))
    placed = binary("shl", cast(digits, u), p.bit)
    whole = binary("bit_or", placed, binary("shl", cast(cast(exponent, u32), u), p.exponent))
    return body.function(name, chosen(compared("gt", exponent, 0), whole, n.Const(0, u)))


def _exponent(size: n.Expr, fraction: int, form: QuantFloat) -> n.Expr:
    """The stored exponent of a number as f32 holds it, with so many bits behind the leading one; 0 or less: none."""
    found = cast(binary("shr", size, fraction), i32)
    return n.Binary("sub", found, n.Const(127 - form.bias, i32), i32, exact=True)


def _as_f32(there: n.Expr, sign: n.Expr | None, exponent: n.Expr, mantissa: n.Expr) -> n.Expr:
    raw = binary("bit_or", binary("shl", exponent, 23), mantissa)
    if sign is not None:
        raw = binary("bit_or", raw, binary("shl", sign, 31))
    return n.Cast(chosen(there, raw, n.Const(0, u32)), f32, bits=True)


def _read_float(p: Packing, name: str) -> n.Function:
    form = p.format
    assert isinstance(form, QuantFloat)
    word = n.Var("word", unit(p))
    body = _Body([word])
    exponent = body.let("exponent", _part(load(word), p.exponent, form.exponent.bits))
    digits = body.let("digits", _part(load(word), p.bit, p.width))
    mantissa = binary("shl", binary("bit_and", digits, (1 << form.fraction) - 1), 23 - form.fraction)
    sign = binary("shr", digits, form.fraction) if form.signed else None
    moved = binary("add", exponent, 127 - form.bias)
    return body.function(name, _as_f32(compared("gt", exponent, 0), sign, moved, mantissa))


# ---------------------------------------------------------------- floats with one exponent for several

# The mantissa of a member has its leading one, where it has one: the number is digits * 2**(exponent - bias - (f - 1)).


def _length(size: n.Expr) -> n.Expr:
    """How many bits a number of u32 has."""
    leading = n.Unary("clz", size, i32)
    return chosen(compared("gt", size, 0), n.Binary("sub", n.Const(32, i32), leading, i32), n.Const(0, i32))


def _sum(*terms: n.Expr | int) -> n.Expr:
    """A sum of i32."""
    total: n.Expr = n.Const(0, i32)
    for term in terms:
        e = n.Const(term, i32) if isinstance(term, int) else term
        total = e if isinstance(total, n.Const) and total.value == 0 else n.Binary("add", total, e, i32, exact=True)
    return total


def _minus(a: n.Expr, b: n.Expr) -> n.Expr:
    return n.Binary("sub", a, b, i32, exact=True)


def _read_shared(p: Packing, name: str) -> n.Function:
    form = p.format
    assert isinstance(form, QuantFloat)
    f = form.fraction
    word = n.Var("word", unit(p))
    body = _Body([word])
    digits = body.let("digits", _part(load(word), p.bit, p.width))
    size = body.let("size", binary("bit_and", digits, (1 << f) - 1))
    length = body.let("length", _length(size))
    exponent = cast(_part(load(word), p.exponent, form.exponent.bits), i32)
    own = body.let("own", _sum(exponent, length, 127 - form.bias - f))
    up = cast(_minus(n.Const(24, i32), length), u32)
    mantissa = binary("bit_and", binary("shl", size, up), _MANTISSA)
    there = n.Binary("logic_and", compared("gt", size, 0), compared("gt", own, 0), u1)
    sign = binary("shr", digits, f) if form.signed else None
    return body.function(name, _as_f32(there, sign, cast(own, u32), mantissa))


def _share(p: Packing, name: str) -> n.Function:
    form, u = p.format, unit(p)
    assert isinstance(form, QuantFloat)
    f = form.fraction
    word, value = n.Var("word", u), n.Var("x", f32)
    body = _Body([word, value])
    raw, magnitude, rounded = _magnitude(body, value, form, f - 1)
    own = body.let("own", _exponent(rounded, f - 1, form))
    old = body.let("old", cast(_part(load(word), p.exponent, form.exponent.bits), i32))
    others = [part for part in p.group if part.bit != p.bit]
    held = [body.let(f"digits{k}", _part(load(word), x.bit, x.format.digits.bits)) for k, x in enumerate(others)]
    new: n.Expr = n.Binary("max", own, n.Const(0, i32), i32)
    sizes = []
    for k, (part, digits) in enumerate(zip(others, held)):
        size = body.let(f"size{k}", binary("bit_and", digits, (1 << part.format.fraction) - 1))
        highest = n.Binary("max", _sum(old, _length(size), -part.format.fraction), n.Const(1, i32), i32)
        new = n.Binary("max", new, chosen(compared("gt", size, 0), highest, n.Const(0, i32)), i32)
        sizes.append(size)
    new = body.let("exponent", new)
    exact = binary("bit_or", binary("bit_and", magnitude, _MANTISSA), _HIDDEN)  # its exponent is that before rounding
    moved = _shifted(body, "mine", exact, _sum(new, 24 - f, _minus(n.Const(0, i32), _exponent(magnitude, 23, form))))
    mine = body.let("kept", chosen(compared("gt", own, 0), moved, n.Const(0, u32)))
    out = binary("shl", cast(cast(new, u32), u), p.exponent)
    out = binary("bit_or", out, _placed(mine, binary("shr", raw, 31), Part(p.bit, form), u))
    used = ((1 << form.exponent.bits) - 1) << p.exponent | ((1 << p.width) - 1) << p.bit
    for k, (part, digits, size) in enumerate(zip(others, held, sizes)):
        theirs = body.let(f"moved{k}", _shifted(body, f"down{k}", size, _minus(new, old)))
        out = binary("bit_or", out, _placed(theirs, binary("shr", digits, part.format.fraction), part, u))
        used |= ((1 << part.format.digits.bits) - 1) << part.bit
    return body.function(name, binary("bit_or", binary("bit_and", load(word), u.max & ~used), out))


def _placed(size: n.Expr, sign: n.Expr, part: Part, u: DType) -> n.Expr:
    if part.format.signed:
        there = chosen(compared("gt", size, 0), sign, n.Const(0, u32))
        size = binary("bit_or", size, binary("shl", there, part.format.fraction))
    return binary("shl", cast(size, u), part.bit)


def _shifted(body: _Body, name: str, size: n.Expr, by: n.Expr) -> n.Expr:
    """size * 2**-by of a number below 2**24, halves rounded up."""
    moves = body.let(f"{name}_by", by)
    down = body.let(f"{name}_down", cast(_limited(moves), u32))
    up = cast(_limited(_minus(n.Const(0, i32), moves)), u32)
    half = binary("shr", binary("shl", n.Const(1, u32), down), 1)
    return n.Binary("shr", n.Binary("add", binary("shl", size, up), half, u32), down, u32)


def _limited(e: n.Expr) -> n.Expr:
    limit = n.Binary("min", e, n.Const(30, i32), i32)
    return n.Binary("max", limit, n.Const(0, i32), i32)
