"""The passes of the radix sort on a GPU.

    chained     histogram of all digits once; then a task a pass. A block takes the next tile, tells how often it has
                each digit, and adds up what the tiles before it tell
    otherwise   three tasks a pass: digits of each tile, a running sum for each digit, and the tiles

One tile needs none of this, and no scratch. A word of scratch that tells of digit d of a tile is 0 while nobody knows,
1 + the keys of the tile, or 2**31 + the keys of all tiles up to it.

    chained     tickets: one a pass | histograms: 256 a pass | words of even passes: 256 a tile | of odd passes
    otherwise   counts: tiles of digit 0, of digit 1, ... | keys of every digit
"""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms import chain, choices, sorting_tiles, tiles
from quadrants.algorithms.choices import THREADS
from quadrants.algorithms.sorting_keys import DIGIT_BITS, DIGITS, digit, last

block = qd.simt.block
ALL = 1 << 31
ASKED = 4  # words of other tiles at once


def _mask(group):
    return qd.u64 if group.lanes == 64 else qd.u32


@qd.func
def _histograms(keys: qd.template(), scratch: qd.template(), n: qd.template(), passes: qd.template(),
                key_dtype: qd.template(), group: qd.template(), blocks: qd.template()):  # fmt: skip
    word = choices.word(key_dtype)
    tile = qd.static(group.tile)
    threads = qd.static(group.threads)
    qd.loop_config(block_dim=threads)
    for i in range(blocks * threads):
        thread, count = i % threads, tiles.number_of(n, tile)
        if count > 1 and i // threads < count:
            seen = block.SharedArray((passes * DIGITS,), qd.u32)
            k = thread
            while k < passes * DIGITS:
                seen[k] = qd.u32(0)
                k += threads
            block.sync()
            at = i // threads
            while at < count:
                left = n - at * tile
                first = at * tile + thread
                bits = qd.Vector.zero(word, group.items)
                for j in qd.static(range(group.items)):
                    if j * threads + thread < left:
                        bits[j] = qd.bit_cast(keys[first + j * threads], word)
                for j in qd.static(range(group.items)):
                    if j * threads + thread < left:
                        for p in qd.static(range(passes)):
                            d = digit(bits[j], p * DIGIT_BITS, key_dtype)
                            qd.atomic_add(seen[p * DIGITS + d], qd.u32(1))
                at += blocks
            block.sync()
            k = thread
            while k < passes * DIGITS:
                if seen[k] != 0:
                    qd.atomic_add(scratch[passes + k], seen[k])
                k += threads


@qd.func
def _counts(keys: qd.template(), scratch: qd.template(), n: qd.template(), shift: qd.template(),
            key_dtype: qd.template(), group: qd.template(), blocks: qd.template()):  # fmt: skip
    """How often every tile has every digit."""
    word = choices.word(key_dtype)
    tile = qd.static(group.tile)
    threads = qd.static(group.threads)
    qd.loop_config(block_dim=threads)
    for i in range(blocks * threads):
        thread, count = i % threads, tiles.number_of(n, tile)
        at = i // threads
        while at < count and count > 1:
            seen = block.SharedArray((DIGITS,), qd.u32)
            seen[thread] = qd.u32(0)
            block.sync()
            for j in qd.static(range(group.items)):
                if j * threads + thread < n - at * tile:
                    bits = qd.bit_cast(keys[at * tile + (j * threads + thread)], word)
                    qd.atomic_add(seen[digit(bits, shift, key_dtype)], qd.u32(1))
            block.sync()
            scratch[thread * count + at] = seen[thread]
            at += blocks


