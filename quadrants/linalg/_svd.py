"""Singular value decomposition by one-sided Jacobi rotations.

Rotating pairs of columns of A until all are orthogonal gives `A V = U S` at once. Unlike an eigendecomposition of
`A^T A` this does not square the condition number: small singular values keep their accuracy.
"""

from __future__ import annotations

import quadrants as qd
from quadrants.lang.func import differentiated_by

from ._derivatives import polar3_pull, polar3_push, svd_pull, svd_push
from ._rotation import jacobi_rotation, power_of_two_scale

_MAX_SWEEPS = 12
_PAIRS = {2: ((0, 1),), 3: ((0, 1), (0, 2), (1, 2))}


@qd.func
def _orthogonal_columns(A, n: qd.template(), dt: qd.template(), eps: qd.template()):
    """(B, V, norms): `B = A V` with orthogonal columns, sorted by descending norm, and V a proper rotation."""
    B = A
    V = qd.Matrix.identity(dt, n)
    tolerance = qd.cast(16 * eps * eps, dt)
    turning = 1
    sweep = 0
    while turning == 1 and sweep < _MAX_SWEEPS:
        turning = 0
        sweep += 1
        for p, q in qd.static(_PAIRS[n]):
            bp = B[:, p]
            bq = B[:, q]
            alpha = bp.norm_sqr()
            beta = bq.norm_sqr()
            gamma = bp.dot(bq)
            if gamma * gamma > tolerance * alpha * beta:
                turning = 1
                c, s = jacobi_rotation(alpha, beta, gamma)
                B[:, p] = c * bp - s * bq
                B[:, q] = s * bp + c * bq
                vp = V[:, p]
                vq = V[:, q]
                V[:, p] = c * vp - s * vq
                V[:, q] = s * vp + c * vq

    norms = qd.Vector.zero(dt, n)
    for k in qd.static(range(n)):
        norms[k] = B[:, k].norm()
    for p, q in qd.static(_PAIRS[n]):
        if norms[p] < norms[q]:
            larger = norms[q]
            norms[q] = norms[p]
            norms[p] = larger
            # Negating one of the swapped columns keeps the determinants.
            bp = B[:, p]
            B[:, p] = B[:, q]
            B[:, q] = -bp
            vp = V[:, p]
            V[:, p] = V[:, q]
            V[:, q] = -vp
    return B, V, norms


@qd.func
def _perpendicular(u):
    """A unit vector perpendicular to the unit 3-vector `u`; (1, 0, 0) gives (0, 1, 0)."""
    w = qd.Vector([-u[1], u[0], 0 * u[0]])
    if 2 * qd.abs(u[0]) < 1:
        w = qd.Vector([0 * u[0], -u[2], u[1]])
    return w * qd.rsqrt(w.norm_sqr())


@differentiated_by(svd_push, svd_pull)
@qd.func
def svd3(A, dt: qd.template(), eps: qd.template()):
    """See `small.svd`; `A` is 3x3 of dtype `dt`, whose machine epsilon is `eps`."""
    scale = power_of_two_scale(A, dt)
    B, V, norms = _orthogonal_columns(A / scale, 3, dt, eps)
    negligible = qd.cast(eps * eps, dt)

    u0 = qd.Vector.unit(3, 0, dt)
    if norms[0] > 0:
        u0 = B[:, 0] / norms[0]
    # A vanishing second column has no direction of its own: any perpendicular one will do.
    u1 = _perpendicular(u0)
    w = B[:, 1] - u0.dot(B[:, 1]) * u0
    size = w.norm()
    if size > negligible:
        u1 = w / size
    u2 = u0.cross(u1)

    # Projecting on u2 instead of taking the norm gives the last value the sign of the determinant.
    last = u2.dot(B[:, 2])
    S = qd.Matrix.zero(dt, 3, 3)
    S[0, 0] = norms[0] * scale
    S[1, 1] = norms[1] * scale
    S[2, 2] = qd.max(-norms[1], qd.min(norms[1], last)) * scale
    return qd.Matrix.cols([u0, u1, u2]), S, V


@differentiated_by(svd_push, svd_pull)
@qd.func
def svd2(A, dt: qd.template(), eps: qd.template()):
    """See `small.svd`; `A` is 2x2 of dtype `dt`, whose machine epsilon is `eps`."""
    scale = power_of_two_scale(A, dt)
    M = A / scale
    B, V, norms = _orthogonal_columns(M, 2, dt, eps)
    u0 = qd.Vector.unit(2, 0, dt)
    if norms[0] > 0:
        u0 = B[:, 0] / norms[0]
    u1 = qd.Vector([-u0[1], u0[0]])
    if M.determinant() < 0:
        u1 = -u1
    S = qd.Matrix.zero(dt, 2, 2)
    S[0, 0] = norms[0] * scale
    S[1, 1] = qd.min(norms[0], qd.abs(u1.dot(B[:, 1]))) * scale
    return qd.Matrix.cols([u0, u1]), S, V


@differentiated_by(polar3_push, polar3_pull)
@qd.func
def polar3(A, dt: qd.template(), eps: qd.template()):
    """See `small.polar_decompose`; `A` is 3x3 of dtype `dt`, whose machine epsilon is `eps`."""
    U, S, V = svd3(A, dt, eps)
    return U @ V.transpose(), V @ S @ V.transpose()
