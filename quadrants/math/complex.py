"""Complex numbers as 2-vectors `(re, im)`. Kernel scope only; results have dtype `default_fp`, principal branches."""

from __future__ import annotations

import quadrants as qd
from quadrants.lang.math_primitives import vec2


@qd.func
def cmul(z1, z2):
    """Product.

    y = qd.math.cmul(z, w)
    """
    return vec2(z1[0] * z2[0] - z1[1] * z2[1], z1[0] * z2[1] + z1[1] * z2[0])


@qd.func
def cconj(z):
    """Complex conjugate `(re, -im)`.

    y = qd.math.cconj(z)
    """
    return vec2(z[0], -z[1])


@qd.func
def cdiv(z1, z2):
    """Quotient `z1 * conj(z2) / |z2|^2`; NaN or inf when `z2` is zero.

    y = qd.math.cdiv(z, w)
    """
    d = z2.norm_sqr()
    return vec2((z1[0] * z2[0] + z1[1] * z2[1]) / d, (z1[1] * z2[0] - z1[0] * z2[1]) / d)


@qd.func
def cinv(z):
    """Reciprocal `conj(z) / |z|^2`; NaN for zero.

    y = qd.math.cinv(z)
    """
    d = z.norm_sqr()
    return vec2(z[0] / d, -z[1] / d)


@qd.func
def csqrt(z):
    """Principal square root: the one with real part >= 0 (up to rounding). Zero gives zero.

    y = qd.math.csqrt(z)
    """
    half_angle = 0.5 * qd.atan2(z[1], z[0])
    root = qd.sqrt(z.norm())
    return vec2(root * qd.cos(half_angle), root * qd.sin(half_angle))


@qd.func
def cexp(z):
    """Exponential `e^re (cos im, sin im)`.

    y = qd.math.cexp(z)
    """
    r = qd.exp(z[0])
    return vec2(r * qd.cos(z[1]), r * qd.sin(z[1]))


@qd.func
def clog(z):
    """Principal logarithm `(log|z|, arg z)` with the argument in [-pi, pi].

    y = qd.math.clog(z)
    """
    return vec2(0.5 * qd.log(z.norm_sqr()), qd.atan2(z[1], z[0]))


@qd.func
def cpow(z, n):
    """`z` to the real or integer power `n`, principal branch; a zero base gives zero.

    w = qd.math.cpow(z, 3)
    """
    r2 = z.norm_sqr()
    power = vec2(0.0, 0.0)
    if r2 > 0:
        r = qd.pow(r2, 0.5 * n)
        angle = n * qd.atan2(z[1], z[0])
        power = vec2(r * qd.cos(angle), r * qd.sin(angle))
    return power
