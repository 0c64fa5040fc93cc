"""A fluid of the material point method in three dimensions on several ranks: particles migrate, halos are added up."""

from __future__ import annotations

import numpy as np

import quadrants as qd
from quadrants import distributed as qdist

PER_CELL = 8
Triple, Cube = qd.types.vector(3, qd.f32), qd.types.matrix(3, 3, qd.f32)
Triples, Cubes = qd.types.ndarray(dtype=Triple, ndim=1), qd.types.ndarray(dtype=Cube, ndim=1)
Numbers = qd.types.ndarray(dtype=qd.f32, ndim=1)
Mass, Momentum = qd.types.ndarray(dtype=qd.f32, ndim=3), qd.types.ndarray(dtype=Triple, ndim=3)


@qd.func
def weights_of(position):
    """Lower corner of the 27 cells around a position in cells, the offset from it, and quadratic B-spline weights."""
    base = qd.floor(position - 0.5, qd.i32)
    offset = position - base
    return base, offset, [0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1.0) ** 2, 0.5 * (offset - 0.5) ** 2]


@qd.kernel
def to_grid(
    x: Triples, v: Triples, C: Cubes, J: Numbers, count: qd.i32, mass: Mass, momentum: Momentum, stiffness: qd.f32,
    oi: qd.i32, oj: qd.i32, ok: qd.i32,
):  # fmt: skip
    for p in range(count):
        base, offset, w = weights_of(x[p])
        pressure = -stiffness * (J[p] - 1.0)
        for i, j, k in qd.static(qd.ndrange(3, 3, 3)):
            weight = w[i][0] * w[j][1] * w[k][2]
            reach = qd.Vector([i, j, k]) - offset
            cell = base + qd.Vector([i - oi, j - oj, k - ok])
            momentum[cell] += weight * (v[p] + pressure * reach + C[p] @ reach)
            mass[cell] += weight


@qd.kernel
def on_grid(mass: Mass, momentum: Momentum):
    for cell in qd.grouped(mass):
        if mass[cell] > 0:
            momentum[cell] /= mass[cell]


@qd.kernel
def from_grid(
    x: Triples, v: Triples, C: Cubes, J: Numbers, count: qd.i32, velocity: Momentum, dt: qd.f32,
    oi: qd.i32, oj: qd.i32, ok: qd.i32,
):  # fmt: skip
    for p in range(count):
        base, offset, w = weights_of(x[p])
        mean, slope = Triple(0.0), Cube(0.0)
        for i, j, k in qd.static(qd.ndrange(3, 3, 3)):
            flow = w[i][0] * w[j][1] * w[k][2] * velocity[base + qd.Vector([i - oi, j - oj, k - ok])]
            mean += flow
            slope += 4.0 * flow.outer_product(qd.Vector([i, j, k]) - offset)
        v[p], C[p] = mean, slope
        x[p] += dt * mean
        J[p] *= 1.0 + dt * slope.trace()


class Fluid:
    """A periodic box full of it, `cells`^3 a rank in slabs along the first axis, that drifts along all axes.

    every: steps from one migration to the next; halos are as wide as particles get in them.
    """

    def __init__(self, world: qdist.World, cells: int, every: int = 10) -> None:
        self.every, self.dt, self.steps = every, 0.02, 0
        dims = (world.size, 1, 1)
        shape = (cells * world.size, cells, cells)
        self.grid = qdist.Grid(shape, halo=((2, 3),) * 3, periodic=True, dims=dims, world=world)
        count = PER_CELL * cells**3
        self.p = qdist.Particles(self.grid, count + count // 8, x=Triple, v=Triple, C=Cube, J=qd.f32)
        self.mass, self.momentum = self.grid.ndarray(qd.f32), self.grid.ndarray(Triple)
        rng = np.random.default_rng(world.rank)
        begin = np.array([span[0] for span in self.grid.blocks.spans_of(world.rank)])
        x = (begin + rng.random((count, 3)) * cells).astype(np.float32)
        drift = np.broadcast_to(np.float32([1.0, 0.5, 0.25]), (count, 3))
        self.p.append(x=x, v=drift, C=np.zeros((count, 3, 3), np.float32), J=np.ones(count, np.float32))
        self.came = self.p.migrate(self.p.x)  # what float32 rounded up to the next block

    def step(self, steps: int, ranks: bool = True) -> None:
        """ranks: with exchanges and migration; without them, what one rank alone would compute."""
        p, origin = self.p, self.grid.origin
        for _ in range(steps):
            self.mass.fill(0)
            self.momentum.fill(0)
            to_grid(p.x, p.v, p.C, p.J, p.count, self.mass, self.momentum, 10.0 * self.dt, *origin)
            if ranks:
                self.grid.accumulate_halo(self.mass, self.momentum)
            on_grid(self.mass, self.momentum)
            if ranks:
                self.grid.exchange_halo(self.momentum)
            from_grid(p.x, p.v, p.C, p.J, p.count, self.momentum, self.dt if ranks else 0.0, *origin)
            self.steps += 1
            if ranks and self.steps % self.every == 0:
                self.came += p.migrate(p.x)
