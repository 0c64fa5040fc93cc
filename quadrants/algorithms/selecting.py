"""Elements whose flag is 1, in order.

A thread of a GPU looks at `ITEMS` neighbours. Where they go is a scan of flags over threads, blocks and the array:

    flags      1 0 1 1   0 0 1 0   1 1 0 0 ...      of three threads
    places     0 . 1 2   . . 3 .   4 5 . .
"""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms import arguments, chain, choices, tiles
from quadrants.algorithms.choices import RUN, THREADS
from quadrants.algorithms.scratch import levels

block = qd.simt.block
ITEMS = 16
TILE = ITEMS * THREADS
# Indices that a thread of the host gathers before it copies what they lead to.
BATCH = 256


def _check(arr, out, log256_max_n: int) -> None:
    levels(log256_max_n)
    if arr is out:
        raise ValueError("select is not done in place: pass another array as out")


@qd.func
def _on_host(arr: qd.template(), flags: qd.template(), out: qd.template(), num_out: qd.template(),
             scratch: qd.template(), n: qd.template()):  # fmt: skip
    for r in range((n - 1) // RUN + 1):
        total = 0
        if n - r * RUN >= RUN:
            for j in range(RUN):
                total += flags[r * RUN + j]
        else:
            for i in range(r * RUN, n):
                total += flags[i]
        scratch[r] = qd.cast(total, qd.u32)
    for _ in range(1):
        carried = qd.u32(0)
        for r in range((n - 1) // RUN + 1):
            total = scratch[r]
            scratch[r] = carried
            carried += total
        num_out[0] = qd.cast(carried, qd.i32)
    for r in range((n - 1) // RUN + 1):
        place = qd.cast(scratch[r], qd.i32)
        found = qd.Vector.zero(qd.i32, BATCH)
        for b in range(RUN // BATCH):
            first = r * RUN + b * BATCH
            count = 0
            # Without a branch that a processor would guess wrong half of the time.
            if n - first >= BATCH:
                for j in range(BATCH):
                    found[count] = first + j
                    count += flags[first + j] & 1
            else:
                for i in range(first, n):
                    found[count] = i
                    count += flags[i] & 1
            for k in range(count):
                out[place + k] = arr[found[k]]
            place += count


@qd.func
def _totals(flags: qd.template(), scratch: qd.template(), n: qd.template(), blocks: qd.template()):
    qd.loop_config(block_dim=THREADS)
    for i in range(blocks * THREADS):
        count = tiles.number_of(n, TILE)
        at = i // THREADS
        while at < count and count > 1:
            total = 0
            for j in qd.static(range(ITEMS)):
                if j * THREADS + i % THREADS < n - at * TILE:
                    total += flags[at * TILE + (j * THREADS + i % THREADS)]
            total = block.reduce_add(total, THREADS, qd.i32)
            if i % THREADS == 0:
                scratch[at] = qd.cast(total, qd.u32)
            block.sync()
            at += blocks


@qd.func
def _select_tile(arr: qd.template(), flags: qd.template(), out: qd.template(), num_out: qd.template(),
                 scratch: qd.template(), at, count, left, thread):  # fmt: skip
    """The flags change places in shared memory, then the indices of what is selected do, in order."""
    places = block.SharedArray((TILE + TILE // 32,), qd.i32)
    total = block.SharedArray((1,), qd.i32)
    first = at * TILE
    striped = thread + (thread >> 5)
    blocked = thread * ITEMS + ((thread * ITEMS) >> 5)
    own = qd.Vector.zero(qd.i32, ITEMS)
    for j in qd.static(range(ITEMS)):
        if j * THREADS + thread < left:
            own[j] = flags[first + thread + j * THREADS]
    for j in qd.static(range(ITEMS)):
        places[striped + j * (THREADS + THREADS // 32)] = own[j]
    block.sync()
    sum_own = 0
    for j in qd.static(range(ITEMS)):
        own[j] = places[blocked + j]
        sum_own += own[j]
    in_block = block.exclusive_add(sum_own, THREADS, qd.i32)
    # All have read their flags: the scan had a barrier.
    place = in_block
    for j in qd.static(range(ITEMS)):
        if own[j] == 1:
            places[place] = thread * ITEMS + j
            place += 1
    if thread == THREADS - 1:
        total[0] = place
    before = tiles.before(scratch, at, count, place, "add", qd.i32)
    block.sync()
    if thread == 0 and at == count - 1:
        num_out[0] = before + total[0]
    k = thread
    while k < total[0]:
        out[before + k] = arr[first + places[k]]
        k += THREADS


@qd.func
def _on_device(arr: qd.template(), flags: qd.template(), out: qd.template(), num_out: qd.template(),
               scratch: qd.template(), n: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    blocks = qd.static(choices.blocks(log256_max_n, TILE))
    if qd.static(blocks > 1):
        if qd.static(choices.chained()):
            chain.clear(scratch, n, TILE, qd.static(min(blocks, 256)), qd.u32)
        else:
            _totals(flags, scratch, n, blocks)
            tiles.accumulate(scratch, n, TILE, "add", qd.i32)
    qd.loop_config(block_dim=THREADS)
    for i in range(blocks * THREADS):
        count = tiles.number_of(n, TILE)
        if i == 0 and n <= 0:
            num_out[0] = 0
        if i // THREADS < count:
            at = tiles.next_tile(scratch, i // THREADS, -1, count, blocks, qd.u32)
            while at < count:
                _select_tile(arr, flags, out, num_out, scratch, at, count, n - at * TILE, i % THREADS)
                at = tiles.next_tile(scratch, i // THREADS, at, count, blocks, qd.u32)


@qd.func(requires_top_level=True)
def select(arr: qd.template(), flags: qd.template(), out: qd.template(), num_out: qd.template(),
           scratch: qd.template(), n: qd.template(), log256_max_n: qd.template()):  # fmt: skip
    """Copy every arr[i] with flags[i] == 1, i < n, to out[0], out[1], ... in order; for the top level of kernels.

    Args:
        arr: (at least n,) scalars, vectors, matrices or structs.
        flags: (at least n,) i32, each 0 or 1.
        out: (at least n,) of the elements of arr, another array; nothing is written behind what is selected.
        num_out: (at least 1,) i32; [0] receives how many are selected.
        scratch: (select_scratch_slots(n),) u32; garbage afterwards.
        n: i32, at most 256**log256_max_n.
        log256_max_n: 1 .. 4, compile time.

    Errors:
        ValueError: log256_max_n out of range; out is arr.
        QuadrantsTypeError: arrays of other dtypes, of several axes, or with an offset; n is no integer.

        qd.algorithms.select(arr, flags, out, num_out, scratch, count[0], 3)
    """
    qd.static(_check(arr, out, log256_max_n))
    qd.static(arguments.check_count("select", n))
    qd.static(
        arguments.check(
            "select",
            ("arr", arr, len(arr.shape)),
            ("flags", flags, len(flags.shape), flags.dtype, qd.i32),
            ("out", out, len(out.shape)),
            ("num_out", num_out, len(num_out.shape), num_out.dtype, qd.i32),
            ("scratch", scratch, len(scratch.shape), scratch.dtype, qd.u32),
        )
    )
    if qd.static(choices.host()):
        _on_host(arr, flags, out, num_out, scratch, n)
    else:
        _on_device(arr, flags, out, num_out, scratch, n, log256_max_n)
