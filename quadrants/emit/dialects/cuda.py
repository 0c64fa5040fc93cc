"""CUDA C++ for NVIDIA devices, compiled by NVRTC."""

from quadrants.emit.dialects import _SUFFIXES, Dialect

DIALECT = Dialect(
    name="cuda",
    template="cuda/task.cu.j2",
    prelude="cuda",
    frame="frame->",
    lane="lane",
    restrict="__restrict__ ",
    function="static __device__ ",
    literals={
        ("f16", "inf"): "__ushort_as_half(0x7c00)",
        ("f32", "inf"): "__int_as_float(0x7f800000)",
        ("f64", "inf"): "__longlong_as_double(0x7ff0000000000000ll)",
        ("f16", "nan"): "__ushort_as_half(0x7fff)",
        ("f32", "nan"): "__int_as_float(0x7fffffff)",
        ("f64", "nan"): "__longlong_as_double(0x7fffffffffffffffll)",
    },
    suffixes=_SUFFIXES,
    parallel="grid",
)
