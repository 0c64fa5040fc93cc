"""Direct solution of 2x2 and 3x3 linear systems."""

from __future__ import annotations

import quadrants as qd


@qd.func
def gauss(A, b, n: qd.template()):
    """See `small.solve`; `A` is n x n, `b` has length n, both of the working dtype."""
    M = A
    x = b
    for k in qd.static(range(n)):
        for r in qd.static(range(k + 1, n)):
            if qd.abs(M[r, k]) > qd.abs(M[k, k]):
                row = M[k, :]
                M[k, :] = M[r, :]
                M[r, :] = row
                entry = x[k]
                x[k] = x[r]
                x[r] = entry
        assert M[k, k] != 0, "Matrix is singular in linear solve."
        for r in qd.static(range(k + 1, n)):
            factor = M[r, k] / M[k, k]
            M[r, :] = M[r, :] - factor * M[k, :]
            x[r] = x[r] - factor * x[k]
    for k in qd.static(range(n - 1, -1, -1)):
        for c in qd.static(range(k + 1, n)):
            x[k] = x[k] - M[k, c] * x[c]
        x[k] = x[k] / M[k, k]
    return x
