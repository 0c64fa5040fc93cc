"""language.md 9: names, scopes, types of variables."""

import numpy as np
import pytest
from language_kit import alive, array, raises

import quadrants as qd
from quadrants.lang.exception import QuadrantsNameError

LATE = 1
NUMBER = 5


def test_lookup(arch):
    cell = 20

    @qd.kernel
    def run(n: qd.i32) -> qd.types.vector(4, qd.i32):
        NUMBER = n
        NUMBER += 1
        return qd.Vector([cell, DEFINED_LATER, NUMBER, abs(-n)])

    @qd.kernel
    def missing() -> qd.i32:
        return nowhere  # noqa: F821

    assert list(run(3)) == [20, 9, 4, 3]
    assert NUMBER == 5
    with raises(QuadrantsNameError, 'Name "nowhere" is not defined'):
        missing()
    alive()


DEFINED_LATER = 9


def test_globals_are_baked(arch):
    global LATE

    @qd.kernel
    def run() -> qd.i32:
        return LATE

    LATE = 2
    assert run() == 2
    LATE = 3
    assert run() == 2


def test_names_end_with_their_block(arch):
    @qd.kernel
    def in_if(c: qd.i32) -> qd.i32:
        if c:
            x = 1
        return x  # noqa: F821

    @qd.kernel
    def in_for(c: qd.i32) -> qd.i32:
        for i in range(c):
            x = 1
        return x  # noqa: F821

    @qd.kernel
    def in_while(c: qd.i32) -> qd.i32:
        k = c
        while k > 0:
            x = 1
            k -= 1
        return x  # noqa: F821

    @qd.kernel
    def in_static_if() -> qd.i32:
        if qd.static(True):
            x = 1
        return x  # noqa: F821

    @qd.kernel
    def loop_target(n: qd.i32) -> qd.i32:
        for i in range(n):
            pass
        return i  # noqa: F821

    @qd.kernel
    def static_target() -> qd.i32:
        for i in qd.static(range(2)):
            pass
        return i  # noqa: F821

    for action in (lambda: in_if(1), lambda: in_for(1), lambda: in_while(1), in_static_if, static_target):
        with raises(QuadrantsNameError, "is not defined"):
            action()
    with raises(QuadrantsNameError, 'Name "i" is not defined'):
        loop_target(1)
    alive()


def test_siblings_reuse_names(arch):
    @qd.kernel
    def run(c: qd.i32) -> qd.f32:
        r = 0.0
        if c > 0:
            x = 1
            r += x
        else:
            x = 2.5
            r += x
        for i in range(2):
            x = qd.Vector([1.0, 2.0])
            r += x[1]
        return r

    assert run(1) == 5 and run(0) == 6.5


def test_the_first_assignment_fixes_the_type(arch):
    @qd.kernel
    def run() -> qd.types.vector(4, qd.f32):
        x = 0
        x = 2.7
        v = qd.Vector([0, 0])
        v = 3.9
        f = 1.5
        f = 7
        w = qd.Vector([0.0, 0.0])
        w = [1, 2]
        return qd.Vector([x, v[1], f, w[1]])

    np.testing.assert_array_equal(run().to_numpy(), [2, 3, 7, 2])


def test_conversions_that_fail(arch):
    @qd.kernel
    def shapes():
        v = qd.Vector([1, 2])
        v = qd.Vector([1, 2, 3])

    @qd.kernel
    def to_scalar():
        x = 1
        x = qd.Vector([1, 2])

    for k in (shapes, to_scalar):
        with raises(qd.QuadrantsTypeError, "cannot assign"):
            k()
    alive()


def test_containers(arch):
    @qd.kernel
    def reassigned():
        x = [1, 2]
        x = [3, 4]

    @qd.kernel
    def reassigned_tuple():
        x = (1, 2)
        x = (3, 4)

    @qd.kernel
    def reassigned_dict():
        x = {"a": 1}
        x = {"a": 2}

    @qd.kernel
    def items(n: qd.i32) -> qd.i32:
        x = [n, n + 1]
        x[0] = 5
        x[1] += 2
        d = {"a": n}
        d["a"] += 100
        return x[0] * 10 + x[1] + d["a"]

    for k in (reassigned, reassigned_tuple, reassigned_dict):
        with raises(qd.QuadrantsSyntaxError, "cannot be assigned"):
            k()
    assert items(3) == 50 + 6 + 103


