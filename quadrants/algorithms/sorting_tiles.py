"""What the threads of a block do to sort a tile of keys by one digit, in shared memory.

    keys        part 0 of the block: item 0 of lanes 0 .. L-1, item 1, ...    part 1: ...
    counts      how many keys of each part have each digit; the tile tells the others their sums before all else
    rank        those of earlier parts + earlier keys of the part with the same digit: lanes gather in shared memory who
                has it, item by item
    place       keys of the tile with smaller digits + rank

A part is a subgroup, or 32 threads where lanes do not meet without the rest of their block.
"""

from __future__ import annotations

from typing import NamedTuple

import quadrants as qd
from quadrants.algorithms import choices
from quadrants.algorithms.choices import MOST_BLOCKS
from quadrants.algorithms.sorting_keys import DIGITS, digit

block = qd.simt.block
subgroup = qd.simt.subgroup


class Shape(NamedTuple):
    """threads: of a block. items: keys of a thread. lanes: threads of a part. in_step: lanes meet without the rest of
    the block. chained: a pass is one task. resident: blocks that a multiprocessor shall hold at once.
    """

    threads: int
    items: int
    lanes: int
    in_step: bool
    chained: bool
    resident: int = 0

    @property
    def tile(self) -> int:
        return self.threads * self.items

    @property
    def parts(self) -> int:
        return self.threads // self.lanes

    def blocks(self, log256_max_n: int) -> int:
        return int(max(1, min(MOST_BLOCKS, 256**log256_max_n // self.tile)))


def shape(key_dtype, value_dtype, has_values: bool) -> Shape:
    """That of a sort. A large tile makes long runs of neighbours in the result, and takes much shared memory."""
    found = choices.choices()
    wide = choices.width(key_dtype) > 32 or (has_values and choices.width(value_dtype) > 32)
    in_step = found.lanes in (32, 64)
    if found.chained and found.shared_bytes >= (96 if found.lanes == 32 else 64) << 10:
        # A compiler takes twice the registers that are left to two blocks, to load all keys at once.
        most = Shape(512, 8 if wide else 16, found.lanes, True, True, resident=2)
        keys = choices.width(key_dtype) // 8
        values = choices.width(value_dtype) // 8 if has_values and not is_shared(key_dtype, value_dtype, True) else 0
        while _shared_bytes(most, keys + values) > found.shared_bytes:
            most = most._replace(items=most.items // 2)
        return most
    items = 8 if in_step else 4
    return Shape(256, items // 2 if wide else items, found.lanes if in_step else 32, in_step, False)


def _shared_bytes(group: Shape, element: int) -> int:
    """What a block has, for `element` bytes of each of its keys: counts, masks and places, and what scans take."""
    masks = group.lanes // 8
    return group.parts * DIGITS * (4 + masks) + 2 * DIGITS * 4 + group.tile * element + 2048


def is_shared(key_dtype, value_dtype, has_values: bool) -> bool:
    """Whether values can be where keys were in shared memory."""
    return has_values and 8 <= choices.width(value_dtype) <= choices.width(key_dtype)


@qd.func
def _in_order(group: qd.template()):
    """All lanes of a part have come here."""
    if qd.static(group.in_step):
        subgroup.sync()
    else:
        block.sync()


@qd.func
def rank(bits: qd.template(), ranks: qd.template(), counts: qd.template(), seen: qd.template(), lane, part,
         group: qd.template(), mask: qd.template(), shift: qd.template(), key_dtype: qd.template()):  # fmt: skip
    """ranks[j] of key bits[j] among the keys of the tile with its digit. counts[part, d]: how many of these are in
    earlier parts, at first. seen is 0, before and after.
    """
    mine = qd.cast(1, mask) << qd.cast(lane, mask)
    for j in qd.static(range(group.items)):
        slot = part * DIGITS + digit(bits[j], shift, key_dtype)
        qd.atomic_or(seen[slot], mine)
        _in_order(group)
        lanes = seen[slot]
        earlier = qd.cast(qd.math.popcnt(lanes & (mine - qd.cast(1, mask))), qd.u32)
        before = counts[slot]
        ranks[j] = qd.i32(before + earlier)
        _in_order(group)
        if earlier == 0:
            counts[slot] = before + qd.cast(qd.math.popcnt(lanes), qd.u32)
            seen[slot] = mine ^ mine
        _in_order(group)


@qd.func
def add_up(counts: qd.template(), d, group: qd.template()):
    """counts[p, d] = keys with digit d in the parts before p. How many there are in all."""
    seen = qd.Vector.zero(qd.u32, group.parts)
    for p in qd.static(range(group.parts)):
        seen[p] = counts[p * DIGITS + d]
    total = qd.u32(0)
    for p in qd.static(range(group.parts)):
        counts[p * DIGITS + d] = total
        total += seen[p]
    return total
