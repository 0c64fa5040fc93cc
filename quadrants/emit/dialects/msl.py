"""The Metal shading language 3.0, compiled by the driver of the device."""

from quadrants.emit.dialects import SUFFIXES, TYPES, Dialect
from quadrants.emit.prelude_spelling import Spelling
from quadrants.ir.lacks import Lacks, all_atomics
from quadrants.ir.names import (
    C_KEYWORDS,
    CPP_KEYWORDS,
    LIBRARY_NAMES,
    METAL_FAMILIES,
    METAL_FUNCTIONS,
    METAL_KEYWORDS,
)

# Names that mean fast or precise functions, as fast_math says (metal/task.metal.j2), and those that are always precise.
_EITHER = ("sin", "cos", "exp", "log", "rsqrt")
_PRECISE = ("tan", "asin", "acos", "tanh", "atan2", "pow", "sqrt", "fmod")

SPELLING = Spelling(
    "metal",
    {**{name: text for name, text in TYPES.items() if name != "f64"}, "f16": "half"},
    declared=(),
    keywords=C_KEYWORDS + CPP_KEYWORDS + METAL_KEYWORDS,
    builtin=("round", "rsqrt"),
    narrow=16,
    lanes=32,
    operators=True,
    signed_wraps=False,
    long_suffix="l",
    float_suffix="",
    builtins=frozenset((LIBRARY_NAMES + METAL_FUNCTIONS).split()),
    families=METAL_FAMILIES,
    string="",
    private="thread ",
    places_in_lane=True,
    own={f"float.{name}": f"qd_real::{name}" for name in _EITHER}
    | {f"float.{name}": f"precise::{name}" for name in _PRECISE},
)

DIALECT = Dialect(
    name="metal",
    template="metal/task.metal.j2",
    spelling=SPELLING,
    frame="frame->",
    args="args.",
    result="frame->result",
    lane="lane",
    restrict="__restrict ",
    function="static ",
    literals={
        ("f16", "inf"): "(half)INFINITY",
        ("f32", "inf"): "INFINITY",
        ("f16", "nan"): "(half)NAN",
        ("f32", "nan"): "NAN",
    },
    suffixes={**SUFFIXES, "i64": "l", "u64": "ul"},
    types=("i32", "u32", "u64"),
    chunks=False,
    launches=True,
    restrict_written=False,
    launch_in_frame=True,
    block_bytes=4096,
    block_dim=128,
    shared_static=32768,
    unroll={"full": "#pragma unroll", "never": "#pragma unroll 1"},
    goto=False,
    pointers=False,
    recursion=False,
    references=False,
    space_device="device ",
    space_shared="threadgroup ",
    wide="long",
    lacks=Lacks("arch metal", {"f64": ""}, all_atomics(("i64", "u64"), "")),
    quotients=False,
)
