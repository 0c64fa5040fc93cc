"""GLSL 4.60 for Vulkan 1.2, compiled by glslang. Memory is reached by buffer references."""

from dataclasses import replace

from quadrants.emit.dialects import Dialect
from quadrants.emit.prelude_spelling import Spelling
from quadrants.ir.names import C_KEYWORDS, GLSL_FUNCTIONS, GLSL_KEYWORDS, LIBRARY_NAMES
from quadrants.ir.types import PRIMITIVES

# Functions whose results differ between devices, or are inaccurate on some, and those that no device has of f64.
_WRITTEN = ("sin", "cos", "tan", "asin", "acos", "atan2", "tanh", "exp", "log", "pow", "fmod", "copysign", "frexp")

SPELLING = Spelling(
    "glsl",
    {
        **{name: f"{'u' * (t.kind == 'u')}int{t.bits}_t" for name, t in PRIMITIVES.items() if t.kind in "iu"},
        "i32": "int", "u32": "uint", "u1": "bool", "f16": "float16_t", "f32": "float", "f64": "double",
    },
    declared=(),
    keywords=C_KEYWORDS + GLSL_KEYWORDS,
    aggregate="{type}({body})",
    array="{type}[{count}]({body})",
    memory={"u1": "uint8_t"},
    references=True,
    narrow=16,
    long_suffix="l",
    float_suffix="",
    double_suffix="lf",
    builtins=frozenset((LIBRARY_NAMES + GLSL_FUNCTIONS).split()),
    string="",
    inline="",
    written=frozenset((op, t) for op in (*_WRITTEN, "reduced") for t in ("f32", "f64")),
    own={"float.abs": "abs"},
)  # fmt: skip
# For devices that do not add to real numbers by themselves.
WITHOUT_REAL_ATOMICS = replace(SPELLING, float_atomics=False)

DIALECT = Dialect(
    name="glsl",
    template="glsl/task.comp.j2",
    spelling=SPELLING,
    frame="frame.",
    args="args.",
    result="frame.result",
    lane="lane",
    restrict="",
    function="",
    literals={
        ("f16", "inf"): "uint16BitsToFloat16(uint16_t(0x7c00))",
        ("f32", "inf"): "uintBitsToFloat(0x7f800000u)",
        ("f64", "inf"): "uint64BitsToDouble(0x7ff0000000000000ul)",
        ("f16", "nan"): "uint16BitsToFloat16(uint16_t(0x7e00))",
        ("f32", "nan"): "uintBitsToFloat(0x7fc00000u)",
        ("f64", "nan"): "uint64BitsToDouble(0x7ff8000000000000ul)",
    },
    suffixes={"f32": "f", "f64": "lf", "u32": "u", "i64": "l", "u64": "ul"},
    types=(),
    chunks=False,
    launches=True,
    copies_flags=True,
    restrict_written=False,
    launch_in_frame=True,
    whole_updates=True,
    helped_negatives=("i8", "i16"),
    block_bytes=120,
    block_dim=128,
    vector_lanes=32,
    flushes=(),
    shared_static=32768,
    goto=False,
    pointers=False,
    recursion=False,
    references=False,
    known_reals=False,
    space_device="device ",
    space_shared="shared ",
    address="u64",
    model="reference",
    endless="true",
)
