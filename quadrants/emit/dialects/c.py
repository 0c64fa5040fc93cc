"""C (gnu11) for the CPU."""

from quadrants.emit.dialects import SUFFIXES, TYPES, Dialect
from quadrants.emit.prelude_spelling import Spelling
from quadrants.ir.names import C_KEYWORDS

SPELLING = Spelling(
    "c",
    {**TYPES, "f16": "_Float16"},
    declared=("i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64"),
    keywords=C_KEYWORDS,
    aggregate="({type}){{{body}}}",
    libm=True,
    lane_holds="runtime",
    leave="__builtin_longjmp(lane->escape, 1);",
)

DIALECT = Dialect(
    name="c",
    template="c/task.c.j2",
    spelling=SPELLING,
    frame="frame->",
    args="frame->args->",
    result="frame->args->result",
    lane="lane",
    restrict="restrict ",
    function="static ",
    literals={
        ("f16", "inf"): "(_Float16)__builtin_inff()",
        ("f32", "inf"): "__builtin_inff()",
        ("f64", "inf"): "__builtin_inf()",
        ("f16", "nan"): '(_Float16)__builtin_nanf("")',
        ("f32", "nan"): '__builtin_nanf("")',
        ("f64", "nan"): '__builtin_nan("")',
    },
    suffixes=SUFFIXES,
    booleans=("0", "1"),
    flushes=("f32", "f64"),
    quotients=False,
    most_units=8,
    linked=True,
)
