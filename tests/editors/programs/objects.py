"""`@qd.data_oriented`: kernels and funcs as methods, with and without options."""

from __future__ import annotations

import quadrants as qd

qd.init(arch=qd.cpu)


@qd.data_oriented
class Heat:
    def __init__(self, n: int) -> None:
        self.n = n
        self.rate = 0.1
        self.now = qd.field(qd.f32, shape=(n, n))
        self.next = qd.field(qd.f32, shape=(n, n))

    @qd.func
    def laplacian(self, i, j):
        return self.now[i - 1, j] + self.now[i + 1, j] + self.now[i, j - 1] + self.now[i, j + 1] - 4 * self.now[i, j]

    @qd.kernel
    def step(self, steps: qd.i32) -> qd.f32:
        for _ in range(steps):
            for i, j in qd.ndrange((1, self.n - 1), (1, self.n - 1)):
                self.next[i, j] = self.now[i, j] + self.rate * self.laplacian(i, j)
            for i, j in qd.ndrange(self.n, self.n):
                self.now[i, j] = self.next[i, j]
        return self.now[1, 1]


@qd.data_oriented(stable_members=True)
class Counter:
    def __init__(self) -> None:
        self.hits = qd.field(qd.i32, shape=())

    @qd.kernel(fastcache=False)
    def hit(self, times: qd.types.i32):
        for _ in range(times):
            qd.atomic_add(self.hits[None], 1)


heat = Heat(16)
heat.now.fill(1.0)
heat.now[8, 8] = 5.0
corner: float = heat.step(3)
counter = Counter()
counter.hit(7)
hits: int = counter.hits[None]
assert hits == 7
print(corner, heat.now.to_numpy().sum())
