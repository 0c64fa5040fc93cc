"""Derivatives of the decompositions, computed from their results.

The factors of a decomposition turn: `dU = U X` with a skew matrix X, which solves a linear equation whose coefficients
are sums and differences of singular values or eigenvalues. A coefficient is inverted where it is more than 16 epsilon
of the largest one; below that a factor does not turn, so that no result is infinite. What such a rotation would have
explained is left to the derivative of the factor in the middle. Hence `dU S V^T + U dS V^T + U S dV^T = dA` and
`dR P + R dP = dA` everywhere, at the identity and at zero as well.
"""

from __future__ import annotations

import quadrants as qd

_PAIRS = {n: tuple((i, j) for j in range(n) for i in range(j)) for n in range(1, 7)}


def _smallest_normal(eps: float) -> float:
    return 2.0**-126 if eps == 2.0**-23 else 2.0**-1022


@qd.func
def _least(largest, dt: qd.template(), eps: qd.template()):
    """What of a difference of numbers up to `largest` is more than rounding, and has a finite inverse."""
    return qd.max(qd.cast(16 * eps, dt) * largest, qd.cast(_smallest_normal(eps), dt))


@qd.func
def _inverse_or_zero(x, least, dt: qd.template()):
    inverse = qd.cast(0, dt)
    if qd.abs(x) > least:
        inverse = qd.cast(1, dt) / x
    return inverse


# ---------------------------------------------------------------- A = U S V^T
#
# With P = U^T dA V, p its symmetric and a its skew part, dU = U X and dV = V Y:
#     X_ij = p_ij / (s_j - s_i) + a_ij / (s_i + s_j)        dS_ii = p_ii
#     Y_ij = p_ij / (s_j - s_i) - a_ij / (s_i + s_j)


@qd.func
def svd_push(dA, U, S, V, dt: qd.template(), eps: qd.template()):
    """(dU, dS, dV)"""
    P = U.transpose() @ dA @ V
    least = _least(S[0, 0], dt, eps)
    half = qd.cast(0.5, dt)
    dS = qd.Matrix.zero(dt, P.n, P.n)
    X = dS
    Y = dS
    for k in qd.static(range(P.n)):
        dS[k, k] = P[k, k]
    for i, j in qd.static(_PAIRS[P.n]):
        p = (P[i, j] + P[j, i]) * half
        a = (P[i, j] - P[j, i]) * half
        gap = _inverse_or_zero(S[j, j] - S[i, i], least, dt)
        total = _inverse_or_zero(S[j, j] + S[i, i], least, dt)
        X[i, j] = p * gap + a * total
        X[j, i] = -X[i, j]
        Y[i, j] = p * gap - a * total
        Y[j, i] = -Y[i, j]
        p = p if gap == 0 else 0 * p
        a = a if total == 0 else 0 * a
        dS[i, j] = p + a
        dS[j, i] = p - a
    return U @ X, dS, V @ Y


@qd.func
def svd_pull(adj_U, adj_S, adj_V, U, S, V, dt: qd.template(), eps: qd.template()):
    """adj_A = U Q V^T, where Q is the adjoint of P."""
    X = U.transpose() @ adj_U
    Y = V.transpose() @ adj_V
    least = _least(S[0, 0], dt, eps)
    half = qd.cast(0.5, dt)
    Q = adj_S
    for i, j in qd.static(_PAIRS[Q.n]):
        x = X[i, j] - X[j, i]
        y = Y[i, j] - Y[j, i]
        gap = _inverse_or_zero(S[j, j] - S[i, i], least, dt)
        total = _inverse_or_zero(S[j, j] + S[i, i], least, dt)
        p = adj_S[i, j] + adj_S[j, i] if gap == 0 else (x + y) * gap
        a = adj_S[i, j] - adj_S[j, i] if total == 0 else (x - y) * total
        Q[i, j] = (p + a) * half
        Q[j, i] = (p - a) * half
    return U @ Q @ V.transpose()


