"""OpenCL C 1.2, compiled by the driver of the device."""

from quadrants.emit.dialects import SUFFIXES, TYPES, Dialect
from quadrants.emit.prelude_spelling import Spelling
from quadrants.ir.names import C_KEYWORDS, LIBRARY_NAMES, OPENCL_FAMILIES, OPENCL_FUNCTIONS, OPENCL_KEYWORDS

SPELLING = Spelling(
    "opencl",
    {**TYPES, "u1": "uchar", "f16": "qd_half"},
    declared=("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f64"),
    keywords=C_KEYWORDS + OPENCL_KEYWORDS,
    aggregate="({type}){{{body}}}",
    builtin=("round",),
    narrow=16,
    long_suffix="l",
    float_suffix="",
    builtins=frozenset((LIBRARY_NAMES + OPENCL_FUNCTIONS).split()),
    families=OPENCL_FAMILIES,
    signed_wraps=False,
    float_atomics=False,
    string="",
    half_arithmetic=False,
)

DIALECT = Dialect(
    name="opencl",
    template="opencl/task.cl.j2",
    spelling=SPELLING,
    frame="frame->",
    args="args.",
    result="frame->result",
    lane="lane",
    restrict="restrict ",
    function="static ",
    literals={
        ("f32", "inf"): "INFINITY",
        ("f64", "inf"): "(double)INFINITY",
        ("f32", "nan"): "NAN",
        ("f64", "nan"): "(double)NAN",
    },
    suffixes={**SUFFIXES, "i64": "l", "u64": "ul"},
    booleans=("0", "1"),
    types=("i32", "u32", "u64"),
    chunks=False,
    launches=True,
    restrict_written=False,
    whole_updates=True,
    launch_in_frame=True,
    block_bytes=1024 - 16,
    helped_negatives=("i8", "i16", "i32", "u32"),
    block_dim=128,
    flushes=(),
    shared_static=32768,
    unroll={"full": "#pragma unroll", "never": "#pragma unroll 1"},
    goto=False,
    pointers=False,
    recursion=False,
    references=False,
    early_returns=False,
    space_device="global ",
    space_shared="local ",
    address="u64",
    wide="long",
)
