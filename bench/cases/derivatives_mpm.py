"""2-D MLS-MPM of an elastic block with a memory for every time step: steps forward, and back through them."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import numpy as np

from . import Work, case

SIDE, GRID = 80, 120
EXTENT = 0.2
STIFFNESS = 20.0
GRAVITY = 9.8


class DiffMpm:
    """A block of 80 x 80 particles on a grid of 120 x 120, over `steps` time steps of 0.0005 s.

    The loss is the sum of `weights * x` over the last positions.
    """

    def __init__(self, qd, steps: int) -> None:
        self.qd, self.steps = qd, steps
        count, cells = SIDE * SIDE, GRID
        dx, dt = 1.0 / cells, 0.06 / cells
        mass = volume = (EXTENT / SIDE) ** 2
        shear, bulk = 0.4 * STIFFNESS, 0.6 * STIFFNESS
        levels = (steps + 1, count)
        x = qd.Vector.field(2, qd.f32, shape=levels, needs_grad=True)
        v = qd.Vector.field(2, qd.f32, shape=levels, needs_grad=True)
        C = qd.Matrix.field(2, 2, qd.f32, shape=levels, needs_grad=True)
        F = qd.Matrix.field(2, 2, qd.f32, shape=levels, needs_grad=True)
        momentum = qd.Vector.field(2, qd.f32, shape=(steps, cells, cells), needs_grad=True)
        density = qd.field(qd.f32, shape=(steps, cells, cells), needs_grad=True)
        wind = qd.Vector.field(2, qd.f32, shape=(steps, cells, cells), needs_grad=True)

        @qd.func
        def weights(offset):
            return [0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1.0) ** 2, 0.5 * (offset - 0.5) ** 2]

        @qd.kernel
        def to_grid(t: qd.i32):
            for p in range(count):
                base = qd.cast(x[t, p] * cells - 0.5, qd.i32)
                offset = x[t, p] * cells - base
                w = weights(offset)
                shape = (qd.Matrix.identity(qd.f32, 2) + dt * C[t, p]) @ F[t, p]
                F[t + 1, p] = shape
                pressure = bulk * qd.log(shape.determinant()) - shear
                stress = shear * (shape @ shape.transpose()) + pressure * qd.Matrix.identity(qd.f32, 2)
                affine = mass * C[t, p] - (4 * dt * volume * cells**2) * stress
                for i, j in qd.static(qd.ndrange(3, 3)):
                    away = (qd.Vector([i, j]) - offset) * dx
                    weight = w[i][0] * w[j][1]
                    momentum[t, base + qd.Vector([i, j])] += weight * (mass * v[t, p] + affine @ away)
                    density[t, base + qd.Vector([i, j])] += weight * mass

        @qd.kernel
        def on_grid(t: qd.i32):
            for i, j in qd.ndrange(cells, cells):
                if density[t, i, j] > 1e-12:
                    speed = momentum[t, i, j] / density[t, i, j]
                    speed[1] -= dt * GRAVITY
                    if i < 3 or i > cells - 4:
                        speed[0] = 0.0
                    if j > cells - 4:
                        speed[1] = qd.min(speed[1], 0.0)
                    if j < 3:
                        speed[1] = qd.max(speed[1], 0.0)
                    wind[t, i, j] = speed

        @qd.kernel
        def to_particles(t: qd.i32):
            for p in range(count):
                base = qd.cast(x[t, p] * cells - 0.5, qd.i32)
                offset = x[t, p] * cells - base
                w = weights(offset)
                speed = qd.Vector([0.0, 0.0])
                spread = qd.Matrix.zero(qd.f32, 2, 2)
                for i, j in qd.static(qd.ndrange(3, 3)):
                    away = qd.Vector([i, j]) - offset
                    node = w[i][0] * w[j][1] * wind[t, base + qd.Vector([i, j])]
                    speed += node
                    spread += (4 * cells) * node.outer_product(away)
                v[t + 1, p] = speed
                x[t + 1, p] = x[t, p] + dt * speed
                C[t + 1, p] = spread

        self.to_grid, self.on_grid, self.to_particles = to_grid, on_grid, to_particles
        self.x, self.v, self.C, self.F = x, v, C, F
        self.sums = (momentum, density, wind)
        rng = np.random.default_rng(13)
        corner = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"), -1).reshape(-1, 2)
        self.start = {
            "x": np.array([0.1, 0.25]) + (corner + rng.uniform(0.3, 0.7, corner.shape)) * (EXTENT / SIDE),
            "v": np.array([1.0, 0.0]) + rng.normal(0, 0.1, corner.shape),
            "C": rng.normal(0, 1.0, (count, 2, 2)),
            "F": np.eye(2) + rng.normal(0, 0.02, (count, 2, 2)),
        }
        self.weights = rng.uniform(0.5, 1.5, corner.shape)
        self.set_start(self.start)
        self.at = 0

    def set_start(self, start: dict) -> None:
        """Put the first level of every field; all other levels and the sums of the grid become 0."""
        for name, first in start.items():
            field = getattr(self, name)
            whole = np.zeros((self.steps + 1, *first.shape), np.float32)
            whole[0] = first
            field.from_numpy(whole)
        for field in self.sums:
            field.fill(0.0)
        self.at = 0

    def step(self) -> None:
        """The next time step; after the last one comes the first again."""
        t = self.at % self.steps
        self.to_grid(t)
        self.on_grid(t)
        self.to_particles(t)
        self.at = t + 1

    def step_back(self) -> None:
        """Back through the last time step; from the first one on to the last again."""
        t = (self.at - 1) % self.steps
        self.to_particles.grad(t)
        self.on_grid.grad(t)
        self.to_grid.grad(t)
        self.at = t

    def seed(self) -> None:
        """All gradients 0, but those of the loss with respect to the last positions."""
        self.qd.ad.clear_all_gradients()
        last = np.zeros((self.steps + 1, *self.weights.shape), np.float32)
        last[-1] = self.weights
        self.x.grad.from_numpy(last)
        self.at = self.steps

    def loss(self, start: dict) -> float:
        self.set_start(start)
        for _ in range(self.steps):
            self.step()
        return float((self.x.to_numpy()[-1].astype(np.float64) * self.weights).sum())

    def check(self) -> str | None:
        """Derivatives along three directions, against differences of the loss."""
        self.loss(self.start)
        self.seed()
        for _ in range(self.steps):
            self.step_back()
        gradients = {name: getattr(self, name).grad.to_numpy()[0].astype(np.float64) for name in self.start}
        self.norms = [float(np.linalg.norm(g)) for g in gradients.values()]
        problem = None
        for name, eps in (("x", 1e-3), ("v", 0.1), ("F", 2e-3)):
            direction = gradients[name] / np.abs(gradients[name]).max()
            above, below = (
                self.loss({**self.start, name: self.start[name] + sign * eps * direction}) for sign in (1, -1)
            )
            want, got = (above - below) / (2 * eps), float((gradients[name] * direction).sum())
            if not abs(got - want) <= 2e-2 * abs(want):
                problem = problem or f"derivative along {name}: {got:.6g}, differences give {want:.6g}"
        self.set_start(self.start)
        return problem


def _forward(qd, steps: int) -> Work:
    sim = DiffMpm(qd, steps)

    def run(n: int) -> None:
        for _ in range(n):
            sim.step()
        qd.sync()

    return Work(run, sim.check, lambda: sim.set_start(sim.start))


def _backward(qd, steps: int) -> Work:
    sim = DiffMpm(qd, steps)

    def run(n: int) -> None:
        for _ in range(n):
            sim.step_back()
        qd.sync()

    def check() -> str | None:
        problem = sim.check()
        sim.loss(sim.start)
        return problem

    return Work(run, check, sim.seed, result=lambda: sim.norms)


COMMON = {"batch_seconds": 0.03, "modules": ("quadrants",)}
GPU = {"rows": "gpu", "unit": "us", "size": 64, "tiny": 4, "target": 0.7, **COMMON}


@case("ad_mpm", "differentiable MPM, 6,400 particles, grid 120: step", target=0.7, **COMMON)
def mpm_forward(qd) -> Work:
    return _forward(qd, 24)


@case("ad_mpm_grad", "the same, step back", target=0.7, **COMMON)
def mpm_backward(qd) -> Work:
    return _backward(qd, 24)


@case("gpu_ad_mpm", "differentiable MPM, 6,400 particles, grid 120: step", **GPU)
def gpu_mpm_forward(qd, steps: int) -> Work:
    return _forward(qd, steps)


@case("gpu_ad_mpm_grad", "the same, step back", **GPU)
def gpu_mpm_backward(qd, steps: int) -> Work:
    return _backward(qd, steps)


COLD = {"kind": "fresh", "unit": "s", "target": 0.1, "modules": ("quadrants",)}


@case("ad_cold_mpm", "the same, gradient kernels cold", rounds=2, **COLD)
@case("gpu_ad_cold_mpm", "the same, gradient kernels cold", rows="gpu", rounds=3, **COLD)
def mpm_cold(qd) -> Work:
    """The first step back, whose three kernels are compiled for it; what it gives is checked afterwards."""
    sim = DiffMpm(qd, 4)
    sim.seed()
    qd.sync()

    def run(n: int) -> None:
        sim.step_back()
        qd.sync()

    return Work(run, sim.check)
