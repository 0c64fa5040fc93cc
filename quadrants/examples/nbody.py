"""Two disc galaxies that meet: direct gravitational n-body sums with ndarrays, leapfrog in time."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import scatter
from ._run import Run

vec3 = qd.math.vec3
Points = qd.types.ndarray(dtype=vec3, ndim=1)
Scalars = qd.types.ndarray(dtype=qd.f32, ndim=1)


@qd.kernel
def accelerate(x: Points, mass: Scalars, a: Points, softening: qd.f32):
    """a[i] = sum over j of mass[j] (x[j] - x[i]) / (r^2 + softening^2)^1.5, with G = 1."""
    for i in range(x.shape[0]):
        xi = x[i]
        total = vec3(0.0)
        for j in range(x.shape[0]):
            d = x[j] - xi
            # The body itself is at distance zero and adds nothing.
            s = qd.rsqrt(d.dot(d) + softening * softening)
            total += mass[j] * s * s * s * d
        a[i] = total


@qd.kernel
def kick(v: Points, a: Points, dt: qd.f32):
    for i in range(v.shape[0]):
        v[i] += dt * a[i]


@qd.kernel
def drift(x: Points, v: Points, dt: qd.f32):
    for i in range(x.shape[0]):
        x[i] += dt * v[i]


@qd.kernel
def total_energy(x: Points, v: Points, mass: Scalars, softening: qd.f32) -> qd.f64:
    energy = qd.cast(0.0, qd.f64)
    for i in range(x.shape[0]):
        potential = 0.0
        for j in range(x.shape[0]):
            if j != i:
                d = x[j] - x[i]
                potential -= mass[j] * qd.rsqrt(d.dot(d) + softening * softening)
        # Every pair is met twice.
        energy += qd.cast(0.5 * mass[i] * (v[i].dot(v[i]) + potential), qd.f64)
    return energy


class Bodies:
    """Gravitating bodies with positions `x`, velocities `v` (n, 3) and masses (n), in units with G = 1.

    softening: length below which the force of a pair fades out.
    """

    def __init__(self, x: np.ndarray, v: np.ndarray, mass: np.ndarray, softening: float):
        self.count = len(x)
        self.softening = softening
        self.x = qd.ndarray(vec3, self.count)
        self.v = qd.ndarray(vec3, self.count)
        self.a = qd.ndarray(vec3, self.count)
        self.mass = qd.ndarray(qd.f32, self.count)
        self.x.from_numpy(x.astype(np.float32))
        self.v.from_numpy(v.astype(np.float32))
        self.mass.from_numpy(mass.astype(np.float32))
        accelerate(self.x, self.mass, self.a, softening)

    def step(self, dt: float, count: int = 1) -> None:
        """Leapfrog in kick-drift-kick form: second order, reversible, and its energy error stays bounded."""
        for _ in range(count):
            kick(self.v, self.a, 0.5 * dt)
            drift(self.x, self.v, dt)
            accelerate(self.x, self.mass, self.a, self.softening)
            kick(self.v, self.a, 0.5 * dt)

    def energy(self) -> float:
        return total_energy(self.x, self.v, self.mass, self.softening)

    def momentum(self) -> np.ndarray:
        return self.mass.to_numpy().astype(np.float64) @ self.v.to_numpy().astype(np.float64)


def disc(rng: np.random.Generator, count: int, centre, velocity, tilt: float):
    """(x, v, mass) of a heavy core with light stars on circular orbits of radius 0.2 to 1."""
    core, stars = 1.0, 0.1
    radius = np.sqrt(rng.uniform(0.04, 1.0, count - 1))
    angle = rng.uniform(0, 2 * np.pi, count - 1)
    height = rng.normal(0, 0.02, count - 1)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)
    speed = np.sqrt(core + stars * radius**2) * radius / (radius**2 + 0.1**2) ** 0.75
    v = speed[:, None] * np.stack([-np.sin(angle), np.cos(angle), np.zeros(count - 1)], axis=1)
    c, s = np.cos(tilt), np.sin(tilt)
    turn = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    x = np.concatenate([np.zeros((1, 3)), x]) @ turn.T + centre
    v = np.concatenate([np.zeros((1, 3)), v]) @ turn.T + velocity
    return x, v, np.concatenate([[core], np.full(count - 1, stars / (count - 1))])


def galaxies(count: int, seed: int = 1) -> Bodies:
    rng = np.random.default_rng(seed)
    first = disc(rng, count // 2, (-1.3, -0.4, 0.0), (0.45, 0.1, 0.0), 0.3)
    second = disc(rng, count - count // 2, (1.3, 0.4, 0.0), (-0.45, -0.1, 0.0), -1.0)
    x, v, mass = (np.concatenate(pair) for pair in zip(first, second, strict=True))
    return Bodies(x, v, mass, softening=0.1)


def image(bodies: Bodies) -> np.ndarray:
    points = bodies.x.to_numpy()[:, :2] / 6.0 + 0.5
    colours = np.full((bodies.count, 3), (150, 190, 255))
    colours[: bodies.count // 2] = (255, 210, 150)
    return scatter(points, colours, radius=0)


def main(run: Run) -> None:
    bodies = galaxies(16384 if run.large else 2048)
    start = bodies.energy()
    substeps = 5
    for _ in run.frames(200):
        with run.work(bodies.count**2 * substeps, "interactions"):
            bodies.step(0.004, substeps)
        run.show(lambda: image(bodies))
    print(f"nbody: energy drift {abs(bodies.energy() / start - 1):.1e}")
