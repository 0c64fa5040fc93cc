"""The derivative of every operation on vectors and matrices against central differences, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check, field, reverse

import quadrants as qd


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def numbers(*shape, seed=3):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


@qd.func
def vector3(x, i):
    return qd.Vector([x[i, 0], x[i, 1], x[i, 2]])


@qd.func
def matrix2(x, i):
    return qd.Matrix([[x[i, 0], x[i, 1]], [x[i, 2], x[i, 3]]])


def test_products_of_vectors():
    x, y = field(numbers(2, 6)), field(np.zeros(2))

    @qd.kernel
    def k():
        for i in range(2):
            a = qd.Vector([x[i, 0], x[i, 1], x[i, 2]])
            b = qd.Vector([x[i, 3], x[i, 4], x[i, 5]])
            c = a.cross(b)
            p = qd.Vector([x[i, 0], x[i, 5]])
            q = qd.Vector([x[i, 3], x[i, 2]])
            O = a.outer_product(p)
            y[i] = a.dot(b) * c.norm() + p.cross(q) + (O @ q).sum() + b.norm_sqr() * a.normalized()[1]

    check(k, [x], [y])


def test_products_of_matrices():
    x, y = field(numbers(2, 4)), field(np.zeros(2))

    @qd.kernel
    def k():
        for i in range(2):
            A = qd.Matrix([[x[i, 0], x[i, 1], 0.2], [x[i, 2], 0.7, x[i, 3]]])
            B = qd.Matrix([[x[i, 3], 0.4], [x[i, 1], x[i, 0]], [0.3, x[i, 2]]])
            v = qd.Vector([x[i, 0], x[i, 3]])
            C = A @ B
            w = A.transpose() @ v
            y[i] = (C @ C).trace() + w.dot(B @ v) + (2.0 * C - C.transpose() / 3.0).norm_sqr() + C[0, 1] * C[1, 0]

    check(k, [x], [y])


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_determinant_and_inverse(size):
    x, y = field(numbers(size, size) + 2 * np.eye(size)), field(np.zeros(1))
    weights = numbers(size, size, seed=5).tolist()

    @qd.kernel
    def k():
        for _ in range(1):
            A = qd.Matrix.zero(qd.f64, size, size)
            for i, j in qd.static(qd.ndrange(size, size)):
                A[i, j] = x[i, j]
            W = qd.Matrix(weights)
            y[0] = A.determinant() * 1.5 + (W * A.inverse()).sum()

    check(k, [x], [y])


def test_the_determinant_of_a_singular_matrix():
    x, y = field(np.ones((2, 2))), field(np.zeros(1))

    @qd.kernel
    def k():
        for _ in range(1):
            y[0] = qd.Matrix([[x[0, 0], x[0, 1]], [x[1, 0], x[1, 1]]]).determinant()

    check(k, [x], [y])


def test_large_inverses():
    size = 6
    x, y = field(numbers(size, size) + 3 * np.eye(size)), field(np.zeros(1))

    @qd.kernel
    def k():
        for _ in range(1):
            A = qd.Matrix.zero(qd.f64, size, size)
            for i, j in qd.static(qd.ndrange(size, size)):
                A[i, j] = x[i, j]
            y[0] = A.inverse().norm_sqr()

    check(k, [x], [y])


def test_extrema_of_vectors():
    x, y = field([[0.3, 0.9, -0.2], [0.5, -0.5, 0.1]]), field(np.zeros(2))

    @qd.kernel
    def k():
        for i in range(2):
            v = vector3(x, i)
            y[i] = v.max() * 2.0 + v.min() * v.max() + qd.max(v[0], v[1], v[2]) * 3.0

    check(k, [x], [y])


def test_ties_of_extrema_go_to_one_element():
    x, y = field([[0.5, 0.5, 0.5]]), field(np.zeros(1))

    @qd.kernel
    def largest():
        for i in range(1):
            y[i] = vector3(x, i).max()

    @qd.kernel
    def least():
        for i in range(1):
            y[i] = vector3(x, i).min()

    for k in (largest, least):
        x.grad.fill(0)
        y.grad.fill(1)
        k.grad()
        assert x.grad.to_numpy().tolist() == [[0, 0, 1]]


def test_elementwise_operations_and_broadcasts():
    x, y = field(numbers(2, 4)), field(np.zeros(2))

    @qd.kernel
    def k():
        for i in range(2):
            A = matrix2(x, i)
            s = x[i, 0] + 2.0
            B = qd.sin(A) * s - A / s + s * A + (A + s) * (s - A)
            C = qd.max(A, B) + qd.select(A > 0.0, A * A, B) + abs(B) + s**2 + A**3
            v = qd.Vector([s, s * s])
            v += 1.5
            v[0] *= s
            y[i] = C.sum() + v.sum() + qd.atan2(A, B).sum() + (A % s).sum()

    check(k, [x], [y])


def test_components_at_run_time():
    x, y = field(numbers(2, 4)), field(np.zeros(2))

    @qd.kernel
    def k():
        for i in range(2):
            v = qd.Vector([x[i, 0], x[i, 1], x[i, 2], x[i, 3]])
            M = matrix2(x, i)
            for j in range(4):
                v[j] = v[(j + 1) % 4] * v[j] + M[j // 2, j % 2]
                M[j % 2, 1 - j % 2] += v[3 - j] * 0.5
            y[i] = v.dot(v) + M.norm_sqr()

    check(k, [x], [y])


def test_cells_of_vectors_and_matrices():
    v = qd.Vector.field(3, qd.f64, 4, needs_grad=True, needs_dual=True)
    m = qd.Matrix.field(2, 3, qd.f64, 4, needs_grad=True, needs_dual=True)
    w = qd.Vector.field(2, qd.f64, 4, needs_grad=True, needs_dual=True)
    v.from_numpy(numbers(4, 3))
    m.from_numpy(numbers(4, 2, 3))

    @qd.kernel
    def k():
        for i in v:
            w[i] = m[i] @ v[i]
            w[i] += qd.Vector([v[i][0], m[i][1, 2]]) * v[i].norm()
            w[i][1] -= v[i].z * m[i][0, 0]

    w.grad.fill(1)
    k.grad()
    V, M = v.to_numpy(), m.to_numpy()

    def total(V, M):
        out = np.einsum("nij,nj->ni", M, V) + np.stack([V[:, 0], M[:, 1, 2]], 1) * np.linalg.norm(V, axis=1)[:, None]
        out[:, 1] -= V[:, 2] * M[:, 0, 0]
        return out

    h = 1e-6
    for array, found in ((V, v.grad.to_numpy()), (M, m.grad.to_numpy())):
        for at in np.ndindex(*array.shape):
            kept = array[at]
            array[at] = kept + h
            up = total(V, M).sum()
            array[at] = kept - h
            down = total(V, M).sum()
            array[at] = kept
            # A store to w comes first: its gradient is what the accumulations leave.
            assert found[at] == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-8)
    assert (w.grad.to_numpy() == 0).all()


@pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA])
def test_layouts_of_matrix_fields(layout):
    v = qd.Vector.field(3, qd.f64, 4, needs_grad=True, layout=layout)
    y = qd.Vector.field(3, qd.f64, 4, needs_grad=True, layout=qd.Layout.SOA)
    v.from_numpy(numbers(4, 3))

    @qd.kernel
    def k(j: qd.i32):
        for i in v:
            y[i] += v[i] * v[i][j]
            y[i][j] += v[i].sum()

    y.grad.fill(1)
    k.grad(1)
    V = v.to_numpy()
    expected = np.repeat(V[:, 1:2], 3, axis=1) + 1
    expected[:, 1] += V.sum(axis=1)
    np.testing.assert_allclose(v.grad.to_numpy(), expected)


def test_lazily_placed_gradients():
    x, y = qd.field(qd.f64), qd.field(qd.f64)
    v = qd.Vector.field(2, qd.f64)
    qd.root.dense(qd.i, 4).place(x, v)
    qd.root.place(y)
    qd.root.lazy_grad()

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * v[i][1] + v[i].norm_sqr()

    x.fill(2)
    v.fill(3)
    y.grad[None] = 1
    k.grad()
    assert (x.grad.to_numpy() == 3).all() and v.grad.to_numpy().tolist() == [[6, 8]] * 4


def test_struct_fields():
    Particle = qd.types.struct(pos=qd.types.vector(2, qd.f64), mass=qd.f64)
    s = Particle.field(shape=4, needs_grad=True)
    e = field(np.zeros(()))
    s.pos.from_numpy(numbers(4, 2))
    s.mass.fill(2)

    @qd.kernel
    def energy():
        for i in s:
            p = s[i]
            q = Particle(pos=p.pos * 2.0, mass=p.mass)
            q.pos[0] += p.mass
            if q.mass > 1.0:
                q.mass = q.mass * q.pos[1]
            r = q
            e[None] += r.mass * r.pos.norm_sqr()

    def by_hand(P, m):
        x, y = P[:, 0] * 2 + m, P[:, 1] * 2
        return (m * y * (x**2 + y**2)).sum()

    e.grad[None] = 1
    energy.grad()
    P, m = s.pos.to_numpy(), s.mass.to_numpy()
    h = 1e-6
    for at in np.ndindex(4, 2):
        step = np.zeros((4, 2))
        step[at] = h
        slope = (by_hand(P + step, m) - by_hand(P - step, m)) / (2 * h)
        assert s.grad.pos.to_numpy()[at] == pytest.approx(slope, rel=1e-5)
    total = (by_hand(P, m + h) - by_hand(P, m - h)) / (2 * h)
    assert s.mass.grad.to_numpy().sum() == pytest.approx(total, rel=1e-5)


def test_stop_grad():
    x, y = field([1.0, 2.0]), field(np.zeros(()))

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i]
        for i in x:
            qd.stop_grad(x)
            if x[i] > 0:
                y[None] += x[i] * x[i]

    y.grad[None] = 1
    k.grad()
    assert x.grad.to_numpy().tolist() == [2, 4]


def test_polar_decomposition_of_two_axes():
    """Rotations and reflections, the identity; alone and in a recurrence, as deformation gradients have it."""
    A = [[[1.2, 0.3], [-0.4, 0.9]], [[0.2, 1.1], [0.9, -0.3]], [[-0.7, 0.1], [0.2, -1.4]], [[1.0, 0.0], [0.0, 1.0]]]
    x, y = field(np.array(A)), field(np.zeros((4, 3)))

    @qd.kernel
    def decompose():
        for i in range(4):
            F = qd.Matrix([[x[i, 0, 0], x[i, 0, 1]], [x[i, 1, 0], x[i, 1, 1]]])
            R, P = qd.polar_decompose(F)
            y[i, 0] = R[0, 0] * 0.3 + R[0, 1] * R[1, 1] - R[1, 0]
            y[i, 1] = P[0, 0] * P[1, 1] + P[0, 1]
            for _ in range(3):
                R, P = qd.polar_decompose(F)
                F = F + 0.1 * (F - R)
            y[i, 2] = F.norm_sqr()

    check(decompose, [x], [y])


def test_the_rotation_of_scaled_matrices_does_not_move_with_the_scale():
    scales = [1e-30, 1e-3, 1.0, 1e12]
    x, y = field(scales), field(np.zeros(4))

    @qd.kernel
    def rotation():
        for i in x:
            R, P = qd.polar_decompose(qd.Matrix([[0.8, -0.5], [0.7, 0.9]]) * x[i])
            y[i] = R[0, 1]

    found = reverse(rotation, [x], [y])[0] * scales
    np.testing.assert_allclose(found, 0, atol=1e-14)
