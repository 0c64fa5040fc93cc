"""The vector operations of an iteration of CG and BiCGSTAB, fused into as few passes over memory as they depend on.

Numbers that an iteration makes stay on the device, in `state`; a caller reads one array of them to see whether it is
done. Vectors are fields of any shape, ndarrays, or arrays of NumPy, all of one dtype.
"""

from __future__ import annotations

import quadrants as qd

# Places in `state`.
RESIDUAL = 0  # the square of the 2-norm of b - A x
SLOPE = 1  # CG: r . M r, which is RESIDUAL without a preconditioner; BiCGSTAB: s . r, where s is the first r
BROKEN = 2  # 1 where a quotient had no denominator: there is no next iteration
SIZE = 3


@qd.kernel
def cg_start(b: qd.Tensor, r: qd.Tensor, p: qd.Tensor, state: qd.types.ndarray()):
    """r holds A x, and b - A x afterwards, which is the first direction p too."""
    square = qd.zero(state[RESIDUAL])
    for i in qd.grouped(r):
        residual = b[i] - r[i]
        r[i] = residual
        p[i] = residual
        square += residual * residual
    state[RESIDUAL] = square
    state[SLOPE] = square
    state[BROKEN] = 0


@qd.kernel
def cg_step(x: qd.Tensor, r: qd.Tensor, p: qd.Tensor, Ap: qd.Tensor, state: qd.types.ndarray()):
    """All of an iteration but the product Ap = A p."""
    slope = state[SLOPE]
    curvature = qd.zero(slope)
    for i in qd.grouped(p):
        curvature += p[i] * Ap[i]
    broken = curvature == 0
    alpha = slope / curvature if not broken else qd.zero(slope)
    square = qd.zero(slope)
    for i in qd.grouped(r):
        x[i] = x[i] + alpha * p[i]  # of its own: not an atomic
        residual = r[i] - alpha * Ap[i]
        r[i] = residual
        square += residual * residual
    beta = square / slope if slope != 0 else qd.zero(slope)
    for i in qd.grouped(p):
        p[i] = r[i] + beta * p[i]
    state[RESIDUAL] = square
    state[SLOPE] = square
    state[BROKEN] = broken


@qd.kernel
def bicgstab_start(
    b: qd.Tensor, x: qd.Tensor, r: qd.Tensor, p: qd.Tensor, shadow: qd.Tensor, state: qd.types.ndarray()
):
    """r holds A x, and b - A x afterwards, which is the first direction p, and the shadow, too.

    Where b is zero, x is the solution: zero.
    """
    square = qd.zero(state[RESIDUAL])
    wanted = qd.zero(state[RESIDUAL])
    for i in qd.grouped(r):
        residual = b[i] - r[i]
        r[i] = residual
        p[i] = residual
        shadow[i] = residual
        square += residual * residual
        wanted += qd.abs(b[i])
    for i in qd.grouped(x):
        if wanted == 0:
            x[i] = 0
    left = square if wanted != 0 else qd.zero(square)
    state[RESIDUAL] = left
    state[SLOPE] = left
    state[BROKEN] = 0


@qd.kernel
def bicgstab_half(
    shadow: qd.Tensor, x: qd.Tensor, r: qd.Tensor, p: qd.Tensor, Ap: qd.Tensor, state: qd.types.ndarray()
):
    """Along p: r becomes what is left of the residual, of which the caller makes the product t = A r."""
    slope = qd.zero(state[SLOPE])
    for i in qd.grouped(shadow):
        slope += shadow[i] * Ap[i]
    alpha = state[SLOPE] / slope if slope != 0 else qd.zero(slope)
    for i in qd.grouped(r):
        x[i] = x[i] + alpha * p[i]  # of its own: not an atomic
        r[i] = r[i] - alpha * Ap[i]
    state[BROKEN] = alpha  # for the other half; 0 where there is none


@qd.kernel
def bicgstab_step(
    shadow: qd.Tensor, x: qd.Tensor, r: qd.Tensor, p: qd.Tensor, Ap: qd.Tensor, t: qd.Tensor,
    state: qd.types.ndarray(),
):  # fmt: skip
    """Along r, and the next direction p."""
    alpha = state[BROKEN]
    mixed = qd.zero(alpha)
    square = qd.zero(alpha)
    for i in qd.grouped(t):
        mixed += t[i] * r[i]
        square += t[i] * t[i]
    omega = mixed / square if square != 0 else qd.zero(alpha)
    left = qd.zero(alpha)
    slope = qd.zero(alpha)
    for i in qd.grouped(r):
        x[i] = x[i] + omega * r[i]
        residual = r[i] - omega * t[i]
        r[i] = residual
        left += residual * residual
        slope += shadow[i] * residual
    turn = state[SLOPE] * omega
    beta = slope * alpha / turn if turn != 0 else qd.zero(alpha)
    for i in qd.grouped(p):
        p[i] = r[i] + beta * (p[i] - omega * Ap[i])
    state[RESIDUAL] = left
    state[SLOPE] = slope
    state[BROKEN] = turn == 0 or slope == 0
