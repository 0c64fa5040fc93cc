"""A dam that breaks: smoothed particle hydrodynamics with a sorted neighbour grid, in ndarrays."""

from __future__ import annotations

import math

import numpy as np

import quadrants as qd

from ._picture import scatter
from ._run import Run

vec2 = qd.math.vec2
Points = qd.types.ndarray(dtype=vec2, ndim=1)
Scalars = qd.types.ndarray(dtype=qd.f32, ndim=1)
Integers = qd.types.ndarray(dtype=qd.i32, ndim=1)


@qd.func
def cell_of(position, size, side):
    """Column and row of the cell that holds a position; what is outside the grid counts to its border cells."""
    return qd.math.clamp(qd.cast(qd.floor(position / size), qd.i32), 0, side - 1)


@qd.kernel
def sort_by_cell(x: Points, v: Points, sorted_x: Points, sorted_v: Points, start: Integers, size: qd.f32, side: qd.i32):
    """Counting sort. Particles of cell c = column * side + row end up in start[c] .. start[c + 1] - 1."""
    for c in range(start.shape[0]):
        start[c] = 0
    for i in range(x.shape[0]):
        cell = cell_of(x[i], size, side)
        start[cell.x * side + cell.y] += 1
    total = 0
    qd.loop_config(serialize=True)
    for c in range(start.shape[0]):
        total += start[c]
        start[c] = total
    # start[c] is now the end of cell c, and counts down to its beginning as particles arrive.
    for i in range(x.shape[0]):
        cell = cell_of(x[i], size, side)
        slot = qd.atomic_sub(start[cell.x * side + cell.y], 1) - 1
        sorted_x[slot] = x[i]
        sorted_v[slot] = v[i]


@qd.func
def spline(r, h):
    """Cubic spline kernel in two dimensions, zero beyond 2 h."""
    q = r / h
    a = qd.max(2.0 - q, 0.0)
    b = qd.max(1.0 - q, 0.0)
    return (10.0 / (7.0 * math.pi)) / (h * h) * (0.25 * a * a * a - b * b * b)


@qd.func
def spline_slope(r, h):
    """Derivative of `spline` with respect to r."""
    q = r / h
    a = qd.max(2.0 - q, 0.0)
    b = qd.max(1.0 - q, 0.0)
    return (10.0 / (7.0 * math.pi)) / (h * h * h) * (3.0 * b * b - 0.75 * a * a)


@qd.kernel
def measure_density(x: Points, start: Integers, density: Scalars, mass: qd.f32, h: qd.f32, side: qd.i32):
    for i in range(x.shape[0]):
        cell = cell_of(x[i], 2.0 * h, side)
        low = qd.max(cell - 1, 0)
        high = qd.min(cell + 1, side - 1)
        total = 0.0
        for column in range(low.x, high.x + 1):
            # The cells of one column are neighbours in memory too: one run of particles covers up to three.
            for j in range(start[column * side + low.y], start[column * side + high.y + 1]):
                total += spline((x[i] - x[j]).norm(), h)
        density[i] = mass * total


@qd.kernel
def accelerate(
    x: Points, v: Points, start: Integers, density: Scalars, a: Points, mass: qd.f32, h: qd.f32, sound: qd.f32,
    rest_density: qd.f32, viscosity: qd.f32, gravity: qd.f32, box: qd.f32, side: qd.i32,
):  # fmt: skip
    """Pressure, artificial viscosity, gravity, and walls that push like a compressed fluid within a distance h.

    The force of j on i is minus that of i on j, so away from walls momentum is conserved.
    """
    for i in range(x.shape[0]):
        cell = cell_of(x[i], 2.0 * h, side)
        low = qd.max(cell - 1, 0)
        high = qd.min(cell + 1, side - 1)
        total = qd.Vector([0.0, -gravity])
        # Negative pressures would clump the particles of a splash.
        pi = qd.max(sound * sound * (density[i] - rest_density), 0.0) / (density[i] * density[i])
        for column in range(low.x, high.x + 1):
            for j in range(start[column * side + low.y], start[column * side + high.y + 1]):
                d = x[i] - x[j]
                r = d.norm()
                if r > 1e-6 * h and r < 2.0 * h:
                    pj = qd.max(sound * sound * (density[j] - rest_density), 0.0) / (density[j] * density[j])
                    approach = qd.min((v[i] - v[j]).dot(d), 0.0) * h / (r * r + 0.01 * h * h)
                    friction = -viscosity * sound * approach * 2.0 / (density[i] + density[j])
                    total -= mass * (pi + pj + friction) * spline_slope(r, h) / r * d
        near = qd.max(h - x[i], 0.0) - qd.max(h - (box - x[i]), 0.0)
        a[i] = total + 0.3 * (sound / h) ** 2 * near


