"""Random numbers that are built from the uniform primitive `qd.random`."""

from __future__ import annotations

import quadrants as qd

_TWO_PI = 6.283185307179586


def _resolve(dt):
    dt = qd.lang.impl.get_runtime().default_fp if dt is None or dt is float else dt
    assert dt in (qd.f32, qd.f64), f"qd.randn supports dt=qd.f32 and dt=qd.f64, got {dt}"
    return dt


@qd.func
def randn(dt: qd.template() = None):
    """One draw of the standard normal distribution (Box-Muller on two uniforms); always finite. Kernel scope only.

    `dt` is `qd.f32` or `qd.f64`; None means `default_fp`. Anything else is a QuadrantsCompilationError.
    """
    u1 = qd.random(_resolve(dt))
    u2 = qd.random(_resolve(dt))
    # qd.random never returns 1, so the logarithm is finite.
    return qd.sqrt(-2.0 * qd.log(1.0 - u1)) * qd.cos(_TWO_PI * u2)
