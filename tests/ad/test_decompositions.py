"""Derivatives of svd, polar_decompose, sym_eig and make_spd, where they are smooth and where they are not."""

from __future__ import annotations

import re

import numpy as np
import pytest
from oracle import check, field, forward, reverse

import quadrants as qd

pytestmark = pytest.mark.sampled

RNG = np.random.default_rng(11)
WEIGHTS = RNG.uniform(-1, 1, (3, 5, 5))


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def rotation(n: int, rng=RNG) -> np.ndarray:
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    q[:, 0] *= np.linalg.det(q)
    return q


def with_values(*values: float) -> np.ndarray:
    n = len(values)
    return rotation(n) @ np.diag(values) @ rotation(n).T


@qd.func
def weighted(M, k: qd.template()):
    """The sum of the elements of a vector or matrix, each times a number of its own."""
    total = 0.0
    if qd.static(len(M.get_shape()) == 1):
        for a in qd.static(range(M.n)):
            total += M[a] * WEIGHTS[k, a, 0]
    else:
        for a, b in qd.static(qd.ndrange(M.n, M.m)):
            total += M[a, b] * WEIGHTS[k, a, b]
    return total


def decomposed(name: str, dt=qd.f64):
    """A func: all that a decomposition returns, in one number."""

    @qd.func
    def svd(A):
        U, S, V = qd.svd(A, dt)
        return weighted(U, 0) + weighted(S, 1) + weighted(V, 2)

    @qd.func
    def polar(A):
        R, P = qd.polar_decompose(A, dt)
        return weighted(R, 0) + weighted(P, 1)

    @qd.func
    def eigen(A):
        values, V = qd.sym_eig(A + A.transpose(), dt)
        return weighted(values, 0) + weighted(V, 1)

    @qd.func
    def spd(A):
        return weighted(qd.make_spd(A + A.transpose(), dt), 0)

    return {"svd": svd, "polar": polar, "eigen": eigen, "spd": spd}[name]


def program(matrices, body, dtype=qd.f64):
    """(kernel, x, y): y[i] = body(matrix i of x)."""
    matrices = np.asarray(matrices)
    count, n, _ = matrices.shape
    x, y = field(matrices, dtype), field(np.zeros(count), dtype)

    @qd.kernel
    def k():
        for i in range(count):
            A = qd.Matrix.zero(dtype, n, n)
            for a, b in qd.static(qd.ndrange(n, n)):
                A[a, b] = x[i, a, b]
            y[i] = body(A)

    return k, x, y


def both_modes(matrices, body, dtype=qd.f64):
    """Gradients with respect to the matrices; those of both modes, which agree."""
    k, x, y = program(matrices, body, dtype)
    backward, ahead = reverse(k, [x], [y])[0], forward(k, [x], [y])[0]
    close = 1e-4 if dtype is qd.f32 else 1e-11
    np.testing.assert_allclose(backward, ahead, rtol=close, atol=close * max(1.0, np.abs(ahead).max()))
    return backward


CASES = [(name, n) for name in ("svd", "polar") for n in (2, 3)] + [("eigen", n) for n in (1, 2, 3, 5)] + [("spd", 3)]


def generic(n: int) -> list:
    """Matrices of both orientations with different singular values, some of them small."""
    made = [with_values(*(2.0, 1.3, 0.6, 0.4, 0.3, 0.2)[:n]), with_values(*(1.5, 0.8, -0.3, 1.1, -1.9, 0.5)[:n])]
    return [*made, RNG.normal(size=(n, n)), with_values(*(1.0, 0.1, 0.01, 0.5, 2.0, 3.0)[:n])]


@pytest.mark.parametrize("name, n", CASES)
def test_generic_matrices_against_differences(name, n):
    k, x, y = program(generic(n), decomposed(name, qd.f64))
    check(k, [x], [y], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name, n", CASES)
def test_single_precision(name, n):
    """Also where the default is double precision: nothing is widened."""
    matrices = np.array(generic(n)[:3], dtype=np.float32)
    expected = both_modes(matrices, decomposed(name, qd.f64))
    found = both_modes(matrices, decomposed(name, qd.f32), qd.f32)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


# What has equal, opposite or no singular values: factors are not unique, their product is.
TROUBLE = {
    2: [np.eye(2), -np.eye(2), np.diag([1.0, -1.0]), np.zeros((2, 2)), 3 * rotation(2), with_values(2.0, 0.0)],
    3: [
        np.eye(3), -np.eye(3), np.diag([1.0, 1.0, -1.0]), np.zeros((3, 3)), 3 * rotation(3), np.diag([2.0, 1.0, 1.0]),
        with_values(2.0, 2.0, 1.0), with_values(2.0, 1.0, -1.0), with_values(2.0, 1.0, 0.0), with_values(2.0, 0.0, 0.0),
    ],
}  # fmt: skip


@qd.func
def rebuilt_by_svd(A):
    U, S, V = qd.svd(A)
    return weighted(U @ S @ V.transpose(), 0)


@qd.func
def rebuilt_by_polar(A):
    R, P = qd.polar_decompose(A)
    return weighted(R @ P, 0)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e12])
