"""C with types, comments and a header of its own."""

from dataclasses import replace
from pathlib import Path

from quadrants.emit import dialects
from quadrants.emit.prelude_spelling import SPELLINGS, Spelling
from quadrants.ir.names import C_KEYWORDS

SPELLINGS["marked_c"] = Spelling(
    "marked_c", {**{t.name: text for t, text in SPELLINGS["c"].types.items()}, "f32": "_Float32"},
    declared="i8 i16 i32 i64 u1 u8 u16 u32 u64", builtin="", prefix="", aggregate="({type}){{{body}}}",
    reserved=C_KEYWORDS, parents=("c",), libm=True, lane_holds="runtime",
)  # fmt: skip

DIALECT = replace(
    dialects.get("c"), name="marked_c", prelude="marked_c", template="marked_c/task.c.j2", comment="/// !",
    templates=str(Path(__file__).parent / "templates"),
)  # fmt: skip
