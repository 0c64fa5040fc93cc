"""Eigenvalues: cyclic Jacobi for symmetric matrices, closed form for general 2x2 ones.

The symmetric solver uses run-time loops and run-time matrix indices: unrolled, a 6x6 sweep would be thousands of
statements to compile. Its outermost loops are `while` loops because a `for` at the top level of a kernel is a parallel
task, and these functions may be called there.
"""

from __future__ import annotations

import quadrants as qd
from quadrants.lang.func import differentiated_by

from ._derivatives import sym_eig_pull, sym_eig_push
from ._rotation import jacobi_rotation, power_of_two_scale

_MAX_SWEEPS = 15


@qd.func
def _sort_ascending(values: qd.template(), vectors: qd.template(), n: qd.template()):
    i = 0
    while i < n - 1:
        least = i
        for j in range(i + 1, n):
            if values[j] < values[least]:
                least = j
        if least != i:
            value = values[i]
            values[i] = values[least]
            values[least] = value
            for k in range(n):
                entry = vectors[k, i]
                vectors[k, i] = vectors[k, least]
                vectors[k, least] = entry
        i += 1


@differentiated_by(sym_eig_push, sym_eig_pull)
@qd.func
def sym_eig_jacobi(A, n: qd.template(), dt: qd.template(), eps: qd.template()):
    """See `small.sym_eig`; `A` is n x n of dtype `dt`, whose machine epsilon is `eps`."""
    scale = power_of_two_scale(A, dt)
    M = A / scale
    V = qd.Matrix.identity(dt, n)
    tolerance = qd.cast(eps, dt)
    turning = 1
    sweep = 0
    while turning == 1 and sweep < _MAX_SWEEPS:
        turning = 0
        sweep += 1
        for p in range(n):
            for q in range(p + 1, n):
                gamma = M[p, q]
                if qd.abs(gamma) > tolerance:
                    turning = 1
                    c, s = jacobi_rotation(M[p, p], M[q, q], gamma)
                    for k in range(n):
                        x = M[k, p]
                        y = M[k, q]
                        M[k, p] = c * x - s * y
                        M[k, q] = s * x + c * y
                    for k in range(n):
                        x = M[p, k]
                        y = M[q, k]
                        M[p, k] = c * x - s * y
                        M[q, k] = s * x + c * y
                        u = V[k, p]
                        v = V[k, q]
                        V[k, p] = c * u - s * v
                        V[k, q] = s * u + c * v
                    M[p, q] = 0
                    M[q, p] = 0

    values = qd.Vector.zero(dt, n)
    for k in qd.static(range(n)):
        values[k] = M[k, k] * scale
    _sort_ascending(values, V, n)
    return values, V


@qd.func
def _psd_slope(g, P, A, n: qd.template(), dt: qd.template(), eps: qd.template()):
    """The derivative of `psd_part` at `A`, applied to `g`: a linear map that is its own transpose.

    Between the eigenvectors of two eigenvalues it multiplies by `(max(a, 0) - max(b, 0)) / (a - b)`, which has a limit
    where they coincide.
    """
    values, V = sym_eig_jacobi(A, n, dt, eps)
    slope = g
    if values[0] < 0:
        Q = V.transpose() @ g @ V
        for i in range(n):
            for j in range(i, n):
                entry = qd.cast(0, dt)
                if values[i] > 0:
                    entry = (Q[i, j] + Q[j, i]) * qd.cast(0.5, dt)
                elif values[j] > 0:
                    entry = (Q[i, j] + Q[j, i]) * qd.cast(0.5, dt) * (values[j] / (values[j] - values[i]))
                Q[i, j] = entry
                Q[j, i] = entry
        slope = V @ Q @ V.transpose()
    return slope


@differentiated_by(_psd_slope, _psd_slope)
@qd.func
def psd_part(A, n: qd.template(), dt: qd.template(), eps: qd.template()):
    """See `small.make_spd`; `A` is n x n of dtype `dt`, whose machine epsilon is `eps`."""
    values, V = sym_eig_jacobi(A, n, dt, eps)
    P = A
    if values[0] < 0:
        for i in range(n):
            for j in range(i, n):
                entry = qd.cast(0, dt)
                for k in range(n):
                    entry += qd.max(values[k], 0) * V[i, k] * V[j, k]
                P[i, j] = entry
                P[j, i] = entry
    return P


@qd.func
def _null_vector(p, q, r, s, fallback):
    """Unit vector in the kernel of the singular matrix [[p, q], [r, s]], from the longer row; `fallback` for zero."""
    v = fallback
    first = p * p + q * q
    second = r * r + s * s
    if first >= second and first > 0:
        v = qd.Vector([-q, p]) * qd.rsqrt(first)
    elif second > 0:
        v = qd.Vector([-s, r]) * qd.rsqrt(second)
    return v


@qd.func
def eig2(A, dt: qd.template()):
    """See `small.eig`; `A` is 2x2 of dtype `dt`."""
    scale = power_of_two_scale(A, dt)
    M = A / scale
    b = M[0, 1]
    half = qd.cast(0.5, dt)
    mean = (M[0, 0] + M[1, 1]) * half
    h = (M[0, 0] - M[1, 1]) * half
    discriminant = h * h + b * M[1, 0]
    values = qd.Matrix.zero(dt, 2, 2)
    vectors = qd.Matrix.zero(dt, 4, 2)
    if discriminant >= 0:
        root = qd.sqrt(discriminant)
        for j in qd.static(range(2)):
            # M - lambda I has the diagonal (h - shift, -h - shift).
            shift = root if qd.static(j == 0) else -root
            v = _null_vector(h - shift, b, M[1, 0], -h - shift, qd.Vector.unit(2, j, dt))
            values[j, 0] = mean + shift
            vectors[0, j] = v[0]
            vectors[2, j] = v[1]
    else:
        # A complex pair implies b != 0: (b, lambda - M00) spans the kernel.
        root = qd.sqrt(-discriminant)
        norm_inv = qd.rsqrt(b * b + h * h + root * root)
        for j in qd.static(range(2)):
            sign = qd.static(1 - 2 * j)
            values[j, 0] = mean
            values[j, 1] = sign * root
            vectors[0, j] = b * norm_inv
            vectors[2, j] = -h * norm_inv
            vectors[3, j] = sign * root * norm_inv
    return values * scale, vectors
