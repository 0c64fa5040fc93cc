"""Values that a call overwrites in the body of a tape, for the way back: what ran before it has read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quadrants._ext import core


def is_recorded() -> bool:
    """Whether a tape records."""
    return hasattr(core.listener(), "grad")


class Kept:
    """Entries of some arrays, by name."""

    def __init__(self) -> None:
        self._spans: list[tuple[slice, dict[str, Any]]] = []

    def keep(self, views: Mapping[str, Any], begin: int, end: int) -> None:
        """Copy entries `begin .. end - 1`, if a tape records."""
        if begin < end and is_recorded():
            span = slice(begin, end)
            self._spans.append((span, {name: view[span].copy() for name, view in views.items()}))

    def put_back(self, views: Mapping[str, Any]) -> None:
        """They have the values again that they had."""
        for span, values in self._spans:
            for name, each in values.items():
                views[name][span] = each
