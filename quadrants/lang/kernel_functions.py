"""All functions of `qd.*` with a kernel meaning: importing this module completes KERNEL_FUNCTIONS."""

from __future__ import annotations

from quadrants.lang.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_mul,
    atomic_or,
    atomic_sub,
    atomic_xor,
    volatile_load,
)
from quadrants.lang.casts import bit_cast, bit_shr, cast, raw_div, raw_mod
from quadrants.lang.control import (
    assume_in_range,
    block_local,
    cache_read_only,
    clock_counter,
    global_thread_idx,
    grouped,
    loop_config,
    loop_unique,
    mesh_local,
    mesh_patch_idx,
    no_activate,
    static,
    static_assert,
    static_print,
    stop_grad,
)
from quadrants.lang.graphs import (
    checkpoint,
    do_while,
    graph_do_while,
    graph_parallel,
    graph_parallel_context,
    parallel,
    parallel_context,
    stream_parallel,
)
from quadrants.lang.host_math import *  # noqa: F403
from quadrants.lang.host_math import __all__ as _mathematics
from quadrants.lang.math_primitives import clz, ffs, isinf, isnan, popcnt
from quadrants.lang.ndrange import ndrange
from quadrants.lang.sparse_ops import activate, append, deactivate, get_addr, is_active, length, rescale_index

__all__ = [
    *_mathematics,
    "activate", "append", "assume_in_range", "atomic_add", "atomic_and", "atomic_cas", "atomic_exchange",
    "atomic_max", "atomic_min", "atomic_mul", "atomic_or", "atomic_sub", "atomic_xor", "bit_cast", "bit_shr",
    "block_local", "cache_read_only", "cast", "checkpoint", "clock_counter", "clz", "deactivate", "do_while", "ffs",
    "get_addr", "global_thread_idx", "graph_do_while", "graph_parallel", "graph_parallel_context", "grouped",
    "is_active", "isinf", "isnan", "length", "loop_config", "loop_unique", "mesh_local", "mesh_patch_idx",
    "ndrange", "no_activate", "parallel", "parallel_context", "popcnt", "raw_div", "raw_mod", "rescale_index",
    "static", "static_assert", "static_print", "stop_grad", "stream_parallel", "volatile_load",
]  # fmt: skip
