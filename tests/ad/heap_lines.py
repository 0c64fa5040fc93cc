"""The debug lines of the memory of stacks, as records."""

from __future__ import annotations

import re

_HEAP = re.compile(
    r"\[adstack_heap\] arch=(?P<arch>\w+) task='(?P<task>\w+)' kind=(?P<kind>[FI]) src=(?P<src>\w+)"
    r"(?: num_threads=(?P<threads>\d+))? effective_rows=(?P<rows>\d+) stride=(?P<stride>\d+) "
    r"required_bytes=(?P<bytes>\d+) \(\d+\.\d\d MB\)"
)
_GROW = re.compile(r"\[adstack_grow\] arch=\w+ kind=([FI]) old=(\d+) new=(\d+) retry=([01])")


def bindings(text: str) -> list[dict]:
    """What each task asked of a heap, in order; numbers as integers."""
    lines = [line for line in text.splitlines() if line.startswith("[adstack_heap]")]
    found = [_HEAP.fullmatch(line) for line in lines]
    assert all(found), lines
    return [{k: int(v) if v is not None and v.isdigit() else v for k, v in m.groupdict().items()} for m in found if m]


def growths(text: str) -> list[tuple]:
    """(kind, bytes before, bytes then, whether the first try failed), in order."""
    return [(m[1], int(m[2]), int(m[3]), m[4] == "1") for m in _GROW.finditer(text)]
