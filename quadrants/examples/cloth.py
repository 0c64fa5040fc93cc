"""A cloth that falls on a ball: masses and springs in fields, symplectic Euler."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import project, scatter
from ._run import Run

# Neighbours tied by springs: along the threads, along the diagonals, and two threads away against bending.
_NEIGHBOURS = [(0, 1), (1, 0), (1, 1), (1, -1), (0, 2), (2, 0)]
NEIGHBOURS = [*_NEIGHBOURS, *[(-i, -j) for i, j in _NEIGHBOURS]]


@qd.data_oriented
class Cloth:
    """A square cloth of n x n points and total mass 1 over a ball.

    side: length of the cloth. stiffness: of a spring per mass of a point, in 1/s^2. damping: of the stretching of a
    spring, in 1/s. drag: of the air, in 1/s. friction: coefficient of the ball.
    """

    def __init__(self, n: int, side: float = 1.0, stiffness: float = 3e5, damping: float = 60.0, drag: float = 0.3,
                 gravity: float = 9.8, ball: float = 0.25, friction: float = 0.6):  # fmt: skip
        self.n = n
        self.spacing = side / (n - 1)
        self.stiffness = stiffness
        self.damping = damping
        self.drag = drag
        self.gravity = gravity
        self.ball = ball
        self.friction = friction
        # A point with 12 springs oscillates at most at 2 sqrt(12 stiffness); dt stays well below 2 over that.
        self.dt = 0.4 / float(np.sqrt(12.0 * stiffness))
        self.x = qd.Vector.field(3, qd.f32, shape=(n, n))
        self.v = qd.Vector.field(3, qd.f32, shape=(n, n))
        self.a = qd.Vector.field(3, qd.f32, shape=(n, n))

    @qd.kernel
    def lay_out(self, height: qd.f32, shift: qd.f32):
        """Flat and at rest in the plane y = height, its centre `shift` off the axis of the ball."""
        for i, j in self.x:
            middle = 0.5 * (self.n - 1)
            self.x[i, j] = [(i - middle) * self.spacing + shift, height, (j - middle) * self.spacing]
            self.v[i, j] = [0.0, 0.0, 0.0]

    @qd.kernel
    def pull(self):
        for i, j in self.x:
            a = -self.drag * self.v[i, j]
            a.y -= self.gravity
            for di, dj in qd.static(NEIGHBOURS):
                if 0 <= i + di < self.n and 0 <= j + dj < self.n:
                    d = self.x[i + di, j + dj] - self.x[i, j]
                    length = d.norm()
                    direction = d / length
                    rest = self.spacing * qd.static((di * di + dj * dj) ** 0.5)
                    speed = (self.v[i + di, j + dj] - self.v[i, j]).dot(direction)
                    a += (self.stiffness * (length - rest) + self.damping * speed) * direction
            self.a[i, j] = a

    @qd.kernel
    def move(self):
        for point in qd.grouped(self.x):
            v = self.v[point] + self.dt * self.a[point]
            x = self.x[point] + self.dt * v
            distance = x.norm()
            if distance < self.ball:
                # Back to the surface, and no motion into it. Friction along it is at most what stops the point.
                normal = x / distance
                x = normal * self.ball
                impact = qd.min(v.dot(normal), 0.0)
                slide = v - v.dot(normal) * normal
                grip = qd.min(-self.friction * impact / (slide.norm() + 1e-9), 1.0)
                v -= impact * normal + grip * slide
            self.v[point] = v
            self.x[point] = x

    @qd.kernel
    def energy(self) -> qd.f64:
        """Kinetic, gravitational and elastic energy, per mass of a point."""
        total = qd.cast(0.0, qd.f64)
        for i, j in self.x:
            e = 0.5 * self.v[i, j].norm_sqr() + self.gravity * self.x[i, j].y
            for di, dj in qd.static(NEIGHBOURS):
                if 0 <= i + di < self.n and 0 <= j + dj < self.n:
                    stretch = (self.x[i + di, j + dj] - self.x[i, j]).norm()
                    stretch -= self.spacing * qd.static((di * di + dj * dj) ** 0.5)
                    # Every spring is met from both ends.
                    e += 0.25 * self.stiffness * stretch * stretch
            total += qd.cast(e, qd.f64)
        return total

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.pull()
            self.move()


def image(cloth: Cloth) -> np.ndarray:
    x = cloth.x.to_numpy()
    normal = np.cross(np.gradient(x, axis=0), np.gradient(x, axis=1))
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True) + 1e-12
    shade = 0.25 + 0.75 * np.abs(normal @ np.array([0.4, 0.8, 0.45]))
    checks = ((np.indices(shade.shape) * 8 // cloth.n).sum(axis=0) % 2)[..., None]
    colours = shade[..., None] * np.where(checks == 1, (230, 90, 90), (240, 220, 200))
    points, depth = project(x.reshape(-1, 3) * 1.1 + (0.5, 0.55, 0.5))
    order = np.argsort(-depth)
    return scatter(points[order], colours.reshape(-1, 3)[order], radius=max(2, 256 // cloth.n))


def main(run: Run) -> None:
    cloth = Cloth(192 if run.large else 80)
    cloth.lay_out(0.3, 0.02)
    substeps = 40
    for _ in run.frames(100):
        with run.work(cloth.n**2 * substeps, "point updates"):
            cloth.step(substeps)
        run.show(lambda: image(cloth))
