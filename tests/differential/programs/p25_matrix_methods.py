"""matrix-math.md 8: every method of vectors and matrices, and its errors."""

import numpy as np
from kit import fails

RTOL = 2e-5
ATOL = 1e-5


def run(qd):
    @qd.kernel
    def vectors(a: qd.types.vector(3, qd.f32), b: qd.types.vector(3, qd.f32)) -> qd.types.vector(20, qd.f32):
        c = a.cross(b)
        n = a.normalized()
        e = a.normalized(0.5)
        d2 = qd.Vector([a[0], a[1]]).cross(qd.Vector([b[0], b[1]]))
        return qd.Vector(
            [
                a.dot(b), c[0], c[1], c[2], a.norm(), a.norm_sqr(), a.norm_inv(), n[0], n[1], n[2], e[0], a.norm(1.0),
                a.sum(), a.max(), a.min(), a.any(), a.all(), d2, a.norm_inv(0.5), qd.Vector([3, 4]).norm(),
            ]
        )  # fmt: skip

    @qd.kernel
    def integers() -> qd.types.vector(7, qd.i32):
        v = qd.Vector([3, -4, 0])
        m = qd.Matrix([[1, 2], [3, 5]])
        return qd.Vector([v.norm_sqr(), v.sum(), v.max(), v.min(), v.all(), m.trace(), m.determinant()])

    @qd.kernel
    def outer(a: qd.types.vector(2, qd.f32), b: qd.types.vector(3, qd.f32)) -> qd.types.matrix(2, 3, qd.f32):
        return a.outer_product(b)

    @qd.kernel
    def transposed(m: qd.types.matrix(2, 3, qd.f32)) -> qd.types.matrix(3, 2, qd.f32):
        return m.transpose()

    def square(n):
        t = qd.types.matrix(n, n, qd.f64)

        @qd.kernel
        def ops(m: t) -> tuple[t, t, qd.types.vector(3, qd.f64)]:
            inv = m.inverse()
            det = qd.cast(0, qd.f64)
            if qd.static(n <= 4):
                det = m.determinant()
            return inv, m @ inv, qd.Vector([m.trace(), det, m.frobenius_inner(m)])

        return ops

    @qd.kernel
    def int_inverse() -> qd.types.matrix(2, 2, qd.f32):
        return qd.Matrix([[1, 2], [3, 4]]).inverse()

    @qd.kernel
    def cast_and_fill() -> qd.types.vector(4, qd.f32):
        v = qd.Vector([1.9, -1.9])
        w = v.cast(qd.i32)
        v.fill(4)
        return qd.Vector([w[0], w[1], v[0], v[1]])

    @qd.kernel
    def small_sums() -> qd.types.vector(2, qd.i32):
        u = qd.Vector([200, 100], dt=qd.u8)
        b = qd.Vector([1, 1, 1]) > 0
        return qd.Vector([qd.cast(u.sum(), qd.i32), b.sum()])

    rng = np.random.default_rng(2)
    results = {}
    for n in (1, 2, 3, 4, 5, 7):
        m = rng.uniform(-1, 1, (n, n)) + 2 * np.eye(n)
        inverse, product, rest = square(n)(m)
        results[f"inverse_{n}"] = inverse.to_numpy().astype(np.float32)
        results[f"product_{n}"] = product.to_numpy().round(9) + 0.0
        results[f"rest_{n}"] = rest.to_numpy().astype(np.float32)

    @qd.kernel
    def vector_transpose() -> qd.f32:
        return qd.Vector([1.0, 2.0]).transpose()[0, 0]

    @qd.kernel
    def not_square() -> qd.f32:
        return qd.Matrix([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).trace()

    @qd.kernel
    def cross4() -> qd.f32:
        v = qd.Vector([1.0, 2.0, 3.0, 4.0])
        return v.cross(v)[0]

    @qd.kernel
    def det5() -> qd.f32:
        return qd.Matrix.identity(qd.f32, 5).determinant()

    @qd.kernel
    def matrix_dot() -> qd.f32:
        m = qd.Matrix([[1.0, 2.0], [3.0, 4.0]])
        return m.dot(qd.Vector([1.0, 2.0]))

    @qd.kernel
    def normalized_matrix() -> qd.f32:
        return qd.Matrix([[1.0, 2.0], [3.0, 4.0]]).normalized()[0, 0]

    @qd.kernel
    def method_of_scalar(x: qd.f32) -> qd.f32:
        return x.norm()

    return results | {
        "vectors": vectors(qd.Vector([1.0, -2.0, 3.0]), qd.Vector([0.5, 4.0, -1.0])).to_numpy(),
        "integers": integers().to_numpy(),
        "outer": outer([1.0, 2.0], [3.0, 4.0, 5.0]).to_numpy(),
        "transposed": transposed(np.arange(6, dtype=np.float32).reshape(2, 3)).to_numpy(),
        "int_inverse": int_inverse().to_numpy(),
        "cast_and_fill": cast_and_fill().to_numpy(),
        "small_sums": small_sums().to_numpy(),
        "vector_transpose": fails(vector_transpose, "cannot apply to a vector"),
        "not_square": fails(not_square, "expected a square matrix, got shape (3, 2)"),
        "cross4": fails(cross4, "only dimension < 4 is supported, got shape (4,)"),
        "det5": fails(det5, "only dimension < 5 is supported, got shape (5, 5)"),
        "matrix_dot": fails(matrix_dot, "lhs for dot is not a vector"),
        "normalized_matrix": fails(normalized_matrix, "expected a vector"),
        "method_of_scalar": fails(lambda: method_of_scalar(1.0), "not tensor type"),
    }
