"""2-D MLS-MPM of a weakly compressible fluid, in fields of vectors and 2x2 matrices."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import math

import numpy as np

from . import Work, case, differs

GRAVITY = 9.8
STIFFNESS = 400.0
BORDER = 3


class Mpm:
    """One simulation of `particles` particles on a `grid` x `grid` grid, unit square, time step `dt` in seconds."""

    def __init__(self, qd, particles: int, grid: int, dt: float) -> None:
        self.n, self.grid, self.dt = particles, grid, dt
        dx = 1.0 / grid
        vol = (dx * 0.5) ** 2
        mass = vol
        x = qd.Vector.field(2, qd.f32, shape=particles)
        v = qd.Vector.field(2, qd.f32, shape=particles)
        C = qd.Matrix.field(2, 2, qd.f32, shape=particles)
        J = qd.field(qd.f32, shape=particles)
        grid_v = qd.Vector.field(2, qd.f32, shape=(grid, grid))
        grid_m = qd.field(qd.f32, shape=(grid, grid))
        self.x, self.v, self.C, self.J, self.grid_m = x, v, C, J, grid_m
        inv_dx = float(grid)

        @qd.kernel
        def substep():
            for i, j in grid_m:
                grid_v[i, j] = [0.0, 0.0]
                grid_m[i, j] = 0.0
            for p in x:
                base = (x[p] * inv_dx - 0.5).cast(qd.i32)
                fx = x[p] * inv_dx - base.cast(qd.f32)
                w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
                stress = -dt * 4.0 * STIFFNESS * vol * (J[p] - 1.0) * inv_dx * inv_dx
                affine = qd.Matrix([[stress, 0.0], [0.0, stress]]) + mass * C[p]
                for i, j in qd.static(qd.ndrange(3, 3)):
                    offset = qd.Vector([i, j])
                    dpos = (offset.cast(qd.f32) - fx) * dx
                    weight = w[i].x * w[j].y
                    grid_v[base + offset] += weight * (mass * v[p] + affine @ dpos)
                    grid_m[base + offset] += weight * mass
            for i, j in grid_m:
                if grid_m[i, j] > 0:
                    grid_v[i, j] = grid_v[i, j] / grid_m[i, j]
                    grid_v[i, j].y -= dt * GRAVITY
                    if i < BORDER and grid_v[i, j].x < 0:
                        grid_v[i, j].x = 0.0
                    if i > grid - BORDER and grid_v[i, j].x > 0:
                        grid_v[i, j].x = 0.0
                    if j < BORDER and grid_v[i, j].y < 0:
                        grid_v[i, j].y = 0.0
                    if j > grid - BORDER and grid_v[i, j].y > 0:
                        grid_v[i, j].y = 0.0
            for p in x:
                base = (x[p] * inv_dx - 0.5).cast(qd.i32)
                fx = x[p] * inv_dx - base.cast(qd.f32)
                w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
                new_v = qd.Vector([0.0, 0.0])
                new_C = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])
                for i, j in qd.static(qd.ndrange(3, 3)):
                    offset = qd.Vector([i, j])
                    dpos = (offset.cast(qd.f32) - fx) * dx
                    weight = w[i].x * w[j].y
                    g = grid_v[base + offset]
                    new_v += weight * g
                    new_C += 4.0 * weight * g.outer_product(dpos) * inv_dx * inv_dx
                v[p] = new_v
                x[p] += dt * new_v
                J[p] *= 1.0 + dt * new_C.trace()
                C[p] = new_C

        self.substep = substep
        rng = np.random.default_rng(11)
        self.x0 = rng.uniform(0.2, 0.6, (self.n, 2)).astype(np.float32)
        self.v0 = np.tile(np.array([-0.5, -1.0], np.float32), (self.n, 1))
        self.J0 = rng.uniform(0.98, 1.0, self.n).astype(np.float32)
        self.reset()

    def reset(self) -> None:
        """Put a square block of fluid, slightly compressed and moving to the left, at rest in no corner."""
        self.x.from_numpy(self.x0)
        self.v.from_numpy(self.v0)
        self.C.from_numpy(np.zeros((self.n, 2, 2), np.float32))
        self.J.from_numpy(self.J0)

    def _numpy_step(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The first substep in float64 NumPy: positions, velocities and J."""
        grid, dt, dx = self.grid, self.dt, 1.0 / self.grid
        mass = vol = (dx * 0.5) ** 2
        x = self.x0.astype(np.float64)
        base = (self.x0 * np.float32(grid) - np.float32(0.5)).astype(np.int64)
        fx = x * grid - base
        w = np.stack([0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2])
        stress = -dt * 4.0 * STIFFNESS * vol * (self.J0.astype(np.float64) - 1.0) * grid * grid
        m, momentum = np.zeros(grid * grid), np.zeros((2, grid * grid))
        nodes = [(i, j) for i in range(3) for j in range(3)]
        for i, j in nodes:
            cell = (base[:, 0] + i) * grid + base[:, 1] + j
            dpos = (np.array([i, j]) - fx) * dx
            weight = w[i, :, 0] * w[j, :, 1]
            m += np.bincount(cell, weight * mass, minlength=grid * grid)
            for a in range(2):
                value = weight * (mass * self.v0[:, a] + stress * dpos[:, a])
                momentum[a] += np.bincount(cell, value, minlength=grid * grid)
        gv = (momentum / np.where(m > 0, m, 1.0)).reshape(2, grid, grid)
        gv[1] -= dt * GRAVITY
        gv[0, :BORDER] = np.maximum(gv[0, :BORDER], 0)
        gv[0, grid - BORDER + 1 :] = np.minimum(gv[0, grid - BORDER + 1 :], 0)
        gv[1, :, :BORDER] = np.maximum(gv[1, :, :BORDER], 0)
        gv[1, :, grid - BORDER + 1 :] = np.minimum(gv[1, :, grid - BORDER + 1 :], 0)
        new_v, trace = np.zeros_like(x), np.zeros(self.n)
        for i, j in nodes:
            dpos = (np.array([i, j]) - fx) * dx
            weight = w[i, :, 0] * w[j, :, 1]
            g = gv[:, base[:, 0] + i, base[:, 1] + j].T
            new_v += weight[:, None] * g
            trace += 4.0 * weight * (g * dpos).sum(axis=1) * grid * grid
        return x + dt * new_v, new_v, self.J0 * (1.0 + dt * trace)

    def check_first_step(self) -> str | None:
        """Compare the state after exactly one substep from the start with NumPy."""
        want_x, want_v, want_J = self._numpy_step()
        return (
            differs("x", self.x.to_numpy(), want_x, atol=1e-5)
            or differs("v", self.v.to_numpy(), want_v, rtol=1e-3, atol=5e-3)
            or differs("J", self.J.to_numpy(), want_J, atol=1e-4)
        )


