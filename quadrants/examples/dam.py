"""Water behind a dam that is taken away, by the material point method: particles move between ranks.

`mpiexec -n 4 python -m quadrants.examples dam` cuts the box into four blocks, and colours each particle by the rank
that has it; the water moves as on one rank.
"""

from __future__ import annotations

import numpy as np

import quadrants as qd
from quadrants import distributed as qdist

from ._picture import scatter
from ._run import Run

# Cells next to the box where the normal velocity is cut, so that the 3x3 stencil never leaves the grid.
WALL = 3
# One for each rank, from the first one again behind the last.
COLOURS = np.array([[70, 150, 235], [240, 150, 60], [90, 200, 120], [225, 95, 140], [160, 120, 230], [225, 210, 90]])

Pair, Square = qd.types.vector(2, qd.f64), qd.types.matrix(2, 2, qd.f64)
Pairs, Squares = qd.types.ndarray(dtype=Pair, ndim=1), qd.types.ndarray(dtype=Square, ndim=1)
Numbers = qd.types.ndarray(dtype=qd.f64, ndim=1)
Mass, Momentum = qd.types.ndarray(dtype=qd.f64, ndim=2), qd.types.ndarray(dtype=Pair, ndim=2)


@qd.kernel
def pour(x: Pairs, begin: qd.i32, corner: Pair, size: Pair):
    """Particles spread over a rectangle. They are counted over all ranks, so any number of ranks pours the same."""
    for p in x:
        u, v = qd.random_at(1, begin + p, dtype=qd.f64), qd.random_at(1, begin + p, draw=1, dtype=qd.f64)
        x[p] = corner + size * qd.Vector([u, v])


@qd.func
def stencil(scaled):
    """Lower corner of the 3x3 cells around a position in cells, the offset from it, and quadratic B-spline weights."""
    base = qd.floor(scaled - 0.5, qd.i32)
    offset = scaled - base
    weights = qd.Matrix.rows([0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1.0) ** 2, 0.5 * (offset - 0.5) ** 2])
    return base, offset, weights


@qd.kernel
def particles_to_grid(
    x: Pairs, v: Pairs, C: Squares, J: Numbers, count: qd.i32, mass: Mass, momentum: Momentum,
    impulse: qd.f64, each: qd.f64, cells: qd.i32, oi: qd.i32, oj: qd.i32,
):  # fmt: skip
    """impulse: of a particle's pressure, by its relative change of volume. (oi, oj): global cell of the local 0."""
    for p in range(count):
        base, offset, weights = stencil(x[p] * cells)
        pressure = -impulse * (J[p] - 1.0)
        affine = qd.Matrix([[pressure, 0.0], [0.0, pressure]]) + each * C[p]
        for i, j in qd.static(qd.ndrange(3, 3)):
            weight = weights[i, 0] * weights[j, 1]
            cell = base + qd.Vector([i - oi, j - oj])
            momentum[cell] += weight * (each * v[p] + affine @ (qd.Vector([i, j]) - offset) / cells)
            mass[cell] += weight * each


@qd.kernel
def move_grid(
    mass: Mass, velocity: Momentum, fall: qd.f64, cells: qd.i32, oi: qd.i32, oj: qd.i32,
    i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32,
):  # fmt: skip
    """Momentum becomes velocity, under gravity and between walls. fall: what gravity adds in one step."""
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        if mass[i, j] > 0.0:
            v = velocity[i, j] / mass[i, j] - qd.Vector([0.0, fall])
            a, b = i + oi, j + oj
            if (a < WALL and v.x < 0.0) or (a > cells - WALL and v.x > 0.0):
                v.x = 0.0
            if (b < WALL and v.y < 0.0) or (b > cells - WALL and v.y > 0.0):
                v.y = 0.0
            velocity[i, j] = v


@qd.kernel
def grid_to_particles(
    x: Pairs, v: Pairs, C: Squares, J: Numbers, count: qd.i32, velocity: Momentum,
    dt: qd.f64, cells: qd.i32, oi: qd.i32, oj: qd.i32,
):  # fmt: skip
    for p in range(count):
        base, offset, weights = stencil(x[p] * cells)
        mean, slope = Pair(0.0), Square(0.0)
        for i, j in qd.static(qd.ndrange(3, 3)):
            flow = weights[i, 0] * weights[j, 1] * velocity[base + qd.Vector([i - oi, j - oj])]
            mean += flow
            slope += 4.0 * cells * flow.outer_product(qd.Vector([i, j]) - offset)
        v[p], C[p] = mean, slope
        x[p] += dt * mean
        J[p] *= 1.0 + dt * slope.trace()


