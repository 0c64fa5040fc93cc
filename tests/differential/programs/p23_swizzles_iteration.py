"""matrix-math.md 5.3, 5.4: swizzles read and written, unpacking, comprehensions, lengths."""

import numpy as np
from kit import fails


def run(qd):
    f = qd.Vector.field(3, qd.f32, shape=2)

    @qd.kernel
    def read() -> qd.types.vector(16, qd.f32):
        v = qd.Vector([1.0, 2.0, 3.0, 4.0])
        a, b, c, d = v.wzyx, v.rgb, v.xxyy, v.st
        e = v.xy.yx
        return qd.Vector(
            [a[0], a[3], b[2], c[1], c[2], d[1], e[0], v.w, v.a, v.q, v.zz[1], (v * 2).y, v.rgba.sum(), 0, 0, 0]
        )

    @qd.kernel
    def write() -> qd.types.vector(4, qd.f32):
        v = qd.Vector([1.0, 2.0, 3.0, 4.0])
        v.x = 10
        v.yz = qd.Vector([20.0, 30.0])
        v.wx = v.xw
        v.rg += 1
        v.ba *= qd.Vector([2.0, 3.0])
        f[0].xy = [7, 8]
        f[0].z = 9
        f[1].zyx = f[0]
        f[1].xy = 0.5
        return v

    @qd.func
    def pair(a):
        return qd.Vector([a, a * 10])

    @qd.kernel
    def unpack() -> qd.types.vector(8, qd.i32):
        v = qd.Vector([1, 2, 3])
        a, b, c = v
        x, y = pair(4)
        m = qd.Matrix([[1, 2], [3, 4]])
        rows = qd.Vector([r[0] * 10 + r[1] for r in m])
        twice = qd.Vector([2 * t for t in v])
        p, q = m[:, 1]
        return qd.Vector(
            [a * 100 + b * 10 + c, x + y, rows[0], rows[1], twice.sum(), p * 10 + q, len(v) * 10 + v.n, m.n + m.m]
        )

    @qd.func
    def three(a, b, c):
        return a * 100 + b * 10 + c

    @qd.kernel
    def star() -> qd.i32:
        v = qd.Vector([1, 2, 3])
        shape = v.get_shape()
        return three(*v) * 10 + shape[0]

    @qd.kernel
    def letter() -> qd.f32:
        v = qd.Vector([1.0, 2.0])
        return v.z

    @qd.kernel
    def mixed() -> qd.f32:
        v = qd.Vector([1.0, 2.0])
        return v.xg[0]

    @qd.kernel
    def count():
        v = qd.Vector([1, 2, 3])
        a, b = v

    @qd.kernel
    def unpack_matrix():
        m = qd.Matrix([[1, 2], [3, 4]])
        a, b = m

    @qd.kernel
    def unpack_scalar(n: qd.i32):
        a, b = n

    v = qd.Vector([1.0, 2.0, 3.0])
    v.xy = [5.0, 6.0]
    w = v.zyx
    written = write()
    return {
        "read": read().to_numpy(),
        "write": written.to_numpy(),
        "f": f.to_numpy(),
        "unpack": unpack().to_numpy(),
        "star": star(),
        "host": [np.array(v.to_list()), np.array(w.to_list()), v.x, v.g],
        "letter": fails(letter, "vec2 only has attributes=('x', 'y'), got=('z',)"),
        "mixed": fails(mixed, ""),
        "count": fails(count, "The number of targets is not equal to value length"),
        "unpack_matrix": fails(unpack_matrix, "Matrices with more than one columns cannot be unpacked"),
        "unpack_scalar": fails(lambda: unpack_scalar(1), "Cannot unpack type"),
        "host_length": fails(lambda: setattr(v, "xy", [1.0]), "value len does not match the swizzle pattern=xy"),
    }
