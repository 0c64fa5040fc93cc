"""A stable radix sort, least significant digit first.

Keys are cut into tiles of 256, and one thread walks a tile, so that equal keys keep their order without any
agreement among threads. Every pass is three tasks, whatever the number of keys:

    count     counts[d, t] = keys of tile t with digit d
    prefix    counts[d, t] = keys that go before those of tile t with digit d: a running sum, digits first
    scatter   each key to counts[d, t]++ of the other buffer
"""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms.scratch import TILE, levels

DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS
# The unsigned type that keys are moved in, as floating-point registers may change the bits of a NaN.
_WORD = {qd.u32: qd.u32, qd.i32: qd.u32, qd.f32: qd.u32, qd.u64: qd.u64, qd.i64: qd.u64, qd.f64: qd.u64}


def _word(key_dtype):
    return _WORD[key_dtype]


def _check(keys, tmp_keys, values, tmp_values, key_dtype, has_values: bool, end_bit: int, log256_max_n: int) -> None:
    word = _WORD.get(key_dtype)
    if word is None:
        raise NotImplementedError(f"sort key dtype {key_dtype} not supported")
    bits = 32 if word == qd.u32 else 64
    if end_bit <= 0 or end_bit % (2 * DIGIT_BITS) or end_bit > bits:
        raise ValueError(f"end_bit={end_bit} must be a positive multiple of 16, at most {bits} for {key_dtype} keys")
    levels(log256_max_n)
    if keys is tmp_keys or (has_values and values is tmp_values):
        raise ValueError("sort needs workspaces of their own: pass other arrays as tmp_keys and tmp_values")


@qd.func
def _tiles(n: qd.template()):
    return (n[()] + (TILE - 1)) // TILE


@qd.func
def _ordered(bits, key_dtype: qd.template()):
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


@qd.func
def _digit(bits, shift: qd.template(), key_dtype: qd.template()):
    return qd.i32((_ordered(bits, key_dtype) >> shift) & (DIGITS - 1))


@qd.func
def _pass(
    source: qd.template(), target: qd.template(), source_values: qd.template(), target_values: qd.template(),
    counts: qd.template(), n: qd.template(), key_dtype: qd.template(), word: qd.template(),
    has_values: qd.template(), shift: qd.template(),
):  # fmt: skip
    for t in range(_tiles(n)):
        tiles = _tiles(n)
        for d in range(DIGITS):
            counts[d * tiles + t] = qd.u32(0)
        for i in range(t * TILE, qd.min((t + 1) * TILE, n[()])):
            slot = _digit(qd.bit_cast(source[i], word), shift, key_dtype) * tiles + t
            counts[slot] = counts[slot] + qd.u32(1)
    for _ in range(1):
        before = qd.u32(0)
        for slot in range(DIGITS * _tiles(n)):
            count = counts[slot]
            counts[slot] = before
            before = before + count
    for t in range(_tiles(n)):
        tiles = _tiles(n)
        for i in range(t * TILE, qd.min((t + 1) * TILE, n[()])):
            bits = qd.bit_cast(source[i], word)
            slot = _digit(bits, shift, key_dtype) * tiles + t
            place = qd.i32(counts[slot])
            counts[slot] = counts[slot] + qd.u32(1)
            target[place] = qd.bit_cast(bits, key_dtype)
            if qd.static(has_values):
                target_values[place] = source_values[i]


@qd.func(requires_top_level=True)
def sort(
    keys: qd.template(), tmp_keys: qd.template(), values: qd.template(), tmp_values: qd.template(),
    scratch: qd.template(), n: qd.template(), key_dtype: qd.template(), has_values: qd.template(),
    end_bit: qd.template(), log256_max_n: qd.template(),
):  # fmt: skip
    """Sort keys[0:n] ascending, in place and stable, and values[0:n] alike; for the top level of kernels.

    The order of reals is by value, -0.0 before 0.0, NaN at the end of its sign. Keys keep their bits.

    Args:
        keys: (at least n,) u32, i32, f32, u64, i64 or f64.
        tmp_keys: the same, another array; garbage afterwards.
        values: (at least n,) any scalar; not touched without has_values.
        tmp_values: the same, another array; garbage afterwards.
        scratch: (sort_scratch_slots(n, log256_max_n),) u32; garbage afterwards.
        n: 0-d i32 array, at most 256**log256_max_n.
        key_dtype: that of keys, compile time.
        has_values: compile-time bool.
        end_bit: compile time; only bits [0, end_bit) of keys take part. A multiple of 16.
        log256_max_n: 1 .. 4, compile time.

    Errors:
        NotImplementedError: another type of keys.
        ValueError: end_bit or log256_max_n out of range; an array that is its own workspace.

        qd.algorithms.sort(keys, tmp_keys, values, tmp_values, scratch, n, qd.u32, True, 32, 3)
    """
    qd.static(_check(keys, tmp_keys, values, tmp_values, key_dtype, has_values, end_bit, log256_max_n))
    for shift in qd.static(range(0, end_bit, 2 * DIGIT_BITS)):
        _pass(keys, tmp_keys, values, tmp_values, scratch, n, key_dtype, _word(key_dtype), has_values, shift)
        _pass(
            tmp_keys, keys, tmp_values, values, scratch, n, key_dtype, _word(key_dtype), has_values, shift + DIGIT_BITS
        )  # fmt: skip
