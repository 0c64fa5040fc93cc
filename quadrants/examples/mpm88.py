"""Water that breaks from a block and splashes in a box: 2-D material point method with fields."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import scatter
from ._run import Run

# Cells next to the box where the normal velocity is cut, so that the 3x3 stencil never leaves the grid.
WALL = 3


@qd.data_oriented
class Water:
    """MLS-MPM (moving least squares material point method) of a weakly compressible fluid in the unit square.

    Particles carry mass, momentum and an affine velocity field; every step they are spread on a grid (P2G), the grid
    moves under gravity and walls, and the particles read their new motion back (G2P).
    """

    def __init__(self, particles: int = 8192, cells: int = 128, dt: float = 2e-4, gravity: float = 9.8):
        self.count = particles
        self.cells = cells
        self.dt = dt
        self.gravity = gravity
        self.dx = 1.0 / cells
        self.volume = (0.5 * self.dx) ** 2
        self.density = 1.0
        self.mass = self.volume * self.density
        self.stiffness = 400.0

        self.x = qd.Vector.field(2, qd.f32, shape=particles)
        self.v = qd.Vector.field(2, qd.f32, shape=particles)
        self.C = qd.Matrix.field(2, 2, qd.f32, shape=particles)
        self.J = qd.field(qd.f32, shape=particles)
        self.make_grid()

    def make_grid(self) -> None:
        self.grid_v = qd.Vector.field(2, qd.f32, shape=(self.cells, self.cells))
        self.grid_m = qd.field(qd.f32, shape=(self.cells, self.cells))

    @qd.kernel
    def fill_block(self, x0: qd.f32, y0: qd.f32, width: qd.f32, height: qd.f32):
        """Particles at rest, spread at random over a rectangle, in order from left to right.

        The order keeps neighbours in space close in memory, so that threads rarely touch the same cells.
        """
        for p in self.x:
            self.x[p] = [x0 + (p + qd.random()) / self.count * width, y0 + qd.random() * height]
            self.v[p] = [0.0, 0.0]
            self.C[p] = [[0.0, 0.0], [0.0, 0.0]]
            self.J[p] = 1.0

    @qd.func
    def stencil(self, position):
        """Lower corner of the 3x3 cells around a position, the offset from it, and the quadratic B-spline weights."""
        scaled = position / self.dx
        base = qd.cast(scaled - 0.5, qd.i32)
        offset = scaled - qd.cast(base, qd.f32)
        a = 1.5 - offset
        b = offset - 1.0
        c = offset - 0.5
        weights = qd.Matrix.rows([0.5 * a * a, 0.75 - b * b, 0.5 * c * c])
        return base, offset, weights

    @qd.kernel
    def clear_grid(self):
        for cell in qd.grouped(self.grid_m):
            self.grid_v[cell] = [0.0, 0.0]
            self.grid_m[cell] = 0.0

    @qd.kernel
    def particles_to_grid(self):
        for p in self.x:
            base, offset, weights = self.stencil(self.x[p])
            # Pressure of a fluid of bulk modulus `stiffness`, as an impulse per distance.
            pressure = -4.0 * self.dt * self.stiffness * self.volume * (self.J[p] - 1.0) / self.dx**2
            affine = qd.Matrix([[pressure, 0.0], [0.0, pressure]]) + self.mass * self.C[p]
            for i, j in qd.static(qd.ndrange(3, 3)):
                distance = (qd.Vector([i, j]) - offset) * self.dx
                weight = weights[i, 0] * weights[j, 1]
                cell = base + qd.Vector([i, j])
                self.grid_v[cell] += weight * (self.mass * self.v[p] + affine @ distance)
                self.grid_m[cell] += weight * self.mass

    @qd.kernel
    def move_grid(self):
        for i, j in self.grid_m:
            if self.grid_m[i, j] > 0.0:
                v = self.grid_v[i, j] / self.grid_m[i, j]
                v.y -= self.dt * self.gravity
                if (i < WALL and v.x < 0.0) or (i > self.cells - WALL and v.x > 0.0):
                    v.x = 0.0
                if (j < WALL and v.y < 0.0) or (j > self.cells - WALL and v.y > 0.0):
                    v.y = 0.0
                self.grid_v[i, j] = v

    @qd.kernel
    def grid_to_particles(self):
        for p in self.x:
            base, offset, weights = self.stencil(self.x[p])
            v = qd.Vector([0.0, 0.0])
            C = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in qd.static(qd.ndrange(3, 3)):
                distance = (qd.Vector([i, j]) - offset) * self.dx
                weight = weights[i, 0] * weights[j, 1]
                g = self.grid_v[base + qd.Vector([i, j])]
                v += weight * g
                C += 4.0 * weight * g.outer_product(distance) / self.dx**2
            self.v[p] = v
            self.C[p] = C
            self.x[p] += self.dt * v
            self.J[p] *= 1.0 + self.dt * C.trace()

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.clear_grid()
            self.particles_to_grid()
            self.move_grid()
            self.grid_to_particles()

    def image(self) -> np.ndarray:
        speed = np.linalg.norm(self.v.to_numpy(), axis=1)
        light = np.clip(speed / 3.0, 0, 1)[:, None]
        return scatter(self.x.to_numpy(), np.array([30, 110, 220]) * (1 - light) + np.array([225, 245, 255]) * light)


def main(run: Run) -> None:
    water = Water(particles=65536, cells=256, dt=1e-4) if run.large else Water()
    width = 0.3
    water.fill_block(0.05, 0.05, width, water.count * water.volume / width)
    substeps = 80 if run.large else 40
    for _ in run.frames(80):
        with run.work(water.count * substeps, "particle steps"):
            water.step(substeps)
        run.show(water.image)
