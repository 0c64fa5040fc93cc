"""What neighbours have compared, by the arrays themselves: an id is used again once its array is gone."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any


class Compared:
    """Uses of some arrays together, in order. Whoever dies takes those with it that it is in."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], list[weakref.ref[Any]]] = {}

    def has(self, use: tuple[Any, ...], arrays: Sequence[Any]) -> bool:
        """Whether these very arrays were added for that use."""
        return _key(use, arrays) in self._known

    def add(self, use: tuple[Any, ...], arrays: Sequence[Any]) -> None:
        """From now on it is known."""
        key = _key(use, arrays)
        forget = partial(_forget, self._known, key)
        self._known[key] = [weakref.ref(array, forget) for array in arrays]


def _key(use: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Any, ...]:
    return (*use, *map(id, arrays))


def _forget(known: dict[tuple[Any, ...], Any], key: tuple[Any, ...], _: Any) -> None:
    known.pop(key, None)
