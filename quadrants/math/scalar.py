"""Elementwise helpers in the manner of shading languages. All of them are kernel scope only.

Arguments are scalars, vectors or matrices; scalars broadcast against tensors, tensors must have equal shapes.
"""

from __future__ import annotations

import quadrants as qd
from quadrants.lang.math_primitives import pi

_RADIANS_PER_DEGREE = pi / 180.0
_DEGREES_PER_RADIAN = 180.0 / pi
_LN_2 = 0.6931471805599453


@qd.func
def clamp(x, xmin, xmax):
    """`x` limited to `[xmin, xmax]`, elementwise. Integers stay integers. If `xmin > xmax` the result is `xmax`.

    y = qd.math.clamp(x, 0.0, 1.0)
    """
    return qd.min(xmax, qd.max(xmin, x))


@qd.func
def sign(x):
    """-1.0, 0.0 or 1.0 as `default_fp`, elementwise. A NaN gives 0.0.

    y = qd.math.sign(x)
    """
    return qd.select(x > 0, 1.0, 0.0) - qd.select(x < 0, 1.0, 0.0)


@qd.func
def radians(x):
    """Degrees to radians. Integers become `default_fp`.

    y = qd.math.radians(x)
    """
    return x * _RADIANS_PER_DEGREE


@qd.func
def degrees(x):
    """Radians to degrees. Integers become `default_fp`.

    y = qd.math.degrees(x)
    """
    return x * _DEGREES_PER_RADIAN


@qd.func
def mix(x, y, a):
    """Linear interpolation `x * (1 - a) + y * a`; `a` may be a scalar or have the shape of `x` and `y`.

    c = qd.math.mix(a, b, 0.25)
    """
    return x * (1.0 - a) + y * a


@qd.func
def step(edge, x):
    """1.0 where `x >= edge`, else 0.0, also where one of them is NaN; as `default_fp`.

    y = qd.math.step(0.5, x)
    """
    return qd.select(x >= edge, 1.0, 0.0)


@qd.func
def smoothstep(edge0, edge1, x):
    """Hermite interpolation from 0 at `edge0` to 1 at `edge1`; `edge0 > edge1` gives the falling curve.

    Undefined when the edges are equal.

        y = qd.math.smoothstep(0.0, 1.0, x)
    """
    t = clamp((x - edge0) / (edge1 - edge0), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


@qd.func
def fract(x):
    """`x - floor(x)` of a real, in [0, 1) up to rounding: `fract(-1.25)` is 0.75.

    y = qd.math.fract(x)
    """
    return x - qd.floor(x)


@qd.func
def mod(x, y):
    """`x - y * floor(x / y)`: the remainder with the sign of `y`, always real (integers divide as reals).

    r = qd.math.mod(x, 2.0)
    """
    return x - y * qd.floor(x / y)


@qd.func
def log2(x):
    """Base-2 logarithm: `log(x) / log(2)`, with the constant rounded to `default_fp`.

    y = qd.math.log2(x)
    """
    return qd.log(x) / _LN_2
