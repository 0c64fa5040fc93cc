"""A soft block that learns how to be thrown: gradients through the material point method."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import scatter
from ._run import Run


@qd.data_oriented
class Throw:
    """An elastic block in the unit square, thrown so that its centre ends at a target.

    cells: of the grid per side. particles: per side of the block. steps: time steps of a flight, each 0.06 / cells
    seconds. target: (x, y) where the centre of mass is to be in the end. launch: velocity at the start; it is learned.
    """

    def __init__(self, cells: int, particles: int, steps: int, target=(0.75, 0.35), stiffness: float = 20.0):
        self.cells, self.side, self.steps = cells, particles, steps
        self.count = particles**2
        self.dx, self.dt = 1.0 / cells, 0.06 / cells
        self.extent = 0.2
        self.mass = self.volume = (self.extent / particles) ** 2
        self.shear, self.bulk = 0.4 * stiffness, 0.6 * stiffness
        # Every time level has its own memory: the backward pass reads the values that the forward pass had.
        levels = (steps + 1, self.count)
        self.x = qd.Vector.field(2, qd.f32, levels, needs_grad=True)
        self.v = qd.Vector.field(2, qd.f32, levels, needs_grad=True)
        self.spread = qd.Matrix.field(2, 2, qd.f32, levels, needs_grad=True)
        self.shape = qd.Matrix.field(2, 2, qd.f32, levels, needs_grad=True)
        self.momentum = qd.Vector.field(2, qd.f32, (steps, cells, cells), needs_grad=True)
        self.density = qd.field(qd.f32, (steps, cells, cells), needs_grad=True)
        self.wind = qd.Vector.field(2, qd.f32, (steps, cells, cells), needs_grad=True)
        self.launch = qd.Vector.field(2, qd.f32, (), needs_grad=True)
        self.centre = qd.Vector.field(2, qd.f32, (), needs_grad=True)
        self.loss = qd.field(qd.f32, (), needs_grad=True)
        self.target = target
        self.launch[None] = [1.0, 0.0]

    @qd.kernel
    def start(self):
        for p in range(self.count):
            corner = qd.Vector([0.1, 0.25])
            cell = qd.Vector([p // self.side, p % self.side])
            self.x[0, p] = corner + (cell + 0.5) * (self.extent / self.side)
            self.v[0, p] = self.launch[None]
            self.spread[0, p] = qd.Matrix.zero(qd.f32, 2, 2)
            self.shape[0, p] = qd.Matrix.identity(qd.f32, 2)

    @qd.func
    def weights(self, offset):
        """Quadratic B-spline at the three nodes of an axis; `offset` is the distance from the first, in cells."""
        return [0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1.0) ** 2, 0.5 * (offset - 0.5) ** 2]

    @qd.kernel
    def to_grid(self, t: qd.i32):
        for p in range(self.count):
            base = qd.cast(self.x[t, p] * self.cells - 0.5, qd.i32)
            offset = self.x[t, p] * self.cells - base
            w = self.weights(offset)
            shape = (qd.Matrix.identity(qd.f32, 2) + self.dt * self.spread[t, p]) @ self.shape[t, p]
            self.shape[t + 1, p] = shape
            # Neo-Hookean Kirchhoff stress.
            pressure = self.bulk * qd.log(shape.determinant()) - self.shear
            stress = self.shear * (shape @ shape.transpose()) + pressure * qd.Matrix.identity(qd.f32, 2)
            affine = self.mass * self.spread[t, p] - (4 * self.dt * self.volume * self.cells**2) * stress
            for i, j in qd.static(qd.ndrange(3, 3)):
                away = (qd.Vector([i, j]) - offset) * self.dx
                weight = w[i][0] * w[j][1]
                self.momentum[t, base + qd.Vector([i, j])] += weight * (self.mass * self.v[t, p] + affine @ away)
                self.density[t, base + qd.Vector([i, j])] += weight * self.mass

    @qd.kernel
    def on_grid(self, t: qd.i32):
        for i, j in qd.ndrange(self.cells, self.cells):
            if self.density[t, i, j] > 1e-12:
                v = self.momentum[t, i, j] / self.density[t, i, j]
                v[1] -= self.dt * 9.8
                if i < 3 or i > self.cells - 4:
                    v[0] = 0.0
                if j > self.cells - 4:
                    v[1] = qd.min(v[1], 0.0)
                if j < 3:
                    v[1] = qd.max(v[1], 0.0)
                self.wind[t, i, j] = v

    @qd.kernel
    def to_particles(self, t: qd.i32):
        for p in range(self.count):
            base = qd.cast(self.x[t, p] * self.cells - 0.5, qd.i32)
            offset = self.x[t, p] * self.cells - base
            w = self.weights(offset)
            v = qd.Vector([0.0, 0.0])
            spread = qd.Matrix.zero(qd.f32, 2, 2)
            for i, j in qd.static(qd.ndrange(3, 3)):
                away = qd.Vector([i, j]) - offset
                node = w[i][0] * w[j][1] * self.wind[t, base + qd.Vector([i, j])]
                v += node
                spread += (4 * self.cells) * node.outer_product(away)
            self.v[t + 1, p] = v
            self.x[t + 1, p] = self.x[t, p] + self.dt * v
            self.spread[t + 1, p] = spread

    @qd.kernel
    def find_centre(self):
        for p in range(self.count):
            self.centre[None] += self.x[self.steps, p] / self.count

    @qd.kernel
    def measure(self):
        miss = self.centre[None] - qd.Vector([self.target[0], self.target[1]])
        self.loss[None] += miss.dot(miss)

    @qd.kernel
    def descend(self, rate: qd.f32):
        for _ in range(1):
            self.launch[None] -= rate * self.launch.grad[None]

    def fly(self) -> None:
        """One flight; adds the squared distance of the centre from the target to `loss`."""
        for sums in (self.momentum, self.density, self.wind, self.centre):
            sums.fill(0)
        self.start()
        for t in range(self.steps):
            self.to_grid(t)
            self.on_grid(t)
            self.to_particles(t)
        self.find_centre()
        self.measure()

    def improve(self, rate: float = 20.0) -> float:
        """One step of gradient descent on the launch velocity. Returns the loss before it."""
        with qd.ad.Tape(loss=self.loss):
            self.fly()
        self.descend(rate)
        return self.loss[None]


def image(throw: Throw) -> np.ndarray:
    flight = throw.x.to_numpy()[:: max(1, throw.steps // 6)]
    shades = np.linspace(60, 255, len(flight))[:, None, None] * np.array([1.0, 0.75, 0.5])
    colors = np.broadcast_to(shades, (*flight.shape[:2], 3)).reshape(-1, 3)
    block = scatter(flight.reshape(-1, 2), colors, radius=1)
    return np.maximum(block, scatter(np.array([throw.target]), (120, 200, 255), radius=4))


def main(run: Run) -> None:
    throw = Throw(120, 80, 360) if run.large else Throw(40, 20, 120)
    loss = 0.0
    for _ in run.frames(30):
        with run.work(throw.count * throw.steps, "differentiated particle steps"):
            loss = throw.improve()
        run.show(lambda: image(throw))
    print(f"mpm_diff: the block misses by {100 * loss**0.5:.2g} cm")
