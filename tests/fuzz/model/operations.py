"""Operators and functions of numbers and tensors, with the typing rules of the language."""

from __future__ import annotations

import math
import operator

from .errors import Refused, Undefined, Unmodelled
from .numbers import Defaults, DType, Num, convert, f16, f32, i32, literal, promote, rounded, u1, wrap
from .values import Tensor, is_constant

_PYTHON = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def elementwise(fn, *operands):
    """`fn` of numbers, applied to the elements of tensors; numbers are broadcast."""
    operands = [Tensor.of(x) if isinstance(x, (list, tuple)) else x for x in operands]
    shapes = {x.shape for x in operands if isinstance(x, Tensor)}
    if not shapes:
        return fn(*(literal(x) for x in operands))
    if len(shapes) > 1:
        raise Unmodelled("operands of several shapes")
    (shape,) = shapes
    columns = [x.items if isinstance(x, Tensor) else [literal(x)] * _count(shape) for x in operands]
    return Tensor(shape, [fn(*row) for row in zip(*columns)])


def _count(shape: tuple) -> int:
    return math.prod(shape)


def binary(op: str, a, b):
    if op == "+" and type(a) in (list, tuple) and type(a) is type(b):
        return a + b
    if is_constant(a) and is_constant(b):
        return _PYTHON[op](a, b)
    if op == "@":
        return a.matmul(b)
    return elementwise(lambda x, y: _binary(op, x, y), a, b)


def _binary(op: str, a: Num, b: Num) -> Num:
    if op in _COMPARISONS:
        return _compare(op, a, b)
    if op in ("<<", ">>"):
        return _shift(op, a, b)
    if op == "**":
        return power(a, b)
    dtype = promote(a.dtype, b.dtype)
    if op == "/" and not dtype.real:
        dtype = Defaults.fp
    elif op == "/":
        # Integers become default_fp before they meet the other operand.
        dtype = promote(*(x.dtype if x.dtype.real else Defaults.fp for x in (a, b)))
    if op == "-" and dtype.real and b.whole and a.value == b.value == 0:
        raise Undefined("the sign of a zero")  # gcc 12 makes -0.0 of it: docs/development/status.md, known limits
    a, b = convert(a, dtype), convert(b, dtype)
    return _real(op, a.value, b.value, dtype) if dtype.real else _integer(op, a.value, b.value, dtype)


def _integer(op: str, a: int, b: int, dtype: DType) -> Num:
    if op in ("//", "%"):
        if b == 0 or (dtype.signed and b == -1 and a == -(1 << (dtype.bits - 1))):
            raise Undefined("an integer division by zero, or of the least number by -1")
    return Num(dtype, wrap(_PYTHON[op](a, b), dtype))


