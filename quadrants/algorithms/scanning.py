"""Exclusive scans of whole arrays.

A thread of a GPU holds `items` neighbours. They are loaded and stored so that neighbouring threads touch neighbouring
elements, and change places in shared memory; one slot in 33 stays empty, so that threads meet different banks there.
"""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms import arguments, chain, choices, folds, reducing, tiles
from quadrants.algorithms.choices import RUN, THREADS

block = qd.simt.block


def _check(arr, out, dtype, log256_max_n: int) -> None:
    folds.check(dtype, log256_max_n)
    if arr is out:
        raise ValueError("an exclusive scan is not done in place: pass another array as out")


@qd.func
def _on_host(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(), dtype: qd.template(),
             how: qd.template()):  # fmt: skip
    word = choices.word(dtype)
    for r in range((n - 1) // RUN + 1):
        scratch[r] = qd.bit_cast(reducing.of_run(arr, r * RUN, qd.min(n - r * RUN, RUN) + r * RUN, how, dtype), word)
    for _ in range(1):
        carried = folds.identity(how, dtype)
        for r in range((n - 1) // RUN + 1):
            total = qd.bit_cast(qd.cast(scratch[r], word), dtype)
            scratch[r] = qd.bit_cast(carried, word)
            carried = folds.combine(carried, total, how)
    for r in range((n - 1) // RUN + 1):
        carried = qd.bit_cast(qd.cast(scratch[r], word), dtype)
        if n - r * RUN >= RUN:
            for j in range(RUN):
                out[r * RUN + j] = carried
                carried = folds.combine(carried, arr[r * RUN + j], how)
        else:
            for i in range(r * RUN, n):
                out[i] = carried
                carried = folds.combine(carried, arr[i], how)


@qd.func
def _totals(arr: qd.template(), scratch: qd.template(), n: qd.template(), dtype: qd.template(), how: qd.template(),
            blocks: qd.template()):  # fmt: skip
    tile = qd.static(choices.items(dtype) * THREADS)
    qd.loop_config(block_dim=THREADS)
    for i in range(blocks * THREADS):
        count = tiles.number_of(n, tile)
        at = i // THREADS
        while at < count and count > 1:
            total = folds.identity(how, dtype)
            total = reducing.fold_tile(arr, at * tile, n - at * tile, i % THREADS, total, how, dtype)
            total = folds.of_block(total, THREADS, how, dtype)
            if i % THREADS == 0:
                scratch[at] = qd.bit_cast(total, choices.word(dtype))
            block.sync()
            at += blocks


@qd.func
def _scan_tile(arr: qd.template(), out: qd.template(), scratch: qd.template(), at, count, left, thread,
               dtype: qd.template(), how: qd.template()):  # fmt: skip
    items = qd.static(choices.items(dtype))
    tile = qd.static(items * THREADS)
    places = block.SharedArray((tile + tile // 32,), dtype)
    first = at * tile + thread
    # Places of element j of the thread: in the order of loads, and of the array.
    striped = thread + (thread >> 5)
    blocked = thread * items + ((thread * items) >> 5)
    values = qd.Vector.zero(dtype, items)
    for j in qd.static(range(items)):
        values[j] = folds.identity(how, dtype)
        if j * THREADS + thread < left:
            values[j] = arr[first + j * THREADS]
    for j in qd.static(range(items)):
        places[striped + j * (THREADS + THREADS // 32)] = values[j]
    block.sync()
    own = folds.identity(how, dtype)
    for j in qd.static(range(items)):
        values[j] = places[blocked + j]
        own = folds.combine(own, values[j], how)
    in_block = folds.before_thread(own, THREADS, how, dtype)
    carried = tiles.before(scratch, at, count, folds.combine(in_block, own, how), how, dtype)
    carried = folds.combine(carried, in_block, how)
    for j in qd.static(range(items)):
        places[blocked + j] = carried
        carried = folds.combine(carried, values[j], how)
    block.sync()
    for j in qd.static(range(items)):
        if j * THREADS + thread < left:
            out[first + j * THREADS] = places[striped + j * (THREADS + THREADS // 32)]


@qd.func
def _on_device(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(),
               dtype: qd.template(), how: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    word = choices.word(dtype)
    tile = qd.static(choices.items(dtype) * THREADS)
    blocks = qd.static(choices.blocks(log256_max_n, tile))
    if qd.static(blocks > 1):
        if qd.static(choices.chained()):
            chain.clear(scratch, n, tile, qd.static(min(blocks, 256)), word)
        else:
            _totals(arr, scratch, n, dtype, how, blocks)
            tiles.accumulate(scratch, n, tile, how, dtype)
    qd.loop_config(block_dim=THREADS)
    for i in range(blocks * THREADS):
        count = tiles.number_of(n, tile)
        if i // THREADS < count:
            at = tiles.next_tile(scratch, i // THREADS, -1, count, blocks, word)
            while at < count:
                _scan_tile(arr, out, scratch, at, count, n - at * tile, i % THREADS, dtype, how)
                at = tiles.next_tile(scratch, i // THREADS, at, count, blocks, word)


@qd.func
def scan(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(), dtype: qd.template(),
         log256_max_n: qd.template(), how: qd.template()):  # fmt: skip
    qd.static(_check(arr, out, dtype, log256_max_n))
    qd.static(arguments.check_count("exclusive_scan_" + how, n))
    qd.static(
        arguments.check(
            "exclusive_scan_" + how,
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
def exclusive_scan_add(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(),
                       dtype: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    """out[i] = the sum of arr[0:i] for every i < n; for the top level of kernels.

    Integers wrap. Reals are added in an order that depends on n, the arch and nothing else.

    Args:
        arr: (at least n,) i32, u32, f32, i64, u64 or f64.
        out: (at least n,) of the same dtype, another array; nothing is written at n and behind it.
        scratch: (exclusive_scan_scratch_slots(n, log256_max_n),) u32, or u64 for a dtype of 8 bytes; garbage
            afterwards.
        n: i32, at most 256**log256_max_n.
        dtype: that of arr, compile time.
        log256_max_n: 1 .. 4, compile time.

    Errors:
        NotImplementedError: another dtype.
        ValueError: log256_max_n out of range; out is arr.
        QuadrantsTypeError: arrays of other dtypes, of several axes, or with an offset; n is no integer.

        qd.algorithms.exclusive_scan_add(arr, out, scratch, count[0], qd.i32, 3)
    """
    scan(arr, out, scratch, n, dtype, log256_max_n, "add")


@qd.func(requires_top_level=True)
def exclusive_scan_min(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(),
                       dtype: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    """out[i] = the least of arr[0:i]; out[0] is inf or the largest number of the dtype. As `exclusive_scan_add`.

    qd.algorithms.exclusive_scan_min(arr, out, scratch, count[0], qd.f32, 3)
    """
    scan(arr, out, scratch, n, dtype, log256_max_n, "min")


@qd.func(requires_top_level=True)
def exclusive_scan_max(arr: qd.template(), out: qd.template(), scratch: qd.template(), n: qd.template(),
                       dtype: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    """out[i] = the largest of arr[0:i]; out[0] is -inf or the least number of the dtype. As `exclusive_scan_add`.

    qd.algorithms.exclusive_scan_max(arr, out, scratch, count[0], qd.f32, 3)
    """
    scan(arr, out, scratch, n, dtype, log256_max_n, "max")
