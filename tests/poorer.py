"""Dialects whose languages can say less than they do: what passes rewrite for such targets gives the same results."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from quadrants.emit.dialects import Dialect
from quadrants.ir.abilities import Abilities


@dataclass(frozen=True)
class PoorerDialect(Dialect):
    """The same text, but for what passes are told to rewrite: f16 is a type still, with no operations."""

    @property
    def abilities(self) -> Abilities:
        return super().abilities._replace(half_arithmetic=False)


def dialects() -> list:
    """(module, record) of every dialect without jumps, choices and references by pointers, ends of a thread, loops
    that do nothing, and arithmetic of f16."""
    from quadrants.emit.dialects import c, cuda, hip

    return [(module, _poorer(module.DIALECT)) for module in (c, cuda, hip)]


def _poorer(dialect):
    spelling = replace(dialect.spelling, leave="", leave_needs=())
    same = {field.name: getattr(dialect, field.name) for field in fields(dialect)}
    lacking = dict.fromkeys(("goto", "pointers", "references", "idle_loops"), False)
    return PoorerDialect(**{**same, "spelling": spelling, **lacking})


def apply() -> None:
    """Make them those of this process."""
    for module, record in dialects():
        module.DIALECT = record
