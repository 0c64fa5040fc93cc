"""Numbers as bits of words and back, on the host, for whole arrays: the meaning of quantised formats in integers.

`passes/packed_formats.py` says the same in IR. All arrays of bits are of uint64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quadrants.data import bulk, dtypes
from quadrants.ir.quant import Packing, Part, QuantFixed, QuantFloat, QuantInt
from quadrants.ir.types import f16, f32

_SIGN, _MANTISSA, _HIDDEN = 31, (1 << 23) - 1, 1 << 23
U64 = np.uint64


def read(p: Packing, words: np.ndarray, shift: Any) -> np.ndarray:
    """The numbers whose bits begin at `p.bit + shift` of the words, in the computing type."""
    digits = _bits(words, p.bit + shift, p.width)
    form = p.format
    if isinstance(form, QuantInt):
        return _signed(digits, form).astype(dtypes.numpy_dtype(form.compute))
    if isinstance(form, QuantFixed):
        return _from_fixed(digits, form)
    assert isinstance(form, QuantFloat)
    exponent = _bits(words, p.exponent, form.exponent.bits).astype(np.int64)
    return (_from_shared if p.group else _from_float)(digits.astype(np.int64), exponent, form)


def changed(p: Packing, words: np.ndarray, shift: Any, values: np.ndarray) -> np.ndarray:
    """The words with the numbers `values`, of the computing type, in place of what they had there."""
    form = p.format
    if isinstance(form, QuantFloat):
        if p.group:
            return _share(p, words, values)
        digits, exponent = _to_float(values, form)
        words = _put(words, p.exponent, form.exponent.bits, exponent)
        return _put(words, p.bit, p.width, digits)
    bits = _to_fixed(values, form) if isinstance(form, QuantFixed) else values.astype(np.int64).astype(U64)
    if form.compute.name == "u64":
        bits = values.astype(U64)
    return _put(words, p.bit + shift, p.width, bits)


def bits_of(p: Packing, values: np.ndarray) -> np.ndarray:
    """The bits of integers or fixed numbers, from bit 0 on."""
    zero = np.zeros_like(values, U64)
    return changed(p._replace(bit=0), zero, 0, values)


def number(value: Any, p: Packing) -> np.ndarray:
    """A Python number as an array of rank 0 of the computing type."""
    return np.asarray(bulk.number(value, p.format.compute))


def _mask(width: int) -> np.uint64:
    return U64((1 << width) - 1)


def _bits(words: np.ndarray, first: Any, width: int) -> np.ndarray:
    return (words >> np.asarray(first, U64)) & _mask(width)


def _put(words: np.ndarray, first: Any, width: int, bits: np.ndarray) -> np.ndarray:
    at = np.asarray(first, U64)
    return (words & ~(_mask(width) << at)) | ((bits.astype(U64) & _mask(width)) << at)


def _signed(digits: np.ndarray, form: QuantInt) -> np.ndarray:
    if not form.signed:
        return digits
    up = U64(64 - form.bits)
    return (digits << up).astype(np.int64) >> np.int64(up)


# ---------------------------------------------------------------- fixed


def _computing(form: QuantFixed) -> np.dtype:
    return np.dtype(np.float32) if form.compute in (f16, f32) else np.dtype(np.float64)


def _from_fixed(digits: np.ndarray, form: QuantFixed) -> np.ndarray:
    t = _computing(form)
    return (_signed(digits, form.digits).astype(t) * t.type(form.scale)).astype(dtypes.numpy_dtype(form.compute))


def _to_fixed(values: np.ndarray, form: QuantFixed) -> np.ndarray:
    """Every step but the division is exact."""
    t = _computing(form)
    with np.errstate(all="ignore"):
        x = values.astype(t) / t.type(form.scale)
        size = np.abs(x)
        whole = np.floor(size)
        whole = whole + (size - whole >= 0.5).astype(t)
        period = t.type(2.0**form.bits)
        rest = whole - np.floor(whole / period) * period
        kept = np.where(rest < period, rest, t.type(0)).astype(U64)
        return np.where(x < 0, U64(0) - kept, kept)


# ---------------------------------------------------------------- floats


def _split(values: np.ndarray, fraction: int, form: QuantFloat) -> tuple:
    """(sign, magnitude as f32 holds it and no more than the largest, how many bits of that are dropped)."""
    raw = values.astype(np.float32).view(np.uint32).astype(np.int64)
    drop = 23 - fraction
    top = (((1 << form.exponent.bits) - 1 - form.bias + 127) << 23) | (((1 << fraction) - 1) << drop)
    sign = raw >> _SIGN if form.signed else np.zeros_like(raw)
    return sign, np.minimum(raw & ((1 << _SIGN) - 1), top), drop, top


def _rounded(magnitude: np.ndarray, drop: int, top: int) -> np.ndarray:
    half = (1 << drop) >> 1
    return np.minimum(magnitude + half, top) >> drop << drop


def _to_float(values: np.ndarray, form: QuantFloat) -> tuple:
    sign, magnitude, drop, top = _split(values, form.fraction, form)
    magnitude = _rounded(magnitude, drop, top)
    exponent = (magnitude >> 23) - 127 + form.bias
    digits = (magnitude & _MANTISSA) >> drop | sign << form.fraction
    there = exponent > 0
    return np.where(there, digits, 0).astype(U64), np.where(there, exponent, 0).astype(U64)


def _from_float(digits: np.ndarray, exponent: np.ndarray, form: QuantFloat) -> np.ndarray:
    mantissa = (digits & ((1 << form.fraction) - 1)) << (23 - form.fraction)
    sign = digits >> form.fraction if form.signed else 0
    raw = sign << _SIGN | (exponent - form.bias + 127) << 23 | mantissa
    return _f32(np.where(exponent > 0, raw, 0))


def _f32(raw: np.ndarray) -> np.ndarray:
    return np.asarray(raw, np.int64).astype(np.uint32).view(np.float32)


# ---------------------------------------------------------------- floats with one exponent for several

# The mantissa of a member has its leading one, where it has one: the number is digits * 2**(exponent - bias - (f - 1)).


def _from_shared(digits: np.ndarray, exponent: np.ndarray, form: QuantFloat) -> np.ndarray:
    f = form.fraction
    size = digits & ((1 << f) - 1)
    sign = digits >> f if form.signed else 0
    length = _length(size)
    own = exponent - f + length - form.bias + 127
    raw = sign << _SIGN | own << 23 | (size << np.maximum(24 - length, 0)) & _MANTISSA
    return _f32(np.where((size > 0) & (own > 0), raw, 0))


def _length(size: np.ndarray) -> np.ndarray:
    """How many bits a number below 2**24 has."""
    return np.frexp(size.astype(np.float64))[1].astype(np.int64)


def _share(p: Packing, words: np.ndarray, values: np.ndarray) -> np.ndarray:
    form = p.format
    assert isinstance(form, QuantFloat)
    f = form.fraction
    sign, magnitude, drop, top = _split(values, f - 1, form)
    own = (_rounded(magnitude, drop, top) >> 23) - 127 + form.bias
    there = own > 0
    others = [part for part in p.group if part.bit != p.bit]
    old = _bits(words, p.exponent, form.exponent.bits).astype(np.int64)
    held = [_bits(words, part.bit, part.format.digits.bits).astype(np.int64) for part in others]
    sizes = [digits & ((1 << part.format.fraction) - 1) for part, digits in zip(others, held)]
    new = np.where(there, own, 0)
    for part, size in zip(others, sizes):
        new = np.maximum(new, np.where(size > 0, np.maximum(old - part.format.fraction + _length(size), 1), 0))
    exact = (magnitude & _MANTISSA) | _HIDDEN  # its exponent is that before rounding
    moved = _shifted(exact, drop + new - ((magnitude >> 23) - 127 + form.bias))
    size = np.where(there, moved, 0)
    words = _put(words, p.exponent, form.exponent.bits, new)
    words = _put(words, p.bit, p.width, size | np.where(size > 0, sign, 0) << f)
    for part, digits, size in zip(others, held, sizes):
        words = _moved(words, part, digits, _shifted(size, new - old))
    return words


def _moved(words: np.ndarray, part: Part, digits: np.ndarray, size: np.ndarray) -> np.ndarray:
    f = part.format.fraction
    sign = np.where(size > 0, digits >> f, 0)
    return _put(words, part.bit, part.format.digits.bits, size | sign << f)


def _shifted(size: np.ndarray, by: np.ndarray) -> np.ndarray:
    """size * 2**-by, halves rounded up."""
    down = np.clip(by, 0, 30)
    return ((size << np.clip(-by, 0, 30)) + ((np.int64(1) << down) >> 1)) >> down