def test_numbers_in_containers_are_variables(arch):
    """A number in a list or dict has a type and can change under run-time control flow, like a plain variable."""

    @qd.kernel
    def counted(n: qd.i32) -> qd.i32:
        x = [0, 5]
        for i in range(n):
            x[0] += i
        return x[0] + x[1]

    @qd.kernel
    def chosen(n: qd.i32) -> qd.i32:
        x = [[0, 1], [2, 3]]
        d = {"a": 0}
        if n > 3:
            x[0][1] = n
            d["a"] = n
        return x[0][1] * 100 + d["a"] * 10 + x[1][0]

    @qd.kernel
    def typed() -> qd.f32:
        x = [1, 2.5]
        x[0] = 2.7
        x.append(4)
        x[2] += 1
        return x[0] + x[1] + x[2]

    assert counted(5) == 15
    assert (chosen(5), chosen(2)) == (552, 102)
    assert typed() == 2 + 2.5 + 5


OUTER = [1, 2]


def test_containers_change_only_where_a_kernel_can_say_so(arch):
    @qd.kernel
    def grows(n: qd.i32) -> qd.i32:
        x = [0]
        for i in range(n):
            x.append(i)
        return x[0]

    @qd.kernel
    def grows_inside(n: qd.i32) -> qd.i32:
        s = 0
        for i in range(n):
            x = []
            for k in qd.static(range(3)):
                x.append(i * k)
            s += x[1] + x[2]
        return s

    @qd.kernel
    def captured():
        OUTER[0] = 5

    @qd.kernel
    def new_key():
        d = {"a": 1}
        d["b"] = 2

    with raises(qd.QuadrantsSyntaxError, "`append` changes a list when the kernel is compiled"):
        grows(3)
    with raises(qd.QuadrantsSyntaxError, "'OUTER[0]' cannot be assigned"):
        captured()
    with raises(qd.QuadrantsCompilationError, "does not exist"):
        new_key()
    assert OUTER == [1, 2]
    assert grows_inside(4) == 18


def test_declarations(arch):
    @qd.kernel
    def fine(n: qd.i32) -> qd.f32:
        x: qd.f32 = n
        x: qd.f32 = x / 2
        y: qd.i32 = 2.75
        v: qd.types.vector(2, qd.f32) = qd.Vector([1, 2])
        return x + y + v[1] / 4

    @qd.kernel
    def other_type():
        x: qd.f32 = 1
        x: qd.i32 = 2

    @qd.kernel
    def no_value():
        x: qd.f32  # noqa: F842

    @qd.kernel
    def none():
        x = None

    @qd.kernel
    def reserved():
        __qd_x = 1

    assert fine(3) == 4
    for k in (other_type, no_value, none, reserved):
        with raises(qd.QuadrantsSyntaxError):
            k()
    alive()


def test_loop_targets(arch):
    f = qd.field(qd.i32, shape=4)

    @qd.kernel
    def range_target(n: qd.i32):
        i = 1
        for i in range(n):
            pass

    @qd.kernel
    def struct_target():
        i = 1
        for i in f:
            pass

    @qd.kernel
    def nested(n: qd.i32):
        for i in range(n):
            for i in range(n):
                pass

    @qd.kernel
    def assigned(n: qd.i32):
        for i in range(n):
            i = 3

    @qd.kernel
    def shadow(n: qd.i32) -> qd.i32:
        i, s = 100, 0
        for i, j in qd.ndrange(n, 2):
            i += 10
            s += i
        for i in qd.static(range(3)):
            s += i
        return s + i

    for k in (range_target, nested):
        with raises(qd.QuadrantsSyntaxError, "is already declared in the outer scope"):
            k(3)
    with raises(qd.QuadrantsSyntaxError, "is already declared in the outer scope"):
        struct_target()
    with raises(qd.QuadrantsSyntaxError):
        assigned(3)
    assert shadow(2) == 2 * (10 + 11) + 3 + 100


