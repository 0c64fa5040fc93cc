"""A drop that falls through a large space, on a grid of which only the blocks around the water exist."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from . import mpm88
from ._run import Run

BLOCK = 16


@qd.data_oriented
class SparseWater(mpm88.Water):
    """The water of `mpm88` on a sparse grid: blocks of 16 x 16 cells, which exist where particles are.

    The kernels are those of the dense grid. Spreading the particles makes the blocks that they need, the grid moves
    where it exists, and clearing it gives the blocks back.
    """

    def make_grid(self) -> None:
        self.grid_v, self.grid_m = qd.Vector.field(2, qd.f32), qd.field(qd.f32)
        self.blocks = qd.root.pointer(qd.ij, self.cells // BLOCK)
        self.blocks.dense(qd.ij, BLOCK).place(self.grid_v, self.grid_m)

    def clear_grid(self) -> None:
        self.blocks.deactivate_all()

    def active_blocks(self) -> int:
        return self.blocks._num_dynamically_allocated


def main(run: Run) -> None:
    cells = 8192 if run.large else 2048
    water = SparseWater(particles=65536 if run.large else 8192, cells=cells, dt=0.02 / cells)
    width = float(np.sqrt(water.count * water.volume))
    water.fill_block(0.4, 0.6, width, width)
    for _ in run.frames(40):
        with run.work(water.count * 20, "particle steps"):
            water.step(20)
        run.show(water.image)
