"""SPIR-V modules as bytes: several in one artifact, and arithmetic that no driver may join or reorder."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence

_MAGIC = b"QDV1"
_HEADER_WORDS = 5
_DECORATE, _NO_CONTRACTION = 71, 42
# Instructions that compute a real number: OpFNegate, OpFAdd .. OpFDiv, OpFRem, OpFMod, products of vectors.
_ARITHMETIC = frozenset((127, 129, 131, 133, 136, 140, 141, *range(142, 149)))
# Those in front of decorations, in the order of a module: capabilities, extensions, entry points, modes, debug names.
_BEFORE_DECORATIONS = frozenset((17, 10, 11, 14, 15, 16, 331, 7, 3, 4, 5, 6, 330, 8, 2))


def packed(modules: Sequence[bytes]) -> bytes:
    """Modules as one artifact."""
    sizes = struct.pack(f"<{len(modules) + 1}I", len(modules), *map(len, modules))
    return _MAGIC + sizes + b"".join(modules)


def unpacked(artifact: bytes) -> list[bytes]:
    """The modules of an artifact. ValueError where it is none."""
    if artifact[:4] != _MAGIC or len(artifact) < 8:
        raise ValueError("no modules of SPIR-V")
    (count,) = struct.unpack_from("<I", artifact, 4)
    sizes = struct.unpack_from(f"<{count}I", artifact, 8)
    at, found = 8 + 4 * count, []
    for size in sizes:
        found.append(artifact[at : at + size])
        at += size
    if at != len(artifact):
        raise ValueError("modules of SPIR-V that are cut off")
    return found


def uncontracted(module: bytes) -> bytes:
    """The same module, in which every real operation rounds by itself, in the order it is written in."""
    words = array("I", module)
    told: list[int] = []
    put = 0
    decorated = set()
    for op, at, count in _instructions(words):
        if op in _BEFORE_DECORATIONS:
            put = at + count
        elif op == _DECORATE and words[at + 2] == _NO_CONTRACTION:
            decorated.add(words[at + 1])
        elif op in _ARITHMETIC and words[at + 2] not in decorated:
            told += [3 << 16 | _DECORATE, words[at + 2], _NO_CONTRACTION]
    return (words[:put] + array("I", told) + words[put:]).tobytes()


def _instructions(words: array[int]) -> Iterator[tuple[int, int, int]]:
    """Opcode, place and words of each instruction."""
    at = _HEADER_WORDS
    while at < len(words):
        count = words[at] >> 16
        yield words[at] & 0xFFFF, at, count
        at += count
