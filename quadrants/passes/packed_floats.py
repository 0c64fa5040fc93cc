"""Quantised floats as IR: functions between f32 and the bits of a word, whose exponent is their own or shared."""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.quant import Packing, Part, QuantFloat
from quadrants.ir.types import DType, f32, i32, u1, u32
from quadrants.passes.bit_arithmetic import Body, binary, cast, chosen, compared, load, unit

_MANTISSA, _HIDDEN = (1 << 23) - 1, 1 << 23


# ---------------------------------------------------------------- floats


def _part(word: n.Expr, bit: int, bits: int) -> n.Expr:
    """Some bits of a word, at most 32, as u32."""
    return cast(binary("bit_and", binary("shr", word, bit), (1 << bits) - 1), u32)


def _top(form: QuantFloat, fraction: int) -> int:
    """The largest number with so many bits behind its leading one, as f32 holds it."""
    exponent = (1 << form.exponent.bits) - 1 - form.bias + 127
    return exponent << 23 | ((1 << fraction) - 1) << (23 - fraction)


def _magnitude(body: Body, value: n.Var, form: QuantFloat, fraction: int) -> tuple[n.Load, n.Load, n.Load]:
    """(bits of f32, the number without its sign and no larger than the largest, the same rounded)"""
    top, drop = _top(form, fraction), 23 - fraction
    raw = body.let("raw", n.Cast(load(value), u32, bits=True))
    size = body.let("size", n.Binary("min", binary("bit_and", raw, 0x7FFFFFFF), n.Const(top, u32), u32))
    up = n.Binary("min", binary("add", size, (1 << drop) >> 1), n.Const(top, u32), u32)
    return raw, size, body.let("rounded", binary("shr", up, drop))


def float_bits(p: Packing, name: str) -> n.Function:
    form, u = p.format, unit(p)
    assert isinstance(form, QuantFloat)
    value = n.Var("x", f32)
    body = Body([value])
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


def read_float(p: Packing, name: str) -> n.Function:
    form = p.format
    assert isinstance(form, QuantFloat)
    word = n.Var("word", unit(p))
    body = Body([word])
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


def read_shared(p: Packing, name: str) -> n.Function:
    form = p.format
    assert isinstance(form, QuantFloat)
    f = form.fraction
    word = n.Var("word", unit(p))
    body = Body([word])
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


def share(p: Packing, name: str) -> n.Function:
    form, u = p.format, unit(p)
    assert isinstance(form, QuantFloat)
    f = form.fraction
    word, value = n.Var("word", u), n.Var("x", f32)
    body = Body([word, value])
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


def _shifted(body: Body, name: str, size: n.Expr, by: n.Expr) -> n.Expr:
    """size * 2**-by of a number below 2**24, halves rounded up."""
    moves = body.let(f"{name}_by", by)
    down = body.let(f"{name}_down", cast(_limited(moves), u32))
    up = cast(_limited(_minus(n.Const(0, i32), moves)), u32)
    half = binary("shr", binary("shl", n.Const(1, u32), down), 1)
    return n.Binary("shr", n.Binary("add", binary("shl", size, up), half, u32), down, u32)


def _limited(e: n.Expr) -> n.Expr:
    limit = n.Binary("min", e, n.Const(30, i32), i32)
    return n.Binary("max", limit, n.Const(0, i32), i32)
