"""Balls that learn to hit targets in the wind: gradient descent through a simulation, by reverse-mode autodiff."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import scatter
from ._run import Run


@qd.data_oriented
class Throws:
    """One ball per target (x, y) in metres; every ball starts at the origin and is to be at its target in the end.

    steps: time steps of a flight. duration: of a flight in s. drag: acceleration per squared speed relative to the
    wind, in 1/m. wind: horizontal speed of the air in m/s.
    """

    def __init__(self, targets: np.ndarray, steps: int = 100, duration: float = 1.0, drag: float = 0.1,
                 wind: float = -4.0, gravity: float = 9.8):  # fmt: skip
        self.count = len(targets)
        self.steps = steps
        self.dt = duration / steps
        self.drag = drag
        self.wind = wind
        self.gravity = gravity
        # Every time level has its own memory: the backward pass reads the values that the forward pass had.
        self.x = qd.Vector.field(2, qd.f32, shape=(steps + 1, self.count), needs_grad=True)
        self.v = qd.Vector.field(2, qd.f32, shape=(steps + 1, self.count), needs_grad=True)
        self.aim = qd.Vector.field(2, qd.f32, shape=self.count, needs_grad=True)
        self.target = qd.Vector.field(2, qd.f32, shape=self.count)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.target.from_numpy(np.ascontiguousarray(targets, dtype=np.float32))

    @qd.kernel
    def start(self):
        for i in range(self.count):
            self.x[0, i] = [0.0, 0.0]
            self.v[0, i] = self.aim[i]

    @qd.kernel
    def advance(self, t: qd.i32):
        for i in range(self.count):
            relative = self.v[t, i] - qd.Vector([self.wind, 0.0])
            # The small term keeps the square root differentiable when the ball moves with the air.
            speed = qd.sqrt(relative.dot(relative) + 1e-6)
            v = self.v[t, i] + self.dt * (qd.Vector([0.0, -self.gravity]) - self.drag * speed * relative)
            self.v[t + 1, i] = v
            self.x[t + 1, i] = self.x[t, i] + self.dt * v

    @qd.kernel
    def measure(self):
        """Adds the squared distances that are left to the loss."""
        for i in range(self.count):
            miss = self.x[self.steps, i] - self.target[i]
            self.loss[None] += miss.dot(miss)

    @qd.kernel
    def descend(self, rate: qd.f32):
        for i in range(self.count):
            self.aim[i] -= rate * self.aim.grad[i]

    def fly(self) -> None:
        self.start()
        for t in range(self.steps):
            self.advance(t)
        self.measure()

    def gradient(self) -> float:
        """Flies, and fills `aim.grad` with the derivative of the loss. Returns the loss in m^2."""
        with qd.ad.Tape(loss=self.loss):
            self.fly()
        return self.loss[None]

    def improve(self, rate: float = 0.7) -> float:
        """One step of gradient descent on all aims. Returns the loss before it."""
        loss = self.gradient()
        self.descend(rate)
        return loss


def image(throws: Throws) -> np.ndarray:
    paths = throws.x.to_numpy()
    tints = np.stack(
        [np.linspace(90, 255, throws.count), np.full(throws.count, 170), np.linspace(255, 90, throws.count)]
    )
    points = np.concatenate([paths.reshape(-1, 2), throws.target.to_numpy()]) / 12.0 + (0.1, 0.35)
    flights = np.tile(tints.T, (throws.steps + 1, 1))
    flat = scatter(points[: len(flights)], flights, radius=0)
    targets = scatter(points[len(flights) :], (255, 255, 255), radius=3)
    return np.maximum(flat, targets)


def main(run: Run) -> None:
    count = 4096 if run.large else 24
    angle = np.linspace(-0.3, 1.3, count)
    throws = Throws(np.stack([8.0 * np.cos(angle), 8.0 * np.sin(angle) * 0.7], axis=1))
    loss = 0.0
    for _ in run.frames(80):
        with run.work(count * throws.steps, "differentiated steps"):
            loss = throws.improve()
        run.show(lambda: image(throws))
    print(f"throw: the balls miss by {100 * (loss / count) ** 0.5:.2g} cm on average")
