"""A small neural network that learns to balance poles on carts: gradients through the simulation, and Adam."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import segments
from ._run import Run

HIDDEN = 12


@qd.data_oriented
class Balance:
    """Carts on rails, each with a pole on a hinge, all under one controller: 4 inputs, 12 hidden units, a force.

    A state is (position in m, speed in m/s, angle from upright in rad, its rate in rad/s). angles: of the start, one a
    cart. steps, dt: time steps, and the length of one in s. limit: largest force in N.
    """

    def __init__(self, angles: np.ndarray, steps: int = 150, dt: float = 0.02, limit: float = 30.0, seed: int = 1):
        self.count = len(angles)
        self.steps = steps
        self.dt = dt
        self.limit = limit
        # Every time has its own memory: the backward pass reads the values that the forward pass had.
        self.state = qd.Vector.field(4, qd.f32, shape=(steps + 1, self.count), needs_grad=True)
        self.start = qd.field(qd.f32, shape=self.count)
        # Of a hidden unit: four weights of the inputs, a constant, and the weight of its output.
        self.weight = qd.Vector.field(6, qd.f32, shape=HIDDEN, needs_grad=True)
        self.mean = qd.Vector.field(6, qd.f32, shape=HIDDEN)
        self.square = qd.Vector.field(6, qd.f32, shape=HIDDEN)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.rounds = 0
        self.start.from_numpy(np.ascontiguousarray(angles, dtype=np.float32))
        rng = np.random.default_rng(seed)
        self.weight.from_numpy((0.3 * rng.standard_normal((HIDDEN, 6))).astype(np.float32))

    @qd.kernel
    def place(self):
        for i in range(self.count):
            self.state[0, i] = [0.0, 0.0, self.start[i], 0.0]

    @qd.func
    def force(self, s):
        """What the network answers to a state, within the limit."""
        total = 0.0
        for h in qd.static(range(HIDDEN)):
            w = self.weight[h]
            total += w[5] * qd.tanh(w[0] * s[0] + w[1] * s[1] + w[2] * s[2] + w[3] * s[3] + w[4])
        return self.limit * qd.tanh(total)

    @qd.kernel
    def advance(self, t: qd.i32):
        for i in range(self.count):
            s = self.state[t, i]
            cart, pole, half, gravity = 1.0, 0.2, 0.5, 9.8
            sine, cosine = qd.sin(s[2]), qd.cos(s[2])
            push = (self.force(s) + pole * half * s[3] * s[3] * sine) / (cart + pole)
            turn = (gravity * sine - cosine * push) / (half * (4.0 / 3.0 - pole * cosine * cosine / (cart + pole)))
            go = push - pole * half * turn * cosine / (cart + pole)
            speed, rate = s[1] + self.dt * go, s[3] + self.dt * turn
            self.state[t + 1, i] = [s[0] + self.dt * speed, speed, s[2] + self.dt * rate, rate]

    @qd.kernel
    def measure(self, steps: qd.i32):
        """Adds how far poles are from upright, and carts from the middle, to the loss: means over carts and times."""
        for t, i in qd.ndrange((1, steps + 1), self.count):
            s = self.state[t, i]
            cost = 1.0 - qd.cos(s[2]) + 0.05 * s[0] * s[0] + 0.005 * s[1] * s[1] + 0.002 * s[3] * s[3]
            self.loss[None] += cost / (steps * self.count)

    @qd.kernel
    def learn(self, rate: qd.f32, rounds: qd.i32):
        """One step of Adam."""
        for h in range(HIDDEN):
            g = self.weight.grad[h]
            self.mean[h] = 0.9 * self.mean[h] + 0.1 * g
            self.square[h] = 0.99 * self.square[h] + 0.01 * g * g
            mean = self.mean[h] / (1.0 - 0.9**rounds)
            square = self.square[h] / (1.0 - 0.99**rounds)
            self.weight[h] -= rate * mean / (qd.sqrt(square) + 1e-6)

    def run(self, steps: int) -> None:
        self.place()
        for t in range(steps):
            self.advance(t)

    def gradient(self, steps: int) -> float:
        """Runs all carts, and fills `weight.grad` with the derivative of the loss. Returns the loss."""
        with qd.ad.Tape(loss=self.loss):
            self.run(steps)
            self.measure(steps)
        return self.loss[None]

    def horizon(self) -> int:
        """Steps that the next round of learning looks at."""
        return min(self.steps, 10 + 3 * self.rounds)

    def improve(self, rate: float = 0.05) -> float:
        """One round of learning. Returns the loss before it.

        A pole that falls does so whatever is done later, and derivatives of long falls tell nothing. So the first
        rounds look at a few steps only, later ones at more and more.
        """
        loss = self.gradient(self.horizon())
        self.rounds += 1
        self.learn(rate, self.rounds)
        return loss

    def upright(self) -> float:
        """Runs all carts to the end. Returns the part of the poles that stand then, within 0.2 rad."""
        self.run(self.steps)
        return float((np.abs(self.state.to_numpy()[self.steps, :, 2]) < 0.2).mean())


def image(balance: Balance) -> np.ndarray:
    """Angles of all poles over the time, above; the carts in the end, below."""
    balance.run(balance.steps)
    states = balance.state.to_numpy()
    time = np.linspace(0.03, 0.97, balance.steps + 1)
    height = 0.7 + 0.08 * np.clip(states[:, :, 2], -3.2, 3.2)
    curves = np.stack(np.broadcast_arrays(time[:, None], height), axis=-1)
    tints = np.linspace((90, 170, 255), (255, 170, 90), balance.count)
    ends = states[-1, :, 2]
    feet = np.stack([np.linspace(0.06, 0.94, balance.count), np.full(balance.count, 0.16)], axis=-1)
    tips = feet + 0.13 * np.stack([np.sin(ends), np.cos(ends)], axis=-1)
    carts = np.stack([feet - (0.012, 0.008), feet + (0.012, -0.008)], axis=1)
    begins = np.concatenate([curves[:-1].reshape(-1, 2), feet, carts[:, 0]])
    stops = np.concatenate([curves[1:].reshape(-1, 2), tips, carts[:, 1]])
    colours = np.concatenate([np.tile(tints, (balance.steps, 1)), tints, np.full((balance.count, 3), 255)])
    return segments(begins, stops, colours)


def main(run: Run) -> None:
    count = 1024 if run.large else 24
    balance = Balance(np.linspace(-0.7, 0.7, count))
    for _ in run.frames(60):
        with run.work(count * balance.horizon(), "differentiated steps"):
            loss = balance.improve()
        run.show(lambda: image(balance))
    print(f"controller: loss {loss:.3g}, {100 * balance.upright():.0f} % of the poles stand in the end")
