"""CUDA C++ for NVIDIA devices, compiled by NVRTC."""

from quadrants.emit.dialects import _SUFFIXES, Dialect

DIALECT = Dialect(
    name="cuda",
    template="cuda/task.cu.j2",
    prelude="cuda",
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
    suffixes=_SUFFIXES,
    types=("i32", "u32", "u64"),
    chunks=False,
    launches=True,
    restrict_written=False,
    whole_updates=True,
    assume_aligned=True,
    launch_in_frame=True,
    block_bytes=32764 - 16,
    signed_wraps=False,
    negates_i16=False,
    block_dim=128,
    namespace="qd_user",
    chosen_members=False,  # NVRTC 13.0 ends in a segmentation fault
    print_values=32,
    unroll={"full": "#pragma unroll", "never": "#pragma unroll 1"},
    shared="__shared__ {type} {name}[{count}];",
    shared_part="{type} *const {name} = ({type} *)(qd_shared + {offset});",
    start=("grid", "await_earlier"),
    shared_pool="extern __shared__ __align__(16) unsigned char qd_shared[];",
)