def divide(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0 or a != a or b != b:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _arithmetic(op: str, a: float, b: float, dtype: DType) -> float:
    if op == "/":
        return rounded(divide(a, b), dtype)
    return rounded(_PYTHON[op](a, b), dtype)


def _floor(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) and x else x


def _real(op: str, a: float, b: float, dtype: DType) -> Num:
    if op in ("//", "%"):
        if dtype is f16:  # computed as f32 and rounded once
            return Num(f16, rounded(_real(op, a, b, f32).value, f16))
        quotient = _floor(_arithmetic("/", a, b, dtype))
        if quotient == 0 and math.copysign(1.0, quotient) < 0:
            raise Undefined("the sign of a zero")
        if op == "%":
            rest = _arithmetic("-", a, _arithmetic("*", quotient, b, dtype), dtype)
            # Where rounding leaves it on the wrong side of zero.
            quotient = 0.0 if rest * b < 0 else rest
        return Num(dtype, quotient)
    if op not in ("+", "-", "*", "/"):
        raise Unmodelled(f"{op} of reals")
    return Num(dtype, _arithmetic(op, a, b, dtype))


def _shift(op: str, a: Num, b: Num) -> Num:
    if a.dtype.real or b.dtype.real:
        raise Unmodelled("a shift of reals")
    if not 0 <= b.value < max(a.dtype.bits, 8):
        raise Undefined("a shift by a negative number or by the width")
    if Defaults.debug and b.value >= a.dtype.bits:
        raise Refused("a shift that debug mode refuses")
    return Num(a.dtype, wrap(_PYTHON[op](a.value, b.value), a.dtype))


def _compare(op: str, a: Num, b: Num) -> Num:
    dtype = promote(a.dtype, b.dtype)
    a, b = convert(a, dtype), convert(b, dtype)
    if op == "!=" and (a.value != a.value or b.value != b.value):
        raise Undefined("a NaN compared by !=")
    return Num(u1, int(_PYTHON[op](a.value, b.value)))


def power(a: Num, b: Num) -> Num:
    """Integers exponents multiply; real ones are exact where the language says so."""
    if b.dtype.real:
        dtype = promote(a.dtype, b.dtype)
        known = {0.0: 0, 1.0: 1, 2.0: 2, 3.0: 3}
        x = convert(a, dtype)
        if b.value in known:
            return _multiplied(x, known[b.value])
        raise Undefined("a power with a real exponent")
    if b.value < 0:
        if not a.dtype.real:
            raise Undefined("a negative power of an integer")
        return Num(a.dtype, _arithmetic("/", 1.0, _multiplied(a, -b.value).value, a.dtype))
    return _multiplied(a, b.value)


def _multiplied(x: Num, times: int) -> Num:
    if x.dtype.real and times > 3:
        raise Undefined("the order of the products of a power")
    if not x.dtype.real:
        return Num(x.dtype, wrap(pow(x.value, times), x.dtype))
    value = 1.0
    for _ in range(times):
        value = _arithmetic("*", value, x.value, x.dtype) if value != 1.0 else x.value
    return Num(x.dtype, value)


def extremum(name: str, a, b):
    return elementwise(lambda x, y: _extremum(name, x, y), a, b)


def _extremum(name: str, a: Num, b: Num) -> Num:
    dtype = promote(a.dtype, b.dtype)
    a, b = convert(a, dtype), convert(b, dtype)
    if a.value != a.value:
        return b
    if a.value == b.value == 0.0 and dtype.real and math.copysign(1, a.value) != math.copysign(1, b.value):
        raise Undefined("the sign of a zero")
    greater = a.value >= b.value or b.value != b.value
    if b.value != b.value:
        return a
    return a if greater == (name == "max") else b


def unary(op: str, a):
    if is_constant(a):
        return {"-": operator.neg, "~": operator.invert, "not": operator.not_, "+": operator.pos}[op](a)
    return elementwise(lambda x: _unary(op, x), a)


def _unary(op: str, x: Num) -> Num:
    if op == "+":
        return x
    if op == "-":
        return Num(x.dtype, -x.value if x.dtype.real else wrap(-x.value, x.dtype))
    if x.dtype.real:
        raise Unmodelled(f"{op} of a real")
    return Num(x.dtype, wrap(~x.value, x.dtype)) if op == "~" else Num(u1, int(x.value == 0))


def cast(x, dtype):
    """`qd.cast`."""
    dtype = scalar_type(dtype)
    if is_constant(x):
        x = _literal_for(x, dtype)
    return elementwise(lambda e: convert(e, dtype), x)


def _literal_for(x, dtype: DType) -> Num:
    """A literal inside of a cast keeps the digits that the target can hold."""
    if isinstance(x, float) and dtype.real:
        return Num(dtype, rounded(x, dtype))
    return literal(x)


def typed(x, dtype: DType):
    """`qd.i32(x)`: a typed literal, or a cast."""
    if not is_constant(x):
        return cast(x, dtype)
    if isinstance(x, bool) or (isinstance(x, float) != dtype.real):
        raise Unmodelled("a literal of another kind")
    return literal(x, dtype)


def scalar_type(dtype) -> DType:
    if isinstance(dtype, DType):
        return dtype
    return {int: Defaults.ip, float: Defaults.fp, bool: u1}[dtype]


def select(cond, a, b):
    def choose(c, x, y):
        if c.dtype.real:
            raise Unmodelled("a real condition")
        dtype = promote(x.dtype, y.dtype)
        return convert(x if c.value else y, dtype)

    return elementwise(choose, cond, a, b)


def absolute(a):
    return abs(a) if is_constant(a) else elementwise(lambda x: Num(x.dtype, _absolute(x)), a)


def _absolute(x: Num):
    return abs(x.value) if x.dtype.real else wrap(abs(x.value), x.dtype)


def _round_away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x) if abs(x) < 2.0**52 else x


