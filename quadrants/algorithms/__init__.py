"""Algorithms over whole arrays, called at the top level of kernels."""

from quadrants import absent
from quadrants.algorithms.deprecated import PrefixSumExecutor, parallel_sort
from quadrants.algorithms.keyed import reduce_by_key_add
from quadrants.algorithms.reducing import reduce_add, reduce_max, reduce_min
from quadrants.algorithms.scanning import exclusive_scan_add, exclusive_scan_max, exclusive_scan_min
from quadrants.algorithms.scratch import (
    exclusive_scan_scratch_slots,
    reduce_by_key_scratch_slots,
    reduce_scratch_slots,
    select_scratch_slots,
    sort_scratch_slots,
)
from quadrants.algorithms.selecting import select
from quadrants.algorithms.sorting import sort

__all__ = [
    "PrefixSumExecutor", "exclusive_scan_add", "exclusive_scan_max", "exclusive_scan_min",
    "exclusive_scan_scratch_slots", "parallel_sort", "reduce_add", "reduce_by_key_add", "reduce_by_key_scratch_slots",
    "reduce_max", "reduce_min", "reduce_scratch_slots", "select", "select_scratch_slots", "sort",
    "sort_scratch_slots",
]  # fmt: skip

__getattr__ = absent.names_of("algorithms", globals())
