"""What is before a tile, from the totals that other blocks tell: one pass over the elements is enough.

A block takes the next tile, tells its total, and waits for the totals before it. Tiles are taken in order, so that one
waits only for blocks that have begun. W tiles are a group, W groups a section (W lanes of a subgroup):

    tile       0  1  2  3   4  5  6  7   8  9 10 11  12 13 14 15  16 17 18 ...       W = 4
    totals     a  b  c  d   e  f  g  h   i  j  k  l   m  n  o  p   q  r
    groups     abcd         efgh         ijkl         mnop                   told by the last tile of each
    sections   abcdefghijklmnop, and what is before that                      told by the last tile of each

    before tile 10:   [sections before] + [abcd + efgh] + [i + j]

Each lane waits for one total, and the order of a fold never depends on who was first: sums of reals are always alike.

A number is told in two words of scratch, each with one half of its bits and a bit that says that it is there. So they
need no order between them, whatever the memory, and scratch may be as wide as the number.

    slot    0        1, 2 ...                2 words a tile, 2 a group, 2 a section
            ticket   totals of tiles, groups, what is before sections 1, 2 ...
"""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms import choices, folds
from quadrants.algorithms.choices import THREADS

subgroup = qd.simt.subgroup


def half(dtype) -> int:
    return choices.width(dtype) // 2


@qd.func
def slots(tiles):
    """Words of scratch that so many tiles use."""
    width = qd.static(choices.lanes())
    groups = (tiles - 1) // width + 1
    return 1 + 2 * (tiles + groups + (groups - 1) // width)


@qd.func
def clear(
    scratch: qd.template(), n: qd.template(), tile: qd.template(), blocks: qd.template(), word: qd.template(),
    fixed: qd.template() = 0, each: qd.template() = 0,
):  # fmt: skip
    """Zero in the slots that more than one tile uses: `fixed` and `each` a tile, or those of the chain; one task."""
    qd.loop_config(block_dim=THREADS)
    for i in range(blocks * THREADS):
        if n > tile:
            used = fixed + each * ((n - 1) // tile + 1)
            if qd.static(each == 0):
                used = slots((n - 1) // tile + 1)
            at = i
            while at < used:
                scratch[at] = qd.cast(0, word)
                at += blocks * THREADS


@qd.func
def tell(scratch: qd.template(), at, value, dtype: qd.template()):
    """Two words, of which nothing else is seen before they are there."""
    word = choices.word(dtype)
    bits = qd.bit_cast(value, word)
    there = qd.cast(1, word) << (2 * half(dtype) - 1)
    scratch[at] = (bits & word(qd.static((1 << half(dtype)) - 1))) | there
    scratch[at + 1] = (bits >> half(dtype)) | there


@qd.func
def told(scratch: qd.template(), at, dtype: qd.template()):
    """The number that another block tells there; waits for it."""
    word = choices.word(dtype)
    low = qd.cast(qd.volatile_load(scratch[at]), word)
    high = qd.cast(qd.volatile_load(scratch[at + 1]), word)
    while ((low & high) >> (2 * half(dtype) - 1)) == 0:
        low = qd.cast(qd.volatile_load(scratch[at]), word)
        high = qd.cast(qd.volatile_load(scratch[at + 1]), word)
    mask = word(qd.static((1 << half(dtype)) - 1))
    return qd.bit_cast((low & mask) | ((high & mask) << half(dtype)), dtype)


@qd.func
def before(scratch: qd.template(), tile, tiles, total, how: qd.template(), dtype: qd.template()):
    """The fold of all tiles before `tile`, whose own total is `total`. Called by all lanes of one subgroup."""
    width = qd.static(choices.lanes())
    lane = subgroup.invocation_id()
    group, in_group = tile // width, tile % width
    section, in_section = group // width, group % width
    groups_at = 1 + 2 * tiles
    sections_at = groups_at + 2 * ((tiles - 1) // width + 1)
    if lane == 0:
        tell(scratch, 1 + 2 * tile, total, dtype)
    subgroup.sync()
    mine = folds.identity(how, dtype)
    if lane < in_group:
        mine = told(scratch, 1 + 2 * (tile - in_group + lane), dtype)
    tiles_before = folds.of_lanes(mine, how)
    whole_group = folds.combine(tiles_before, total, how)
    if in_group == width - 1 and lane == 0:
        tell(scratch, groups_at + 2 * group, whole_group, dtype)
    subgroup.sync()
    mine = folds.identity(how, dtype)
    if lane < in_section:
        mine = told(scratch, groups_at + 2 * (group - in_section + lane), dtype)
    groups_before = folds.of_lanes(mine, how)
    result = groups_before
    if section > 0:
        sections_before = told(scratch, sections_at + 2 * (section - 1), dtype)
        result = folds.combine(sections_before, groups_before, how)
    if in_group == width - 1 and in_section == width - 1 and lane == 0 and tile < tiles - 1:
        tell(scratch, sections_at + 2 * section, folds.combine(result, whole_group, how), dtype)
    return folds.combine(result, tiles_before, how)
