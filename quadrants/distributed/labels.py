"""What ranks call an array when they compare: its number, which is the same on all ranks that do the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from quadrants.distributed import arrays
from quadrants.distributed.remembered import Remembered


class Labels:
    """Those of one grid. Its own arrays are counted as they are made, others as they are first exchanged."""

    def __init__(self) -> None:
        self._labels: Remembered[str] = Remembered()
        self._made = self._met = 0

    def made(self, array: Any) -> None:
        """The grid has made an array."""
        whole = f"array {self._made}{_shown(getattr(arrays.unwrapped(array), '_name', ''))}"
        self._made += 1
        for name, member in arrays.members_of(array):
            label = f"{name} of {whole}" if name else whole
            self._put(member, label)
            if member.has_grad():
                self._put(member.grad, f"gradient of {label}")

    def about(self, parts: Sequence[arrays.Part]) -> str:
        """The parts, in words. Two ranks have the same where they mean the same."""
        return ", ".join(_about(part, label) for part, label in zip(parts, self._labels_of(parts)))

    def meet(self, parts: Sequence[arrays.Part]) -> None:
        """Ranks agree about these: from now on they are known by what `about` has called them."""
        for part, label in [*zip(parts, self._labels_of(parts))]:
            if self._label_of(part.array) is None:
                self._met += 1
                self._put(part.array, label)

    def _put(self, array: Any, label: str) -> None:
        """Also for views of its components, which are fields of their own."""
        components = arrays.components_of(array)
        self._labels.put((), components, label)
        for number, component in enumerate(components if len(components) > 1 else ()):
            if self._labels.get((), [component]) is None:
                self._labels.put((), [component], f"component {number} of {label}")

    def _label_of(self, array: Any) -> str | None:
        return self._labels.get((), arrays.components_of(array))

    def _labels_of(self, parts: Sequence[arrays.Part]) -> Iterator[str]:
        number = self._met
        for part in parts:
            label = self._label_of(part.array)
            if label is None:
                label = f"array {number} of those that the grid did not make{_shown(part.name)}"
                number += 1
            yield label


def _about(part: arrays.Part, label: str) -> str:
    grad = " with gradients" if part.array.has_grad() else ""
    return f"{label}: {part.dtype}{list(part.element) or ''}{grad}"


def _shown(name: str) -> str:
    """A name that a user has given."""
    return f" ({name})" if name.isidentifier() else ""
