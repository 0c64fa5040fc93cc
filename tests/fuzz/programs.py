"""The subject of the hunt: whole programs, checked against the model. A subject has these three functions."""

from __future__ import annotations

from .check import Outcome, check
from .execute import Arch
from .grammar.program import Program, draw


def program(seed: int, size: int | None, off) -> Program:
    """The program of a seed; without a size, of one that follows from the seed."""
    return draw(seed, seed % 12 + 1 if size is None else size, off)


def check_seed(seed: int, size: int | None, off, arch: Arch) -> Outcome:
    found = program(seed, size, off)
    return check(found.text, found.options, arch)


__all__ = ["check", "check_seed", "program"]
