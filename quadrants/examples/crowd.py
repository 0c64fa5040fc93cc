"""People who keep their distance: neighbours found by lists of particles, one in each cell of a grid."""

from __future__ import annotations

import numpy as np

import quadrants as qd

from ._picture import scatter
from ._run import Run

CHUNK, MOST = 16, 256


@qd.data_oriented
class Crowd:
    """Points in the unit square that walk to its middle and push each other away within a radius.

    Each step puts the points into the lists of a `dynamic` node below the blocks of a `pointer` node; a point then
    looks at the lists of the 3 x 3 cells around it.
    """

    def __init__(self, people: int = 4000, radius: float = 0.01):
        self.radius = radius
        self.cells = 8 * int(1 / radius / 8)
        self.x = qd.Vector.field(2, qd.f32, shape=people)
        self.push = qd.Vector.field(2, qd.f32, shape=people)
        self.near = qd.field(qd.i32)
        self.blocks = qd.root.pointer(qd.ij, self.cells // 8)
        self.lists = self.blocks.dense(qd.ij, 8).dynamic(qd.k, MOST, chunk_size=CHUNK)
        self.lists.place(self.near)

    @qd.kernel
    def spread(self):
        for p in self.x:
            self.x[p] = [qd.random(), qd.random()]

    @qd.func
    def cell_of(self, x):
        return qd.min(qd.max(qd.cast(x * self.cells, qd.i32), 0), self.cells - 1)

    @qd.kernel
    def fill_lists(self):
        for p in self.x:
            cell = self.cell_of(self.x[p])
            self.near[cell[0], cell[1]].append(p)

    @qd.kernel
    def look_around(self):
        for i, j, k in self.near:
            p = self.near[i, j, k]
            push = qd.Vector([0.0, 0.0])
            for di, dj in qd.static(qd.ndrange((-1, 2), (-1, 2))):
                ci, cj = i + di, j + dj
                if 0 <= ci < self.cells and 0 <= cj < self.cells:
                    for n in range(self.near[ci, cj].length()):
                        d = self.x[p] - self.x[self.near[ci, cj, n]]
                        r = d.norm()
                        if 0.0 < r < self.radius:
                            push += d / r * (self.radius - r)
            self.push[p] = push

    @qd.kernel
    def walk(self, dt: qd.f32):
        for p in self.x:
            to_middle = qd.Vector([0.5, 0.5]) - self.x[p]
            self.x[p] += 0.5 * self.push[p] + dt * to_middle

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.blocks.deactivate_all()
            self.fill_lists()
            self.look_around()
            self.walk(0.01)

    def image(self) -> np.ndarray:
        pushed = np.clip(np.linalg.norm(self.push.to_numpy(), axis=1) / self.radius, 0, 1)[:, None]
        return scatter(self.x.to_numpy(), np.array([60, 160, 90]) * (1 - pushed) + np.array([250, 120, 40]) * pushed)


def main(run: Run) -> None:
    crowd = Crowd(40000, 0.004) if run.large else Crowd()
    crowd.spread()
    for _ in run.frames(60):
        with run.work(crowd.x.shape[0], "steps of people"):
            crowd.step()
        run.show(crowd.image)
