"""Compressed rows of triplets, made where kernels read them: the triplets are sorted and those of one entry added up.

Worth it where the device compiles these kernels and moves the triplets in less time than SciPy takes on the host.
"""

from __future__ import annotations

from typing import Any

import quadrants as qd
from quadrants import algorithms as al
from quadrants import session, targets
from quadrants.linalg._products import Rows

LEAST = 1 << 16  # triplets; fewer are made into a matrix on the host within a few milliseconds
DEPTH = 4  # of the sort and the scan: as many elements as an ndarray may have


@qd.kernel
def _sort(
    rows: qd.types.ndarray(), columns: qd.types.ndarray(), values: qd.types.ndarray(), keys: qd.types.ndarray(),
    tmp_keys: qd.types.ndarray(), tmp_values: qd.types.ndarray(), heads: qd.types.ndarray(),
    places: qd.types.ndarray(), scratch: qd.types.ndarray(), told: qd.types.ndarray(), n: qd.i32, shift: qd.i32,
    row_count: qd.i32, column_count: qd.i32, end_bit: qd.template(),
):  # fmt: skip
    """By rows, then columns. `heads` marks the first triplet of an entry, `places` numbers entries."""
    for t in range(n):
        i, j = rows[t], columns[t]
        keys[t] = (qd.u64(i) << shift) | qd.u64(j)
        if i < 0 or i >= row_count or j < 0 or j >= column_count:
            told[1] = 1
    al.sort(keys, tmp_keys, values, tmp_values, scratch, n, qd.u64, True, end_bit, DEPTH)
    for t in range(n):
        first = 1
        if t > 0:
            first = keys[t] != keys[t - 1]
        heads[t] = first
    al.exclusive_scan_add(heads, places, scratch, n, qd.i32, DEPTH)
    told[0] = places[n - 1] + heads[n - 1]


@qd.kernel
def _add_up(
    keys: qd.types.ndarray(), heads: qd.types.ndarray(), places: qd.types.ndarray(), sorted_values: qd.types.ndarray(),
    starts: qd.types.ndarray(), columns: qd.types.ndarray(), values: qd.types.ndarray(), n: qd.i32, shift: qd.i32,
):  # fmt: skip
    for t in range(n):
        if heads[t] == 1:
            total = sorted_values[t]
            for k in range(t + 1, n):
                if heads[k] == 1:
                    break
                total += sorted_values[k]
            values[places[t]] = total
            columns[places[t]] = qd.i32(keys[t] & ((qd.u64(1) << shift) - 1))
    for i in range(starts.shape[0]):
        least = qd.u64(i) << shift
        low, high = 0, n
        while low < high:
            middle = low + (high - low) // 2
            if keys[middle] < least:
                low = middle + 1
            else:
                high = middle
        if low < n:
            starts[i] = places[low]
        else:
            starts[i] = values.shape[0]


def suits(count: int) -> bool:
    """Whether so many triplets are better made into a matrix on the device."""
    target = targets.of_arch(session.require_runtime().arch.name)
    return count >= LEAST and target is not None and target.progress and not target.host_memory


def compressed_rows(builder: Any, count: int) -> Rows | None:
    """Of the first `count` triplets, the values of which are moved; None where one is outside of the matrix."""
    shift = (builder.num_cols - 1).bit_length()
    end_bit = -(-max(1, shift + (builder.num_rows - 1).bit_length()) // 16) * 16
    keys, heads, places = (qd.ndarray(dtype, count) for dtype in (qd.u64, qd.i32, qd.i32))
    slots = max(al.sort_scratch_slots(count, DEPTH), al.exclusive_scan_scratch_slots(count, DEPTH))
    tmp_keys, tmp_values = qd.ndarray(qd.u64, count), qd.ndarray(builder.dtype, count)
    scratch, told = qd.ndarray(qd.u32, slots), qd.ndarray(qd.i32, 2)
    told.fill(0)
    _sort(
        builder.rows, builder.columns, builder.values, keys, tmp_keys, tmp_values, heads, places, scratch, told, count,
        shift, builder.num_rows, builder.num_cols, end_bit,
    )  # fmt: skip
    entries, outside = told.to_numpy().tolist()
    if outside:
        return None
    starts, columns = qd.ndarray(qd.i32, builder.num_rows + 1), qd.ndarray(qd.i32, entries)
    values = qd.ndarray(builder.dtype, entries)
    _add_up(keys, heads, places, builder.values, starts, columns, values, count, shift)
    return Rows((builder.num_rows, builder.num_cols), builder.dtype, starts, columns, values)
