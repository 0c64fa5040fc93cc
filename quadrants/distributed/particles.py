"""Particles that live on the rank whose block they are in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import quadrants as qd
from quadrants import ad
from quadrants.data.dtypes import numpy_dtype
from quadrants.distributed import agreement, arrays, migration, spaces
from quadrants.distributed.decomposition import per_axis
from quadrants.distributed.ghosts import Ghosts, read_within
from quadrants.distributed.grid import Grid
from quadrants.distributed.kept import Kept
from quadrants.distributed.replaced import grad_replaced
from quadrants.errors import QuadrantsRuntimeError


class Particles:
    """Arrays with an entry a particle, of which each rank has those in its block of a grid.

        p = qdist.Particles(grid, 1000, spacing=1 / 64, x=qd.types.vector(2, qd.f64), mass=qd.f32)
        p.append(x=np.full((3, 2), 0.5), mass=np.ones(3))
        p.migrate(p.x)

    Args:
        grid: whose blocks they are in.
        capacity: the most particles of a rank.
        spacing: edge of a cell in units of positions, a number or one for each axis.
        low: position of the low corner of the global cell 0, a number or one for each axis.
        needs_grad: whether arrays of real numbers have gradients.
        arrays: name=dtype, or a type of vectors or matrices. Each becomes an ndarray of `capacity` elements and an
            attribute of that name.

    Attributes: `count`, how many particles this rank has: the first ones of each array. `arrays`, name to ndarray.

    `migrate` and what ghosts do are differentiated in tapes, which bring back what they overwrote: behind a tape,
    particles are where they were at its first migration, and gradients are those of these entries.

    Where NCCL carries arrays of devices, particles stay on them and the host learns their numbers alone; of other
    devices they go through the host.
    """

    def __init__(
        self,
        grid: Grid,
        capacity: int,
        spacing: Any = 1.0,
        low: Any = 0.0,
        needs_grad: bool = False,
        **arrays: Any,
    ) -> None:
        self._label = f"particles {grid._count_particles()} of grid {grid.number}"
        self._lists = 0  # how often ghosts were made
        with agreement.together(grid.world.engine) as rank:
            self._make(grid, capacity, spacing, low, needs_grad, arrays)
            rank.says("make the same particles", self._about(needs_grad))
        self._space = spaces.of(grid.world.engine)
        self._moves = 0  # how often entries got another meaning

    def _make(
        self, grid: Grid, capacity: Any, spacing: Any, low: Any, needs_grad: Any, arrays: Mapping[str, Any]
    ) -> None:
        """What this rank does by itself. ValueError for what cannot be."""
        if isinstance(capacity, bool) or not hasattr(capacity, "__index__") or capacity < 1:
            raise ValueError(f"capacity={capacity!r} must be a whole number of particles, at least 1")
        if not isinstance(needs_grad, bool):
            raise ValueError(f"needs_grad={needs_grad!r} is for all arrays at once: True or False")
        own = ("arrays", *vars(Particles))
        taken = [name for name in arrays if name.startswith("_") or name in own]
        if taken or not arrays:
            what = f"{taken[0]} is a name of Particles itself" if taken else "there is no array"
            raise ValueError(f"{what}: write Particles(grid, capacity, x=qd.types.vector(2, qd.f32), ..)")
        ndim = len(grid.shape)
        self.grid, self.capacity, self.count = grid, int(capacity), 0
        self.spacing = np.array(per_axis(spacing, ndim, "spacing"), np.float64)
        self.low = np.array(per_axis(low, ndim, "low"), np.float64)
        if not (self.spacing > 0).all():
            raise ValueError(f"spacing={spacing!r} must be positive: it is the edge of a cell")
        self.arrays = {name: self._made(dtype, needs_grad) for name, dtype in arrays.items()}

    def _made(self, dtype: Any, needs_grad: bool) -> Any:
        return qd.ndarray(dtype, (self.capacity,), needs_grad=needs_grad and _is_real(dtype))

    def _about(self, needs_grad: bool) -> str:
        shown = (f"{name}={a.dtype}{list(a._element_shape) or ''}" for name, a in self.arrays.items())
        return (
            f"{self._label}, spacing={self.spacing.tolist()}, low={self.low.tolist()}, "
            f"needs_grad={needs_grad}: {', '.join(shown)}"
        )

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("arrays", {})
        if name in found:
            return found[name]
        raise AttributeError(f"these particles have no array {name!r}; they have {', '.join(found)}")

    @property
    def count(self) -> int:
        """How many particles this rank has. It may be set, to 0 say, which forgets them; ValueError for more than there
        is room for.

            p.count = 0
        """
        return self._count

    @count.setter
    def count(self, number: int) -> None:
        if isinstance(number, bool) or not hasattr(number, "__index__") or not 0 <= number <= self.capacity:
            raise ValueError(f"count={number!r}: these particles are 0 to {self.capacity}, their capacity")
        self._count = int(number)

    def append(self, **values: Any) -> None:
        """Add particles to this rank; `migrate` brings them to the rank that owns their cell.

        values: for each array NumPy's of shape `(n,) + element`, of any dtype that can be cast. ValueError for arrays
        that are missing or of another length, QuadrantsRuntimeError where there is no room.

            p.append(x=np.full((3, 2), 0.5), mass=np.ones(3))
        """
        if set(values) != set(self.arrays):
            raise ValueError(f"append takes all of {', '.join(self.arrays)}, and got {', '.join(values) or 'none'}")
        given = {name: np.asarray(value) for name, value in values.items()}
        count = len(next(iter(given.values())))
        for name, value in given.items():
            wanted = (count, *self.arrays[name]._element_shape)
            if value.shape != wanted:
                raise ValueError(f"append: {name} has shape {value.shape} where {wanted} is expected")
        if self.count + count > self.capacity:
            raise QuadrantsRuntimeError(migration.overflow(self.grid.world.rank, self.count + count, self.capacity))
        new = slice(self.count, self.count + count)
        with self._seen(self.arrays) as (space, views):
            for name, value in given.items():
                views[name][new] = space.numpy.asarray(value.astype(views[name].dtype))
        self._clear_gradients(self.arrays, new)
        self.count += count
        self._moves += 1

    def histogram(self, positions: Any, axis: int = 0) -> np.ndarray[Any, Any]:
        """How many particles of all ranks are in each global cell of an axis, i64. Every rank calls it.

        positions: as of `migrate`; what is outside counts for the nearest cell. QuadrantsRuntimeError on all ranks
        where one is not a finite number. For `Grid.rebalanced`.

            counts = p.histogram(p.x)
        """
        engine = self.grid.world.engine
        with agreement.together(engine) as rank:
            name = self._name_of(positions)
            rank.says("count the same particles", f"histogram(p.{name}, {axis}) of {self._label}")
            if not isinstance(axis, int) or not 0 <= axis < len(self.grid.shape):
                raise ValueError(f"histogram: axis={axis!r} is none of the numbers 0 to {len(self.grid.shape) - 1}")
        with self._seen(self._chosen(name), written=False) as (space, views):
            rows = views[name][: self.count].reshape(self.count, len(self.grid.shape))
            lost = migration.lost(space, rows)
            found = migration.counts(space, rows[:, axis], self.low[axis], self.spacing[axis], self.grid.shape[axis])
        migration.refuse(engine, lost, self.count, self.capacity)
        whole: np.ndarray[Any, Any] = self.grid.world.allreduce(found)
        return whole

    def migrate(self, positions: Any, to: Grid | None = None) -> int:
        """Bring each particle to the rank that owns the cell it is in; all ranks call it after particles moved.

        positions: the array of positions, a vector with a component for each axis of the grid (numbers for one axis).
        On periodic axes, positions are wrapped into the cells of the global array, as `floor((x - low) / spacing)`
        gives them in the dtype of positions; what is rounded to the upper edge is at `low`. On others, what is outside
        belongs to the block at that side. to: another grid of the same shape, whose blocks they have from now on, such
        as `Grid.rebalanced` gives. Returns how many particles came from other ranks.

        Particles that stay keep their order; those that come are behind them, by rank and by the order they had there,
        so that every run has the same order. They may move over any number of blocks. If there is no room on a rank, or
        a position is not a finite number, it is a QuadrantsRuntimeError on all ranks, and nothing has moved.

            p.migrate(p.x)
        """
        engine = self.grid.world.engine
        with agreement.together(engine) as rank:
            name, grid = self._name_of(positions), self.grid if to is None else to
            if grid.shape != self.grid.shape:
                raise ValueError(f"migrate: particles of a grid of shape {self.grid.shape} do not fit {grid!r}")
            rank.says("migrate the same", f"migrate(p.{name}) of {self._label} to grid {grid.number}")
        came: int = _migrated(self, name, grid, [], Kept())
        return came

    def ghosts(self, positions: Any, within: float) -> Ghosts:
        """Copies of other ranks' particles that are at most `within` from the block of this one; all ranks call it.

        positions: as of `migrate`. within: in units of positions, on each axis; for forces that reach a distance r, r
        and twice what particles move until ghosts are made again. On periodic axes images are ghosts too, a period
        aside; `within` is at most the period. Capacity is for particles and ghosts together: QuadrantsRuntimeError on
        all ranks where there is no room, where a position is not a finite number, or where `within` or the array
        differ. ValueError for another `within`.

            ghosts = p.ghosts(p.x, within=0.05)
        """
        engine = self.grid.world.engine
        with agreement.together(engine) as rank:
            name, reach = self._name_of(positions), read_within(self, within)
            rank.says("make the same ghosts", f"ghosts(p.{name}, within={reach!r}) of {self._label}")
        self._lists += 1
        return Ghosts(self, name, reach, f"ghosts {self._lists - 1} of {self._label}")

    def _array_name(self, array: Any) -> str:
        name = next((name for name, own in self.arrays.items() if own is arrays.unwrapped(array)), None)
        if name is None:
            raise ValueError(f"one of the particles' own arrays is needed, such as p.{next(iter(self.arrays))}")
        return name

    def _name_of(self, positions: Any) -> str:
        name = self._array_name(positions)
        inner, ndim = self.arrays[name], len(self.grid.shape)
        inner._check_usable()
        wanted = [(ndim,), ()] if ndim == 1 else [(ndim,)]
        if inner._element_shape not in wanted or np.dtype(numpy_dtype(inner.dtype)).kind != "f":
            raise ValueError(f"positions have {ndim} real numbers, one for each axis of the grid, and p.{name} has not")
        return name

    def _chosen(self, *names: str) -> dict[str, Any]:
        """Those arrays, by name."""
        return {name: self.arrays[name] for name in names}

    def _gradients(self, *names: str) -> dict[str, Any]:
        """Those that have gradients, by name of the array."""
        found = {name: arrays.gradient_of(self.arrays[name]) for name in names}
        return {name: gradient for name, gradient in found.items() if gradient is not None}

    def _clear_gradients(self, names: Iterable[str], entries: slice) -> None:
        """Whoever is there now is none of those who had them."""
        if gradients := self._gradients(*names):
            with self._seen(gradients) as (_, views):
                for view in views.values():
                    view[entries] = 0

    @contextmanager
    def _seen(self, chosen: Mapping[str, Any], written: bool = True) -> Iterator[tuple[spaces.Space, dict[str, Any]]]:
        """The content of arrays by name, where an engine carries them.

        What it does not see there is copied to the host, and back if it is `written`.
        """
        for array in chosen.values():
            array._check_usable()
        with self._space.in_order():
            views = {name: self._space.view(array) for name, array in chosen.items()}
            if all(view is not None for view in views.values()):
                yield self._space, views
                return
        copies = {name: array.to_numpy() for name, array in chosen.items()}
        yield spaces.HOST, copies
        for name, array in chosen.items() if written else ():
            array.from_numpy(copies[name])

    def _back(self, names: Iterable[str], kept: Kept, adjoint: Callable[[spaces.Space, dict[str, Any]], None]) -> None:
        """The way back of a tape: what becomes of the gradients of arrays, whose values are those that were kept."""
        if gradients := self._gradients(*names):
            with self._seen(gradients) as seen:
                adjoint(*seen)
        with self._seen(self._chosen(*names)) as (_, views):
            kept.put_back(views)


class _Before(NamedTuple):
    """What particles were before they moved, and how they did."""

    grid: Grid
    here: int
    moves: int
    moved: migration.Moved


@grad_replaced(lambda p, *_: p.grid.world.engine, lambda p, *_: p.arrays.values())
def _migrated(p: Particles, positions: str, to: Grid, before: list[_Before], kept: Kept) -> int:
    """As `Particles.migrate`. before, kept: empty; get what the way back needs."""
    of_tapes = {f"{name}.grad": gradient for name, gradient in p._gradients(*p.arrays).items()}
    with p._seen({**p.arrays, **of_tapes}) as (space, both):
        views = {name: both[name] for name in p.arrays}
        kept.keep(views, 0, p.count)
        found = views[positions][: p.count].reshape(p.count, len(to.shape))
        owners = migration.owners(to, space, found, p.low, p.spacing)
        moved = migration.planned(to.world.engine, space, owners, p.capacity)
        kept.keep(views, p.count, moved.here)  # ghosts were there
        migration.move(to.world.engine, space, list(both.values()), moved)  # gradients of other tapes go along
        for name in of_tapes:
            both[name][moved.here :] = 0
    before.append(_Before(p.grid, p.count, p._moves, moved))
    p.grid, p.count = to, moved.here
    p._moves += 1
    return moved.came


@ad.grad_for(_migrated)
def _migrated_grad(p: Particles, positions: str, to: Grid, before: list[_Before], kept: Kept) -> None:
    """Gradients go the way back with their particles. Positions that were wrapped have moved by whole periods."""
    was = before[0]
    p._back(p.arrays, kept, lambda space, views: migration.back(to.world.engine, space, [*views.values()], was.moved))
    p.grid, p.count, p._moves = was.grid, was.here, was.moves


def _is_real(dtype: Any) -> bool:
    return np.dtype(numpy_dtype(getattr(dtype, "dtype", dtype))).kind == "f"
