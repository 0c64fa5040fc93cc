"""Folds of whole arrays, always in the same order: of runs or tiles first, then of their results.

GPU    block b of B folds tiles b, b + B, b + 2 B ...; one block folds the results
host   a run after the other on each thread; one thread folds the results
"""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms import arguments, choices, folds
from quadrants.algorithms.choices import RUN, THREADS

# Elements that the host folds side by side, in vector registers.
SIDE_BY_SIDE = 64


@qd.func
def of_run(arr: qd.template(), begin, end, how: qd.template(), dtype: qd.template()):
    """The fold of arr[begin:end], a run of the host."""
    total = folds.identity(how, dtype)
    done = begin
    if end - begin == RUN:
        sums = qd.Vector.zero(dtype, SIDE_BY_SIDE)
        for j in range(SIDE_BY_SIDE):
            sums[j] = arr[begin + j]
        for k in range(1, RUN // SIDE_BY_SIDE):
            for j in range(SIDE_BY_SIDE):
                sums[j] = folds.combine(sums[j], arr[begin + k * SIDE_BY_SIDE + j], how)
        for j in range(SIDE_BY_SIDE):
            total = folds.combine(total, sums[j], how)
        done = end
    for i in range(done, end):
        total = folds.combine(total, arr[i], how)
    return total


@qd.func
def _on_host(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(), dtype: qd.template(),
             how: qd.template()):  # fmt: skip
    word = choices.word(dtype)
    for r in range((n - 1) // RUN + 1):
        total = of_run(arr, r * RUN, qd.min(n - r * RUN, RUN) + r * RUN, how, dtype)
        scratch[r] = qd.bit_cast(total, word)
    for _ in range(1):
        total = folds.identity(how, dtype)
        for r in range((n - 1) // RUN + 1):
            total = folds.combine(total, qd.bit_cast(qd.cast(scratch[r], word), dtype), how)
        out[0] = total


@qd.func
def fold_tile(arr: qd.template(), begin, left, thread, total, how: qd.template(), dtype: qd.template()):
    """`total` with elements begin + thread, begin + thread + THREADS, ..., of `left` that there are from begin on."""
    items = qd.static(choices.items(dtype))
    values = qd.Vector.zero(dtype, items)
    for j in qd.static(range(items)):
        values[j] = folds.identity(how, dtype)
        if j * THREADS + thread < left:
            values[j] = arr[begin + (j * THREADS + thread)]
    for j in qd.static(range(items)):
        total = folds.combine(total, values[j], how)
    return total


@qd.func
def _on_device(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(),
               dtype: qd.template(), how: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    word = choices.word(dtype)
    tile = qd.static(choices.items(dtype) * THREADS)
    blocks = qd.static(choices.blocks(log256_max_n, tile))
    qd.loop_config(block_dim=THREADS)
    for i in range(blocks * THREADS):
        tiles = (n - 1) // tile + 1
        number = i // THREADS
        # Without elements block 0 stores the identity.
        if number < qd.max(tiles, 1):
            total = folds.identity(how, dtype)
            at = number
            while at < tiles:
                total = fold_tile(arr, at * tile, n - at * tile, i % THREADS, total, how, dtype)
                at += blocks
            total = folds.of_block(total, THREADS, how, dtype)
            if i % THREADS == 0:
                if tiles <= 1:
                    out[0] = total
                else:
                    scratch[number] = qd.bit_cast(total, word)
    if qd.static(blocks > 1):
        qd.loop_config(block_dim=THREADS)
        for i in range(THREADS):
            results = qd.min((n - 1) // tile + 1, blocks)
            if results > 1:
                total = folds.identity(how, dtype)
                at = i
                while at < results:
                    total = folds.combine(total, qd.bit_cast(qd.cast(scratch[at], word), dtype), how)
                    at += THREADS
                total = folds.of_block(total, THREADS, how, dtype)
                if i == 0:
                    out[0] = total


@qd.func
def fold(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(), dtype: qd.template(),
         log256_max_n: qd.template(), how: qd.template()):  # fmt: skip
    qd.static(folds.check(dtype, log256_max_n))
    qd.static(arguments.check_count("reduce_" + how, n))
    qd.static(
        arguments.check(
            "reduce_" + how,
            ("arr", arr, len(arr.shape), arr.dtype, dtype),
            ("out", out, len(out.shape), out.dtype, dtype),
            ("scratch", scratch, len(scratch.shape), scratch.dtype, arguments.scratch_of(dtype)),
        )
    )
    if qd.static(choices.host()):
        _on_host(arr, out, scratch, n, dtype, how)
    else:
        _on_device(arr, out, scratch, n, dtype, how, log256_max_n)


@qd.func(requires_top_level=True)
def reduce_add(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(),
               dtype: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    """out[0] = the sum of arr[0:n], 0 for no elements; for the top level of kernels.

    Integers wrap. Reals are added in an order that depends on n, the arch and nothing else.

    Args:
        arr: (at least n,) i32, u32, f32, i64, u64 or f64.
        out: (at least 1,) of the same dtype, another array.
        scratch: (reduce_scratch_slots(n, log256_max_n),) u32, or u64 for a dtype of 8 bytes; garbage afterwards.
        n: i32, at most 256**log256_max_n.
        dtype: that of arr, compile time.
        log256_max_n: 1 .. 4, compile time.

    Errors:
        NotImplementedError: another dtype.
        ValueError: log256_max_n out of range.
        QuadrantsTypeError: arrays of other dtypes, of several axes, or with an offset; n is no integer.

        qd.algorithms.reduce_add(arr, out, scratch, count[0], qd.f32, 3)
    """
    fold(arr, out, scratch, n, dtype, log256_max_n, "add")


@qd.func(requires_top_level=True)
def reduce_min(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(),
               dtype: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    """out[0] = the least of arr[0:n]; inf or the largest number of the dtype for no elements. As `reduce_add`.

    qd.algorithms.reduce_min(arr, out, scratch, count[0], qd.f32, 3)
    """
    fold(arr, out, scratch, n, dtype, log256_max_n, "min")


@qd.func(requires_top_level=True)
def reduce_max(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(),
               dtype: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    """out[0] = the largest of arr[0:n]; -inf or the least number of the dtype for no elements. As `reduce_add`.

    qd.algorithms.reduce_max(arr, out, scratch, count[0], qd.f32, 3)
    """
    fold(arr, out, scratch, n, dtype, log256_max_n, "max")