_ROUNDING = {"floor": math.floor, "ceil": math.ceil, "round": _round_away}


def rounding(name: str, a, dtype=None):
    def to_whole(x):
        if not x.dtype.real:
            raise Unmodelled(f"{name} of an integer")
        if not math.isfinite(x.value) or x.value == 0:
            return x
        return Num(x.dtype, math.copysign(float(_ROUNDING[name](x.value)), x.value))

    if is_constant(a):
        raise Unmodelled("a function of literals alone")
    out = elementwise(to_whole, a)
    return out if dtype is None else cast(out, dtype)


def square_root(a):
    def root(x):
        dtype = x.dtype if x.dtype.real else Defaults.fp
        value = convert(x, dtype).value
        return Num(dtype, math.nan if value < 0 else rounded(math.sqrt(value), dtype))

    return elementwise(root, a)


def truncated(name: str, a, b):
    """`raw_div`, `raw_mod`: the division of C."""

    def divided(x, y):
        dtype = promote(x.dtype, y.dtype)
        x, y = convert(x, dtype).value, convert(y, dtype).value
        if dtype.real:
            if name == "raw_div":
                return Num(dtype, _arithmetic("/", x, y, dtype))
            if not math.isfinite(x) or not math.isfinite(y) or y == 0:
                return Num(dtype, math.nan if not (math.isfinite(x) and math.isinf(y)) else x)
            return Num(dtype, rounded(math.fmod(x, y), dtype))
        if y == 0 or (dtype.signed and y == -1 and x == -(1 << (dtype.bits - 1))):
            raise Undefined("an integer division by zero, or of the least number by -1")
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return Num(dtype, quotient if name == "raw_div" else x - y * quotient)

    return elementwise(divided, a, b)


def logical_right(a, b):
    def shifted(x, n):
        if not 0 <= n.value < max(x.dtype.bits, 8):
            raise Undefined("a shift by a negative number or by the width")
        return Num(x.dtype, wrap((x.value & ((1 << x.dtype.bits) - 1)) >> n.value, x.dtype))

    return elementwise(shifted, a, b)


def bit_cast(x, dtype: DType):
    def same_bits(e):
        if e.dtype.bits != dtype.bits or e.dtype is u1 or dtype is u1:
            raise Unmodelled("bit_cast between widths")
        import numpy as np

        if e.value != e.value:
            raise Undefined("the bits of a NaN")
        value = np.array(e.value, e.dtype.numpy).view(dtype.numpy).item()
        if dtype.real and value != value:
            raise Undefined("the bits of a NaN")
        return Num(dtype, rounded(value, dtype) if dtype.real else value)

    return elementwise(same_bits, x)


def is_nan(a):
    return elementwise(lambda x: Num(u1, int(x.value != x.value)), a)


def is_inf(a):
    return elementwise(lambda x: Num(u1, int(x.dtype.real and math.isinf(x.value))), a)


def bits_of(name: str, a):
    def counted(x):
        bits, width = x.value & ((1 << x.dtype.bits) - 1), x.dtype.bits
        if name == "popcnt":
            return Num(i32, bin(bits).count("1"))
        if name == "clz":
            return Num(i32, width - bits.bit_length())
        return Num(i32, (bits & -bits).bit_length())

    return elementwise(counted, a)
