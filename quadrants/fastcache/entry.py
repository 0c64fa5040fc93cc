"""One kernel of an earlier process: what it depended on, how to call it, and which file has its code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from quadrants.launch import codec
from quadrants.launch.recipe import Recipe


class Source(NamedTuple):
    """A function: how to reach it, how many lines it has, and their digest."""

    reach: tuple
    lines: int
    digest: str


class Capture(NamedTuple):
    """What function number `function` found outside of itself, by its path, as described."""

    function: int
    path: tuple
    description: str


@dataclass(slots=True)
class Entry:
    """functions: the kernel's first. artifact: the key of the code in the disk cache."""

    functions: list[Source]
    captures: list[Capture]
    recipe: Recipe
    artifact: str

    def encode(self) -> bytes:
        """JSON text: reading it runs no code, and people can look at it. Raises ValueError for what cannot be kept."""
        return json.dumps(codec.encode(self), separators=(",", ":")).encode()


def decode(content: bytes) -> Entry:
    """The entry of such a text. Raises ValueError, TypeError or LookupError when it is not one."""
    entry: Entry = codec.decode(Entry, json.loads(content))
    return entry
