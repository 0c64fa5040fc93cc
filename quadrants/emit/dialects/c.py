"""C (gnu11) for the CPU."""

from quadrants.emit.dialects import _SUFFIXES, Dialect

DIALECT = Dialect(
    name="c",
    template="c/task.c.j2",
    prelude="c",
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
    suffixes=_SUFFIXES,
    booleans=("0", "1"),
    flushes=("f32", "f64"),
)
