"""Bit searches that are built from the counting primitives. Kernel scope only."""

from __future__ import annotations

import quadrants as qd
from quadrants.lang.math_primitives import clz, ffs


@qd.func
def fns(mask, base, offset):
    """Position of the |offset|-th set bit of the u32 `mask`, counted from bit `base` (inclusive), as u32.

    `offset > 0` scans up, `offset < 0` scans down, 0 asks for bit `base` itself. 0xFFFFFFFF when there is none.

        k = qd.math.fns(mask, 0, 3)
    """
    bits = qd.cast(mask, qd.u32)
    start = qd.cast(base, qd.u32)
    found = qd.u32(0xFFFFFFFF)
    if offset == 0:
        if start < qd.u32(32) and (bits >> (start & qd.u32(31))) & qd.u32(1) == qd.u32(1):
            found = start
    elif offset > 0:
        if start < qd.u32(32):
            rest = bits & (qd.u32(0xFFFFFFFF) << start)
            # Drop the lowest set bit for all hits but the last.
            k = 1
            while k < offset and rest != qd.u32(0):
                rest = rest & (rest - qd.u32(1))
                k += 1
            if rest != qd.u32(0):
                found = qd.cast(ffs(rest) - 1, qd.u32)
    else:
        rest = bits
        if start < qd.u32(31):
            rest = bits & ~(qd.u32(0xFFFFFFFE) << start)
        k = -1
        while k > offset and rest != qd.u32(0):
            rest = rest & ~(qd.u32(0x80000000) >> qd.cast(clz(rest), qd.u32))
            k -= 1
        if rest != qd.u32(0):
            found = qd.cast(31 - clz(rest), qd.u32)
    return found