@qd.func
def _running(scratch: qd.template(), n: qd.template(), group: qd.template()):
    """What is before each tile by digit, and behind that how often each digit occurs. A block for each digit."""
    qd.loop_config(block_dim=THREADS)
    for i in range(DIGITS * THREADS):
        count = tiles.number_of(n, qd.static(group.tile))
        if count > 1:
            box = block.SharedArray((1,), qd.u32)
            thread, row = i % THREADS, i // THREADS * count
            carried = qd.u32(0)
            first = 0
            while first < count:
                value = qd.u32(0)
                if thread < count - first:
                    value = scratch[row + first + thread]
                before = carried + block.exclusive_add(value, THREADS, qd.u32)
                if thread < count - first:
                    scratch[row + first + thread] = before
                block.sync()  # all have read the last box
                if thread == THREADS - 1:
                    box[0] = before + value
                block.sync()
                carried = box[0]
                first += THREADS
            if thread == 0:
                scratch[DIGITS * count + i // THREADS] = carried


@qd.func
def _before(scratch: qd.template(), words, tile, own, d):
    """Keys with digit d in the tiles before `tile`, which has `own` of them: waits for what they tell. Several words
    are asked for at once, since each takes its time to come."""
    total = qd.u32(0)
    at = tile - 1
    found = qd.Vector.zero(qd.u32, ASKED)
    while at >= 0:
        for k in qd.static(range(ASKED)):
            found[k] = qd.volatile_load(scratch[words + qd.max(at - k, 0) * DIGITS + d])
        there = True
        for k in qd.static(range(ASKED)):
            if there and at >= 0:
                if found[k] >> 31 != 0:
                    total += found[k] ^ qd.u32(ALL)
                    at = -1
                elif found[k] != 0:
                    total += found[k] - qd.u32(1)
                    at -= 1
                else:
                    there = False
    scratch[words + tile * DIGITS + d] = (total + own) | qd.u32(ALL)
    return total


@qd.func
def _one_pass(
    source: qd.template(), target: qd.template(), source_values: qd.template(), target_values: qd.template(),
    scratch: qd.template(), n: qd.template(), key_dtype: qd.template(), has_values: qd.template(),
    number: qd.template(), passes: qd.template(), group: qd.template(), blocks: qd.template(),
):  # fmt: skip
    word = choices.word(key_dtype)
    tile = qd.static(group.tile)
    threads = qd.static(group.threads)
    items = qd.static(group.items)
    shift = qd.static(number * DIGIT_BITS)
    mask = _mask(group)
    qd.loop_config(block_dim=threads, resident_blocks=group.resident)
    for i in range(blocks * threads):
        thread, count = i % threads, tiles.number_of(n, tile)
        if i // threads < count:
            counts = block.SharedArray((group.parts * DIGITS,), qd.u32)
            seen = block.SharedArray((group.parts * DIGITS,), mask)
            for k in range(DIGITS // group.lanes):
                seen[k * threads + thread] = qd.cast(0, mask)
            starts = block.SharedArray((DIGITS,), qd.u32)
            shifts = block.SharedArray((DIGITS,), qd.u32)
            places = block.SharedArray((tile,), word)
            part, lane = thread // group.lanes, thread % group.lanes
            # Keys of the array with smaller digits than that of the thread.
            often = qd.u32(0)
            if thread < DIGITS and count > 1:
                often = scratch[qd.static(passes + number * DIGITS if group.chained else 0) + thread]
                if qd.static(not group.chained):
                    often = scratch[DIGITS * count + thread]
            smaller = block.exclusive_add(often, threads, qd.u32)
            # Where this pass tells, and where the next one will.
            words = passes * (1 + DIGITS) + number % 2 * DIGITS * count
            next_words = passes * (1 + DIGITS) + (number + 1) % 2 * DIGITS * count
            at = i // threads
            if qd.static(group.chained):
                at = tiles.next_tile(scratch, i // threads, -1, count, blocks, qd.u32, number)
            while at < count:
                left = n - at * tile
                for k in range(DIGITS // group.lanes):
                    counts[k * threads + thread] = qd.u32(0)
                bits = qd.Vector.zero(word, items)
                ranks = qd.Vector.zero(qd.i32, items)
                in_tile = part * (group.lanes * items) + lane
                first = at * tile + in_tile
                for j in qd.static(range(items)):
                    # What is missing in the last tile goes behind everything else.
                    bits[j] = word(qd.static(last(key_dtype)))
                    if in_tile + j * group.lanes < left:
                        bits[j] = qd.bit_cast(source[first + j * group.lanes], word)
                block.sync()
                for j in qd.static(range(items)):
                    qd.atomic_add(counts[part * DIGITS + digit(bits[j], shift, key_dtype)], qd.u32(1))
                block.sync()
                own = qd.u32(0)
                if thread < DIGITS:
                    own = sorting_tiles.add_up(counts, thread, group)
                    if qd.static(group.chained):
                        if count > 1:
                            # Nothing is before the first tile.
                            told = own | qd.u32(ALL) if at == 0 else own + qd.u32(1)
                            scratch[words + at * DIGITS + thread] = told
                start = block.exclusive_add(own, threads, qd.u32)
                if thread < DIGITS:
                    starts[thread] = start
                block.sync()
                sorting_tiles.rank(bits, ranks, counts, seen, lane, part, group, mask, shift, key_dtype)
                for j in qd.static(range(items)):
                    d = digit(bits[j], shift, key_dtype)
                    ranks[j] += qd.i32(starts[d])
                    places[ranks[j]] = bits[j]
                if thread < DIGITS:
                    before = qd.u32(0)
                    if count > 1:
                        if qd.static(group.chained):
                            if at > 0:
                                before = _before(scratch, words, at, own, thread)
                            if qd.static(0 < number < passes - 1):
                                scratch[next_words + at * DIGITS + thread] = qd.u32(0)
                        else:
                            before = scratch[thread * count + at]
                    shifts[thread] = qd.u32(0)
                    if count > 1:
                        shifts[thread] = smaller + before - start
                block.sync()
                places_to = qd.Vector.zero(qd.i32, items)
                for j in qd.static(range(items)):
                    k = j * threads + thread
                    if k < left:
                        moved = places[k]
                        to = qd.i32(shifts[digit(moved, shift, key_dtype)]) + k
                        target[to] = qd.bit_cast(moved, key_dtype)
                        places_to[j] = to
                if qd.static(has_values):
                    held = qd.Vector.zero(source_values.dtype, items)
                    for j in qd.static(range(items)):
                        if in_tile + j * group.lanes < left:
                            held[j] = source_values[first + j * group.lanes]
                    if qd.static(sorting_tiles.is_shared(key_dtype, source_values.dtype, has_values)):
                        value_word = choices.word(source_values.dtype)
                        block.sync()  # all have taken their keys
                        for j in qd.static(range(items)):
                            places[ranks[j]] = qd.cast(qd.bit_cast(held[j], value_word), word)
                        block.sync()
                        for j in qd.static(range(items)):
                            if j * threads + thread < left:
                                moved_value = qd.cast(places[j * threads + thread], value_word)
                                target_values[places_to[j]] = qd.bit_cast(moved_value, source_values.dtype)
                    else:
                        others = block.SharedArray((tile,), source_values.dtype)
                        for j in qd.static(range(items)):
                            others[ranks[j]] = held[j]
                        block.sync()
                        for j in qd.static(range(items)):
                            if j * threads + thread < left:
                                target_values[places_to[j]] = others[j * threads + thread]
                if qd.static(group.chained):
                    at = tiles.next_tile(scratch, i // threads, at, count, blocks, qd.u32, number)
                else:
                    at += blocks
                    block.sync()


@qd.func
def on_device(
    keys: qd.template(), tmp_keys: qd.template(), values: qd.template(), tmp_values: qd.template(),
    scratch: qd.template(), n: qd.template(), key_dtype: qd.template(), has_values: qd.template(),
    end_bit: qd.template(), log256_max_n: qd.template(),
):  # fmt: skip
    group = sorting_tiles.shape(key_dtype, values.dtype, has_values)
    blocks = qd.static(group.blocks(log256_max_n))
    passes = qd.static(end_bit // DIGIT_BITS)
    if qd.static(group.chained and blocks > 1):
        chain.clear(
            scratch, n, group.tile, qd.static(min(blocks, 256)), qd.u32, passes * (1 + DIGITS), 2 * DIGITS
        )  # fmt: skip
        _histograms(keys, scratch, n, passes, key_dtype, group, blocks)
    for p in qd.static(range(0, passes, 2)):
        if qd.static(not group.chained and blocks > 1):
            _counts(keys, scratch, n, p * DIGIT_BITS, key_dtype, group, blocks)
            _running(scratch, n, group)
        _one_pass(
            keys, tmp_keys, values, tmp_values, scratch, n, key_dtype, has_values, p, passes, group, blocks
        )  # fmt: skip
        if qd.static(not group.chained and blocks > 1):
            _counts(tmp_keys, scratch, n, (p + 1) * DIGIT_BITS, key_dtype, group, blocks)
            _running(scratch, n, group)
        _one_pass(
            tmp_keys, keys, tmp_values, values, scratch, n, key_dtype, has_values, p + 1, passes, group, blocks
        )  # fmt: skip