@pytest.mark.parametrize("body, n", [(rebuilt_by_svd, 2), (rebuilt_by_svd, 3), (rebuilt_by_polar, 3)])
def test_products_of_all_factors_have_the_derivative_of_their_argument(body, n, scale):
    matrices = np.array([*TROUBLE[n], *generic(n)]) * scale
    found = both_modes(matrices, body)
    np.testing.assert_allclose(found, np.broadcast_to(WEIGHTS[0, :n, :n], found.shape), atol=1e-10)


@pytest.mark.parametrize("dtype", [qd.f32, qd.f64])
@pytest.mark.parametrize("name, n", [("svd", 2), ("svd", 3), ("polar", 3), ("eigen", 2), ("eigen", 3), ("spd", 3)])
def test_no_derivative_is_infinite(name, n, dtype):
    """Zero, subnormal and huge matrices, all kinds of coincidences, and values that differ by little more than that."""
    smallest = 1e-40 if dtype is qd.f32 else 1e-310
    near = np.array([with_values(*np.array([1.0, 1.0 + d, 1.0 - 3 * d])[:n]) for d in (1e-15, 1e-12, 1e-7, 1e-6)])
    scaled = np.array([*TROUBLE[n], *generic(n), *near])
    matrices = np.concatenate([scaled, scaled * smallest, scaled * 1e-30, scaled * 1e15])
    assert np.isfinite(both_modes_unequal(matrices, decomposed(name, dtype), dtype)).all()


def both_modes_unequal(matrices, body, dtype):
    """Gradients of both modes, one after the other: there is more rounding in them than can be compared."""
    k, x, y = program(matrices, body, dtype)
    return np.array([reverse(k, [x], [y])[0], forward(k, [x], [y])[0]])


@qd.func
def turned_of_svd(A):
    U, S, V = qd.svd(A)
    return weighted(U @ V.transpose(), 0)


@qd.func
def turned_of_polar(A):
    R, P = qd.polar_decompose(A)
    return weighted(R, 0)


@qd.func
def stretched_of_polar(A):
    R, P = qd.polar_decompose(A)
    return weighted(P, 0)


@qd.func
def stretched_of_svd(A):
    U, S, V = qd.svd(A)
    return weighted(V @ S @ V.transpose(), 0)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("body", [turned_of_svd, turned_of_polar])
def test_rotations_of_matrices_with_equal_values(body, n):
    """The rotation is smooth where no two values add up to nothing; equal ones are like any others."""
    if n == 3:
        values = [(1.0, 1.0, 1.0), (2.0, 2.0, 1.0), (2.0, 1.0, 1.0), (2.0, 2.0, -1.0)]
    else:
        values = [(1.0, 1.0), (3.0, 3.0)]
    k, x, y = program([*(with_values(*v) for v in values), np.eye(n)], body)
    check(k, [x], [y], rtol=1e-6, atol=1e-7)
    W = WEIGHTS[0, :n, :n]
    np.testing.assert_allclose(reverse(k, [x], [y])[0][-1], (W - W.T) / 2, atol=1e-14)


@pytest.mark.parametrize("body, n", [(stretched_of_svd, 2), (stretched_of_svd, 3), (stretched_of_polar, 3)])
def test_stretches_of_matrices_with_equal_values(body, n):
    values = (1.0, 1.0, 0.5) if n == 3 else (2.0, 2.0)
    k, x, y = program([with_values(*values), np.eye(n)], body)
    check(k, [x], [y], rtol=1e-6, atol=1e-7)
    W = WEIGHTS[0, :n, :n]
    np.testing.assert_allclose(reverse(k, [x], [y])[0][-1], (W + W.T) / 2, atol=1e-14)


