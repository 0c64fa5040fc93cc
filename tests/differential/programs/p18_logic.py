"""language.md 11.3-11.5: comparisons and chains, and/or/not with short circuit, conditional expressions, select."""

import numpy as np
from kit import fails


def run(qd):
    f = qd.field(qd.i32, shape=4)
    for i in range(4):
        f[i] = 10 * (i + 1)

    @qd.kernel
    def compare(a: qd.f32, b: qd.f32) -> qd.types.vector(6, qd.i32):
        return qd.Vector([qd.cast(a < b, qd.i32), a <= b, a > b, a >= b, a == b, a != b])

    @qd.kernel
    def chains(a: qd.i32, b: qd.i32, c: qd.i32) -> qd.types.vector(3, qd.i32):
        return qd.Vector([qd.cast(a < b < c, qd.i32), a <= b == c, 0 < a < 10 > b])

    @qd.kernel
    def values(a: qd.i32, b: qd.i32) -> qd.types.vector(6, qd.i32):
        return qd.Vector([a and b, a or b, not a, (a > 1) and (b > 1), a and b or 7, not (a and b)])

    @qd.kernel
    def guarded(i: qd.i32) -> qd.i32:
        r = 0
        if i < 4 and f[i] > 15:
            r += 1
        if i >= 4 or f[i] > 35:
            r += 10
        r += 100 * (f[i] if i < 4 else -1)
        return r

    @qd.kernel
    def conditional(c: qd.i32, x: qd.i32, y: qd.f32) -> qd.types.vector(4, qd.f32):
        v = qd.Vector([1, 2])
        w = qd.Vector([3.5, 4.5])
        z = v if c else w
        return qd.Vector([x if c else y, z[0], z[1], 1 if c > 2 else 2 if c > 1 else 3])

    @qd.kernel
    def selects(c: qd.i32, x: qd.i32, y: qd.f32) -> qd.types.matrix(3, 2, qd.f32):
        a = qd.select(c, x, y)
        b = qd.select(qd.Vector([1, 0]), qd.Vector([x, 2]), 7.5)
        d = qd.select(c, qd.Vector([1.0, 2.0]), qd.Vector([3.0, 4.0]))
        return qd.Matrix([[a, a], [b[0], b[1]], [d[0], d[1]]])

    @qd.kernel
    def vector_logic(v: qd.types.vector(3, qd.i32), n: qd.i32) -> qd.types.vector(4, qd.i32):
        inside = (0 <= v).all() and (v < n).all()
        both = (v > 0) and (v < n)
        either = (v > 0) or (v < -5)
        return qd.Vector(
            [qd.cast(inside, qd.i32), qd.cast(both, qd.i32).sum(), qd.cast(either, qd.i32).sum(), any(v == n)]
        )

    @qd.kernel
    def unsigned(a: qd.i32, b: qd.u32) -> qd.types.vector(2, qd.i32):
        return qd.Vector([qd.cast(a < b, qd.i32), a > b])

    @qd.kernel
    def nan_tests(x: qd.f32) -> qd.types.vector(5, qd.i32):
        return qd.Vector(
            [qd.cast(x < 1.0, qd.i32), x > 1.0, x == x + 1.0, not (abs(x) < qd.math.inf), qd.math.isnan(x)]
        )

    @qd.kernel
    def real_and(x: qd.f32) -> qd.i32:
        return x and 1

    @qd.kernel
    def real_if(x: qd.f32) -> qd.i32:
        return 1 if x else 2

    @qd.kernel
    def vector_if(v: qd.types.vector(2, qd.i32)) -> qd.i32:
        r = 0
        if v > 1:
            r = 1
        return r

    @qd.kernel
    def contains(x: qd.i32) -> qd.i32:
        return x in (1, 2)

    @qd.kernel
    def identity(x: qd.i32, y: qd.i32) -> qd.i32:
        return x is y

    @qd.kernel
    def select_shapes() -> qd.f32:
        v = qd.select(qd.Vector([1, 0, 1]), qd.Vector([1.0, 2.0]), 3.0)
        return v[0]

    return {
        "compare": [compare(a, b).to_numpy() for a, b in ((1, 2), (2, 1), (2, 2), (np.inf, 1))],
        "chains": [chains(1, 2, 3).to_numpy(), chains(3, 2, 3).to_numpy(), chains(2, 2, 2).to_numpy()],
        "values": [values(a, b).to_numpy() for a, b in ((5, 2), (0, 3), (4, 0), (0, 0))],
        "guarded": [guarded(i) for i in (0, 1, 3, 4, 1 << 29)],
        "conditional": [conditional(c, 5, 2.5).to_numpy() for c in (0, 1, 2, 3)],
        "selects": [selects(c, 5, 2.5).to_numpy() for c in (0, 1)],
        "vector_logic": [vector_logic(v, 5).to_numpy() for v in ([1, 2, 3], [0, 5, -7], [9, 0, 0])],
        "unsigned": unsigned(-1, 1).to_numpy(),
        "nan_tests": [nan_tests(x).to_numpy() for x in (np.nan, np.inf, 1.0, -np.inf)],
        "real_and": fails(lambda: real_and(1.0), "unsupported operand type(s) for '&&'"),
        "real_if": fails(lambda: real_if(1.0), ""),
        "vector_if": fails(lambda: vector_if(qd.Vector([1, 2])), "`if` conditions must be an integer; found"),
        "contains": fails(lambda: contains(1), "is only supported inside `qd.static`"),
        "identity": fails(lambda: identity(1, 1), 'Operator "is" in Quadrants scope is not supported.'),
        "select_shapes": fails(select_shapes, "Cannot broadcast tensor to tensor"),
    }
