"""Axis names of the SNode tree: `qd.i`, `qd.ij`, .., `qd.axes(0, 2)`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from quadrants.data.shapes import MAX_FIELD_AXES
from quadrants.errors import QuadrantsRuntimeError


class Axis:
    """One axis of a field tree; `value` is its number, 0 for `i`."""

    __slots__ = ("value",)

    def __init__(self, value: int):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"an axis is numbered by an int, not {value!r}")
        if not 0 <= value < MAX_FIELD_AXES:
            raise QuadrantsRuntimeError(f"Too many dimensions. The maximum dimensionality is {MAX_FIELD_AXES}")
        self.value = value

    def __eq__(self, other) -> bool:
        return isinstance(other, Axis) and self.value == other.value

    def __hash__(self) -> int:
        return hash((Axis, self.value))

    def __repr__(self) -> str:
        return f"Axis({self.value})"


def axes(*numbers: int) -> list:
    """The axes with these numbers, to be used like `qd.ij`. `RuntimeError` from number 12 on.

    block = qd.root.dense(qd.axes(0, 2), (4, 8))
    """
    return [Axis(n) for n in numbers]


NAMED = {
    "".join("ijkl"[n] for n in numbers): axes(*numbers)
    for count in range(1, 5)
    for numbers in itertools.combinations(range(4), count)
}

globals().update(NAMED)

if TYPE_CHECKING:
    i: list[Axis]
    j: list[Axis]
    k: list[Axis]
    l: list[Axis]  # noqa: E741 - the name of an axis
    ij: list[Axis]
    ik: list[Axis]
    il: list[Axis]
    jk: list[Axis]
    jl: list[Axis]
    kl: list[Axis]
    ijk: list[Axis]
    ijl: list[Axis]
    ikl: list[Axis]
    jkl: list[Axis]
    ijkl: list[Axis]

__all__ = ["Axis", "axes", "NAMED", *NAMED]
