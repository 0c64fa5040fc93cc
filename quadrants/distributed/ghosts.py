"""Copies of other ranks' particles near the block of this rank, whose lists are kept while particles move a little."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quadrants import ad
from quadrants.distributed import agreement, migration, rows
from quadrants.distributed.kept import Kept, is_recorded
from quadrants.distributed.replaced import grad_replaced
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from quadrants.distributed.particles import Particles
    from quadrants.distributed.spaces import Space

_Array = np.ndarray[Any, Any]


class Image(NamedTuple):
    """Particles that are near a block once they are moved by `aside`: their entries, in order."""

    index: Any
    aside: tuple[float, ...]


class Ghosts:
    """Copies of particles of other ranks, and of periodic images of this one's. `Particles.ghosts` makes it.

        ghosts = p.ghosts(p.x, within=0.1)
        for step in range(10):
            forces(p.x, p.count, p.count + ghosts.count)
            move(p.x, p.count)
            ghosts.refresh(p.x)

    Attributes: `count`, how many there are. They are the entries `p.count .. p.count + count - 1` of all arrays of the
    particles, by the rank they are of, and there by image and by the order of their owners.
    """

    def __init__(self, particles: Particles, positions: str, within: float, label: str) -> None:
        self._particles, self._positions, self._label = particles, positions, label
        particles._moves += 1  # earlier ghosts lie where these will
        self._made = particles._moves
        with particles._seen(particles._chosen(positions), written=False) as (space, views):
            found = views[positions][: particles.count].reshape(particles.count, len(particles.grid.shape))
            astray = migration.lost(space, found)
            self._images, self._sends = _near(particles, space, found.astype(np.float64), within)
        engine = particles.grid.world.engine
        self._receives: _Array = np.zeros(engine.size, np.int64)
        engine.alltoall(self._sends, self._receives)
        self.count = int(self._receives.sum())
        migration.refuse(engine, astray, particles.count + self.count, particles.capacity)
        self.refresh(*particles.arrays.values())

    def __repr__(self) -> str:
        return f"<{self.count} ghosts of particles>"

    def refresh(self, *arrays: Any) -> None:
        """Give the ghosts the values that their owners have now. Every rank calls it, with the same arrays.

        arrays: of those of the particles; none for all. Positions of images are those of their owners, a period aside.
        Which particles have ghosts stays as it was: make new ones once particles have moved by half of what `within`
        is larger than the distance that forces reach. It is differentiated in tapes, as `accumulate` is.
        QuadrantsRuntimeError behind `append`, `migrate` or other ghosts, and with `debug=True` where ranks give other
        arrays: on all of them there.

            ghosts.refresh(p.x)
        """
        names = self._names("refresh", arrays) or [*self._particles.arrays]
        _refreshed(self, names, Kept())

    def accumulate(self, *arrays: Any) -> None:
        """Add what ghosts have to their owners, and set it to 0: for forces of pairs, which kernels add to both.

        arrays: of those of the particles, at least one. Sums have a fixed order. Every rank calls it, with the same
        arrays. Errors as of `refresh`.

            ghosts.accumulate(p.f)
        """
        names = self._names("accumulate", arrays)
        if not names:
            raise ValueError("accumulate takes arrays of the particles, at least one")
        _accumulated(self, names, Kept())

    def spread(self, space: Space, views: Mapping[str, Any], aside: bool = True) -> None:
        """Ghosts get what their owners have. views: name to the content of an array, or of its gradient; aside: images
        of positions are a period aside.
        """
        p = self._particles
        values = [self._sent(space.numpy, view, aside and name == self._positions) for name, view in views.items()]
        come = rows.carry(p.grid.world.engine, space.numpy, values, self._sends, self._receives)
        rows.put([*views.values()], p.count, come)

    def collect(self, space: Space, views: Mapping[str, Any]) -> None:
        """What ghosts have is added to what their owners have, and becomes 0."""
        engine, held = self._particles.grid.world.engine, [view[self.span] for view in views.values()]
        sums = rows.returned(engine, space.numpy, held, self._receives, self._sends)
        for view, each in zip(views.values(), sums):
            self._add(view, each)
            view[self.span] = 0

    @property
    def span(self) -> slice:
        """The entries of the ghosts."""
        return slice(self._particles.count, self._particles.count + self.count)

    def _names(self, what: str, arrays: Sequence[Any]) -> list[str]:
        """Of arrays of the particles, which debug mode compares."""
        if not agreement.in_debug():
            self._check_made()
            return [self._particles._array_name(array) for array in arrays]
        with agreement.together(self._particles.grid.world.engine) as rank:
            self._check_made()
            names = [self._particles._array_name(array) for array in arrays]
            rank.says(f"{what} the same ghosts", f"{', '.join(names) or 'all arrays'} of {self._label}")
        return names

    def _check_made(self) -> None:
        if self._made != self._particles._moves:
            raise QuadrantsRuntimeError(
                "Since these ghosts were made, particles were appended or migrated, or other ghosts made, which lie in "
                "their place: make new ones by p.ghosts(..)"
            )

    def _sent(self, np_: Any, view: Any, aside: bool) -> Any:
        """What ghosts of all ranks get of this one."""
        found = []
        for image in self._images:
            values = view[image.index]
            if aside and any(image.aside):
                shift = np_.asarray(image.aside).reshape(values.shape[1:])
                values = (values.astype(np.float64) + shift).astype(view.dtype)
            found.append(values)
        return np_.concatenate(found) if found else view[:0]

    def _add(self, view: Any, sums: Any) -> None:
        """Image by image, of which none has a particle twice."""
        begin = 0
        for image in self._images:
            end = begin + len(image.index)
            view[image.index] += sums[begin:end]
            begin = end


@grad_replaced(lambda ghosts, *_: ghosts._particles.grid.world.engine, lambda *_: None)
def _refreshed(ghosts: Ghosts, names: Sequence[str], kept: Kept) -> None:
    p = ghosts._particles
    with p._seen(p._chosen(*names)) as (space, views):
        kept.keep(views, p.count, p.count + ghosts.count)
        ghosts.spread(space, views)
    if is_recorded():
        p._clear_gradients(names, ghosts.span)  # those of earlier tapes, which nobody has collected


@ad.grad_for(_refreshed)
def _refreshed_grad(ghosts: Ghosts, names: Sequence[str], kept: Kept) -> None:
    ghosts._particles._back(names, kept, ghosts.collect)


@grad_replaced(lambda ghosts, *_: ghosts._particles.grid.world.engine, lambda *_: None)
def _accumulated(ghosts: Ghosts, names: Sequence[str], kept: Kept) -> None:
    p = ghosts._particles
    with p._seen(p._chosen(*names)) as (space, views):
        kept.keep(views, 0, p.count + ghosts.count)
        ghosts.collect(space, views)


@ad.grad_for(_accumulated)
def _accumulated_grad(ghosts: Ghosts, names: Sequence[str], kept: Kept) -> None:
    """A ghost's value is in the sum of its owner, and 0 behind it."""
    ghosts._particles._back(names, kept, partial(ghosts.spread, aside=False))


