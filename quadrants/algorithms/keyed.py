"""Sums of the runs of equal keys.

The number of a run is a scan of heads, elements whose key is not that of the element before. A thread adds up what it
has of a run, and adds that to the sum of the run by an atomic: other threads may have other parts of it.

    keys    7 7 7 2 2 9 9 9 9 2        heads   1 0 0 1 0 1 0 0 0 1        numbers   0 0 0 1 1 2 2 2 2 3
"""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms import arguments, chain, choices, tiles
from quadrants.algorithms.choices import RUN, THREADS
from quadrants.algorithms.scratch import levels

block = qd.simt.block
DTYPES = (qd.i32, qd.u32, qd.f32)
ITEMS = 8
TILE = ITEMS * THREADS


def _check(key_dtype, value_dtype, keys_in, keys_out, values_in, values_out, log256_max_n: int) -> None:
    for what, dtype in (("key", key_dtype), ("value", value_dtype)):
        if dtype not in DTYPES:
            raise NotImplementedError(f"reduce by key {what} dtype {dtype} not supported{choices.instead(DTYPES)}")
    levels(log256_max_n)
    if keys_in is keys_out or values_in is values_out:
        raise ValueError("reduce_by_key_add is not done in place: pass other arrays as keys_out and values_out")


@qd.func
def _is_head(keys: qd.template(), i):
    result = 1
    if i > 0:
        result = qd.cast(keys[i - 1] != keys[i], qd.i32)
    return result


@qd.func
def _clear(values: qd.template(), n: qd.template(), blocks: qd.template(), dtype: qd.template()):
    if qd.static(choices.host()):
        for i in range(n):
            values[i] = qd.cast(0, dtype)
    else:
        qd.loop_config(block_dim=THREADS)
        for i in range(blocks * THREADS):
            at = i
            while at < n:
                values[at] = qd.cast(0, dtype)
                at += blocks * THREADS


