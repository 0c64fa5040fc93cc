"""Several objects in one file, as `ar` writes it.

The file begins with "!<arch>" and a newline. Each object has a head of 60 characters: its name (16), time (12), owner
(6), group (6), mode (8) and size (10), padded with blanks, and a mark. An object of odd length has a newline behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

_MAGIC = b"!<arch>\n"
_HEAD = 60
_SIZE = slice(48, 58)
_END = slice(58, 60)


def joined(objects: Sequence[bytes]) -> bytes:
    """One object as it is, or an archive of several."""
    if len(objects) == 1:
        return objects[0]
    parts = [_MAGIC]
    for number, data in enumerate(objects):
        head = f"{f'unit{number}.o/':<16}{0:<12}{0:<6}{0:<6}{'100600':<8}{len(data):<10}`\n"
        parts += (head.encode(), data, b"\n" * (len(data) % 2))
    return b"".join(parts)


def members(data: bytes) -> list[bytes]:
    """The objects of an archive, or the one that it is instead. Raises ValueError when it is damaged."""
    if not data.startswith(_MAGIC):
        return [data]
    found = []
    at = len(_MAGIC)
    while at < len(data):
        head = data[at : at + _HEAD]
        if len(head) < _HEAD or head[_END] != b"`\n":
            raise ValueError(f"no member of an archive at {at}")
        begin = at + _HEAD
        end = begin + int(head[_SIZE])
        if not begin <= end <= len(data):
            raise ValueError(f"a member of {end - begin} bytes, in an archive of {len(data)}")
        found.append(data[begin:end])
        at = end + end % 2
    return found