def test_a_name_that_nothing_reads_may_be_taken_again(arch):
    @qd.kernel
    def count(n: qd.i32) -> qd.i32:
        s = 0
        for _ in range(n):
            for _ in range(2):
                for _ in range(3):
                    s += 1
            s += 10
        return s

    @qd.kernel
    def read(n: qd.i32) -> qd.i32:
        s = 0
        for _ in range(n):
            for _ in range(2):
                pass
            s += _
        return s

    assert count(4) == 4 * (2 * 3 + 10)
    with raises(qd.QuadrantsSyntaxError, '"_" is already declared in the outer scope'):
        read(4)


def test_chains_swaps_and_unpacking(arch):
    f = qd.field(qd.i32, shape=4)
    f.from_numpy(np.array([1, 2, 3, 4], np.int32))
    S = qd.types.struct(p=qd.i32, q=qd.i32)

    @qd.func
    def count():
        f[2] += 1
        return f[2]

    @qd.kernel
    def run(x: qd.types.ndarray()) -> qd.types.vector(8, qd.i32):
        a = b = count()
        a += 10
        c, d = 1, 2
        c, d = d, c
        f[0], f[1] = f[1], f[0]
        n, m = x.shape
        s, t = qd.Vector([5, 6])
        (g, h) = [7, 8]
        p, q = S(p=30, q=40)
        w = (k := 3) + k
        return qd.Vector([a, b, c * 10 + d, n * 10 + m, s * 10 + t, g * 10 + h, p + q, w])

    assert list(run(np.zeros((2, 3), np.int32))) == [14, 4, 21, 23, 56, 78, 70, 6]
    assert list(f.to_numpy()) == [2, 1, 4, 4]


def test_unpacking_that_fails(arch):
    @qd.kernel
    def short():
        a, b = qd.Vector([1, 2, 3])

    @qd.kernel
    def long():
        a, b, c = 1, 2

    @qd.kernel
    def scalar(n: qd.i32):
        a, b = n

    @qd.kernel
    def nested():
        a, (b, c) = 1, (2, 3)

    @qd.kernel
    def starred():
        a, *b = 1, 2, 3

    for k in (short, long):
        with raises(qd.QuadrantsSyntaxError, "number of targets"):
            k()

    @qd.kernel
    def listed():
        [a, b] = 1, 2

    for action in (lambda: scalar(1), nested, starred, listed):
        with raises(qd.QuadrantsSyntaxError):
            action()
    alive()


def test_static_names(arch):
    f = qd.field(qd.i32, shape=2)

    @qd.kernel
    def run() -> qd.i32:
        c = qd.static(3)
        g = qd.static(f)
        for k in qd.static(range(c)):
            g[1] += k
        return f[1]

    @qd.kernel
    def reassigned():
        c = qd.static(3)
        c = 4

    @qd.kernel
    def existing():
        c = 1
        c = qd.static(3)

    assert run() == 3
    with raises(qd.QuadrantsSyntaxError, "cannot be assigned"):
        reassigned()
    with raises(qd.QuadrantsSyntaxError, "Recreating variables is not allowed"):
        existing()
    alive()


def test_lossy_assignment_is_logged(arch, capfd):
    f = qd.field(qd.f32, shape=2)

    @qd.kernel
    def lossy(y: qd.f64) -> qd.i32:
        x = 0
        x = 2.7
        f[0] = y
        return x

    @qd.kernel
    def exact(n: qd.i32, x: qd.f64) -> qd.i32:
        i = 0
        i = n
        f[1] = n
        f[1] = 2.0
        z = 0.5
        z = qd.cast(x, qd.f32)
        return i

    assert exact(3, 1.0) == 3
    assert "lose precision" not in capfd.readouterr().err
    assert lossy(1.0) == 2
    text = capfd.readouterr().err
    assert "Assign may lose precision: i32 <- f32" in text and "Assign may lose precision: f32 <- f64" in text


def test_arrays_are_no_variables(arch):
    @qd.kernel
    def run(a: qd.types.ndarray()) -> qd.i32:
        b = qd.static(a)
        b[0] = 6
        return a[0]

    assert run(array(qd.i32, [1])) == 6
    with pytest.raises(qd.QuadrantsCompilationError):
        alive_after_error()
    alive()


@qd.kernel
def alive_after_error() -> qd.i32:
    return nowhere_at_all  # noqa: F821
