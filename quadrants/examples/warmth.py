"""Which hot spots left this warmth? Gradient descent through the heat equation, on one rank or on several.

`mpiexec -n 4 python -m quadrants.examples warmth` cuts the plate into four blocks; the program is the same.
"""

from __future__ import annotations

import numpy as np

import quadrants as qd
from quadrants import distributed as qdist

from ._picture import colormap, enlarge, upright
from ._run import Run

Heat = qd.types.ndarray(dtype=qd.f32, ndim=2)


@qd.kernel
def spread(u: Heat, w: Heat, i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    """One explicit step of u_t = u_xx + u_yy; cells at the border of the plate keep 0."""
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
        w[i, j] = u[i, j] + 0.2 * (around - 4.0 * u[i, j])


@qd.kernel
def compare(u: Heat, measured: Heat, loss: qd.types.ndarray(ndim=1), i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32):
    """Adds the squared differences to the loss."""
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        loss[0] += (u[i, j] - measured[i, j]) ** 2


@qd.kernel
def descend(
    u: Heat, slope: Heat, speed: Heat, rate: qd.f32, momentum: qd.f32, i0: qd.i32, i1: qd.i32, j0: qd.i32, j1: qd.i32
):
    """A step downhill with momentum; nothing is colder than the border."""
    for i, j in qd.ndrange((i0, i1), (j0, j1)):
        speed[i, j] = momentum * speed[i, j] - rate * slope[i, j]
        u[i, j] = max(0.0, u[i, j] + speed[i, j])


class Plate:
    """A square plate, whose border is cold, cut into blocks.

    world: the ranks. cells: of an edge. steps: between the start, which is sought, and the measurement.
    """

    def __init__(self, world: qdist.World, cells: int, steps: int):
        self.world = world
        self.grid = qdist.Grid((cells, cells), halo=1, world=world)
        # Every time level has its own memory: the backward pass reads the values that the forward pass had.
        self.u = [self.grid.ndarray(qd.f32, needs_grad=True) for _ in range(steps + 1)]
        self.measured, self.speed = self.grid.ndarray(qd.f32), self.grid.ndarray(qd.f32)
        self.loss = qd.ndarray(qd.f32, (1,), needs_grad=True)

    def cool(self) -> None:
        """From the first time level to the last one."""
        for before, after in zip(self.u, self.u[1:]):
            self.grid.exchange_halo(before)
            spread(before, after, *self.grid.box())

    def measure(self, start: np.ndarray | None) -> None:
        """Keep what is left of a start, a whole array (cells, cells) on rank 0, and forget the start."""
        self.grid.scatter(start, self.u[0])
        self.cool()
        self.measured.copy_from(self.u[-1])
        self.u[0].fill(0)

    def gradient(self) -> float:
        """Of the loss, into `u[0].grad`; returns the loss of all ranks."""
        for level in self.u:
            level.grad.fill(0)
        self.loss.grad.fill(0)
        with qd.ad.Tape(self.loss):
            self.cool()
            compare(self.u[-1], self.measured, self.loss, *self.grid.box())
        return self.world.sum(float(self.loss[0]))

    def improve(self, rate: float = 0.4, momentum: float = 0.95) -> float:
        """One step of descent; returns the loss before it."""
        loss = self.gradient()
        descend(self.u[0], self.u[0].grad, self.speed, rate, momentum, *self.grid.box())
        return loss


def spots(cells: int) -> np.ndarray:
    """Hot discs and a ring."""
    at = (np.mgrid[:cells, :cells] + 0.5) / cells
    heat = np.zeros((cells, cells), np.float32)
    for x, y, radius in ((0.25, 0.3, 0.1), (0.7, 0.2, 0.06), (0.35, 0.75, 0.07)):
        heat[np.hypot(at[0] - x, at[1] - y) < radius] = 1
    heat[np.abs(np.hypot(at[0] - 0.68, at[1] - 0.65) - 0.15) < 0.03] = 1
    return heat


def image(plate: Plate, truth: np.ndarray) -> np.ndarray | None:
    """What was measured, what is found so far, and the truth, on rank 0."""
    wholes = [plate.grid.gather(array) for array in (plate.measured, plate.u[0])]
    if plate.world.rank != 0:
        return None
    rows = np.concatenate([*wholes, truth])
    return enlarge(colormap(upright(rows)), 2)


def main(run: Run) -> None:
    world = qdist.init(arch=qd.cfg.arch, random_seed=1)
    cells = 512 if run.large else 112
    truth = spots(cells)
    plate = Plate(world, cells, steps=30)
    plate.measure(truth)
    for _ in run.frames(80):
        with run.work(2 * 30 * cells**2, "cell updates"):
            plate.improve()
        run.show(lambda: image(plate, truth))
