"""CUDA C++ for NVIDIA devices, compiled by NVRTC."""

from quadrants.emit.dialects import SUFFIXES, TYPES, Dialect
from quadrants.emit.prelude_spelling import Spelling
from quadrants.ir.names import C_KEYWORDS, CPP_KEYWORDS

_OWN = {
    "block.sync": "__syncthreads",
    "block.mem_fence": "__threadfence_block",
    "block.sync_all_nonzero": "__syncthreads_and",
    "block.sync_any_nonzero": "__syncthreads_or",
    "block.sync_count_nonzero": "__syncthreads_count",
    "grid.mem_fence": "__threadfence",
    "subgroup.sync": "__syncwarp",
    "subgroup.mem_fence": "__threadfence_block",
    "warp.sync": "__syncwarp",
    "warp.all_nonzero": "__all_sync",
    "warp.any_nonzero": "__any_sync",
    "warp.shfl_sync_i32": "__shfl_sync",
    "warp.shfl_sync_f32": "__shfl_sync",
    "warp.shfl_up_i32": "__shfl_up_sync",
    "warp.shfl_up_f32": "__shfl_up_sync",
    "warp.shfl_down_i32": "__shfl_down_sync",
    "warp.shfl_down_f32": "__shfl_down_sync",
    "warp.shfl_xor_i32": "__shfl_xor_sync",
    "warp.match_any": "__match_any_sync",
    "warp.active_mask": "__activemask",
    "clock.counter": "clock64",
}

SPELLING = Spelling(
    "cuda",
    {**TYPES, "f16": "qd_half"},
    declared=("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16"),
    keywords=C_KEYWORDS + CPP_KEYWORDS,
    builtin=("round", "rsqrt"),
    prefix="__device__ ",
    narrow=8,
    leave="qd_exit();",
    leave_needs=("check", "exit", None),
    lanes=32,
    operators=True,
    tile_masks=True,
    signed_wraps=False,
    own=_OWN,
)

DIALECT = Dialect(
    name="cuda",
    template="cuda/task.cu.j2",
    loop_condition="cuda/loop_condition.cu.j2",
    spelling=SPELLING,
    frame="frame->",
    args="args.",
    result="frame->result",
    lane="lane",
    restrict="__restrict__ ",
    function="static __device__ ",
    literals={
        ("f16", "inf"): "qd_half(__int_as_float(0x7f800000))",
        ("f32", "inf"): "__int_as_float(0x7f800000)",
        ("f64", "inf"): "__longlong_as_double(0x7ff0000000000000ll)",
        ("f16", "nan"): "qd_half(__int_as_float(0x7fffffff))",
        ("f32", "nan"): "__int_as_float(0x7fffffff)",
        ("f64", "nan"): "__longlong_as_double(0x7fffffffffffffffll)",
    },
    suffixes=SUFFIXES,
    types=("i32", "u32", "u64"),
    chunks=False,
    launches=True,
    restrict_written=False,
    whole_updates=True,
    assume_aligned=True,
    launch_in_frame=True,
    block_bytes=32764 - 16,
    helped_negatives=("i8", "i16", "i32", "u32"),
    block_dim=128,
    namespace="qd_user",
    chosen_members=False,  # NVRTC 13.0 ends in a segmentation fault
    print_values=32,
    unroll={"full": "#pragma unroll", "never": "#pragma unroll 1"},
    start=("grid", "await_earlier"),
    quotients=False,
)
