"""Memory of a block in a language that reads none as another type and cannot hand it to helpers.

    atomic_max(s[i], x)         qd_update_max_s(uint(i), x), a loop of compare-and-swap on what is there
    s[i] = s[j]                 s[i] = qd_word_of_f32(qd_f32_of_word(s[j]))

Arrays that such a loop changes, and whose type compare-and-swap does not take, have unsigned words instead: of 64 bits
for f64, else of 32. The loops stand behind the declarations of a task, as they name the array.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from quadrants.emit.records import SharedUpdate
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import (
    DType,
    TensorType,
    ValueType,
    element_dtype,
    f32,
    i32,
    i64,
    size_align,
    tensor_type,
    u32,
    u64,
)

if TYPE_CHECKING:
    from quadrants.emit.dialects import Dialect
    from quadrants.emit.prelude import Prelude

_SWAPPED = (i32, u32, i64, u64)  # what compare-and-swap takes as it is
# What the language calls them.
ATOMICS = {
    "add": "atomicAdd", "sub": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "and": "atomicAnd",
    "or": "atomicOr", "xor": "atomicXor", "exchange": "atomicExchange", "cas": "atomicCompSwap",
}  # fmt: skip
# Those in whose loops lanes may be joined beforehand, where the language has no operation.
JOINED = ("add", "sub", "mul", "min", "max", "and", "or", "xor")


def native(op: str, t: ValueType, reals: bool) -> bool:
    """Whether the language has an operation on the place itself. reals: the device adds to real numbers."""
    if t in _SWAPPED:
        return op in ATOMICS
    return t is f32 and (op == "exchange" or op in ("add", "sub") and reals)


def word_of(t: ValueType) -> ValueType:
    """What stands for a number, or for each of a tensor, in an array of words."""
    word = u64 if element_dtype(t).bits == 64 else u32
    return tensor_type(t.shape, word) if isinstance(t, TensorType) else word


def of_kernel(tasks: Iterable[n.Task], dialect: Dialect) -> frozenset[int]:
    """The shared arrays, by id, that have words."""
    if dialect.model != "reference":
        return frozenset()
    found = set()
    for task in tasks:
        for node in walk.walk(task.body):
            if isinstance(node, n.Atomic) and not native(node.op, node.type, dialect.spelling.float_atomics):
                decl = shared_array(node.place)
                if decl is not None and element_dtype(decl.type) not in _SWAPPED:
                    found.add(decl.id)
    return frozenset(found)


def shared_array(place: n.Place) -> n.ArrayDecl | None:
    """The array of a block that a place is in, None where it is elsewhere."""
    cell = walk.root_cell(place)
    return cell.array if cell is not None and cell.array.kind == "shared" else None


def refuse_too_many(arrays: Sequence[tuple[n.ArrayDecl, int]], words: frozenset[int], room: int, arch: str) -> None:
    """QuadrantsRuntimeError where a block has not that many bytes; narrow types take more as words."""
    if not any(decl.id in words for decl, _ in arrays):
        return
    needed = 0
    for decl, _ in arrays:
        kind = word_of(decl.type) if decl.id in words else decl.type
        needed += -(-math.prod(decl.shape or ()) * size_align(kind)[0] // 16) * 16
    if needed > room:
        raise QuadrantsRuntimeError(
            f"Requested dynamic shared memory size of {needed} bytes, but the device supports max capacity of {room} "
            f"bytes: on {arch} numbers of shared arrays that atomics change take 4 bytes or more. Make them smaller."
        )


def update(prelude: Prelude, op: str, t: DType, decl: n.ArrayDecl, words: frozenset[int]) -> SharedUpdate:
    """The loop of an atomic on elements of an array, or on components of these."""
    word = word_of(t) if decl.id in words else t
    assert isinstance(word, DType)
    to, of = ("", "") if word is t else (prelude.need("word", "to", t), prelude.need("word", "of", t))
    return SharedUpdate(
        f"qd_update_{op}_{decl.name}",
        decl.name,
        isinstance(decl.type, TensorType),
        prelude.type(t),
        prelude.type(word),
        prelude.need("plain", op, t, ""),
        to,
        of,
        op == "cas",
    )
