"""matrix-math.md 2, 3: type objects, constructors in kernels, factories, and the errors of construction."""

import numpy as np
from kit import fails


def run(qd):
    vec2, vec3, vec4, ivec3, mat2 = qd.math.vec2, qd.math.vec3, qd.math.vec4, qd.math.ivec3, qd.math.mat2
    out = qd.field(qd.f32, shape=(24, 9))
    numbers = [1, 2, 3]
    table = np.array([[1.5, 2.5], [3.5, 4.5]], np.float32)

    @qd.func
    def put(row: qd.template(), v):
        for i in qd.static(range(v.n)):
            out[row, i] = v[i]

    @qd.func
    def put_matrix(row: qd.template(), m):
        for i in qd.static(range(m.n)):
            for j in qd.static(range(m.m)):
                out[row, i * m.m + j] = m[i, j]

    @qd.kernel
    def build(a: qd.f32, i: qd.i32):
        put(0, qd.Vector([1, 2.5, a]))
        put(1, qd.Vector([1.7, -2.7, a], dt=qd.i32))
        put(2, vec3(a))
        put(3, vec4(qd.Vector([1.0, 2.0]), 3, a))
        put(4, ivec3(1.9, -2.9, a))
        put_matrix(5, mat2(1, 2, 3, a))
        put_matrix(6, mat2([1, 2], [3, a]))
        put_matrix(7, mat2(vec2(1, 2), vec2(3, 4)))
        put_matrix(8, mat2(a))
        put_matrix(9, qd.Matrix([[1, 2, 3], [4, 5, i]]))
        put(10, qd.Vector([2 * x + i for x in numbers]))
        put_matrix(11, qd.Matrix(table) * 2)
        put_matrix(12, qd.Matrix.zero(qd.f32, 2, 3))
        put_matrix(13, qd.Matrix.one(qd.i32, 3, 2) * a)
        put_matrix(14, qd.Matrix.identity(qd.f32, 3))
        put(15, qd.Vector.unit(4, i) * 3)
        put_matrix(16, qd.Matrix.diag(3, a))
        put_matrix(17, qd.Matrix.rows([qd.Vector([1, 2]), [3.5, 4]]))
        put_matrix(18, qd.Matrix.cols([qd.Vector([1, 2]), qd.Vector([3.5, 4])]))
        put(19, qd.one(qd.Vector([5.0, 6.0])) + qd.zero(a))
        put(20, vec3(0.0, qd.Vector([7.0, 8.0])))
        put(21, vec4(qd.Vector([1.0, 2.0, 3.0]).zyx, 1.0))
        v2 = qd.Vector([5.0, 6.0])
        put(22, vec3(*v2, 3))
        w = vec3(qd.math.inf)
        put(23, qd.select(w > 1e30, 1, 0))

    @qd.kernel
    def ragged() -> qd.f32:
        m = qd.Matrix([[1, 2], [3]])
        return m[0, 0]

    @qd.kernel
    def vector_of_vectors() -> qd.f32:
        v = qd.Vector([1.0, 2.0])
        m = qd.Matrix([v, v])
        return m[0, 0]

    @qd.kernel
    def no_value() -> qd.f32:
        v = vec3()
        return v[0]

    @qd.kernel
    def too_few() -> qd.f32:
        v = vec3(1.0, 2.0)
        return v[0]

    @qd.kernel
    def from_scalar() -> qd.f32:
        v = qd.Vector(3)
        return v[0]

    @qd.kernel
    def big_literal() -> qd.i64:
        v = qd.Vector([3000000000], qd.i64)
        return v[0]

    @qd.kernel
    def strings() -> qd.i32:
        v = qd.Vector(["a"])
        return v[0]

    build(0.5, 2)
    t = qd.types.matrix(2, 3, qd.f32)
    return {
        "out": out.to_numpy(),
        "type": [
            t.n,
            t.m,
            t.ndim,
            str(t.dtype),
            t.to_string(),
            qd.types.vector(3, qd.i32).to_string(),
            list(t.get_shape()),
        ],
        "int_type": [
            str(qd.types.vector(2, int).dtype),
            str(qd.types.vector(2, float).dtype),
            str(qd.math.uvec3.dtype),
        ],
        "ragged": fails(ragged, ""),
        "vector_of_vectors": fails(vector_of_vectors, ""),
        "no_value": fails(no_value, "need to be created with an initial value"),
        "too_few": fails(too_few, ""),
        "from_scalar": fails(from_scalar, ""),
        "big_literal": fails(big_literal, "exceeded the range of default_ip"),
        "strings": fails(strings, ""),
        "host_zero": fails(lambda: qd.Matrix.zero(qd.f32, 2), "zero cannot be called in Python-scope"),
        "host_scalar": fails(lambda: qd.Vector(3), "can only be initialized with an array-like object"),
        "bad_dtype": fails(lambda: qd.types.vector(3, "f32"), "Invalid data type"),
    }
