"""Small kernels for tests of templates."""

from __future__ import annotations

import quadrants as qd


@qd.kernel
def fill(x: qd.types.ndarray()):
    for i in range(4):
        x[i] = 1.0


@qd.kernel
def vectors(x: qd.template()):
    for i in x:
        x[i] = x[i] + x[i] * x[i].dot(x[i])
