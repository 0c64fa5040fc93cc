"""Particles that live on the rank whose block they are in."""

from __future__ import annotations

from typing import Any

import numpy as np

import quadrants as qd
from quadrants.distributed import arrays, migration
from quadrants.distributed.decomposition import per_axis
from quadrants.distributed.grid import Grid
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
        arrays: name=dtype, or a type of vectors or matrices. Each becomes an ndarray of `capacity` elements and an
            attribute of that name.

    Attributes: `count`, how many particles this rank has: the first ones of each array. `arrays`, name to ndarray.

    On the CPU in this version: elsewhere a QuadrantsRuntimeError.
    """

    def __init__(self, grid: Grid, capacity: int, spacing: Any = 1.0, low: Any = 0.0, **arrays: Any) -> None:
        if isinstance(capacity, bool) or not hasattr(capacity, "__index__") or capacity < 1:
            raise ValueError(f"capacity={capacity!r} must be a whole number of particles, at least 1")
        own = ("count", "arrays", *vars(Particles))
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
        self.arrays = {name: qd.ndarray(dtype, (self.capacity,)) for name, dtype in arrays.items()}
        self._views = {name: _view(array) for name, array in self.arrays.items()}

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("arrays", {})
        if name in found:
            return found[name]
        raise AttributeError(f"these particles have no array {name!r}; they have {', '.join(found)}")

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
            wanted = (count, *self._views[name].shape[1:])
            if value.shape != wanted:
                raise ValueError(f"append: {name} has shape {value.shape} where {wanted} is expected")
        if self.count + count > self.capacity:
            raise QuadrantsRuntimeError(migration.overflow(self.grid.world.rank, self.count + count, self.capacity))
        for name, value in given.items():
            self._checked(name)[self.count : self.count + count] = value
        self.count += count

    def migrate(self, positions: Any) -> int:
        """Bring each particle to the rank that owns the cell it is in; all ranks call it after particles moved.

        positions: the array of positions, a vector with a component for each axis of the grid (numbers for one axis).
        On periodic axes, positions are wrapped into the global array; on others, what is outside belongs to the block
        at that side. Returns how many particles came from other ranks.

        Particles that stay keep their order; those that come are behind them, by rank and by the order they had there,
        so that every run has the same order. They may move over any number of blocks. If there is no room on a rank, or
        a position is not a finite number, it is a QuadrantsRuntimeError on all ranks, and nothing has moved.

            p.migrate(p.x)
        """
        name = next((name for name, array in self.arrays.items() if array is arrays.unwrapped(positions)), None)
        if name is None:
            raise ValueError(f"migrate takes one of the particles' own arrays, such as p.{next(iter(self.arrays))}")
        views = {other: self._checked(other) for other in self.arrays}
        ndim = len(self.grid.shape)
        found = views[name][: self.count]
        if found.shape[1:] not in ([(ndim,), ()] if ndim == 1 else [(ndim,)]) or found.dtype.kind != "f":
            raise ValueError(f"positions have {ndim} real numbers, one for each axis of the grid, and p.{name} has not")
        owners = migration.owners(self.grid, found.reshape(self.count, ndim), self.low, self.spacing)
        self.count, came = migration.move(self.grid.world.engine, list(views.values()), owners, self.capacity)
        return came

    def _checked(self, name: str) -> np.ndarray[Any, Any]:
        self.arrays[name]._check_usable()
        return self._views[name]


def _view(array: Any) -> np.ndarray[Any, Any]:
    try:
        view: np.ndarray[Any, Any] = array.to_numpy(copy=False)
    except ValueError as error:
        raise QuadrantsRuntimeError(
            "Particles are on the CPU in this version, and the arch in force is another one: qdist.init(arch=qd.cpu)"
        ) from error
    return view
