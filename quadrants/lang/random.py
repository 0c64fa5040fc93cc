"""Random numbers that are built from the uniform primitive `qd.random`."""

from __future__ import annotations

from quadrants.ir.types import f32, f64
from quadrants.lang import impl
from quadrants.lang.annotations import template
from quadrants.lang.func import func
from quadrants.lang.host_math import cos, log, random, sqrt

_TWO_PI = 6.283185307179586


def _resolve(dt):
    dt = impl.get_runtime().default_fp if dt is None or dt is float else dt
    assert dt in (f32, f64), f"qd.randn supports dt=qd.f32 and dt=qd.f64, got {dt}"
    return dt


@func
def randn(dt: template() = None):
    """One draw of the standard normal distribution (Box-Muller on two uniforms); always finite. Kernel scope only.

    `dt` is `qd.f32` or `qd.f64`; None means `default_fp`. Anything else is a QuadrantsCompilationError.

        x[i] = qd.randn()
    """
    u1 = random(_resolve(dt))
    u2 = random(_resolve(dt))
    # qd.random never returns 1, so the logarithm is finite.
    return sqrt(-2.0 * log(1.0 - u1)) * cos(_TWO_PI * u2)
