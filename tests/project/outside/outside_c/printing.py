"""C with types, comments and a header of its own."""

from dataclasses import replace
from pathlib import Path

from quadrants.emit import dialects

C = dialects.get("c")
SPELLING = replace(C.spelling, dialect="marked_c", types={**C.spelling.types, "f32": "_Float32"}, parents=("c",))
DIALECT = replace(
    C, name="marked_c", spelling=SPELLING, template="marked_c/task.c.j2", comment="/// !",
    templates=str(Path(__file__).parent / "templates"),
)  # fmt: skip
