"""Which part of the global array this rank owns, and who owns the parts around it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from quadrants.distributed import decomposition
from quadrants.distributed.decomposition import Halo


class Blocks:
    """The cut of a global array. `begin`, `size`: of the block of this rank, without its halo.

    cuts: of each axis the first cells of its parts, and the end; None for even ones.
    """

    def __init__(
        self,
        shape: Sequence[int],
        dims: Sequence[int],
        halo: Halo,
        periodic: Sequence[bool],
        rank: int,
        cuts: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.shape, self.dims, self.halo, self.periodic = tuple(shape), tuple(dims), halo, tuple(periodic)
        self.rank = rank
        self.cuts = decomposition.even_cuts(shape, dims) if cuts is None else cuts
        self.place = self.place_of(rank)
        spans = self.spans_of(rank)
        self.begin = tuple(begin for begin, _ in spans)
        self.size = tuple(end - begin for begin, end in spans)
        self.local = tuple(n + low + high for n, (low, high) in zip(self.size, halo))

    def place_of(self, rank: int) -> tuple[int, ...]:
        """Where the block of a rank is among the blocks, by axis; the last axis varies fastest."""
        found = []
        for ranks in reversed(self.dims):
            rank, at = divmod(rank, ranks)
            found.append(at)
        return tuple(reversed(found))

    def rank_at(self, place: Sequence[int]) -> int:
        """The rank of a block."""
        rank = 0
        for at, ranks in zip(place, self.dims):
            rank = rank * ranks + at
        return rank

    def spans_of(self, rank: int) -> list[tuple[int, int]]:
        """Begin and end of the block of a rank, in global cells."""
        return [(cut[at], cut[at + 1]) for cut, at in zip(self.cuts, self.place_of(rank))]

    def neighbour(self, axis: int, high: int) -> int | None:
        """The rank behind the low or high face of an axis; None where nobody is."""
        at = self.place[axis] + (1 if high else -1)
        if not self.periodic[axis] and not 0 <= at < self.dims[axis]:
            return None
        return self.rank_at([*self.place[:axis], at % self.dims[axis], *self.place[axis + 1 :]])

    def neighbours(self, axes: Sequence[int]) -> list[int]:
        """Other ranks that share faces of these axes, in order and once each."""
        return list(dict.fromkeys(rank for rank in self._behind(axes) if rank != self.rank))

    def is_met(self) -> bool:
        """Whether anybody is behind one of the faces, this rank itself where a ring closes."""
        return bool(self._behind(range(len(self.shape))))

    def _behind(self, axes: Sequence[int]) -> list[int]:
        """Who is behind the faces of these axes."""
        found = (self.neighbour(axis, high) for axis, high in itertools.product(axes, (0, 1)))
        return [rank for rank in found if rank is not None]

    def block_span(self, axis: int) -> tuple[int, int]:
        """Local begin and end of the block."""
        low, _ = self.halo[axis]
        return low, low + self.size[axis]

    def owned_span(self, axis: int) -> tuple[int, int]:
        """The same with the halo, where somebody owns it."""
        low, high = self.halo[axis]
        begin, end = self.block_span(axis)
        return (
            begin - low if self.neighbour(axis, 0) is not None else begin,
            end + high if self.neighbour(axis, 1) is not None else end,
        )

    def ranks(self) -> Iterator[int]:
        """All of them."""
        return iter(range(math.prod(self.dims)))
