"""Sorting pairs across lanes by a bitonic network.

Stage s sorts runs of 2**s lanes, alternately up and down, out of two sorted halves; its step d compares lanes that are
2**d apart. A lane keeps the smaller pair where its position in the run of the direction says so.
"""

from __future__ import annotations

from quadrants import absent
from quadrants.ir.types import i32, u1, u32
from quadrants.lang import typed
from quadrants.lang.simt import kernel_scope as at
from quadrants.lang.simt.lanes import group_size, log2_group_size, tile_size


def bitonic_sort_kv(key, value):
    """(key, value) of each lane after the pairs of the subgroup were sorted, ascending by key and then by value. With
    a NaN among the keys the order is open.

    y = qd.simt.subgroup.bitonic_sort_kv(key, a[i])
    """
    return bitonic_sort_kv_tiled(key, value, log2_group_size())


def bitonic_sort_kv_tiled(key, value, log2_size):
    """As `bitonic_sort_kv` within each tile of 2**log2_size lanes. key and value may differ in type.

    y = qd.simt.subgroup.bitonic_sort_kv_tiled(key, a[i], 5)
    """
    name = "subgroup.bitonic_sort_kv_tiled"
    log2 = tile_size(log2_size, name)
    key, value = at.scalar(key, name), at.scalar(value, name)
    if log2 == 0:
        return key, value
    tracer = at.on_device(name)
    key, value = tracer.declare("key", key.expr), tracer.declare("value", value.expr)
    tile = None if 1 << log2 == group_size() else log2
    lane = tracer.builtin("subgroup.invocation_id", i32)
    place = tracer.temp(typed.binary("bit_and", lane, (1 << log2) - 1), "place")
    for stage in range(1, log2 + 1):
        for step in reversed(range(stage)):
            _exchange(tracer, key, value, place, stage if stage < log2 else None, step, tile)
    return key, value


def _exchange(tracer, key, value, place, stage, step: int, tile) -> None:
    """Compare with the lane 2**step away; `stage` None: the last one, which sorts the whole tile upwards."""
    mask = at.const(1 << step, u32)
    other_key, other_value = (
        tracer.intrinsic("subgroup.shuffle_xor", (x, mask), x.type, (x.type, tile)) for x in (key, value)
    )
    lower = typed.binary("eq", typed.binary("bit_and", place, 1 << step), 0)
    if stage is not None:
        upwards = typed.binary("eq", typed.binary("bit_and", place, 1 << stage), 0)
        lower = typed.binary("eq", lower, upwards)
    # `lower` lanes keep the smaller pair, the others the larger one.
    less = _less(other_key, other_value, key, value)
    more = _less(key, value, other_key, other_value)
    swap = typed.select(lower, less, more)
    with tracer.when(typed.cast(swap, u1)):
        tracer.assign_to(key, other_key)
        tracer.assign_to(value, other_value)


def _less(key_a, value_a, key_b, value_b):
    same = typed.binary("logic_and", typed.binary("eq", key_a, key_b), typed.binary("lt", value_a, value_b))
    return typed.binary("logic_or", typed.binary("lt", key_a, key_b), same)


__getattr__ = absent.names_of("simt.sorting", globals())
