"""What debug mode adds to integer arithmetic: reports of overflow; failures for zero divisors and shifts too far."""

from __future__ import annotations

from quadrants.ir.nodes import Binary, Cast, Const, Loc, Make, MatOp
from quadrants.ir.types import DType, TensorType, element_dtype, u1, u64
from quadrants.lang.value import Value

REPORTED = ("add", "sub", "mul", "shl")
QUOTIENTS = ("floordiv", "raw_div")
SHIFTS = ("shl", "shr", "bit_shr")
DIVISIONS = {"floordiv": "//", "mod": "%", "raw_div": "qd.raw_div", "raw_mod": "qd.raw_mod"}

ZERO_DIVISOR = "Integer division by zero: the divisor of `{}` is 0"
SHIFT_TOO_FAR = "Detected overflow for bit_shift_op"


def before_binary(tracer, name: str, left: DType, b, computed: DType):
    """Emits the checks that an operation needs in front of it; returns the right operand, which they may hold."""
    # Of two numbers of one type a shift too far is reported as an overflow, but for truth values, which never overflow.
    if name in SHIFTS and (left is u1 or left is not element_dtype(b.type)):
        b = tracer.temp(Value(b)).expr
        tracer.check(_shift_fits(b, left), ("assert", (SHIFT_TOO_FAR,)))
    if name in DIVISIONS and computed.is_integral and not _is_nonzero(b):
        b = tracer.temp(Value(b)).expr
        tracer.check(_nonzero(b), ("assert", (ZERO_DIVISOR.format(DIVISIONS[name]),)))
    return b


def report_of(tracer, name: str, b, computed: DType) -> Loc | None:
    """The place in the user's source that a report of overflow names; None where nothing can overflow."""
    if name in QUOTIENTS:
        may_overflow = computed.kind == "i" and _may_be_minus_one(b)
    else:
        may_overflow = name in REPORTED and computed.kind in "iu"
    return tracer.reported_loc() if may_overflow else None


def _shift_fits(count, t: DType):
    """Whether shift counts are below the width of `t`, as a u1 expression; negative counts are not."""
    if isinstance(count, Const):
        return Const(int(0 <= count.value < t.bits), u1)
    return _for_all("lt", Cast(count, _like(count, u64)), Const(t.bits, u64))


def _is_nonzero(e) -> bool:
    if isinstance(e, Make):
        return all(_is_nonzero(part) for part in e.parts)
    return isinstance(e, Const) and e.value != 0


def _may_be_minus_one(e) -> bool:
    if isinstance(e, Make):
        return any(map(_may_be_minus_one, e.parts))
    return not isinstance(e, Const) or e.value == -1


def _nonzero(e):
    """Whether a number, or every element of a vector or matrix, differs from 0, as a u1 expression."""
    if isinstance(e, Const):
        return Const(int(e.value != 0), u1)
    return _for_all("ne", e, Const(0, element_dtype(e.type)))


def _for_all(comparison: str, e, bound: Const):
    test = Binary(comparison, e, bound, _like(e, u1))
    return MatOp("all", (test,), u1) if isinstance(e.type, TensorType) else test


def _like(e, t: DType):
    """The type of `e` with elements of dtype `t`."""
    return e.type.with_dtype(t) if isinstance(e.type, TensorType) else t