class Water:
    """A weakly compressible fluid in the unit square, cut into blocks: each rank has the particles in its own.

    world: the ranks. particles: of all of them, `(0.5 / cells)**2` of volume each. cells: of an edge.
    """

    def __init__(self, world: qdist.World, particles: int, cells: int, dt: float = 2e-4, gravity: float = 9.8):
        self.world, self.count, self.cells, self.dt, self.gravity = world, particles, cells, dt, gravity
        self.volume = (0.5 / cells) ** 2
        self.mass = self.volume * 1.0
        self.stiffness = 400.0
        # A particle reaches one cell below its own and two above.
        self.grid = qdist.Grid((cells, cells), halo=((1, 2), (1, 2)), world=world)
        self.m, self.v = self.grid.ndarray(qd.f64), self.grid.ndarray(Pair)
        self.p = qdist.Particles(self.grid, particles, spacing=1 / cells, x=Pair, v=Pair, C=Square, J=qd.f64)

    def pour(self, corner: tuple[float, float], size: tuple[float, float]) -> None:
        """All particles at rest, in a rectangle. Each rank makes a share, and hands on what is not in its block."""
        ranks, rank = self.world.size, self.world.rank
        begin, end = self.count * rank // ranks, self.count * (rank + 1) // ranks
        n = end - begin
        x = qd.ndarray(Pair, (n,))
        pour(x, begin, Pair(corner), Pair(size))
        self.p.append(x=x.to_numpy(), v=np.zeros((n, 2)), C=np.zeros((n, 2, 2)), J=np.ones(n))
        self.p.migrate(self.p.x)

    def deposit(self) -> None:
        """Mass and momentum of the particles to the grid, whole in every block."""
        p = self.p
        self.m.fill(0)
        self.v.fill(0)
        impulse = 4.0 * self.dt * self.stiffness * self.volume * self.cells**2
        body = p.x, p.v, p.C, p.J, p.count
        particles_to_grid(*body, self.m, self.v, impulse, self.mass, self.cells, *self.grid.origin)
        self.grid.accumulate_halo(self.m, self.v)

    def step(self, count: int = 1) -> None:
        grid, p = self.grid, self.p
        for _ in range(count):
            self.deposit()
            move_grid(self.m, self.v, self.dt * self.gravity, self.cells, *grid.origin, *grid.box(closed=True))
            grid.exchange_halo(self.v)
            grid_to_particles(p.x, p.v, p.C, p.J, p.count, self.v, self.dt, self.cells, *grid.origin)
            p.migrate(p.x)

    def momentum(self) -> np.ndarray:
        """Of all particles (2,), on every rank."""
        return self.world.sum(self.mass * self.p.v.to_numpy()[: self.p.count].sum(axis=0))

    def image(self) -> np.ndarray | None:
        """Each particle in the colour of its rank, lighter where it is fast; on rank 0."""
        n = self.p.count
        found = self.world.gather((self.p.x.to_numpy()[:n], self.p.v.to_numpy()[:n]))
        if found is None:
            return None
        x, v = (np.concatenate([part[k] for part in found]) for k in (0, 1))
        owner = np.repeat(np.arange(len(found)), [len(part[0]) for part in found])
        light = np.clip(np.linalg.norm(v, axis=1) / 4.0, 0, 0.8)[:, None]
        return scatter(x, COLOURS[owner % len(COLOURS)] * (1 - light) + 255 * light)


def main(run: Run) -> None:
    world = qdist.init(arch=qd.cfg.arch, random_seed=1)
    water = Water(world, 65536, 256, dt=1e-4) if run.large else Water(world, 4096, 64)
    width = 0.4
    water.pour((0.05, 0.05), (width, water.count * water.volume / width))
    substeps = 80 if run.large else 32
    for _ in run.frames(80):
        with run.work(water.count * substeps, "particle steps"):
            water.step(substeps)
        run.show(water.image)
