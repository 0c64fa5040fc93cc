"""Vector geometry and thin names for matrix methods. Kernel scope only."""

from __future__ import annotations

import quadrants as qd


@qd.func
def cross(x, y):
    """Cross product of two 3-vectors (a 3-vector) or of two 2-vectors (a scalar).

    y = qd.math.cross(x, y)
    """
    return x.cross(y)


@qd.func
def dot(x, y):
    """Dot product of two vectors of equal length.

    y = qd.math.dot(x, y)
    """
    return x.dot(y)


@qd.func
def length(x):
    """Euclidean norm of a vector, Frobenius norm of a matrix. Its derivative at zero is NaN, that of `x.norm(eps)` 0.

    y = qd.math.length(v)
    """
    return x.norm()


@qd.func
def distance(x, y):
    """Norm of `x - y` of two tensors of one shape. Where they are equal its derivative is NaN, and that of
    `(x - y).norm(eps)` is 0.

    y = qd.math.distance(x, y)
    """
    return (x - y).norm()


@qd.func
def normalize(v):
    """`v / |v|`. There is no epsilon: a zero vector gives NaN, for which there is `v * v.norm_inv(eps)`. Matrices are
    scaled by their Frobenius norm.

    y = qd.math.normalize(v)
    """
    return v / v.norm()


@qd.func
def reflect(x, n):
    """Direction `x` mirrored at the plane with unit normal `n`: `x - 2 dot(x, n) n`.

    d = qd.math.reflect(d, n)
    """
    return x - 2.0 * x.dot(n) * n


@qd.func
def refract(x, n, eta):
    """Unit direction `x` refracted at a surface with unit normal `n` (facing `x`); a zero vector on total reflection.

    `eta` is the ratio of refractive indices, outside over inside. The result has the dtype of `x`.

        d = qd.math.refract(d, n, 1.0 / 1.5)
    """
    cosine = x.dot(n)
    k = 1.0 - eta * eta * (1.0 - cosine * cosine)
    refracted = x * 0.0
    if k >= 0.0:
        refracted = eta * x - (eta * cosine + qd.sqrt(k)) * n
    return refracted


@qd.func
def determinant(m):
    """Determinant of a square matrix of at most 4x4, in the element dtype.

    y = qd.math.determinant(m)
    """
    return m.determinant()


@qd.func
def inverse(mat):
    """Inverse of a square matrix of at most 12x12. A singular matrix gives inf or NaN, no error.

    y = qd.math.inverse(m)
    """
    return mat.inverse()


@qd.func
def eye(n: qd.template()):
    """The `n` x `n` identity in `default_fp`; `n` is a compile-time integer.

    I = qd.math.eye(3)
    """
    return qd.Matrix.identity(float, n)
