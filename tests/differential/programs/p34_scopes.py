"""language.md 9: lookup, block scope, types fixed by the first assignment, declarations, loop targets, swaps."""

from kit import fails

CAPTURED = 11


def run(qd):
    global CAPTURED
    CAPTURED = 11
    closure = 5

    @qd.kernel
    def captured() -> qd.i32:
        return CAPTURED * 10 + closure

    @qd.kernel
    def types_fixed(x: qd.f32) -> qd.types.vector(6, qd.f32):
        a = 0
        a = 2.7
        b = 1.5
        b = 3
        c = qd.Vector([1, 2])
        c = qd.Vector([3.9, x])
        d = qd.Vector([0.0, 0.0])
        d = 4
        return qd.Vector([a, b, c[0], c[1], d[1], b / 2])

    @qd.kernel
    def siblings(n: qd.i32) -> qd.f32:
        r = 0.0
        if n > 0:
            t = 1
            r += t
        else:
            t = 2.5
            r += t
        for i in range(2):
            t = qd.Vector([1, 2])
            r += t.sum() + i
        for i in range(2):
            r += i * 100
        return r

    @qd.kernel
    def chained() -> qd.i32:
        a = b = 3
        a += 1
        x, y = a, b
        x, y = y, x
        (p, q) = (x * 10, y * 10)
        return x * 1000 + y * 100 + p + q

    @qd.kernel
    def declared(x: qd.f32) -> qd.f64:
        a: qd.f64 = 0.1
        b: qd.i32 = x
        a: qd.f64 = a + b
        return a

    @qd.kernel
    def walrus(n: qd.i32) -> qd.i32:
        r = 0
        if (m := n * 2) > 5:
            r = m
        return r

    @qd.kernel
    def shadow_global() -> qd.i32:
        CAPTURED = 3
        CAPTURED += 1
        return CAPTURED

    @qd.kernel
    def block_ends(n: qd.i32) -> qd.i32:
        if n > 0:
            x = 1
        return x  # noqa: F821

    @qd.kernel
    def loop_ends() -> qd.i32:
        for i in range(3):
            pass
        return i  # noqa: F821

    @qd.kernel
    def target_taken() -> qd.i32:
        i = 3
        s = 0
        for i in range(4):
            s += i
        return s

    @qd.kernel
    def redeclared():
        a: qd.i32 = 1
        a: qd.f32 = 2.0

    @qd.kernel
    def static_again():
        c = qd.static(3)
        c = 4

    @qd.kernel
    def undefined() -> qd.i32:
        return missing_name  # noqa: F821

    first = captured()
    CAPTURED = 99
    return {
        "captured": [first, captured()],
        "types_fixed": types_fixed(-1.5).to_numpy(),
        "siblings": [siblings(1), siblings(-1)],
        "chained": chained(),
        "declared": declared(2.9),
        "walrus": [walrus(1), walrus(3)],
        "shadow_global": shadow_global(),
        "block_ends": fails(lambda: block_ends(1), 'Name "x" is not defined'),
        "loop_ends": fails(loop_ends, 'Name "i" is not defined'),
        "target_taken": fails(target_taken, "is already declared in the outer scope"),
        "redeclared": fails(redeclared, ""),
        "static_again": fails(static_again, "cannot be assigned"),
        "undefined": fails(undefined, 'Name "missing_name" is not defined'),
    }
