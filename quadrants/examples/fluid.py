"""Smoke that rises and curls: stable fluids on a staggered grid with fields."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import colormap, enlarge, upright
from ._run import Run


@qd.func
def sample(f: qd.template(), x, y):
    """Bilinear value of `f` at (x, y), measured in cells from its first sample; constant beyond the border."""
    n, m = qd.static(f.shape)
    x = qd.math.clamp(x, 0.0, n - 1.0)
    y = qd.math.clamp(y, 0.0, m - 1.0)
    i = qd.min(qd.cast(x, qd.i32), n - 2)
    j = qd.min(qd.cast(y, qd.i32), m - 2)
    low = qd.math.mix(f[i, j], f[i + 1, j], x - i)
    high = qd.math.mix(f[i, j + 1], f[i + 1, j + 1], x - i)
    return qd.math.mix(low, high, y - j)


@qd.data_oriented
class Smoke:
    """Incompressible flow in a closed box of n x n unit cells, semi-Lagrangian advection and pressure projection.

    Velocities live where they matter for the divergence, on the faces between the cells:

        u[i, j]    left face of cell (i, j)       +--v--+
        v[i, j]    lower face of cell (i, j)      u  p  u
        p, smoke   centre of cell (i, j)          +--v--+

    Walls are faces whose velocity stays zero: u[0, :], u[n, :], v[:, 0], v[:, n].
    """

    def __init__(self, n: int, dt: float = 1.0, buoyancy: float = 0.05, sweeps: int = 40):
        self.n = n
        self.dt = dt
        self.buoyancy = buoyancy
        self.sweeps = sweeps
        # Over-relaxation near the optimum for the Poisson equation with n unknowns per side.
        self.relaxation = float(2.0 / (1.0 + np.sin(np.pi / n)))
        self.u, self.u_next = (qd.field(qd.f32, shape=(n + 1, n)) for _ in range(2))
        self.v, self.v_next = (qd.field(qd.f32, shape=(n, n + 1)) for _ in range(2))
        self.smoke, self.smoke_next = (qd.field(qd.f32, shape=(n, n)) for _ in range(2))
        self.p = qd.field(qd.f32, shape=(n, n))
        self.divergence = qd.field(qd.f32, shape=(n, n))

    @qd.kernel
    def advect(self):
        """Every sample takes the value found upstream, one time step back along the flow."""
        for i, j in self.u:
            if 0 < i < self.n:
                v = sample(self.v, i - 0.5, j + 0.5)
                self.u_next[i, j] = sample(self.u, i - self.dt * self.u[i, j], j - self.dt * v)
        for i, j in self.v:
            if 0 < j < self.n:
                u = sample(self.u, i + 0.5, j - 0.5)
                self.v_next[i, j] = sample(self.v, i - self.dt * u, j - self.dt * self.v[i, j])
        for i, j in self.smoke:
            u = 0.5 * (self.u[i, j] + self.u[i + 1, j])
            v = 0.5 * (self.v[i, j] + self.v[i, j + 1])
            self.smoke_next[i, j] = sample(self.smoke, i - self.dt * u, j - self.dt * v)

    @qd.kernel
    def apply_forces(self):
        for i, j in self.v:
            if 0 < j < self.n:
                self.v[i, j] += self.dt * self.buoyancy * 0.5 * (self.smoke[i, j - 1] + self.smoke[i, j])

    @qd.kernel
    def emit(self, centre: qd.f32, radius: qd.f32, height: qd.f32):
        """Sets the smoke to 1 in a disc; all lengths in cells."""
        for i, j in self.smoke:
            if (qd.Vector([i + 0.5 - centre, j + 0.5 - height])).norm() < radius:
                self.smoke[i, j] = 1.0

    @qd.kernel
    def measure_divergence(self):
        for i, j in self.divergence:
            self.divergence[i, j] = self.u[i + 1, j] - self.u[i, j] + self.v[i, j + 1] - self.v[i, j]

    @qd.kernel
    def relax(self, colour: qd.i32):
        """Half a sweep of red-black Gauss-Seidel: cells of one colour have neighbours of the other only."""
        for i, j in self.p:
            if (i + j) % 2 == colour:
                total = 0.0
                count = 0
                for di, dj in qd.static(((-1, 0), (1, 0), (0, -1), (0, 1))):
                    if 0 <= i + di < self.n and 0 <= j + dj < self.n:
                        total += self.p[i + di, j + dj]
                        count += 1
                target = (total - self.divergence[i, j]) / count
                self.p[i, j] += self.relaxation * (target - self.p[i, j])

    @qd.kernel
    def subtract_gradient(self):
        for i, j in self.u:
            if 0 < i < self.n:
                self.u[i, j] -= self.p[i, j] - self.p[i - 1, j]
        for i, j in self.v:
            if 0 < j < self.n:
                self.v[i, j] -= self.p[i, j] - self.p[i, j - 1]

    def project(self) -> None:
        """Removes the divergence: the pressure of the last step is a good first guess for this one."""
        self.measure_divergence()
        for _ in range(self.sweeps):
            self.relax(0)
            self.relax(1)
        self.subtract_gradient()

    def step(self) -> None:
        self.advect()
        self.u.copy_from(self.u_next)
        self.v.copy_from(self.v_next)
        self.smoke.copy_from(self.smoke_next)
        self.apply_forces()
        self.project()

    def image(self) -> np.ndarray:
        return enlarge(colormap(upright(self.smoke.to_numpy())), max(1, 384 // self.n))


def main(run: Run) -> None:
    n = 512 if run.large else 128
    fluid = Smoke(n)
    for frame in run.frames(150):
        # A nozzle that swings a little, so that the plume does not stay symmetric.
        fluid.emit(n * (0.5 + 0.05 * float(np.sin(0.15 * frame))), n * 0.05, n * 0.08)
        with run.work(n * n * 2, "cell updates"):
            fluid.step()
            fluid.step()
        run.show(fluid.image)
