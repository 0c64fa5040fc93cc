"""What weak sets hold while other threads add to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def members(known: Iterable[T]) -> list[T]:
    """Those of a `weakref.WeakSet`, or of another collection, at one moment."""
    while True:
        try:
            return list(known)
        except RuntimeError as error:
            if "changed size" not in str(error):
                raise