@qd.func
def _on_host(keys_in: qd.template(), values_in: qd.template(), keys_out: qd.template(), values_out: qd.template(),
             num_runs: qd.template(), scratch: qd.template(), n: qd.template(), dtype: qd.template()):  # fmt: skip
    for r in range((n - 1) // RUN + 1):
        heads = 0
        for j in range(RUN):
            if r * RUN + j < n:
                heads += _is_head(keys_in, r * RUN + j)
        scratch[r] = qd.cast(heads, qd.u32)
    for _ in range(1):
        carried = qd.u32(0)
        for r in range((n - 1) // RUN + 1):
            heads = scratch[r]
            scratch[r] = carried
            carried += heads
        num_runs[0] = qd.cast(carried, qd.i32)
    for r in range((n - 1) // RUN + 1):
        number = qd.cast(scratch[r], qd.i32) - 1
        total = qd.cast(0, dtype)
        for j in range(RUN):
            i = r * RUN + j
            if i < n:
                if _is_head(keys_in, i) == 1:
                    if number >= 0:
                        qd.atomic_add(values_out[number], total)
                    number += 1
                    keys_out[number] = keys_in[i]
                    total = qd.cast(0, dtype)
                total += values_in[i]
        qd.atomic_add(values_out[number], total)


@qd.func
def _totals(keys: qd.template(), scratch: qd.template(), n: qd.template(), blocks: qd.template()):
    qd.loop_config(block_dim=THREADS)
    for i in range(blocks * THREADS):
        count = tiles.number_of(n, TILE)
        at = i // THREADS
        while at < count and count > 1:
            heads = 0
            for j in qd.static(range(ITEMS)):
                k = j * THREADS + i % THREADS
                if k < n - at * TILE:
                    heads += _is_head(keys, at * TILE + k)
            heads = block.reduce_add(heads, THREADS, qd.i32)
            if i % THREADS == 0:
                scratch[at] = qd.cast(heads, qd.u32)
            block.sync()
            at += blocks


@qd.func
def _tile(keys_in: qd.template(), values_in: qd.template(), keys_out: qd.template(), values_out: qd.template(),
          num_runs: qd.template(), scratch: qd.template(), at, count, left, thread, dtype: qd.template()):  # fmt: skip
    heads = qd.Vector.zero(qd.i32, ITEMS)
    own = 0
    for j in qd.static(range(ITEMS)):
        if thread * ITEMS + j < left:
            heads[j] = _is_head(keys_in, at * TILE + (thread * ITEMS + j))
            own += heads[j]
    in_block = block.exclusive_add(own, THREADS, qd.i32)
    before = tiles.before(scratch, at, count, in_block + own, "add", qd.i32)
    number = before + in_block - 1
    if thread == THREADS - 1 and at == count - 1:
        num_runs[0] = number + own + 1
    total = qd.cast(0, dtype)
    # Whether the thread has something of run `number`.
    some = 0
    for j in qd.static(range(ITEMS)):
        if thread * ITEMS + j < left:
            i = at * TILE + (thread * ITEMS + j)
            if heads[j] == 1:
                if some == 1:
                    qd.atomic_add(values_out[number], total)
                number += 1
                keys_out[number] = keys_in[i]
                total = qd.cast(0, dtype)
            total += values_in[i]
            some = 1
    if some == 1:
        qd.atomic_add(values_out[number], total)


@qd.func
def _on_device(keys_in: qd.template(), values_in: qd.template(), keys_out: qd.template(), values_out: qd.template(),
               num_runs: qd.template(), scratch: qd.template(), n: qd.template(), dtype: qd.template(),
               log256_max_n: qd.template()):  # fmt: skip
    blocks = qd.static(choices.blocks(log256_max_n, TILE))
    if qd.static(blocks > 1):
        if qd.static(choices.chained()):
            chain.clear(scratch, n, TILE, qd.static(min(blocks, 256)), qd.u32)
        else:
            _totals(keys_in, scratch, n, blocks)
            tiles.accumulate(scratch, n, TILE, "add", qd.i32)
    qd.loop_config(block_dim=THREADS)
    for i in range(blocks * THREADS):
        count = tiles.number_of(n, TILE)
        if i == 0 and n <= 0:
            num_runs[0] = 0
        if i // THREADS < count:
            at = tiles.next_tile(scratch, i // THREADS, -1, count, blocks, qd.u32)
            while at < count:
                _tile(
                    keys_in, values_in, keys_out, values_out, num_runs, scratch, at, count, n - at * TILE, i % THREADS,
                    dtype,
                )  # fmt: skip
                at = tiles.next_tile(scratch, i // THREADS, at, count, blocks, qd.u32)


@qd.func(requires_top_level=True)
def reduce_by_key_add(
    keys_in: qd.template(), values_in: qd.template(), keys_out: qd.template(), values_out: qd.template(),
    num_runs: qd.template(), scratch: qd.template(), n: qd.template(), value_dtype: qd.template(),
    log256_max_n: qd.template(),
):  # fmt: skip
    """Key and sum of the values of every run of equal keys in keys_in[0:n], in order; for the top level of kernels.

    Equal keys in different runs stay apart: sort before to have one run a key. A NaN equals nothing. Sums of f32 are
    added up by atomics, so that their last bits vary.

    Args:
        keys_in: (at least n,) i32, u32 or f32.
        values_in: (at least n,) i32, u32 or f32.
        keys_out: (at least n,) of the dtype of keys_in, another array; nothing is written behind the last run.
        values_out: (at least n,) of the dtype of values_in, another array; zero behind the last run, up to n.
        num_runs: (at least 1,) i32; [0] receives the number of runs.
        scratch: (reduce_by_key_scratch_slots(n),) u32; garbage afterwards.
        n: i32, at most 256**log256_max_n.
        value_dtype: that of values_in, compile time.
        log256_max_n: 1 .. 4, compile time.

    Errors:
        NotImplementedError: another dtype.
        ValueError: log256_max_n out of range; an array that is its own result.
        QuadrantsTypeError: arrays of other dtypes, of several axes, or with an offset; n is no integer.

        qd.algorithms.reduce_by_key_add(keys, values, keys_out, sums, num_runs, scratch, count[0], qd.f32, 3)
    """
    qd.static(_check(keys_in.dtype, value_dtype, keys_in, keys_out, values_in, values_out, log256_max_n))
    qd.static(arguments.check_count("reduce_by_key_add", n))
    qd.static(
        arguments.check(
            "reduce_by_key_add",
            ("keys_in", keys_in, len(keys_in.shape)),
            ("values_in", values_in, len(values_in.shape), values_in.dtype, value_dtype),
            ("keys_out", keys_out, len(keys_out.shape), keys_out.dtype, keys_in.dtype),
            ("values_out", values_out, len(values_out.shape), values_out.dtype, value_dtype),
            ("num_runs", num_runs, len(num_runs.shape), num_runs.dtype, qd.i32),
            ("scratch", scratch, len(scratch.shape), scratch.dtype, qd.u32),
        )
    )
    _clear(values_out, n, qd.static(choices.blocks(log256_max_n, TILE)), value_dtype)
    if qd.static(choices.host()):
        _on_host(keys_in, values_in, keys_out, values_out, num_runs, scratch, n, value_dtype)
    else:
        _on_device(keys_in, values_in, keys_out, values_out, num_runs, scratch, n, value_dtype, log256_max_n)
