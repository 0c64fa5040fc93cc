"""Dialects whose languages can say less than they do: what passes rewrite for such targets gives the same results."""

from __future__ import annotations

from dataclasses import replace


def dialects() -> list:
    """(module, record) of every dialect without jumps, choices and references by pointers, and ends of a thread."""
    from quadrants.emit.dialects import c, cuda, hip

    return [(module, _poorer(module.DIALECT)) for module in (c, cuda, hip)]


def _poorer(dialect):
    spelling = replace(dialect.spelling, leave="", leave_needs=())
    return replace(dialect, spelling=spelling, goto=False, pointers=False, references=False)


def apply() -> None:
    """Make them those of this process."""
    for module, record in dialects():
        module.DIALECT = record