def test_functions_of_equal_singular_values():
    """The sum of squares and the product of all, which are smooth."""

    @qd.func
    def squares(A):
        U, S, V = qd.svd(A)
        return S.norm_sqr()

    @qd.func
    def product(A):
        U, S, V = qd.svd(A)
        return S[0, 0] * S[1, 1] * S[2, 2]

    matrices = np.array([np.eye(3), 2 * rotation(3), with_values(2.0, 1.0, 1.0), with_values(2.0, 1.0, -1.0)])
    np.testing.assert_allclose(both_modes(matrices, squares), 2 * matrices, atol=1e-13)
    cofactors = [np.linalg.det(A) * np.linalg.inv(A).T for A in matrices]
    np.testing.assert_allclose(both_modes(matrices, product), cofactors, atol=1e-13)


def test_functions_of_equal_eigenvalues():
    @qd.func
    def squares(A):
        values, V = qd.sym_eig(A)
        return values.norm_sqr()

    turn = rotation(3)
    matrices = np.array([np.eye(3), turn @ np.diag([2.0, 2.0, -1.0]) @ turn.T, np.zeros((3, 3))])
    np.testing.assert_allclose(both_modes(matrices, squares), 2 * matrices, atol=1e-13)


def test_gradients_of_symmetric_matrices_are_symmetric():
    """What is above and below the diagonal is one number: each gets half of its derivative."""

    @qd.func
    def body(A):
        values, V = qd.sym_eig(A)
        return weighted(values, 0) + weighted(V, 1)

    S = RNG.normal(size=(3, 3))
    found = both_modes([S + S.T], body)[0]
    np.testing.assert_allclose(found, found.T, atol=1e-14)
    doubled = both_modes([S], decomposed("eigen"))[0]
    np.testing.assert_allclose(doubled, 2 * found, rtol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_nearest_semidefinite_matrices_with_equal_eigenvalues(n):
    turn = rotation(n)
    values = [(-1.0, 2.0, 2.0, 2.0), (1.0, -2.0, -2.0, -2.0), (1.0, 1.0, 1.0, 1.0), (-1.0, -1.0, -1.0, -1.0)]
    matrices = [turn @ np.diag(v[:n]) @ turn.T / 2 for v in values]
    k, x, y = program(matrices, decomposed("spd"))
    check(k, [x], [y], rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------- elasticity

MU, LAMBDA = 1.7, 0.9


@qd.func
def corotated_by_polar(F):
    R, P = qd.polar_decompose(F)
    J = F.determinant()
    return MU * (F - R).norm_sqr() + LAMBDA / 2 * (J - 1) ** 2


@qd.func
def corotated_by_svd(F):
    U, S, V = qd.svd(F)
    J = F.determinant()
    return MU * (F - U @ V.transpose()).norm_sqr() + LAMBDA / 2 * (J - 1) ** 2


@qd.func
def corotated_by_values(F):
    U, S, V = qd.svd(F)
    J = 1.0
    energy = 0.0
    for k in qd.static(range(F.n)):
        J *= S[k, k]
        energy += MU * (S[k, k] - 1) ** 2
    return energy + LAMBDA / 2 * (J - 1) ** 2


def stress(F: np.ndarray) -> np.ndarray:
    u, _, vt = np.linalg.svd(F)
    J = np.linalg.det(F)
    return 2 * MU * (F - u @ vt) + LAMBDA * (J - 1) * J * np.linalg.inv(F).T


@pytest.mark.parametrize("dtype", [qd.f32, qd.f64])
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("body", [corotated_by_polar, corotated_by_svd, corotated_by_values])
def test_the_stress_of_a_corotated_solid(body, n, dtype, init):
    init(default_fp=dtype)
    rng = np.random.default_rng(4)
    F = [np.eye(n), rotation(n, rng), *(np.eye(n) + 0.3 * rng.uniform(-1, 1, (n, n)) for _ in range(5))]
    F += [np.eye(n) + 1e-4 * rng.uniform(-1, 1, (n, n)), np.diag([1.2, 1.2, 0.9][:n])]
    F = np.array(F).astype(np.float32).astype(np.float64)
    assert (np.linalg.det(F) > 0).all()
    found = both_modes(F, body, dtype)
    np.testing.assert_allclose(found, [stress(A) for A in F], atol=2e-5 if dtype is qd.f32 else 1e-12)


# ---------------------------------------------------------------- where they are called


@pytest.mark.parametrize("n", [2, 3])
def test_a_carried_matrix_in_a_dynamic_loop_under_a_condition(n):
    """Plastic flow: as snow has it, with values that are clamped and a matrix that is put together again."""
    x, y = field(RNG.uniform(-0.2, 0.2, (3, n, n))), field(np.zeros((3, 2)))
    steps = qd.field(qd.i32, 3)
    steps.from_numpy(np.array([0, 1, 4]))

    @qd.func
    def returned(F):
        U, S, V = qd.svd(F)
        for k in qd.static(range(n)):
            S[k, k] = qd.min(S[k, k], 1.3)
        return U @ S @ V.transpose()

    @qd.kernel
    def simulate():
        for i in range(3):
            F = qd.Matrix.identity(qd.f64, n)
            C = qd.Matrix.zero(qd.f64, n, n)
            for a, b in qd.static(qd.ndrange(n, n)):
                C[a, b] = x[i, a, b]
            for step in range(steps[i]):
                F = F + C @ F
                if F[0, 1] > 0:
                    R, P = qd.polar_decompose(F)
                    C = C - 0.1 * (F - R)
                else:
                    F = returned(F)
                w, v = qd.sym_eig(F @ F.transpose())
                y[i, 0] += w[0] * w[n - 1]
            y[i, 1] = F.norm_sqr() + F[0, n - 1]

    check(simulate, [x], [y])


def test_matrices_of_fields_at_every_place_of_a_kernel():
    """A cell as the argument, results that are not used, a call that needs no derivative, one without a loop."""
    F = qd.Matrix.field(3, 3, qd.f32, 2, needs_grad=True)
    fixed = qd.Matrix.field(3, 3, qd.f64, 2)
    F.from_numpy(np.array([np.eye(3), with_values(3.0, 2.0, 1.0)]))
    fixed.from_numpy(np.array([np.diag([5.0, 1.0, 2.0])] * 2))
    y = field(np.zeros(()))

    @qd.kernel
    def loops():
        for i in F:
            _, K, _ = qd.svd(fixed[i])
            R, P = qd.polar_decompose(F[i])
            if K[0, 0] > 4:
                y[None] += P.trace() * K[0, 0]

    @qd.kernel
    def straight():
        U, S, V = qd.svd(F[1], qd.f64)
        y[None] += S[0, 0]

    y.grad.fill(1)
    for kernel, expected in ((loops, [5 * np.eye(3), None]), (straight, [np.zeros((3, 3)), None])):
        F.grad.fill(0)
        kernel.grad()
        found = F.grad.to_numpy()
        u, _, vt = np.linalg.svd(F.to_numpy()[1])
        expected[1] = 5 * u @ vt if kernel is loops else np.outer(u[:, 0], vt[0])
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("n", [2, 3])
def test_values_are_those_of_the_plain_kernel(init, n):
    """To the last bit, where compilers may not contract one text otherwise than the other."""
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, fast_math=False)
    matrices = np.array([*generic(n), *TROUBLE[n]])
    count, parts = len(matrices), 8 * n * n + n
    x, y = field(matrices), field(np.zeros((count, parts)))

    @qd.kernel
    def k():
        for i in range(count):
            A = qd.Matrix.zero(qd.f64, n, n)
            for a, b in qd.static(qd.ndrange(n, n)):
                A[a, b] = x[i, a, b]
            U, S, V = qd.svd(A)
            R, P = qd.polar_decompose(A)
            B = A + A.transpose()
            w, Q = qd.sym_eig(B)
            N = qd.make_spd(B)
            for a, b in qd.static(qd.ndrange(n, n)):
                for m, M in qd.static(enumerate((U, S, V, R, P, Q, N))):
                    y[i, m * n * n + a * n + b] = M[a, b]
            for a in qd.static(range(n)):
                y[i, 8 * n * n + a] = w[a]

    k()
    plain = y.to_numpy()
    y.fill(0)
    with qd.ad.FwdMode(loss=y, param=x, seed=[1.0] * x.to_numpy().size):
        k()
    assert np.array_equal(y.to_numpy(), plain) and np.isfinite(plain).all()


def test_a_derivative_is_one_call(init):
    init()
    F = qd.Matrix.field(3, 3, qd.f32, 4, needs_grad=True)
    y = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def energy():
        for p in F:
            R, P = qd.polar_decompose(F[p])
            y[None] += (F[p] - R).norm_sqr()

    text = energy.grad.source(arch="c")
    body = text[re.search(r"\n(static )?void energy_reverse_grad\w*\([^;]*?\n\{", text).start() :]
    assert body.count("polar3(F_value)") == 1 and body.count("polar3_pull(") == 1
    assert "svd_pull" not in text and "pull" not in energy.source(arch="c")
