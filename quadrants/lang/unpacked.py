"""Rows declared with `qd.types.vector(n, dtype, unpacked=True)`: members `_row0`, `_row1`, ... of their struct."""

from __future__ import annotations

from quadrants.errors import QuadrantsSyntaxError


class UnpackedRow:
    """`obj.row` in kernel scope: only `obj.row[i]` with a compile-time `i` means anything."""

    __slots__ = ("name", "count", "member")

    def __init__(self, name: str, count: int, member):
        self.name, self.count, self.member = name, count, member

    def __getitem__(self, index):
        if not isinstance(index, int) or isinstance(index, bool):
            raise QuadrantsSyntaxError(
                f"the unpacked vector '{self.name}' requires a python-int index: a literal or a qd.static loop variable"
            )
        if not 0 <= index < self.count:
            raise QuadrantsSyntaxError(
                f"unpacked vector index out of bounds: {self.name}[{index}] (count={self.count})"
            )
        return self.member(f"_{self.name}{index}")


def unpacked_row(keys, name: str, member) -> UnpackedRow | None:
    """The row `name` of a struct with the members `keys`, or None; `member(key)` gives a member."""
    if f"_{name}0" not in keys:
        return None
    count = 1
    while f"_{name}{count}" in keys:
        count += 1
    return UnpackedRow(name, count, member)
