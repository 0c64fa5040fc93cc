"""matrix-math.md 1, 6, 7: value semantics, broadcasting, promotion of elements, assignment conversion, errors."""

from kit import fails


def run(qd):
    f = qd.Vector.field(2, qd.f32, shape=2)
    g = qd.Matrix.field(2, 2, qd.i32, shape=2)

    @qd.kernel
    def values() -> qd.types.vector(8, qd.f32):
        a = qd.Vector([1, 2])
        b = a
        b[0] = 9
        f[0] = [1.0, 2.0]
        w = f[0]
        w[0] = 7.0
        c = a + 0.5
        d = a * qd.Vector([2.0, 0.5])
        a = qd.Vector([3.9, -3.9])
        e = 10 - a
        return qd.Vector([a[0], a[1], b[0], f[0][0], c[1], d[1], e[0], (a / 2)[1]])

    @qd.kernel
    def matrices(k: qd.i32) -> qd.types.matrix(6, 4, qd.f32):
        m = qd.Matrix([[1, 2], [3, 4]])
        n = qd.Matrix([[0.5, 1.5], [2.5, -1.0]])
        s = m + n
        t = 2 * m - k
        u = m @ n
        w = m // 2 + m % 3
        x = -n
        y = m * n / 2
        return qd.Matrix(
            [
                [s[0, 0], s[0, 1], s[1, 0], s[1, 1]],
                [t[0, 0], t[0, 1], t[1, 0], t[1, 1]],
                [u[0, 0], u[0, 1], u[1, 0], u[1, 1]],
                [w[0, 0], w[0, 1], w[1, 0], w[1, 1]],
                [x[0, 0], x[0, 1], x[1, 0], x[1, 1]],
                [y[0, 0], y[0, 1], y[1, 0], y[1, 1]],
            ]
        )

    @qd.kernel
    def assigns():
        m = qd.Matrix([[1, 2], [3, 4]])
        m = 5
        m += qd.Matrix([[1, 2], [3, 4]])
        g[0] = m
        g[1] = [[1, 2], [3, 4]]
        g[1] += 1
        g[1] *= 1.5
        g[1] -= qd.Matrix([[1, 0], [0, 1]])
        f[1] = 3
        f[1] /= 2
        f[1] = f[1] + [3, 4]
        m.fill(2.5)
        g[0][0, 1] = m[0, 0]

    @qd.kernel
    def comparisons(v: qd.types.vector(3, qd.f32)) -> qd.types.vector(7, qd.i32):
        a = v > 1.0
        b = v == qd.Vector([1.0, 2.0, 3.0])
        c = 0 < v < 2.5
        return qd.Vector(
            [qd.cast(a, qd.i32).sum(), b.all(), b.any(), qd.cast(c, qd.i32).sum(), any(a), all(a), (not a).any()]
        )

    @qd.kernel
    def products() -> qd.types.vector(6, qd.f32):
        a = qd.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        v = qd.Vector([1.0, 2.0, 3.0])
        w = qd.Vector([1.0, -1.0])
        p = a @ v
        q = w @ a
        return qd.Vector([p[0], p[1], q[0], q[1], q[2], v @ v])

    @qd.kernel
    def shapes():
        a = qd.Vector([1, 2]) + qd.Vector([1, 2, 3])
        a[0] = 1

    @qd.kernel
    def vector_matrix():
        a = qd.Vector([1, 2]) + qd.Matrix([[1, 2], [3, 4]])
        a[0] = 1

    @qd.kernel
    def real_bits():
        a = qd.Vector([1.0, 2.0]) & 1
        a[0] = 1

    @qd.kernel
    def assign_shape():
        a = qd.Vector([1, 2, 3, 4])
        a = qd.Vector([1, 2, 3])

    @qd.kernel
    def matmul_shape():
        a = qd.Matrix([[1, 2], [3, 4]]) @ qd.Vector([1, 2, 3])
        a[0] = 1

    values_ = values().to_numpy()
    assigns()
    return {
        "values": values_,
        "matrices": matrices(1).to_numpy(),
        "g": g.to_numpy(),
        "f": f.to_numpy(),
        "comparisons": comparisons(qd.Vector([1.0, 2.0, 3.5])).to_numpy(),
        "products": products().to_numpy(),
        "shapes": fails(shapes, "unsupported operand type(s) for '+': '[Tensor (2) i32]' and '[Tensor (3) i32]'"),
        "vector_matrix": fails(vector_matrix, "unsupported operand type(s) for '+'"),
        "real_bits": fails(real_bits, "unsupported operand type(s) for '&'"),
        "assign_shape": fails(assign_shape, "cannot assign '[Tensor (3) i32]' to '[Tensor (4) i32]'"),
        "matmul_shape": fails(matmul_shape, "dimension mismatch between (2, 2) and (3,) for matrix multiplication"),
    }
