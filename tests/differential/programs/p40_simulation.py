"""All of it together: a grid with counting sort, springs in a data-oriented class, a diffusion, a reduction."""

import dataclasses

import numpy as np

RTOL = 2e-4
ATOL = 1e-5


def run(qd):
    n, cells = 64, 8

    @qd.data_oriented
    class Springs:
        def __init__(self, count):
            self.count = count
            self.x = qd.Vector.field(2, qd.f32, shape=count)
            self.v = qd.Vector.field(2, qd.f32, shape=count)
            self.rest = 1.0 / count

        @qd.func
        def force(self, i):
            f = qd.Vector([0.0, -9.8])
            for k in qd.static((-1, 1)):
                j = i + k
                if 0 <= j < self.count:
                    d = self.x[j] - self.x[i]
                    length = d.norm() + 1e-6
                    f += 500.0 * (length - self.rest) * d / length
            return f

        @qd.kernel
        def start(self):
            for i in self.x:
                self.x[i] = [i * self.rest, 1.0]
                self.v[i] = [0.0, 0.0]

        @qd.kernel
        def step(self, dt: qd.f32):
            for i in self.x:
                self.v[i] = (self.v[i] + dt * self.force(i)) * qd.exp(-dt * 2.0)
                if i == 0:
                    self.v[i] = [0.0, 0.0]
            for i in self.x:
                self.x[i] += dt * self.v[i]

    @dataclasses.dataclass(frozen=True)
    class Grid:
        count: qd.types.NDArray[qd.i32, 2]
        start: qd.types.NDArray[qd.i32, 2]
        order: qd.types.NDArray[qd.i32, 1]

    @qd.func
    def cell_of(p):
        return qd.cast(qd.floor(p * cells), qd.i32)

    @qd.kernel
    def sort(p: qd.types.NDArray[qd.math.vec2, 1], g: Grid):
        for i, j in g.count:
            g.count[i, j] = 0
        for k in p:
            g.count[cell_of(p[k])] += 1
        qd.loop_config(serialize=True)
        for c in range(cells * cells):
            i, j = c // cells, c % cells
            if c == 0:
                g.start[i, j] = 0
            else:
                b = c - 1
                g.start[i, j] = g.start[b // cells, b % cells] + g.count[b // cells, b % cells]
        qd.loop_config(serialize=True)
        for k in range(p.shape[0]):
            c = cell_of(p[k])
            g.order[g.start[c] + g.count[c] - 1] = k
            g.count[c] -= 1

    @qd.kernel
    def diffuse(a: qd.template(), b: qd.template(), steps: qd.i32):
        for i, j in a:
            near = 0.0
            for d in qd.static([(-1, 0), (1, 0), (0, -1), (0, 1)]):
                near += a[(i + d[0] + n) % n, (j + d[1] + n) % n]
            b[i, j] = a[i, j] + 0.2 * (near - 4 * a[i, j])

    @qd.kernel
    def mass(a: qd.template()) -> tuple[qd.f64, qd.f32]:
        s = qd.cast(0.0, qd.f64)
        top = -1.0
        for i, j in a:
            s += a[i, j]
            qd.atomic_max(top, a[i, j])
        return s, top

    @qd.kernel
    def life(a: qd.template(), b: qd.template()):
        for i, j in a:
            alive = 0
            for di, dj in qd.ndrange((-1, 2), (-1, 2)):
                if di != 0 or dj != 0:
                    alive += a[(i + di + 16) % 16, (j + dj + 16) % 16]
            b[i, j] = 1 if alive == 3 or (alive == 2 and a[i, j] == 1) else 0

    springs = Springs(8)
    springs.start()
    for _ in range(20):
        springs.step(1e-3)
    rng = np.random.default_rng(9)
    points = rng.uniform(0, 1, (200, 2)).astype(np.float32)
    grid = Grid(qd.ndarray(qd.i32, (cells, cells)), qd.ndarray(qd.i32, (cells, cells)), qd.ndarray(qd.i32, (200,)))
    sort(points, grid)
    a, b = qd.field(qd.f32, shape=(n, n)), qd.field(qd.f32, shape=(n, n))
    a[10, 20] = 100.0
    for _ in range(10):
        diffuse(a, b, 1)
        diffuse(b, a, 1)
    board, other = qd.field(qd.i32, shape=(16, 16)), qd.field(qd.i32, shape=(16, 16))
    for i, j in ((1, 2), (2, 3), (3, 1), (3, 2), (3, 3), (8, 8), (8, 9), (8, 10)):
        board[i, j] = 1
    for _ in range(4):
        life(board, other)
        life(other, board)
    return {
        "springs": springs.x.to_numpy(),
        "starts": grid.start.to_numpy(),
        "order": grid.order.to_numpy(),
        "diffused": a.to_numpy()[6:15, 16:25],
        "mass": list(mass(a)),
        "life": board.to_numpy(),
    }
