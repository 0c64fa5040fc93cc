"""Shared arrays of languages that read no memory as another type: which of them have unsigned words for their numbers.

Those that an atomic changes which the language has not, and whose type compare-and-swap does not take. Words have 64
bits for f64, else 32.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import TensorType, ValueType, element_dtype, f32, i32, i64, size_align, tensor_type, u32, u64

SWAPPED = (i32, u32, i64, u64)  # what compare-and-swap takes as it is
_ATOMICS = ("add", "sub", "min", "max", "and", "or", "xor", "exchange", "cas")
_ALIGNMENT = 16


def native(op: str, t: ValueType, reals: bool) -> bool:
    """Whether the language has an operation on the place itself. reals: the device adds to real numbers."""
    if t in SWAPPED:
        return op in _ATOMICS
    return t is f32 and (op == "exchange" or op in ("add", "sub") and reals)


def word_of(t: ValueType) -> ValueType:
    """What stands for a number, or for each of a tensor, in an array of words."""
    word = u64 if element_dtype(t).bits == 64 else u32
    return tensor_type(t.shape, word) if isinstance(t, TensorType) else word


def arrays_of_words(tasks: Iterable[n.Task], reals: bool) -> frozenset[int]:
    """The shared arrays, by id, that have words."""
    found = set()
    for task in tasks:
        for node in walk.walk(task.body):
            if isinstance(node, n.Atomic) and not native(node.op, element_dtype(node.type), reals):
                decl = shared_array(node.place)
                if decl is not None and element_dtype(decl.type) not in SWAPPED:
                    found.add(decl.id)
    return frozenset(found)


def shared_array(place: n.Place) -> n.ArrayDecl | None:
    """The array of a block that a place is in, None where it is elsewhere."""
    cell = walk.root_cell(place)
    return cell.array if cell is not None and cell.array.kind == "shared" else None


def bytes_with_words(task: n.Task, words: frozenset[int]) -> int:
    """What the shared arrays of a task take."""
    total = 0
    for decl, _ in task.shared_arrays:
        kind = word_of(decl.type) if decl.id in words else decl.type
        total += -(-math.prod(decl.shape or ()) * size_align(kind)[0] // _ALIGNMENT) * _ALIGNMENT
    return total
