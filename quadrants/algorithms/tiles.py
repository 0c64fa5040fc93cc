"""What is before each tile of elements, for tasks that need it: by a chain of tiles or by three tasks.

With one tile nothing is before it, and scratch is not touched: it may be of one slot then.
"""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms import chain, choices, folds
from quadrants.algorithms.choices import THREADS

block = qd.simt.block


@qd.func
def number_of(n, tile: qd.template()):
    return (n - 1) // tile + 1


@qd.func
def next_tile(
    scratch: qd.template(), number, previous, tiles, blocks: qd.template(), word: qd.template(),
    ticket: qd.template() = 0,
):  # fmt: skip
    """The next tile of block `number` after `previous`, -1 at first; `tiles` or more where there is no more."""
    result = previous + blocks
    if qd.static(choices.chained()):
        box = block.SharedArray((1,), qd.i32)
        block.sync()  # all have read the tile before
        if block.thread_idx() == 0:
            box[0] = 0 if previous < 0 else tiles
            if tiles > 1:
                # No constant, which would be outside of the scratch that one tile needs.
                slot = qd.select(tiles > 1, ticket, 0)
                box[0] = qd.cast(qd.atomic_add(scratch[slot], qd.cast(1, word)), qd.i32)
        block.sync()
        result = box[0]
    else:
        if previous < 0:
            result = number
        block.sync()
    return result


@qd.func
def before(scratch: qd.template(), tile, tiles, total, how: qd.template(), dtype: qd.template()):
    """The fold of the tiles before `tile`, in every thread. `total` is that of the tile, in the block's last thread."""
    box = block.SharedArray((1,), dtype)
    if qd.static(choices.chained()):
        if block.thread_idx() == THREADS - 1:
            box[0] = total
        block.sync()
        if tiles > 1 and block.thread_idx() < choices.lanes():
            found = chain.before(scratch, tile, tiles, box[0], how, dtype)
            if block.thread_idx() == 0:
                box[0] = found
        block.sync()
        result = folds.identity(how, dtype)
        if tiles > 1:
            result = box[0]
        return result
    else:
        result = folds.identity(how, dtype)
        if tiles > 1:
            result = qd.bit_cast(qd.cast(scratch[tile], choices.word(dtype)), dtype)
        return result


@qd.func
def accumulate(scratch: qd.template(), n: qd.template(), tile: qd.template(), how: qd.template(),
               dtype: qd.template()):  # fmt: skip
    """From totals of tiles in scratch to what is before each; one task of one block."""
    word = choices.word(dtype)
    qd.loop_config(block_dim=THREADS)
    for i in range(THREADS):
        tiles = number_of(n, tile)
        if tiles > 1:
            box = block.SharedArray((1,), dtype)
            carried = folds.identity(how, dtype)
            first = 0
            while first < tiles:
                value = folds.identity(how, dtype)
                if i < tiles - first:
                    value = qd.bit_cast(qd.cast(scratch[first + i], word), dtype)
                found = folds.combine(carried, folds.before_thread(value, THREADS, how, dtype), how)
                if i < tiles - first:
                    scratch[first + i] = qd.bit_cast(found, word)
                block.sync()  # all have read the last box
                if i == THREADS - 1:
                    box[0] = folds.combine(found, value, how)
                block.sync()
                carried = box[0]
                first += THREADS