# ---------------------------------------------------------------- A = R P, three axes
#
# With M = R^T dA, dR = R [w] and dP = M - [w] P, where [w] x = w cross x: dP is symmetric if
#     (tr(P) I - P) w = axial(M)
# The matrix on the left has the sums of two singular values for eigenvalues. Equal ones do no harm.


@qd.func
def _axial(M):
    """The vector with `axial(M) . w` = sum of the elements of `M * [w]`."""
    return qd.Vector([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])


@qd.func
def _skew(w):
    zero = 0 * w[0]
    return qd.Matrix([[zero, -w[2], w[1]], [w[2], zero, -w[0]], [-w[1], w[0], zero]])


@qd.func
def _turn(P, b, dt: qd.template(), eps: qd.template()):
    """w with `(tr(P) I - P) w = b`; 0 where two singular values add up to nothing."""
    w = qd.Vector.zero(dt, 3)
    size = P.trace()
    if size > qd.cast(_smallest_normal(eps), dt):
        K = qd.Matrix.identity(dt, 3) - P / size
        # The matrix of cofactors; it is symmetric, as K is.
        c0 = K[1, :].cross(K[2, :])
        c1 = K[2, :].cross(K[0, :])
        c2 = K[0, :].cross(K[1, :])
        # The eigenvalues of K add up to 2; the smallest is not less than `determinant / minors`.
        minors = c0[0] + c1[1] + c2[2]
        determinant = K[0, :].dot(c0)
        negligible = qd.cast(16 * eps, dt)
        if minors > negligible and determinant > negligible * minors:
            w = (b[0] * c0 + b[1] * c1 + b[2] * c2) / determinant / size
    return w


@qd.func
def polar3_push(dA, R, P, dt: qd.template(), eps: qd.template()):
    """(dR, dP)"""
    M = R.transpose() @ dA
    W = _skew(_turn(P, _axial(M), dt, eps))
    return R @ W, M - W @ P


@qd.func
def polar3_pull(adj_R, adj_P, R, P, dt: qd.template(), eps: qd.template()):
    """adj_A"""
    b = _axial(R.transpose() @ adj_R - adj_P @ P)
    return R @ (_skew(_turn(P, b, dt, eps)) + adj_P)


# ---------------------------------------------------------------- A = V diag(values) V^T
#
# With the symmetric Q = V^T dA V: dvalues_i = Q_ii, dV = V X, X_ij = Q_ij / (values_j - values_i). Eigenvalues are a
# vector: it cannot take what a vanishing difference leaves.


@qd.func
def _least_gap(values, n: qd.template(), dt: qd.template(), eps: qd.template()):
    return _least(qd.max(qd.abs(values[0]), qd.abs(values[n - 1])), dt, eps)


@qd.func
def sym_eig_push(dA, values, V, n: qd.template(), dt: qd.template(), eps: qd.template()):
    """(dvalues, dV); the skew part of dA is left out."""
    Q = V.transpose() @ dA @ V
    least = _least_gap(values, n, dt, eps)
    half = qd.cast(0.5, dt)
    dvalues = qd.Vector.zero(dt, n)
    X = qd.Matrix.zero(dt, n, n)
    for k in qd.static(range(n)):
        dvalues[k] = Q[k, k]
    for i, j in qd.static(_PAIRS[n]):
        X[i, j] = (Q[i, j] + Q[j, i]) * half * _inverse_or_zero(values[j] - values[i], least, dt)
        X[j, i] = -X[i, j]
    return dvalues, V @ X


@qd.func
def sym_eig_pull(adj_values, adj_V, values, V, n: qd.template(), dt: qd.template(), eps: qd.template()):
    """adj_A, a symmetric matrix."""
    X = V.transpose() @ adj_V
    least = _least_gap(values, n, dt, eps)
    half = qd.cast(0.5, dt)
    Q = X
    for k in qd.static(range(n)):
        Q[k, k] = adj_values[k]
    for i, j in qd.static(_PAIRS[n]):
        Q[i, j] = (X[i, j] - X[j, i]) * half * _inverse_or_zero(values[j] - values[i], least, dt)
        Q[j, i] = Q[i, j]
    return V @ Q @ V.transpose()
