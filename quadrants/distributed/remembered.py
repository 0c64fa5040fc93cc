"""What is known of arrays, by the arrays themselves: an id is used again once its array is gone."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """Values by some arrays together, in order, and what they are used for. Whoever dies takes those with it that it
    is in.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[T, list[weakref.ref[Any]]]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, use: tuple[Any, ...], arrays: Sequence[Any]) -> T | None:
        """The value of these very arrays for that use."""
        found = self._known.get((*use, *map(id, arrays)))
        return None if found is None else found[0]

    def put(self, use: tuple[Any, ...], arrays: Sequence[Any], value: T) -> None:
        """From now on it is known."""
        key = (*use, *map(id, arrays))
        forget = partial(_forget, self._known, key)
        self._known[key] = value, [weakref.ref(array, forget) for array in arrays]


def _forget(known: dict[tuple[Any, ...], Any], key: tuple[Any, ...], _: Any) -> None:
    known.pop(key, None)
