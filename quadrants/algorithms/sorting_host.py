"""A pass of the radix sort on the host: a thread goes along a run of keys at a time.

    count     counts[d, r] = keys of run r with digit d
    prefix    counts[d, r] = keys that go before those of run r with digit d: a running sum, digits first
    scatter   each key to counts[d, r]++ of the other buffer

Keys that go to one line of the cache are gathered and written together. The lines of all digits would not stay in a
cache: they are far apart, by a power of two where digits are spread evenly. When one is written the next is fetched,
since a processor that has to wait for it takes twice the time for the whole pass.

    held[d]    . . k k k k . .      places begin .. end - 1 of a line of LINE slots, line by line
"""

from __future__ import annotations

import quadrants as qd
from quadrants.algorithms import choices
from quadrants.algorithms.choices import RUN
from quadrants.algorithms.sorting_keys import DIGITS, digit
from quadrants.lang.control import prefetch

# As many runs as keep the threads of a large machine busy; more only make the prefix longer.
MOST_RUNS = 64
# Bytes of a line of the cache.
LINE = 64


def slots(dtype) -> int:
    """Of a line, for keys of `dtype`."""
    return LINE * 8 // choices.width(dtype)


@qd.func
def _length(n: qd.template()):
    """Keys of a run, a multiple of RUN."""
    return (qd.max(n - 1, 0) // (MOST_RUNS * RUN) + 1) * RUN


@qd.func
def _runs(n: qd.template()):
    return (n - 1) // _length(n) + 1


@qd.func
def _put(held: qd.template(), values_held: qd.template(), target: qd.template(), target_values: qd.template(), d,
         begin, end, line: qd.template(), key_dtype: qd.template(), has_values: qd.template()):  # fmt: skip
    """Places begin .. end - 1 of digit d, all of one line."""
    for place in range(begin, end):
        k = d * line + (place & (line - 1))
        target[place] = qd.bit_cast(held[k], key_dtype)
        if qd.static(has_values):
            target_values[place] = values_held[k]


@qd.func
def _scatter(
    source: qd.template(), target: qd.template(), source_values: qd.template(), target_values: qd.template(),
    counts: qd.template(), n: qd.template(), key_dtype: qd.template(), word: qd.template(),
    has_values: qd.template(), shift: qd.template(), line: qd.template(),
):  # fmt: skip
    for r in range(_runs(n)):
        runs, first = _runs(n), r * _length(n)
        starts = qd.Vector.zero(qd.i32, DIGITS)
        places = qd.Vector.zero(qd.i32, DIGITS)
        held = qd.Vector.zero(word, DIGITS * line)
        values_held = qd.Vector.zero(source_values.dtype, qd.static(DIGITS * line if has_values else 1))
        for d in range(DIGITS):
            starts[d] = qd.i32(counts[d * runs + r])
            places[d] = starts[d]
        for part in range(_length(n) // RUN):
            for j in range(RUN):
                i = first + part * RUN + j
                if i < n:
                    bits = qd.bit_cast(source[i], word)
                    d = digit(bits, shift, key_dtype)
                    place = places[d]
                    k = d * line + (place & (line - 1))
                    held[k] = bits
                    if qd.static(has_values):
                        values_held[k] = source_values[i]
                    places[d] = place + 1
                    if place & (line - 1) == line - 1:
                        begin = place - (line - 1)
                        if begin >= starts[d]:
                            # All loads before all stores: then a compiler needs no proof that they do not overlap.
                            whole = qd.Vector.zero(word, line)
                            for slot in qd.static(range(line)):
                                whole[slot] = held[d * line + slot]
                            for slot in qd.static(range(line)):
                                target[begin + slot] = qd.bit_cast(whole[slot], key_dtype)
                            if qd.static(has_values):
                                values = qd.Vector.zero(source_values.dtype, line)
                                for slot in qd.static(range(line)):
                                    values[slot] = values_held[d * line + slot]
                                for slot in qd.static(range(line)):
                                    target_values[begin + slot] = values[slot]
                            # Of the last line there is none behind.
                            behind = qd.min(place + 1, n - 1)
                            prefetch(target[behind])
                            if qd.static(has_values):
                                prefetch(target_values[behind])
                        else:
                            _put(
                                held,
                                values_held,
                                target,
                                target_values,
                                d,
                                starts[d],
                                place + 1,
                                line,
                                key_dtype,
                                has_values,
                            )
        for d in range(DIGITS):
            begin = qd.max(starts[d], places[d] & ~(line - 1))
            _put(held, values_held, target, target_values, d, begin, places[d], line, key_dtype, has_values)


@qd.func
def one_pass(
    source: qd.template(), target: qd.template(), source_values: qd.template(), target_values: qd.template(),
    counts: qd.template(), n: qd.template(), key_dtype: qd.template(), word: qd.template(),
    has_values: qd.template(), shift: qd.template(),
):  # fmt: skip
    for r in range(_runs(n)):
        runs, first = _runs(n), r * _length(n)
        seen = qd.Vector.zero(qd.u32, DIGITS)
        for part in range(_length(n) // RUN):
            for j in range(RUN):
                if first + part * RUN + j < n:
                    bits = qd.bit_cast(source[first + part * RUN + j], word)
                    seen[digit(bits, shift, key_dtype)] += qd.u32(1)
        for d in range(DIGITS):
            counts[d * runs + r] = seen[d]
    for _ in range(1):
        before = qd.u32(0)
        for slot in range(DIGITS * _runs(n)):
            count = counts[slot]
            counts[slot] = before
            before = before + count
    _scatter(
        source, target, source_values, target_values, counts, n, key_dtype, word, has_values, shift, slots(key_dtype)
    )  # fmt: skip
