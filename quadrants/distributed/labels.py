"""What ranks call an array when they compare: its number, which is the same on all ranks that do the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from quadrants.distributed import arrays, lineage
from quadrants.distributed.remembered import Remembered


class Labels:
    """Those of one grid. Its own arrays are counted as they are made, with their members, others as they are first
    used; components, gradients and duals are called by what they are of.
    """

    def __init__(self) -> None:
        self._labels: Remembered[str] = Remembered()
        self._made = self._met = 0

    def made(self, array: Any) -> None:
        """The grid has made an array."""
        whole = f"array {self._made}{_shown(getattr(arrays.unwrapped(array), '_name', ''))}"
        self._made += 1
        for name, member in arrays.members_of(array):
            self._put(lineage.of(member)[0], f"{name} of {whole}" if name else whole)

    def about(self, parts: Sequence[arrays.Part]) -> str:
        """The parts, in words. Two ranks have the same where they mean the same."""
        return ", ".join(_about(part, label) for part, label in zip(parts, self._labels_of(parts)))

    def meet(self, parts: Sequence[arrays.Part]) -> None:
        """Ranks agree about these: from now on they are known by what `about` has called them."""
        for part in parts:
            whole, _ = lineage.of(part.array)
            if self._labels.get((), [whole]) is None:
                self._put(whole, _unknown(whole, self._met))
                self._met += 1

    def _put(self, whole: Any, label: str) -> None:
        self._labels.put((), [whole], label)

    def _labels_of(self, parts: Sequence[arrays.Part]) -> Iterator[str]:
        new: dict[int, str] = {}
        for part in parts:
            whole, names = lineage.of(part.array)
            label = self._labels.get((), [whole])
            if label is None:
                label = new.setdefault(id(whole), _unknown(whole, self._met + len(new)))
            yield " of ".join([*names, label])


def _about(part: arrays.Part, label: str) -> str:
    grad = " with gradients" if part.array.has_grad() else ""
    return f"{label}: {part.dtype}{list(part.element) or ''}{grad}"


def _unknown(whole: Any, number: int) -> str:
    return f"array {number} of those that the grid did not make{_shown(getattr(whole, 'name', ''))}"


def _shown(name: str) -> str:
    """A name that a user has given."""
    return f" ({name})" if name.isidentifier() else ""
