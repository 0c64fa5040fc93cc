"""Elastic cubes that fall on each other: 3-D material point method with ndarrays and the polar decomposition."""

import dataclasses

import numpy as np

import quadrants as qd

from ._picture import project, scatter
from ._run import Run

vec3, mat3 = qd.math.vec3, qd.math.mat3
WALL = 3


@dataclasses.dataclass
class Particles:
    """State of all particles: position, velocity, affine velocity field, deformation gradient."""

    x: qd.types.ndarray(dtype=vec3, ndim=1)
    v: qd.types.ndarray(dtype=vec3, ndim=1)
    C: qd.types.ndarray(dtype=mat3, ndim=1)
    F: qd.types.ndarray(dtype=mat3, ndim=1)


@dataclasses.dataclass
class Grid:
    """Momentum (later velocity) and mass of the cells."""

    v: qd.types.ndarray(dtype=vec3, ndim=3)
    m: qd.types.ndarray(dtype=qd.f32, ndim=3)


@dataclasses.dataclass(frozen=True)
class Material:
    """Constants of one simulation in SI-like units; `mu` and `lam` are the Lame parameters."""

    dx: qd.f32
    dt: qd.f32
    mass: qd.f32
    volume: qd.f32
    mu: qd.f32
    lam: qd.f32
    gravity: qd.f32


@qd.func
def stencil(position, dx):
    """Lower corner of the 3x3x3 cells around a position, the offset from it, and the quadratic B-spline weights."""
    scaled = position / dx
    base = qd.cast(scaled - 0.5, qd.i32)
    offset = scaled - qd.cast(base, qd.f32)
    a = 1.5 - offset
    b = offset - 1.0
    c = offset - 0.5
    return base, offset, qd.Matrix.rows([0.5 * a * a, 0.75 - b * b, 0.5 * c * c])


@qd.func
def kirchhoff_stress(F, mu, lam):
    """Stress of the fixed corotated model: it resists stretch (F - R) and change of volume (J - 1)."""
    R, _ = qd.polar_decompose(F)
    J = F.determinant()
    return 2.0 * mu * (F - R) @ F.transpose() + qd.Matrix.identity(qd.f32, 3) * (lam * J * (J - 1.0))


@qd.kernel
def clear(grid: Grid):
    for cell in qd.grouped(grid.m):
        grid.v[cell] = vec3(0.0)
        grid.m[cell] = 0.0


@qd.kernel
def particles_to_grid(particles: Particles, grid: Grid, k: Material):
    for p in range(particles.x.shape[0]):
        base, offset, weights = stencil(particles.x[p], k.dx)
        stress = (-4.0 * k.dt * k.volume / (k.dx * k.dx)) * kirchhoff_stress(particles.F[p], k.mu, k.lam)
        affine = stress + k.mass * particles.C[p]
        momentum = k.mass * particles.v[p]
        for a, b, c in qd.ndrange(3, 3, 3):
            distance = (qd.Vector([a, b, c]) - offset) * k.dx
            weight = weights[a, 0] * weights[b, 1] * weights[c, 2]
            cell = base + qd.Vector([a, b, c])
            grid.v[cell] += weight * (momentum + affine @ distance)
            grid.m[cell] += weight * k.mass


@qd.kernel
def move_grid(grid: Grid, k: Material):
    for cell in qd.grouped(grid.m):
        if grid.m[cell] > 0.0:
            v = grid.v[cell] / grid.m[cell]
            v.y -= k.dt * k.gravity
            for axis in qd.static(range(3)):
                # Sticky floor, slippery walls.
                if cell[axis] < WALL and v[axis] < 0.0:
                    v[axis] = 0.0
                    if qd.static(axis == 1):
                        v = vec3(0.0)
                if cell[axis] > grid.m.shape[axis] - WALL and v[axis] > 0.0:
                    v[axis] = 0.0
            grid.v[cell] = v


@qd.kernel
def grid_to_particles(particles: Particles, grid: Grid, k: Material):
    for p in range(particles.x.shape[0]):
        base, offset, weights = stencil(particles.x[p], k.dx)
        v = vec3(0.0)
        C = mat3(0.0)
        for a, b, c in qd.ndrange(3, 3, 3):
            distance = (qd.Vector([a, b, c]) - offset) * k.dx
            weight = weights[a, 0] * weights[b, 1] * weights[c, 2]
            g = grid.v[base + qd.Vector([a, b, c])]
            v += weight * g
            C += (4.0 * weight / (k.dx * k.dx)) * g.outer_product(distance)
        particles.v[p] = v
        particles.C[p] = C
        particles.x[p] += k.dt * v
        particles.F[p] = (qd.Matrix.identity(qd.f32, 3) + k.dt * C) @ particles.F[p]


class Jelly:
    """Elastic bodies in the unit cube.

    x, v: initial positions and velocities (n, 3). cells: grid cells per side. spacing: initial distance of particles
    in cells, which fixes their volume. stiffness: Young's modulus.
    """

    def __init__(self, x: np.ndarray, v: np.ndarray, cells: int, spacing: float = 0.5, stiffness: float = 3e3,
                 dt: float = 4e-4, gravity: float = 9.8):  # fmt: skip
        self.count = len(x)
        poisson, density = 0.3, 1.0
        mu = stiffness / (2 * (1 + poisson))
        lam = stiffness * poisson / ((1 + poisson) * (1 - 2 * poisson))
        volume = (spacing / cells) ** 3
        self.material = Material(1.0 / cells, dt, volume * density, volume, mu, lam, gravity)
        matrices = [qd.Matrix.ndarray(3, 3, qd.f32, self.count) for _ in range(2)]
        self.particles = Particles(qd.ndarray(vec3, self.count), qd.ndarray(vec3, self.count), *matrices)
        self.particles.x.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
        self.particles.v.from_numpy(np.ascontiguousarray(v, dtype=np.float32))
        self.particles.F.from_numpy(np.tile(np.eye(3, dtype=np.float32), (self.count, 1, 1)))
        self.grid = Grid(qd.ndarray(vec3, (cells,) * 3), qd.ndarray(qd.f32, (cells,) * 3))

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            clear(self.grid)
            particles_to_grid(self.particles, self.grid, self.material)
            move_grid(self.grid, self.material)
            grid_to_particles(self.particles, self.grid, self.material)


def cube(corner, side: int, spacing: float) -> np.ndarray:
    """side^3 particles on a lattice with its low corner at `corner`."""
    return np.asarray(corner) + spacing * np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3)


def image(jelly: Jelly, bodies: int) -> np.ndarray:
    points, depth = project(jelly.particles.x.to_numpy())
    tints = np.array([[240, 120, 90], [110, 200, 120], [110, 150, 250]], float)
    colours = tints[np.arange(jelly.count) * bodies // jelly.count]
    colours = colours * np.clip(1.0 - 0.6 * (depth[:, None] + 0.5), 0.3, 1.0)
    order = np.argsort(-depth)
    return scatter(points[order], colours[order])


def main(run: Run) -> None:
    cells, side = (64, 26) if run.large else (32, 13)
    spacing = 0.5 / cells
    corners = [(0.30, 0.15, 0.40), (0.42, 0.42, 0.45), (0.34, 0.70, 0.35)]
    x = np.concatenate([cube(corner, side, spacing) for corner in corners])
    jelly = Jelly(x, np.zeros_like(x), cells, dt=2e-4 if run.large else 4e-4)
    substeps = 40 if run.large else 20
    for _ in run.frames(80):
        with run.work(jelly.count * substeps, "particle steps"):
            jelly.step(substeps)
        run.show(lambda: image(jelly, len(corners)))
