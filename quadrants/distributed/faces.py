"""Regions of a part that go to others or come from them: where they are, or packed by kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from quadrants.data.ndarray import Ndarray
from quadrants.distributed import arrays, packing
from quadrants.distributed.arrays import Part, Region
from quadrants.tapes import recording


class Faces:
    """`values[k]` are those of region k, in the space of the part: the memory itself where an engine takes it as it
    is, else a piece of a buffer, which one launch fills for all regions.
    """

    def __init__(self, part: Part, regions: Sequence[Region]) -> None:
        self.values: list[Any] = [_carried(part, region) for region in regions]
        missing = [k for k, values in enumerate(self.values) if values is None]
        self._packed = Packed(part, [regions[k] for k in missing]) if missing else None
        if self._packed is not None:
            for k, values in zip(missing, self._packed.values):
                self.values[k] = values

    @property
    def packed(self) -> bool:
        """Whether `load` and `store` do anything."""
        return self._packed is not None and self._packed.cells > 0

    def load(self) -> None:
        """Regions to `values`."""
        if self._packed is not None:
            self._packed.load()

    def store(self) -> None:
        """`values` to regions."""
        if self._packed is not None:
            self._packed.store()

    def clear(self) -> None:
        """Set the regions to 0."""
        for values in self.values:
            values[...] = 0
        self.store()


class Packed:
    """Regions that kernels copy to a buffer and back. values: the pieces of the buffer. like: to share the buffer of
    as many regions of the same shapes.
    """

    def __init__(self, part: Part, regions: Sequence[Region], like: Packed | None = None) -> None:
        self._kernels = packing.kernels(len(part.shape), part.element, isinstance(part.array, Ndarray))
        self._part = part
        # Kernels index fields with an offset by it, and regions begin at 0.
        table, self.cells, ends = packing.table(regions, arrays.offset_of(part.array))
        width = math.prod(part.element)
        self.buffer: Any = part.space.zeros((self.cells * width,), part.dtype) if like is None else like.buffer
        self.values: list[Any] = [
            self.buffer[begin * width : end * width].reshape(part.shape_of(region))
            for region, begin, end in zip(regions, ends, ends[1:])
        ]
        self._places = table, len(regions), self.cells

    def load(self) -> None:
        """Regions to the buffer."""
        self._run(self._kernels.load)

    def store(self) -> None:
        """The buffer to regions."""
        self._run(self._kernels.store)

    def add(self) -> None:
        """The buffer is added to regions, of which no two have a cell in common."""
        self._run(self._kernels.add)

    def _run(self, kernel: Any) -> None:
        with recording.paused():  # exchanges are recorded as a whole, also where they end later
            kernel(self._part.array, self.buffer, *self._places)


class Sum:
    """What others send to be added to a region. values: where it comes."""

    def __init__(self, part: Part, region: Region) -> None:
        self._seen = part.seen(region)
        self._packed = Packed(part, [region]) if self._seen is None else None
        self.values = (
            part.space.zeros(part.shape_of(region), part.dtype) if self._packed is None else self._packed.values[0]
        )

    def add(self) -> None:
        """Once the values are here."""
        if self._packed is not None:
            self._packed.add()
        else:
            self._seen += self.values


def count(values: Any) -> int:
    """How many numbers there are."""
    return math.prod(values.shape)


def local_copy(part: Part, sources: Sequence[Region], targets: Sequence[Region]) -> list[Any]:
    """Steps that copy regions of a part to others of the same shapes. No source has a cell in common with a target."""
    if part.view is not None:
        return [assignment(part.seen(source), part.seen(target)) for source, target in zip(sources, targets)]
    source = Packed(part, sources)
    return [source.load, Packed(part, targets, like=source).store] if source.cells else []


def assignment(source: Any, target: Any) -> Any:
    """A step that copies values of one space."""

    def assign() -> None:
        target[...] = source

    return assign


def _carried(part: Part, region: Region) -> Any | None:
    values = part.seen(region)
    return values if values is not None and part.space.is_carried(values) else None
