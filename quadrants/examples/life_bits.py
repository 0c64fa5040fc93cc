"""Conway's game of life with a bit a cell: 32 cells of a row are one word, and change at once."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import enlarge, upright
from ._run import Run

LANES = 32


class Life:
    """A torus of `rows` x `columns` cells, columns a multiple of 32, that starts from an array of zeros and ones."""

    def __init__(self, cells: np.ndarray):
        rows, columns = cells.shape
        self.now, self.next = self._bits(rows, columns), self._bits(rows, columns)
        self.shown = qd.field(qd.i32, (rows, columns))
        self.shown.from_numpy(np.ascontiguousarray(cells, np.int32))
        copy(self.shown, self.now)

    @staticmethod
    def _bits(rows: int, columns: int):
        x = qd.field(qd.types.quant.int(1, signed=False))
        qd.root.dense(qd.ij, (rows, columns // LANES)).quant_array(qd.j, LANES, max_num_bits=LANES).place(x)
        return x

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            generation(self.now, self.next, *self.shown.shape)
            self.now, self.next = self.next, self.now

    def cells(self) -> np.ndarray:
        copy(self.now, self.shown)
        return self.shown.to_numpy()


@qd.kernel
def generation(old: qd.template(), new: qd.template(), rows: qd.template(), columns: qd.template()):
    """new = next generation of old; 1 is alive, 0 is dead, opposite borders touch."""
    qd.loop_config(bit_vectorize=True)
    for i, j in new:
        alive = 0
        for di, dj in qd.static(qd.ndrange((-1, 2), (-1, 2))):
            if qd.static(di != 0 or dj != 0):
                alive += old[(i + di) % rows, (j + dj) % columns]
        new[i, j] = alive == 3 or (alive == 2 and old[i, j] == 1)


@qd.kernel
def copy(source: qd.template(), target: qd.template()):
    for i, j in target:
        target[i, j] = source[i, j]


def image(life: Life) -> np.ndarray:
    grid = upright(life.cells())
    colours = np.where(grid[..., None] == 1, (255, 190, 90), (20, 14, 28)).astype(np.uint8)
    return enlarge(colours, max(1, 384 // len(grid)))


def main(run: Run) -> None:
    size = 4096 if run.large else 384
    life = Life(np.random.default_rng(1).random((size, size)) < 0.3)
    for _ in run.frames(200):
        with run.work(size * size, "cell updates"):
            life.step()
        run.show(lambda: image(life))
