"""Small matrices in both scopes: algebra, swizzles, decompositions, functions of `qd.math`."""

import quadrants as qd
import quadrants.math as qm
from quadrants import f32, types

qd.init(arch=qd.cpu)

mat3 = types.matrix(3, 3, f32)
out = qd.field(dtype=mat3, shape=2)
angles = qd.Vector.field(3, f32, shape=2, layout=qd.Layout.SOA)


@qd.func
def rotation(a: f32) -> mat3:
    c, s = qm.cos(a), qm.sin(a)
    return qd.Matrix([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@qd.kernel
def run(m: mat3, v: qm.vec3) -> qm.vec3:
    for i in out:
        out[i] = rotation(0.5 * i) @ m
        angles[i] = qm.normalize(v.zyx) + qm.mix(v, v * 2.0, 0.25)
    U, S, V = qd.svd(m)
    w = U @ S @ V.transpose() @ v
    w = qm.clamp(w, -1.0, 1.0)
    return w


eye = qd.Matrix([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
w = run(eye, qm.vec3(0.1, 0.2, 0.3))
assert abs(w[2] - 0.9) < 1e-4
v = qd.Vector([1.0, 2.0, 3.0])
total = (eye @ v).dot(v) + v.norm() + (v + 1.0).sum() + (2.0 * v - v / 2.0).max()
print(total, eye.to_numpy(), v.xy, w.x, out[1].to_list(), qd.sqrt(4.0), qd.max(1, 2), angles[0])
