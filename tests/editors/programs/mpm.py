"""Particles that fall on a grid: matrix fields, locals that change their type, atomic adds."""

import numpy as np

import quadrants as qd

qd.init(arch=qd.cpu, default_fp=qd.f32)

particles, cells = 64, 16
dx = 1.0 / cells
dt = 2e-4
x = qd.Vector.field(2, dtype=qd.f32, shape=particles)
v = qd.Vector.field(2, dtype=float, shape=particles)
C = qd.Matrix.field(2, 2, dtype=float, shape=particles)
J = qd.field(float, particles)
grid_v = qd.Vector.field(2, float, (cells, cells))
grid_m = qd.field(float, (cells, cells))


@qd.func
def weights(fx):
    return [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]


@qd.kernel
def reset():
    for i in range(particles):
        x[i] = [qd.random() * 0.4 + 0.3, qd.random() * 0.4 + 0.3]
        v[i] = [0, -1]
        J[i] = 1


@qd.kernel
def substep(gravity: qd.f32):
    for i, j in grid_m:
        grid_v[i, j] = [0, 0]
        grid_m[i, j] = 0
    for p in x:
        base = qd.cast(x[p] / dx - 0.5, qd.i32)
        fx = x[p] / dx - qd.cast(base, qd.f32)
        w = weights(fx)
        stress = -dt * 400.0 * (J[p] - 1) * dx
        affine = qd.Matrix([[stress, 0], [0, stress]]) + C[p]
        for i, j in qd.static(qd.ndrange(3, 3)):
            offset = qd.Vector([i, j])
            dpos = (qd.cast(offset, qd.f32) - fx) * dx
            weight = w[i].x * w[j].y
            grid_v[base + offset] += weight * (v[p] + affine @ dpos)
            grid_m[base + offset] += weight
    for i, j in grid_m:
        if grid_m[i, j] > 0:
            grid_v[i, j] = grid_v[i, j] / grid_m[i, j]
        grid_v[i, j].y -= dt * gravity
        if i < 3 and grid_v[i, j].x < 0:
            grid_v[i, j].x = 0
    for p in x:
        base = qd.cast(x[p] / dx - 0.5, qd.i32)
        new_v = qd.Vector.zero(qd.f32, 2)
        for i, j in qd.static(qd.ndrange(3, 3)):
            new_v += grid_v[base + qd.Vector([i, j])] / 9.0
        v[p] = new_v
        x[p] += dt * new_v
        J[p] *= 1 + dt * C[p].trace()


reset()
for _ in range(5):
    substep(9.8)
heights = x.to_numpy()[:, 1]
assert np.isfinite(heights).all()
print(float(heights.mean()), x[0][1], J[0] + 1.0, grid_m.shape, C[0].to_numpy())
