"""What a task keeps on stacks, counted: for the headers of dumps."""

from __future__ import annotations

from typing import NamedTuple

from quadrants.ir.nodes import MEMORY, Store, Task
from quadrants.ir.types import DType, element_dtype
from quadrants.ir.walk import root, walk


class Stacks(NamedTuple):
    """Stacks of reals and of integers, and the statements that push on either."""

    reals: int
    integers: int
    pushes: int


def stacks_of(task: Task) -> Stacks:
    """Counts of one task; a stack of vectors is one stack."""
    found: dict[int, DType] = {}
    pushes = 0
    for node in walk(task.body):
        if isinstance(node, MEMORY) and node.array.kind == "stack":
            found[node.array.id] = element_dtype(node.array.type)
        elif isinstance(node, Store):
            place = root(node.place)
            pushes += isinstance(place, MEMORY) and place.array.kind == "stack"
    reals = sum(t.is_real for t in found.values())
    return Stacks(reals, len(found) - reals, pushes)
