"""A stable radix sort, least significant digit first. Each pass moves all keys by 8 bits; there are at least two."""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms import arguments, choices, sorting_host, sorting_passes
from quadrants.algorithms.scratch import levels
from quadrants.algorithms.sorting_keys import DIGIT_BITS


def _check(keys, tmp_keys, values, tmp_values, n, key_dtype, has_values: bool, end_bit: int, log256_max_n: int) -> None:
    if key_dtype not in choices.DTYPES:
        raise NotImplementedError(f"sort key dtype {key_dtype} not supported{choices.instead()}")
    if isinstance(end_bit, bool) or not hasattr(end_bit, "__index__"):
        raise TypeError(f"end_bit must be an integer known at compile time, such as 32, not {end_bit!r}")
    bits = choices.width(key_dtype)
    if end_bit <= 0 or end_bit % (2 * DIGIT_BITS) or end_bit > bits:
        raise ValueError(f"end_bit={end_bit} must be a positive multiple of 16, at most {bits} for {key_dtype} keys")
    if end_bit != bits and key_dtype not in (qd.u32, qd.u64):
        raise ValueError(f"end_bit={end_bit} must be {bits} for {key_dtype} keys: their low bits alone have no order")
    levels(log256_max_n)
    if keys is tmp_keys or (has_values and values is tmp_values):
        raise ValueError("sort needs workspaces of their own: pass other arrays as tmp_keys and tmp_values")
    if not arguments.is_tensor(n):
        arguments.check_count("sort", n)


@qd.func
def _on_host(
    keys: qd.template(), tmp_keys: qd.template(), values: qd.template(), tmp_values: qd.template(),
    scratch: qd.template(), n: qd.template(), key_dtype: qd.template(), has_values: qd.template(),
    end_bit: qd.template(),
):  # fmt: skip
    word = choices.word(key_dtype)
    for shift in qd.static(range(0, end_bit, 2 * DIGIT_BITS)):
        sorting_host.one_pass(
            keys, tmp_keys, values, tmp_values, scratch, n, key_dtype, word, has_values, shift
        )  # fmt: skip
        sorting_host.one_pass(
            tmp_keys, keys, tmp_values, values, scratch, n, key_dtype, word, has_values, shift + DIGIT_BITS
        )  # fmt: skip


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
        n: 0-d i32 array, or an i32; at most 256**log256_max_n.
        key_dtype: that of keys, compile time.
        has_values: compile-time bool.
        end_bit: compile time; only bits [0, end_bit) of keys take part. A multiple of 16; all bits for i32, f32, i64
            and f64.
        log256_max_n: 1 .. 4, compile time.

    Errors:
        NotImplementedError: another type of keys.
        ValueError: end_bit or log256_max_n out of range; an array that is its own workspace.
        QuadrantsTypeError: arrays of other dtypes, of several axes, or with an offset.

        qd.algorithms.sort(keys, tmp_keys, values, tmp_values, scratch, n, qd.u32, True, 32, 3)
    """
    qd.static(_check(keys, tmp_keys, values, tmp_values, n, key_dtype, has_values, end_bit, log256_max_n))
    qd.static(
        arguments.check(
            "sort",
            ("keys", keys, len(keys.shape), keys.dtype, key_dtype),
            ("tmp_keys", tmp_keys, len(tmp_keys.shape), tmp_keys.dtype, key_dtype),
            ("scratch", scratch, len(scratch.shape), scratch.dtype, qd.u32),
            *(
                (
                    ("values", values, len(values.shape), values.dtype, values.dtype),
                    ("tmp_values", tmp_values, len(tmp_values.shape), tmp_values.dtype, values.dtype),
                )
                if has_values
                else ()
            ),
        )
    )
    if qd.static(choices.host()):
        if qd.static(arguments.is_tensor(n)):
            _on_host(keys, tmp_keys, values, tmp_values, scratch, n[()], key_dtype, has_values, end_bit)
        else:
            _on_host(keys, tmp_keys, values, tmp_values, scratch, n, key_dtype, has_values, end_bit)
    elif qd.static(arguments.is_tensor(n)):
        sorting_passes.on_device(
            keys, tmp_keys, values, tmp_values, scratch, n[()], key_dtype, has_values, end_bit, log256_max_n
        )  # fmt: skip
    else:
        sorting_passes.on_device(
            keys, tmp_keys, values, tmp_values, scratch, n, key_dtype, has_values, end_bit, log256_max_n
        )  # fmt: skip
