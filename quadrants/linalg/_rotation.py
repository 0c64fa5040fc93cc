"""Building blocks shared by the Jacobi methods."""

from __future__ import annotations

import quadrants as qd


@qd.func
def power_of_two_scale(A, dt: qd.template()):
    """The power of two just below max |A|, or 1 for a zero matrix: dividing and multiplying by it is exact.

    Never less than the smallest normal number: devices that keep subnormal ones would get 0 for them.
    """
    largest = qd.abs(A).max()
    scale = qd.cast(1, dt)
    if largest > 0:
        # Clearing the mantissa bits leaves the power of two.
        if qd.static(dt == qd.f32):
            scale = qd.bit_cast(qd.max(qd.bit_cast(largest, qd.u32) & qd.u32(0x7F800000), qd.u32(1 << 23)), qd.f32)
        else:
            bits = qd.bit_cast(largest, qd.u64) & qd.u64(0x7FF0000000000000)
            scale = qd.bit_cast(qd.max(bits, qd.u64(1 << 52)), qd.f64)
    return scale


@qd.func
def jacobi_rotation(alpha, beta, gamma):
    """(c, s) that diagonalise [[alpha, gamma], [gamma, beta]], gamma != 0.

    The new columns are `c * p - s * q` and `s * p + c * q`. Of the two solutions this is the smaller angle, which is
    what makes cyclic sweeps converge.
    """
    gap = beta - alpha
    twice = gamma + gamma
    root = qd.sqrt(gap * gap + twice * twice)
    t = twice / (gap + root) if gap >= 0 else twice / (gap - root)
    c = qd.rsqrt(1 + t * t)
    return c, c * t
