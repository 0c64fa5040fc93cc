"""The derivative of every operation on whole vectors and matrices.

An entry for each operand: the names of the operands whose values are needed ("x", "y"), the *pullback* (adjoint of the
result -> adjoint of the operand) and the *push* (dual of the operand -> its part of the dual of the result). Both
take `g`, the type of the operand, then the values.

    matmul   Z = X Y     pullback  X' = G Y^T    Y' = X^T G        push  dX Y    X dY
    inverse  Z = X^-1    pullback  X' = -Z^T G Z^T                 push  -Z dX Z
"""

from __future__ import annotations

from quadrants.ad.build import (
    add,
    compare,
    const,
    element,
    index,
    mul,
    neg,
    total,
    zero,
)
from quadrants.ir.nodes import Binary, Make, MatOp, Select
from quadrants.ir.types import element_dtype, tensor_type, u1


def matmul(a, b):
    shape = a.type.shape[:-1] + b.type.shape[1:]
    return MatOp("matmul", (a, b), tensor_type(shape, a.type.dtype))


def transpose(a):
    return MatOp("transpose", (a,), tensor_type(a.type.shape[::-1], a.type.dtype))


def outer(a, b):
    return MatOp("outer", (a, b), tensor_type((a.type.shape[0], b.type.shape[0]), a.type.dtype))


def dot(a, b):
    return MatOp("dot", (a, b), a.type.dtype)


def cross(a, b):
    return MatOp("cross", (a, b), a.type if a.type.shape[0] == 3 else a.type.dtype)


def inverse(a):
    return MatOp("inverse", (a,), a.type)


def _splat(g, t):
    return MatOp("splat", (g,), t)


def _left_of_matmul(g, t, y):
    """matrix @ matrix, matrix @ vector or vector @ matrix."""
    if len(t.shape) == 1:
        return matmul(y, g)
    return outer(g, y) if len(y.type.shape) == 1 else matmul(g, transpose(y))


def _right_of_matmul(g, t, x):
    if len(x.type.shape) == 1:
        return outer(x, g)
    return matmul(transpose(x), g)


def _left_of_cross(g, t, y):
    if t.shape[0] == 3:
        return cross(y, g)
    return mul(g, Make((element(y, 1), neg(element(y, 0))), t))


def _right_of_cross(g, t, x):
    if t.shape[0] == 3:
        return cross(g, x)
    return mul(g, Make((neg(element(x, 1)), element(x, 0)), t))


def _diagonal(g, t):
    size = t.shape[0]
    none = zero(t.dtype)
    return Make(tuple(g if i == j else none for i in range(size) for j in range(size)), t)


def cofactors(a):
    """The matrix of derivatives of the determinant; defined for singular matrices, too."""
    size = a.type.shape[0]
    t = a.type.dtype
    if size == 1:
        return const(1.0, a.type)
    parts = []
    for i in range(size):
        for j in range(size):
            rest = [element(a, r * size + c) for r in range(size) if r != i for c in range(size) if c != j]
            if size == 2:
                minor = rest[0]
            else:
                minor = MatOp("determinant", (Make(tuple(rest), tensor_type((size - 1, size - 1), t)),), t)
            parts.append(neg(minor) if (i + j) % 2 else minor)
    return Make(tuple(parts), a.type)


def _inverse_back(g, t, x):
    # The inverse is transposed before it is taken twice: the compiler computes it once.
    z = transpose(inverse(x))
    return neg(matmul(matmul(z, g), z))


def _inverse_push(g, t, x):
    z = inverse(x)
    return neg(matmul(matmul(z, g), z))


def _choice(op: str):
    """For every element whether the fold from the left ends with it: of equal ones the last is taken."""

    def chosen(x) -> list:
        parts = [element(x, k) for k in range(x.type.count)]
        out = []
        for k, part in enumerate(parts):
            beats = [compare("le" if op == "max" else "ge", other, part) for other in parts[:k]]
            beats += [compare("lt" if op == "max" else "gt", other, part) for other in parts[k + 1 :]]
            test = beats[0] if beats else compare("eq", part, part)
            for more in beats[1:]:
                test = Binary("logic_and", test, more, u1)
            out.append(test)
        return out

    return chosen


def _extremum(op: str) -> tuple:
    chosen = _choice(op)

    def back(g, t, x):
        none = zero(element_dtype(t))
        return Make(tuple(Select(c, g, none, t.dtype) for c in chosen(x)), t)

    def push(g, t, x):
        none = zero(element_dtype(t))
        result = none
        for k, c in enumerate(chosen(x)):
            result = add(result, Select(c, element(g, k), none, t.dtype))
        return result

    return ("x", back, push)


def _lane(axis: int):
    """Row or column `i` of a matrix."""

    def back(g, t, y):
        none = zero(t.dtype)
        parts = []
        for i in range(t.shape[0]):
            for j in range(t.shape[1]):
                here, other = (i, j) if axis == 0 else (j, i)
                parts.append(Select(compare("eq", y, index(here)), element(g, other), none, t.dtype))
        return Make(tuple(parts), t)

    return back


def _twice(g, t, x):
    return mul(g, mul(const(2.0, t.dtype), x))


ROWS = {
    "splat": (("", lambda g, t: total(g), lambda g, t: g),),
    "sum": (("", _splat, lambda g, t: total(g)),),
    "max": (_extremum("max"),),
    "min": (_extremum("min"),),
    "norm_sqr": (("x", _twice, lambda g, t, x: mul(const(2.0, t.dtype), dot(x, g))),),
    "dot": (
        ("y", lambda g, t, y: mul(g, y), lambda g, t, y: dot(g, y)),
        ("x", lambda g, t, x: mul(g, x), lambda g, t, x: dot(x, g)),
    ),
    "cross": (
        ("y", _left_of_cross, lambda g, t, y: cross(g, y)),
        ("x", _right_of_cross, lambda g, t, x: cross(x, g)),
    ),
    "outer": (
        ("y", lambda g, t, y: matmul(g, y), lambda g, t, y: outer(g, y)),
        ("x", lambda g, t, x: matmul(transpose(g), x), lambda g, t, x: outer(x, g)),
    ),
    "matmul": (
        ("y", _left_of_matmul, lambda g, t, y: matmul(g, y)),
        ("x", _right_of_matmul, lambda g, t, x: matmul(x, g)),
    ),
    "transpose": (("", lambda g, t: transpose(g), lambda g, t: transpose(g)),),
    "trace": (("", _diagonal, lambda g, t: MatOp("trace", (g,), t.dtype)),),
    "determinant": (("x", lambda g, t, x: mul(g, cofactors(x)), lambda g, t, x: dot(cofactors(x), g)),),
    "inverse": (("x", _inverse_back, _inverse_push),),
    "row": (("y", _lane(0), lambda g, t, y: MatOp("row", (g, y), tensor_type((t.shape[1],), t.dtype))), None),
    "column": (("y", _lane(1), lambda g, t, y: MatOp("column", (g, y), tensor_type((t.shape[0],), t.dtype))), None),
}


def of(op: str, arity: int) -> tuple:
    """The row of an operation; `any` and `all` have no derivative."""
    return ROWS.get(op) or (None,) * arity