@qd.kernel
def move(x: Points, v: Points, a: Points, dt: qd.f32, box: qd.f32, bounce: qd.f32):
    """Symplectic Euler step in the square [0, box]^2; walls reverse the normal velocity and take some of it."""
    for i in range(x.shape[0]):
        v[i] += dt * a[i]
        p = x[i] + dt * v[i]
        for axis in qd.static(range(2)):
            if (p[axis] < 0.0 and v[i][axis] < 0.0) or (p[axis] > box and v[i][axis] > 0.0):
                v[i][axis] *= -bounce
        x[i] = qd.math.clamp(p, 0.0, box)


class Water:
    """A weakly compressible fluid of rest density 1.

    x, v: positions and velocities (n, 2). spacing: distance of neighbours at rest, which fixes the mass.
    box: side of the square container. sound: speed of sound, about ten times the fastest flow.
    """

    def __init__(self, x: np.ndarray, v: np.ndarray, spacing: float, box: float = 1.0, sound: float = 30.0,
                 viscosity: float = 0.1, gravity: float = 9.8):  # fmt: skip
        self.count = len(x)
        self.h = 1.3 * spacing
        self.mass = spacing**2
        self.box = box
        self.sound = sound
        self.viscosity = viscosity
        self.gravity = gravity
        self.dt = 0.25 * self.h / sound
        self.side = math.ceil(box / (2 * self.h))
        self.x, self.v, self.a, self.sorted_x, self.sorted_v = (qd.ndarray(vec2, self.count) for _ in range(5))
        self.density = qd.ndarray(qd.f32, self.count)
        self.start = qd.ndarray(qd.i32, self.side**2 + 1)
        self.x.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
        self.v.from_numpy(np.ascontiguousarray(v, dtype=np.float32))

    def find_neighbours(self) -> None:
        """Sorts the particles: their numbers change, particles of one cell become neighbours in memory."""
        sort_by_cell(self.x, self.v, self.sorted_x, self.sorted_v, self.start, 2.0 * self.h, self.side)
        self.x, self.sorted_x = self.sorted_x, self.x
        self.v, self.sorted_v = self.sorted_v, self.v
        measure_density(self.x, self.start, self.density, self.mass, self.h, self.side)

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.find_neighbours()
            accelerate(self.x, self.v, self.start, self.density, self.a, self.mass, self.h, self.sound, 1.0,
                       self.viscosity, self.gravity, self.box, self.side)  # fmt: skip
            move(self.x, self.v, self.a, self.dt, self.box, 0.3)


def block(corner, columns: int, rows: int, spacing: float) -> np.ndarray:
    """columns * rows points on a lattice whose lower left point is `corner`."""
    i, j = np.meshgrid(np.arange(columns), np.arange(rows), indexing="ij")
    return np.asarray(corner) + spacing * np.stack([i.ravel(), j.ravel()], axis=1)


def image(water: Water) -> np.ndarray:
    light = np.clip(np.linalg.norm(water.v.to_numpy(), axis=1) / 4.0, 0, 1)[:, None]
    colours = np.array([30, 110, 220]) * (1 - light) + np.array([225, 245, 255]) * light
    return scatter(water.x.to_numpy() / water.box, colours)


def main(run: Run) -> None:
    rows = 160 if run.large else 50
    spacing = 0.6 / rows
    x = block((1.3 * spacing, 1.3 * spacing), rows * 2 // 3, rows, spacing)
    water = Water(x, np.zeros_like(x), spacing)
    # Pictures are 12 ms of simulated time apart.
    substeps = max(1, round(0.012 / water.dt))
    for _ in run.frames(100):
        with run.work(water.count * substeps, "particle steps"):
            water.step(substeps)
        run.show(lambda: image(water))
