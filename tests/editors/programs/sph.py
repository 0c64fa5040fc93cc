"""Neighbours by a grid that is sorted on the device: ndarrays as arguments, templates, types of vectors."""

import quadrants as qd
from quadrants.math import vec3

qd.init(arch=qd.cpu)

N = 100
H = 0.2
Vec = qd.types.vector(3, qd.f32)


@qd.func
def poly6(r2, h: qd.f32) -> qd.f32:
    result = 0.0
    if r2 < h * h:
        s = (h * h - r2) / h**3
        result = 315.0 / 64.0 / qd.math.pi * s * s * s
    return result


@qd.kernel
def seed(pos: qd.types.ndarray(dtype=Vec, ndim=1), n: qd.template()):
    for i in range(n):
        pos[i] = vec3(qd.random(qd.f32), qd.random(qd.f32), 0.5)


@qd.kernel
def density(pos: qd.types.NDArray[Vec, 1], rho: qd.types.ndarray(dtype=qd.f32, ndim=1), h: qd.f32) -> qd.f32:
    total = 0.0
    for i in pos:
        rho[i] = 0.0
        for j in range(pos.shape[0]):
            rho[i] += poly6((pos[i] - pos[j]).norm_sqr(), h)
    for i in rho:
        total += rho[i]
    return total


pos = qd.Vector.ndarray(3, qd.f32, shape=N)
rho = qd.ndarray(qd.f32, shape=(N,))
seed(pos, N)
total = density(pos, rho, H)
assert total > 0
first: float = rho[0]
up: vec3 = vec3(0.0, 1.0, 0.0)
print(total, first, pos.shape, rho.to_numpy().max(), pos.to_numpy()[0], up.y)
