"""Ripples on a square pond: the 2-D wave equation with ndarrays, walls that reflect."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import colormap, upright
from ._run import Run

Heights = qd.types.ndarray(dtype=qd.f32, ndim=2)


@qd.func
def laplacian(u: qd.template(), i, j):
    """Five-point sum u_left + u_right + u_down + u_up - 4 u, that is, dx^2 times the Laplacian."""
    return u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]


@qd.kernel
def leap(before: Heights, now: Heights, after: Heights, courant2: qd.f32, damping: qd.f32):
    """One leapfrog step in the interior; the border keeps its value, 0."""
    for i, j in qd.ndrange((1, now.shape[0] - 1), (1, now.shape[1] - 1)):
        change = now[i, j] - before[i, j]
        after[i, j] = now[i, j] + (1.0 - damping) * change + courant2 * laplacian(now, i, j)


@qd.kernel
def drop(u: Heights, v: Heights, x: qd.f32, y: qd.f32, radius: qd.f32, height: qd.f32):
    """Adds a bump at (x, y), in the units of the pond, to both time levels: a push without a velocity."""
    n = u.shape[0] - 1
    for i, j in qd.ndrange((1, n), (1, n)):
        d = qd.Vector([i / n - x, j / n - y]).norm() / radius
        bump = height * qd.exp(-d * d)
        u[i, j] += bump
        v[i, j] += bump


class Pond:
    """u_tt = speed^2 (u_xx + u_yy) on the unit square with u = 0 on the border.

    cells: number of intervals per side. courant: speed * dt / dx, at most 1/sqrt(2) for stability.
    damping: part of the velocity lost per step.
    """

    def __init__(self, cells: int, speed: float = 1.0, courant: float = 0.5, damping: float = 0.0):
        if not 0 < courant <= 0.5**0.5:
            raise ValueError(f"courant must be in (0, 0.707] for a stable scheme, got {courant}")
        self.cells = cells
        self.dt = courant / cells / speed
        self.courant2 = courant**2
        self.damping = damping
        self.before, self.now, self.after = (qd.ndarray(qd.f32, (cells + 1, cells + 1)) for _ in range(3))

    def start(self, before: np.ndarray, now: np.ndarray) -> None:
        """Heights (cells + 1, cells + 1) at the times -dt and 0."""
        self.before.from_numpy(before.astype(np.float32))
        self.now.from_numpy(now.astype(np.float32))

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            leap(self.before, self.now, self.after, self.courant2, self.damping)
            self.before, self.now, self.after = self.now, self.after, self.before

    def energy(self) -> float:
        """The discrete energy that the undamped scheme conserves, up to a constant factor."""
        u, w = self.now.to_numpy().astype(np.float64), self.before.to_numpy().astype(np.float64)
        kinetic = ((u - w) ** 2).sum()
        potential = sum((np.diff(u, axis=k) * np.diff(w, axis=k)).sum() for k in (0, 1))
        return kinetic + self.courant2 * potential


def image(pond: Pond) -> np.ndarray:
    u = pond.now.to_numpy()
    # Light from the upper left makes slopes visible.
    slope = np.gradient(u, axis=0) - np.gradient(u, axis=1)
    return colormap(upright(0.4 + 0.3 * u + 12.0 * slope * pond.cells / 384))


def main(run: Run) -> None:
    pond = Pond(1536 if run.large else 384, damping=2e-4)
    rng = np.random.default_rng(1)
    substeps = 8
    for frame in run.frames(100):
        if frame % 25 == 0:
            x, y = rng.uniform(0.15, 0.85, 2)
            drop(pond.before, pond.now, float(x), float(y), 0.03, 1.0)
        with run.work(pond.cells**2 * substeps, "cell updates"):
            pond.step(substeps)
        run.show(lambda: image(pond))