def _work(qd, particles: int, grid: int, dt: float) -> Work:
    sim = Mpm(qd, particles, grid, dt)

    def run(n: int) -> None:
        for _ in range(n):
            sim.substep()
        qd.sync()

    def reset() -> None:
        sim.reset()
        qd.sync()

    def check() -> str | None:
        reset()
        run(1)
        return sim.check_first_step()

    return Work(run, check, reset)


@case("mpm_8k", "2-D MPM, 8,192 particles, grid 128", throughput=True, batch_seconds=0.05)
def mpm_small(qd) -> Work:
    return _work(qd, 8192, 128, 2e-4)


@case("mpm_1m", "2-D MPM, 1,000,000 particles, grid 1024", throughput=True, batch_seconds=0.2, rounds=5)
def mpm_large(qd) -> Work:
    return _work(qd, 1_000_000, 1024, 2e-5)


@case(
    "gpu_mpm", "2-D MPM, 2^20 particles, grid 1024", rows="gpu", unit="Mparticle/s", target=1 / 1.1, rounds=5,
    batch_seconds=0.1, size=1 << 20, tiny=1 << 10, amount=float,
)  # fmt: skip
def mpm_gpu(qd, particles: int) -> Work:
    """One particle a cell on average over the square; the block of fluid holds about six a cell."""
    grid = math.isqrt(particles)
    return _work(qd, particles, grid, 0.02 / grid)
