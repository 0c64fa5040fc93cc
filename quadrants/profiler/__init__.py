"""Where time and memory go: tasks on the device, phases on the host, allocations.

A backend that times its tasks appends to `kernel_records`; the compiler wraps its phases in `scope(name)`.
"""

from typing import TYPE_CHECKING

from quadrants import absent
from quadrants.profiler import kernel_metrics, kernel_profiler, memory_profiler, scoped_profiler, timeline
from quadrants.profiler.kernel_metrics import CuptiMetric, get_predefined_cupti_metrics
from quadrants.profiler.kernel_profiler import (
    clear_kernel_profiler_info,
    collect_kernel_profiler_metrics,
    get_kernel_profiler_total_time,
    print_kernel_profiler_info,
    query_kernel_profiler_info,
    set_kernel_profiler_metrics,
    set_kernel_profiler_toolkit,
)
from quadrants.profiler.memory_profiler import print_memory_profiler_info
from quadrants.profiler.records import kernel_records
from quadrants.profiler.scoped_profiler import clear_scoped_profiler_info, print_scoped_profiler_info, scope

if not TYPE_CHECKING:  # else checkers would take any misspelt name
    __getattr__ = absent.names_of("profiler", globals())

__all__ = [
    "CuptiMetric",
    "clear_kernel_profiler_info",
    "clear_scoped_profiler_info",
    "collect_kernel_profiler_metrics",
    "get_kernel_profiler_total_time",
    "get_predefined_cupti_metrics",
    "kernel_metrics",
    "kernel_profiler",
    "kernel_records",
    "memory_profiler",
    "print_kernel_profiler_info",
    "print_memory_profiler_info",
    "print_scoped_profiler_info",
    "query_kernel_profiler_info",
    "scope",
    "scoped_profiler",
    "set_kernel_profiler_metrics",
    "set_kernel_profiler_toolkit",
    "timeline",
]
