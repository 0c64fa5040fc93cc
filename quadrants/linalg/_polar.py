"""Polar decomposition of 2x2 matrices in closed form, which has derivatives wherever the decomposition has."""

from __future__ import annotations

import quadrants as qd


@qd.func
def polar2(A, dt: qd.template()):
    """See `small.polar_decompose`; `A` is 2x2 of dtype `dt`.

    The rotation nearest to A is that of the vector (A00 + A11, A10 - A01), the nearest reflection that of
    (A00 - A11, A10 + A01). The sign of the determinant says which of the two is nearer. With the largest element
    scaled to 1 that vector is not shorter than 1: the square of its length is |A|^2 + 2 |det A|.
    """
    R = qd.Matrix.identity(dt, 2)
    largest = qd.abs(A).max()
    if largest > 0:
        M = A / largest
        if M.determinant() < 0:
            v = qd.Vector([M[0, 0] - M[1, 1], M[1, 0] + M[0, 1]])
            v *= qd.rsqrt(v.norm_sqr())
            R = qd.Matrix([[v[0], v[1]], [v[1], -v[0]]])
        else:
            v = qd.Vector([M[0, 0] + M[1, 1], M[1, 0] - M[0, 1]])
            v *= qd.rsqrt(v.norm_sqr())
            R = qd.Matrix([[v[0], -v[1]], [v[1], v[0]]])
    P = R.transpose() @ A
    mean = (P[0, 1] + P[1, 0]) / 2
    P[0, 1] = mean
    P[1, 0] = mean
    return R, P
