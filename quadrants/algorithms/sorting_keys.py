"""Keys as unsigned numbers, and their digits."""

from __future__ import annotations

import quadrants as qd

DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS


@qd.func
def ordered(bits, key_dtype: qd.template()):
    """The bits of a key as an unsigned number that orders as the keys do."""
    result = bits
    if qd.static(key_dtype == qd.i32):
        result = bits ^ qd.u32(0x80000000)
    elif qd.static(key_dtype == qd.i64):
        result = bits ^ qd.u64(0x8000000000000000)
    elif qd.static(key_dtype == qd.f32):
        result = qd.select(bits >> 31 != 0, ~bits, bits | qd.u32(0x80000000))
    elif qd.static(key_dtype == qd.f64):
        result = qd.select(bits >> 63 != 0, ~bits, bits | qd.u64(0x8000000000000000))
    return result


def last(key_dtype) -> int:
    """The bits of the key that no key goes after."""
    bits = int(key_dtype.bits)
    return (1 << bits) - 1 if key_dtype in (qd.u32, qd.u64) else (1 << (bits - 1)) - 1


@qd.func
def digit(bits, shift: qd.template(), key_dtype: qd.template()):
    return qd.i32((ordered(bits, key_dtype) >> shift) & (DIGITS - 1))
