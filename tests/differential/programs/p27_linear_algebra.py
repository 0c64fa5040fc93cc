"""matrix-math.md 16: svd, polar, symmetric eigenvalues, make_spd, eig, solve: sizes, signs, order, rebuilding."""

import numpy as np
from kit import fails

RTOL = 1e-4
ATOL = 2e-5


def run(qd):
    mat2, mat3 = qd.types.matrix(2, 2, qd.f32), qd.types.matrix(3, 3, qd.f32)

    @qd.kernel
    def svd3(a: mat3) -> tuple[mat3, mat3, qd.types.vector(3, qd.f32)]:
        u, s, v = qd.svd(a)
        return s, u @ s @ v.transpose(), qd.Vector([u.determinant(), v.determinant(), s.determinant()])

    @qd.kernel
    def svd2(a: mat2) -> tuple[mat2, mat2, qd.types.vector(2, qd.f32)]:
        u, s, v = qd.svd(a)
        return s, u @ s @ v.transpose(), qd.Vector([u.determinant(), v.determinant()])

    @qd.kernel
    def polar3(a: mat3) -> tuple[mat3, mat3]:
        return qd.polar_decompose(a)

    @qd.kernel
    def polar2(a: mat2) -> tuple[mat2, mat2]:
        return qd.polar_decompose(a)

    @qd.kernel
    def eigen3(a: mat3) -> tuple[qd.types.vector(3, qd.f32), mat3]:
        w, q = qd.sym_eig(a)
        return w, q @ qd.Matrix([[w[0], 0, 0], [0, w[1], 0], [0, 0, w[2]]]) @ q.transpose()

    @qd.kernel
    def eigen2(a: mat2) -> qd.types.vector(2, qd.f32):
        w, q = qd.sym_eig(a)
        return w

    @qd.kernel
    def spd(a: mat2) -> mat2:
        return qd.make_spd(a)

    @qd.kernel
    def general(a: mat2) -> mat2:
        w, v = qd.eig(a)
        return w

    @qd.kernel
    def solved(a: mat3, b: qd.types.vector(3, qd.f32)) -> qd.types.vector(3, qd.f32):
        return qd.solve(a, b)

    @qd.kernel
    def solved2(a: qd.types.matrix(2, 2, qd.f64), b: qd.types.vector(2, qd.f64)) -> qd.types.vector(2, qd.f64):
        return qd.solve(a, b, dt=qd.f64)

    @qd.kernel
    def size() -> qd.f32:
        u, s, v = qd.svd(qd.Matrix.identity(qd.f32, 4))
        return s[0, 0]

    a = np.array([[1, 2, 0], [-1, 0.5, 3], [2, 2, 1]], np.float32)
    b = np.array([[2, -1, 0.5], [-1, 3, 0.25], [0.5, 0.25, -1]], np.float32)
    c = np.array([[1.5, 0.5], [-2, 1]], np.float32)

    def arrays(results):
        return [r.to_numpy() for r in results]

    return {
        "svd3": arrays(svd3(a)),
        "svd3_reflection": arrays(svd3(-np.eye(3, dtype=np.float32))),
        "svd3_zero": arrays(svd3(np.zeros((3, 3), np.float32))),
        "svd2": arrays(svd2(c)),
        "svd2_reflection": arrays(svd2(np.array([[1, 2], [3, 4]], np.float32))),
        "polar3": arrays(polar3(a)),
        "polar3_reflection": arrays(polar3(np.diag([-1, 2, 3]).astype(np.float32))),
        "polar2": arrays(polar2(c)),
        "eigen3": arrays(eigen3(b)),
        "eigen2": eigen2(np.array([[2, 1], [1, 2]], np.float32)).to_numpy(),
        "spd": [
            spd(np.array(m, np.float32)).to_numpy()
            for m in ([[1, 2], [2, 1]], [[2, 0.5], [0.5, 1]], [[-1, 0], [0, -2]])
        ],
        "general": [general(np.array(m, np.float32)).to_numpy() for m in ([[2, 1], [0.5, 3]], [[1, -2], [2, 1]])],
        "solved": solved(a, np.array([1, 2, 3], np.float32)).to_numpy(),
        "solved2": solved2(c.astype(np.float64), np.array([1.0, 2.0])).to_numpy().astype(np.float32),
        "size": fails(size, "SVD only supports 2\u00d72 and 3\u00d73 matrices."),
    }
