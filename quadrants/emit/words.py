"""Memory of a block in a language that reads none as another type and cannot hand it to helpers.

    atomic_max(s[i], x)         qd_update_max_s(uint(i), x), a loop of compare-and-swap on what is there
    s[i] = s[j]                 s[i] = qd_word_of_f32(qd_f32_of_word(s[j]))

`quadrants.ir.words` says which arrays have words. The loops stand behind the declarations of a task, as they name the
array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants.emit.records import SharedUpdate
from quadrants.ir import nodes as n
from quadrants.ir.types import DType, TensorType
from quadrants.ir.words import word_of

if TYPE_CHECKING:
    from quadrants.emit.prelude import Prelude

# What the language calls them.
ATOMICS = {
    "add": "atomicAdd", "sub": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "and": "atomicAnd",
    "or": "atomicOr", "xor": "atomicXor", "exchange": "atomicExchange", "cas": "atomicCompSwap",
}  # fmt: skip
# Those in whose loops lanes may be joined beforehand, where the language has no operation.
JOINED = ("add", "sub", "mul", "min", "max", "and", "or", "xor")


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
