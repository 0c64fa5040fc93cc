"""What ranks call an array when they compare: its number, which is the same on all ranks that do the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from quadrants.distributed import arrays, lineage
from quadrants.distributed.remembered import Remembered


class Labels:
    """Those of one grid. Its own arrays are counted as they are made, others as they are first used; their parts,
    gradients and duals are called by what they are of.
    """

    def __init__(self) -> None:
        self._labels: Remembered[str] = Remembered()
        self._made = self._met = 0

    def made(self, array: Any) -> None:
        """The grid has made an array."""
        whole = arrays.unwrapped(array)
        self._put(whole, f"array {self._made}{_shown(whole)}")
        self._made += 1

    def about(self, parts: Sequence[arrays.Part]) -> str:
        """The parts, in words. Two ranks have the same where they mean the same."""
        return ", ".join(_about(part, label) for part, (label, _) in zip(parts, self._labels_of(parts)))

    def meet(self, parts: Sequence[arrays.Part]) -> None:
        """Ranks agree about these: from now on they are known by what `about` has called them."""
        for _, new in [*self._labels_of(parts)]:
            if new is not None and self._label_of(new) is None:
                self._put(new, self._next(new, self._met))
                self._met += 1

    def _put(self, whole: Any, label: str) -> None:
        self._labels.put((), arrays.components_of(whole), label)

    def _label_of(self, whole: Any) -> str | None:
        return self._labels.get((), arrays.components_of(whole))

    def _labels_of(self, parts: Sequence[arrays.Part]) -> Iterator[tuple[str, Any]]:
        """The label of each part, and the whole that it is of where that is not known yet."""
        new: dict[int, str] = {}
        for part in parts:
            names: list[str] = []
            for name, array in lineage.of(part.array):
                label = self._label_of(array)
                if label is None and not name:
                    label = new.setdefault(id(array), self._next(array, self._met + len(new)))
                if label is not None:
                    yield " of ".join([*names, label]), None if name or self._label_of(array) else array
                    break
                names.append(name)

    def _next(self, whole: Any, number: int) -> str:
        return f"array {number} of those that the grid did not make{_shown(whole)}"


def _about(part: arrays.Part, label: str) -> str:
    grad = " with gradients" if part.array.has_grad() else ""
    return f"{label}: {part.dtype}{list(part.element) or ''}{grad}"


def _shown(array: Any) -> str:
    """A name that a user has given."""
    name = getattr(array, "_name", "")
    return f" ({name})" if name.isidentifier() else ""
