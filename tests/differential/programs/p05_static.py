"""language.md 14: static loops, branches, assertions; what is and what is not a trace-time value."""

import enum

from kit import fails, printed


class Mode(enum.IntEnum):
    FAST = 1
    SLOW = 2


def run(qd):
    out = qd.field(qd.i32, shape=24)
    fields = [qd.field(qd.i32, shape=3) for _ in range(3)]
    mode = Mode.SLOW
    numbers = [5, 6, 7]

    @qd.func
    def double(v):
        return 2 * v

    @qd.func
    def square(v):
        return v * v

    ops = (double, square)

    @qd.kernel
    def loops():
        for i, v in qd.static(enumerate(numbers)):
            out[i] = v * 10
        for k in qd.static(range(3)):
            fields[k][k] = k + 1
        for f in qd.static(fields):
            f[0] += 100
        for i, op in qd.static(enumerate(ops)):
            out[4 + i] = op(9)
        for i, j in qd.static(qd.ndrange(2, 2)):
            out[8 + 2 * i + j] = 10 * i + j
        for idx in qd.static(qd.grouped(qd.ndrange(2, 2))):
            out[12 + 2 * idx[0] + idx[1]] = idx[0] - idx[1]
        for a, b in qd.static(zip((1, 2), (30, 40))):
            out[16] += a * b
        for i in qd.static(range(5)):
            if qd.static(i == 1):
                continue
            if qd.static(i == 4):
                break
            out[17] = out[17] * 10 + i

    @qd.kernel
    def branches() -> qd.i32:
        r = 0
        if qd.static(mode == Mode.FAST):
            undefined_name()  # noqa: F821
        elif qd.static(mode in (Mode.SLOW, 7)):
            r = 1
        else:
            raise ValueError("never traced")
        if qd.static(len(numbers) == 3 and not isinstance(mode, str)):
            r += 10
        return r

    @qd.kernel
    def alias() -> qd.i32:
        f = qd.static(fields[1])
        g = qd.static(double if mode == Mode.SLOW else square)
        a, b = qd.static(3, 4)
        return g(f[1]) + a * b

    @qd.func
    def early(c: qd.template(), v):
        if qd.static(c):
            return v + 1
        return v + 7

    @qd.kernel
    def early_return() -> qd.i32:
        return early(True, 10) * 100 + early(False, 10)

    @qd.kernel
    def traced_false():
        if False:
            undefined_name()  # noqa: F821

    @qd.kernel
    def static_of_runtime(n: qd.i32):
        for i in qd.static(range(n)):
            out[i] = 0

    @qd.kernel
    def assert_ok():
        qd.static_assert(len(numbers) == 3, "three")

    @qd.kernel
    def assert_bad():
        qd.static_assert(len(numbers) == 4, "four wanted")

    @qd.kernel
    def assert_runtime(n: qd.i32):
        qd.static_assert(n == 4, "four wanted")

    @qd.kernel
    def static_string() -> qd.i32:
        return qd.static("abc")

    @qd.kernel
    def hello():
        qd.static_print("traced", 3)

    loops()
    assert_ok()
    return {
        "out": out.to_numpy(),
        "fields": [f.to_numpy() for f in fields],
        "branches": branches(),
        "alias": alias(),
        "early_return": early_return(),
        "traced_false": fails(traced_false, 'Name "undefined_name" is not defined'),
        "static_of_runtime": fails(lambda: static_of_runtime(3), ""),
        "assert_bad": fails(assert_bad, "four wanted"),
        "assert_runtime": fails(lambda: assert_runtime(3), "Static assert with non-static condition"),
        "static_string": fails(static_string, "Input to qd.static must be compile-time constants or global pointers"),
        "host_static": [qd.static(3), list(qd.static(range(2)))],
        "static_print": "traced 3" in printed(qd, hello),
    }
