"""matrix-math.md 4, 18: vectors and matrices in Python, as captured constants, parameters and template values."""

import numpy as np
from kit import fails


def run(qd):
    c = qd.Vector([1.0, 2.0, 3.0])
    table = qd.Matrix([[1, 2], [3, 4]])

    @qd.kernel
    def captured(i: qd.i32) -> qd.types.vector(4, qd.f32):
        d = c * 2
        p = table @ qd.Vector([1, 1])
        return qd.Vector([d[2], c[i], p[1], table[i, 0]])

    @qd.kernel
    def by_template(v: qd.template()) -> qd.f32:
        return v.norm_sqr() + v.n

    @qd.kernel
    def parameter(v: qd.math.vec3, m: qd.types.matrix(2, 2, qd.i32)) -> qd.types.vector(3, qd.f32):
        w = v
        w[0] += m[1, 0]
        return w * 2

    @qd.func
    def shaped(v: qd.types.vector(2)):
        return v.x * 10 + v.y

    @qd.func
    def shaped_matrix(m: qd.types.matrix(2, 3)):
        return m.sum()

    @qd.kernel
    def func_shapes() -> qd.f32:
        return (
            shaped(qd.Vector([1, 2]))
            + shaped(qd.Vector([0.5, 0.25]))
            + shaped_matrix(qd.Matrix([[1, 2, 3], [4, 5, 6]]))
        )

    @qd.kernel
    def bad_shape() -> qd.f32:
        return shaped(qd.Vector([1, 2, 3]))

    @qd.kernel
    def writes_parameter(v: qd.math.vec3) -> qd.f32:
        v = qd.Vector([1.0, 2.0, 3.0])
        return v[0]

    @qd.kernel
    def ints(v: qd.types.vector(2, qd.i32)) -> qd.i32:
        return v.sum()

    v, w = qd.Vector([1, 2, 3]), qd.Vector([0.5, 1.5, -1.0])
    m = qd.Matrix([[1.0, 2.0], [3.0, 5.0]])
    first = captured(1).to_numpy()
    c[1] = 99.0
    x = qd.Vector([1, 2])
    x += 1

    def array(value):
        return np.array(value.to_list() if hasattr(value, "to_list") else value, np.float64)

    return {
        "captured": [first, captured(1).to_numpy()],
        "by_template": by_template(qd.Vector([3.0, 4.0])),
        "parameter": [
            parameter(value, m2).to_numpy()
            for value, m2 in (([1, 2, 3], np.array([[1, 2], [3, 4]])), (np.array([0.5, 0, 1]), table))
        ],
        "func_shapes": func_shapes(),
        "arithmetic": [array(v + w), array(v * 2), array(w / 2), array(-v), array(v + 1), array(2 - w), array(v**2)],
        "matmul": [array(m @ qd.Vector([1.0, 1.0])), array(m @ m), array(m.transpose()), array(m.inverse())],
        "methods": [
            float(v.dot(w)),
            array(v.cross(w)),
            float(w.norm()),
            float(w.sum()),
            float(v.max()),
            float(m.trace()),
        ],
        "outer": array(qd.Vector([1, 2]).outer_product(qd.Vector([3, 4]))),
        "compare": bool((v + 1 == qd.Vector([2, 3, 4])).all()),
        "unpack": [int(t) for t in v],
        "attributes": [v.n, m.n, m.m, len(v), list(m.get_shape())],
        "item": [int(v[0]), float(m[1, 0])],
        "augmented": array(x),
        "casts": array(qd.Vector([1.7, -2.7], dt=qd.i32)),
        "numpy_left": type(np.array([1.0, 2.0, 3.0]) + w).__name__ in ("Vector", "Matrix"),
        "rows": array(qd.Matrix.rows([qd.Vector([1, 2]), qd.Vector([3, 4])])),
        "cols": array(qd.Matrix.cols([qd.Vector([1, 2]), qd.Vector([3, 4])])),
        "index_count": fails(lambda: m[0], "Expected 2 indices, got 1"),
        "out_of_range": fails(lambda: v[7], ""),
        "determinant": fails(lambda: m.determinant(), ""),
        "bad_shape": fails(bad_shape, "n 2, but got 3"),
        "writes_parameter": fails(lambda: writes_parameter([1, 2, 3]), "is immutable in the kernel"),
        "floats_for_ints": fails(lambda: ints(qd.Vector([1.5, 2.5])), "cannot be converted into required type"),
        "short": fails(lambda: ints(qd.Vector([1])), ""),
    }
