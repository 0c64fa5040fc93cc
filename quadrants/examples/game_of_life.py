"""Conway's game of life on a torus: integer ndarrays, double buffering."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import enlarge, upright
from ._run import Run

Cells = qd.types.ndarray(dtype=qd.i32, ndim=2)


@qd.kernel
def generation(old: Cells, new: Cells):
    """new = next generation of old; 1 is alive, 0 is dead, opposite borders touch."""
    for i, j in qd.ndrange(old.shape[0], old.shape[1]):
        alive = 0
        for di, dj in qd.static(qd.ndrange((-1, 2), (-1, 2))):
            if qd.static(di != 0 or dj != 0):
                # `%` has the sign of the divisor, so -1 wraps to the far side.
                alive += old[(i + di) % old.shape[0], (j + dj) % old.shape[1]]
        new[i, j] = 1 if alive == 3 or (alive == 2 and old[i, j] == 1) else 0


class Life:
    """A world that starts from an integer array of zeros and ones."""

    def __init__(self, cells: np.ndarray):
        self.now = qd.ndarray(qd.i32, cells.shape)
        self.next = qd.ndarray(qd.i32, cells.shape)
        self.now.from_numpy(np.ascontiguousarray(cells, dtype=np.int32))

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            generation(self.now, self.next)
            self.now, self.next = self.next, self.now

    def cells(self) -> np.ndarray:
        return self.now.to_numpy()


def image(life: Life) -> np.ndarray:
    grid = upright(life.cells())
    colours = np.where(grid[..., None] == 1, (120, 230, 140), (12, 16, 32)).astype(np.uint8)
    return enlarge(colours, max(1, 384 // len(grid)))


def main(run: Run) -> None:
    size = 2048 if run.large else 384
    life = Life(np.random.default_rng(1).random((size, size)) < 0.3)
    for _ in run.frames(200):
        with run.work(size * size, "cell updates"):
            life.step()
        run.show(lambda: image(life))
