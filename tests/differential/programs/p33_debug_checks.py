"""language.md 16.2, 16.3: assertions and bounds checks of debug mode; nothing is checked without it."""

from kit import fails, start


def run(qd):
    def build():
        f = qd.field(qd.i32, shape=4)
        off = qd.field(qd.i32, shape=4, offset=-2)
        nd = qd.ndarray(qd.i32, shape=(4, 3))

        @qd.kernel
        def checked(a: qd.i32, x: qd.f32):
            assert a > 3, f"value {a} bad {x}"

        @qd.kernel
        def plain(a: qd.i32):
            assert a > 3

        @qd.kernel
        def constant(a: qd.i32):
            assert a > 3, "too small"

        @qd.kernel
        def percent(a: qd.i32):
            assert a > 3, "got %d of %d" % (a, a + 1)

        @qd.kernel
        def parallel():
            for i in range(1000):
                assert i != 500, "five hundred"

        @qd.kernel
        def field(i: qd.i32):
            f[i] = 1

        @qd.kernel
        def offset(i: qd.i32) -> qd.i32:
            return off[i]

        @qd.kernel
        def array(x: qd.types.ndarray(dtype=qd.i32, ndim=2), i: qd.i32, j: qd.i32):
            x[i, j] = 1

        @qd.kernel
        def vector(i: qd.i32) -> qd.f32:
            v = qd.Vector([1.0, 2.0, 3.0])
            return v[i]

        return f, off, nd, checked, plain, constant, percent, parallel, field, offset, array, vector

    _, _, _, checked, plain, *_ = build()
    quiet = [fails(lambda: checked(1, 2.5)), fails(lambda: plain(1))]
    start(qd, debug=True)
    f, off, nd, checked, plain, constant, percent, parallel, field, offset, array, vector = build()
    offset(-2)
    array(nd, 3, 2)
    return {
        "quiet": quiet,
        "fine": [fails(lambda: checked(5, 0.0)), fails(lambda: field(3)), fails(lambda: vector(2))],
        "checked": fails(lambda: checked(1, 2.5), "value 1 bad 2.5"),
        "plain": fails(lambda: plain(1), "a > 3"),
        "constant": fails(lambda: constant(1), "too small"),
        "percent": fails(lambda: percent(1), "got 1 of 2"),
        "parallel": fails(parallel, "five hundred"),
        "field": fails(lambda: field(7), "of size (4) with indices (7)"),
        "field_negative": fails(lambda: field(-1), "with indices (-1)"),
        "offset": fails(lambda: offset(2), "Accessing field"),
        "array": fails(lambda: array(nd, 1, 5), "Out of bound access to ndarray at arg 0 with indices [1, 5]"),
        "vector": fails(lambda: vector(5), "Out of bound access to a [3] matrix with index [5]"),
        "host": fails(lambda: f[9], "Accessing field").split(":")[0] in ("AssertionError", "QuadrantsAssertionError"),
        "usable_after": fails(lambda: field(2)) + str(f[2]),
    }