def _near(p: Particles, space: Space, positions: Any, within: float) -> tuple[list[Image], _Array]:
    """Images near blocks, by the rank of the block, and how many particles that are for each rank."""
    np_, grid = space.numpy, p.grid
    found: list[Image] = []
    sends: _Array = np.zeros(grid.world.size, np.int64)
    for rank in grid.blocks.ranks():
        reach = _reach(p, rank, within)
        for aside in _asides(p, grid.world.rank == rank):
            near = np_.ones(len(positions), bool)
            for axis, (low, high) in enumerate(reach):
                along = positions[:, axis] + aside[axis]
                near &= (along >= low) & (along < high)
            index = np_.flatnonzero(near)
            if len(index):
                found.append(Image(index, aside))
                sends[rank] += len(index)
    return found, sends


def _reach(p: Particles, rank: int, within: float) -> list[tuple[float, float]]:
    """Of each axis the positions that the block of a rank reaches: without end where it has no neighbour."""
    found = []
    for axis, (begin, end) in enumerate(p.grid.blocks.spans_of(rank)):
        ring, low, edge = p.grid.periodic[axis], float(p.low[axis]), float(p.spacing[axis])
        first = low + begin * edge - within if ring or begin > 0 else -math.inf
        last = low + end * edge + within if ring or end < p.grid.shape[axis] else math.inf
        found.append((first, last))
    return found


def _asides(p: Particles, own: bool) -> Iterator[tuple[float, ...]]:
    """How far images of a particle are aside of it; of this rank's own, the particle itself is none."""
    periods = [float(edge) * extent for edge, extent in zip(p.spacing, p.grid.shape)]
    steps = [(-1, 0, 1) if ring else (0,) for ring in p.grid.periodic]
    for step in itertools.product(*steps):
        if not own or any(step):
            yield tuple(n * period for n, period in zip(step, periods))


def read_within(p: Particles, within: Any) -> float:
    """The distance, checked. ValueError."""
    number = isinstance(within, (int, float, np.integer, np.floating)) and not isinstance(within, bool)
    found = float(within) if number else math.nan
    if not 0 < found < math.inf:
        raise ValueError(f"within={within!r} must be a positive number in units of positions")
    for edge, extent, ring in zip(p.spacing, p.grid.shape, p.grid.periodic):
        if ring and found > edge * extent:
            raise ValueError(f"within={within!r} is more than {edge * extent}, the period of an axis")
    return found
