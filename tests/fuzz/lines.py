"""What subjects of the hunt have in common that write the text of one kernel line by line."""

from __future__ import annotations

import random


class Lines:
    """The lines of a kernel, whose body is at depth 0, and the choices of a seed."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self.lines: list[str] = []

    def pick(self, choices):
        return self._random.choice(list(choices))

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)
