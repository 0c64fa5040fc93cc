"""Overflow reports of debug mode (runtime.md 11): every width and kind of statement, with the line of the user."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

debug = pytest.mark.runtime(debug=True, cpu_max_num_threads=1)
WORDS = {"add": "Addition", "sub": "Subtraction", "mul": "Multiplication", "shl": "Shift left"}
LIMITS = {t: np.iinfo(t.numpy_name) for t in (qd.i8, qd.i16, qd.i32, qd.i64, qd.u8, qd.u16, qd.u32, qd.u64)}


def reports(capfd) -> list:
    """(operation, line of the user's source, what is marked in it) of every report."""
    qd.sync()
    lines = capfd.readouterr().out.splitlines()
    found = []
    for k, line in enumerate(lines):
        if " overflow detected in " in line:
            what, place = line.split(" overflow detected in ")
            assert place.startswith(f'File "{__file__}", line ') and place.endswith(":"), place
            source, carets = lines[k + 1], lines[k + 2]
            assert set(carets) == {" ", "^"}, carets
            found.append((what, source.strip(), source[carets.index("^") : len(carets)]))
    return found


@debug
@pytest.mark.parametrize("t", LIMITS, ids=str)
def test_every_width(arch, t, capfd):
    low, high = int(LIMITS[t].min), int(LIMITS[t].max)

    @qd.kernel
    def run(a: t, b: t, what: qd.template()) -> t:
        r = t(0)
        if qd.static(what == "add"):
            r = a + b
        elif qd.static(what == "sub"):
            r = a - b
        elif qd.static(what == "mul"):
            r = a * b
        else:
            r = a << b
        return r

    cases = {
        "add": ([(high, 1), (low, high), (high // 2, high // 2)], [0]),
        "sub": ([(low, 1), (high, 1), (high, high)], [0]),
        "mul": ([(high, 2), (high // 2 + 1, 2), (high // 2, 2), (1, low)], [0, 1]),
        "shl": ([(high, 1), (1, 2), (high // 4, 2)], [0]),
    }
    symbols = {"add": "a + b", "sub": "a - b", "mul": "a * b", "shl": "a << b"}
    rules = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "shl": int.__lshift__}
    for op, (pairs, too_large) in cases.items():
        capfd.readouterr()
        want = [rules[op](a, b) for a, b in pairs]
        assert [k for k, x in enumerate(want) if not low <= x <= high] == too_large
        wrapped = [(x - low) % (high - low + 1) + low for x in want]
        assert [run(a, b, op) for a, b in pairs] == wrapped
        assert reports(capfd) == [(WORDS[op], f"r = {symbols[op]}", symbols[op])] * len(too_large)


@debug
@pytest.mark.parametrize("t", [t for t in LIMITS if t.is_signed], ids=str)
def test_what_has_no_negative(arch, t, capfd):
    """The least number of a type, negated in one way or another, is itself."""

    @qd.kernel
    def run(x: t, y: t, what: qd.template()) -> t:
        r = x
        if qd.static(what == 0):
            r = -x
        elif qd.static(what == 1):
            r = abs(x)
        elif qd.static(what == 2):
            r = x // y
        elif qd.static(what == 3):
            r = qd.raw_div(x, y)
        elif qd.static(what == 4):
            r //= y
        elif qd.static(what == 5):
            v = -qd.Vector([t(1), x])
            r = v[1]
        elif qd.static(what == 6):
            v = qd.Vector([t(1), x]) // y
            r = v[1]
        else:
            r = x // t(-1)
        return r

    marked = (
        ("Subtraction", "-x"), ("Subtraction", "abs(x)"), ("Division", "x // y"), ("Division", "qd.raw_div(x, y)"),
        ("Division", "r //= y"), ("Subtraction", "-qd.Vector([t(1), x])"), ("Division", "qd.Vector([t(1), x]) // y"),
        ("Division", "x // t(-1)"),
    )  # fmt: skip
    for what, report in enumerate(marked):
        assert run(t.min, -1, what) == t.min
        assert [(name, text) for name, _, text in reports(capfd)] == [report]
        assert [run(x, -1, what) for x in (t.min + 1, t.max, -5)] == [t.max, t.max if what == 1 else -t.max, 5]
        assert what in (0, 1, 5, 7) or run(t.min, 1, what) == t.min
        assert reports(capfd) == []


@debug
@pytest.mark.parametrize("t", [t for t in LIMITS if not t.is_signed], ids=str)
def test_negatives_without_sign_are_not_reported(arch, t, capfd):
    @qd.kernel
    def run(x: t) -> t:
        return (x & -x) + t(0) * (abs(x) // x)

    assert run(12) == 4 and reports(capfd) == []


@debug
def test_every_element_of_vectors_and_matrices(arch, capfd):
    @qd.kernel
    def run(x: qd.i32, y: qd.i8) -> qd.i32:
        v = qd.Vector([x, 1, x]) + 1
        m = qd.Matrix([[x, 1], [2, x]], qd.i32) * qd.Matrix([[1, 2], [3, 4]])
        s = 2 - qd.Vector([-x, 2])
        n = qd.Vector([y, y], qd.i8) << qd.i8(1)
        v += m[1, 1]
        w = qd.Vector([x for _ in range(20)]) + 0
        return v[1] + m[0, 1] + s[1] + n[0] + w[19] * 0

    top = 2**31 - 1
    assert run(top, 64) == 2 - 4 + 2 + 0 - 128
    assert reports(capfd) == [
        ("Addition", "v = qd.Vector([x, 1, x]) + 1", "qd.Vector([x, 1, x]) + 1"),
        ("Addition", "v = qd.Vector([x, 1, x]) + 1", "qd.Vector([x, 1, x]) + 1"),
        ("Multiplication", "m = qd.Matrix([[x, 1], [2, x]], qd.i32) * qd.Matrix([[1, 2], [3, 4]])",
         "qd.Matrix([[x, 1], [2, x]], qd.i32) * qd.Matrix([[1, 2], [3, 4]])"),
        ("Subtraction", "s = 2 - qd.Vector([-x, 2])", "2 - qd.Vector([-x, 2])"),
        ("Shift left", "n = qd.Vector([y, y], qd.i8) << qd.i8(1)", "qd.Vector([y, y], qd.i8) << qd.i8(1)"),
        ("Shift left", "n = qd.Vector([y, y], qd.i8) << qd.i8(1)", "qd.Vector([y, y], qd.i8) << qd.i8(1)"),
        ("Addition", "v += m[1, 1]", "v += m[1, 1]"),
        ("Addition", "v += m[1, 1]", "v += m[1, 1]"),
    ]  # fmt: skip
    run(1, 1)
    assert reports(capfd) == []


@debug
def test_augmented_assignments_and_atomics(arch, capfd):
    f = qd.field(qd.i32, shape=())
    b = qd.field(qd.u8, shape=2)
    v = qd.Vector.field(2, qd.i16, shape=2)

    @qd.kernel
    def run(x: qd.i32):
        y = x
        y += 1
        y = x
        y *= 3
        f[None] = x
        f[None] += 1
        f[None] -= 5
        b[1] -= 1
        b[1] += qd.u8(1)
        v[1][0] = 32767
        v[1] += qd.Vector([1, 1])
        old = qd.atomic_add(f[None], 100 - old_of(x))
        qd.atomic_mul(f[None], 2)
        f[None] = old

    @qd.func
    def old_of(x):
        return x - x

    run(2**31 - 1)
    # The rest of what the atomics did to the cells is as without debug mode.
    assert f[None] == 2**31 - 5 and b.to_numpy().tolist() == [0, 0] and v[1].to_list() == [-32768, 1]
    assert [(what, marked) for what, _, marked in reports(capfd)] == [
        ("Addition", "y += 1"),
        ("Multiplication", "y *= 3"),
        ("Addition", "f[None] += 1"),
        ("Subtraction", "f[None] -= 5"),
        ("Subtraction", "b[1] -= 1"),
        ("Addition", "b[1] += qd.u8(1)"),
        ("Addition", "v[1] += qd.Vector([1, 1])"),
        ("Addition", "qd.atomic_add(f[None], 100 - old_of(x))"),
        ("Multiplication", "qd.atomic_mul(f[None], 2)"),
    ]


@debug
def test_reductions(arch, capfd):
    f = qd.field(qd.i32, shape=())

    @qd.kernel
    def total(n: qd.i32, x: qd.i32) -> qd.i32:
        s = 0
        for i in range(n):
            s += x
        for i in range(n):
            f[None] -= x
        return s

    assert total(1000, 2**21) == 1000 * 2**21
    assert f[None] == -1000 * 2**21 and reports(capfd) == []
    assert total(1000, 2**21 + 2**20) == (1000 * (2**21 + 2**20) + 2**31) % 2**32 - 2**31
    assert [(what, marked) for what, _, marked in reports(capfd)] == [
        ("Addition", "s += x"),
        ("Subtraction", "f[None] -= x"),
    ]


@qd.func
def next_of(x):
    return x + 1


@qd.func
def far(x):
    y = next_of(x)
    if y > 0:
        y = next_of(y)
    return y


@qd.real_func
def real_next(x: qd.i16) -> qd.i16:
    if x < 0:
        return x
    return x + qd.i16(1)


@debug
def test_funcs_and_real_funcs(arch, capfd):
    """The line is that of the func, however many callers it has."""

    @qd.kernel
    def run(x: qd.i32) -> qd.i32:
        a = next_of(x)
        b = far(x - 1)
        c = real_next(qd.cast(x >> 16, qd.i16))
        return qd.i32(a == -x - 1) * 100 + qd.i32(b == x) * 10 + qd.i32(c < 0)

    assert run(2**31 - 1) == 101
    assert reports(capfd) == [
        ("Addition", "return x + 1", "x + 1"),
        ("Addition", "return x + 1", "x + 1"),
        ("Addition", "return x + qd.i16(1)", "x + qd.i16(1)"),
    ]


@debug
def test_powers_with_constant_exponents(arch, capfd):
    @qd.kernel
    def run(x: qd.i32, y: qd.u8, v: qd.template()) -> qd.i32:
        r = x**2
        r += x**7 * 0
        w = qd.Vector([x, 2]) ** 3
        return r + y**2 + w[1] + x**1 + x**0

    assert run(10, 15, 0) == 100 + 225 + 8 + 10 + 1
    assert reports(capfd) == []
    assert run(65536, 16, 0) == 8 + 65536 + 1
    marked = ["x**2", "x**7", "qd.Vector([x, 2]) ** 3", "y**2"]
    assert [(what, text) for what, _, text in reports(capfd)] == [("Multiplication", text) for text in marked]


@debug
def test_code_of_the_package_names_the_caller(arch, capfd):
    """A func of the package that is inlined has no line of the user's own."""

    @qd.kernel
    def run(x: qd.i32) -> qd.i32:
        return qd.math.mix(x, x + 2, 2)

    run(2**31 - 2)
    found = reports(capfd)
    assert ("Addition", "return qd.math.mix(x, x + 2, 2)", "x + 2") in found


@pytest.mark.runtime(debug=False)
def test_nothing_is_said_without_debug_mode(arch, capfd):
    f = qd.field(qd.i32, shape=())

    @qd.kernel
    def run(x: qd.i32) -> qd.i32:
        f[None] = x
        f[None] += 1
        return (qd.Vector([x, 1]) + 1)[0] + x**2

    run(2**31 - 1)
    assert reports(capfd) == []


@debug
@pytest.mark.parametrize("t", [qd.i32, qd.u8, qd.i64], ids=str)
def test_powers_with_an_exponent_of_the_run(arch, t, capfd):
    @qd.kernel
    def run(a: t, b: qd.i32) -> t:
        c = t(a)
        return c**b

    low, high = int(LIMITS[t].min), int(LIMITS[t].max)
    fits = next(b for b in range(1, 99) if 3 ** (b + 1) > high)
    for base, exponent, times in ((3, fits, 0), (3, fits + 1, 1), (1, 1000, 0), (0, 0, 0), (0, 5, 0)):
        capfd.readouterr()
        found = run(base, exponent)
        assert found == (base**exponent - low) % (high - low + 1) + low
        assert reports(capfd) == [("Multiplication", "return c**b", "c**b")] * times


@debug
def test_powers_with_a_small_exponent_lose_nothing(arch, capfd):
    @qd.kernel
    def run(a: qd.u8, b: qd.i8) -> qd.i32:
        return a**b

    assert run(2, 3) == 8 and "precision" not in capfd.readouterr().err


@debug
def test_powers_of_vectors_with_an_exponent_of_the_run(arch, capfd):
    v = qd.types.vector(2, qd.i32)

    @qd.kernel
    def run(a: v, b: qd.i32) -> v:
        r = v(0)
        for _ in range(1):
            r = a**b
        return r

    assert run(v(2, 3), 19).to_list() == [2**19, 3**19] and not reports(capfd)
    assert run(v(2, 3), 20)[0] == 2**20 and len(reports(capfd)) == 1


@debug
def test_algorithms_wrap_without_a_word(arch, capfd):
    """As they are documented to do; a report would name a line that is not the user's."""
    al, n = qd.algorithms, 3000

    @qd.kernel
    def total(x: qd.types.ndarray(), y: qd.types.ndarray(), sums: qd.types.ndarray(), scratch: qd.types.ndarray()):
        al.reduce_add(x, y, scratch, n, qd.i32, 2)
        al.exclusive_scan_add(x, sums, scratch, n, qd.i32, 2)
        y[0] += 2**31 - 1

    largest = np.full(n, 2**31 - 1, np.int32)
    x, y, sums = qd.ndarray(qd.i32, n), qd.ndarray(qd.i32, 1), qd.ndarray(qd.i32, n)
    x.from_numpy(largest)
    slots = max(al.reduce_scratch_slots(n, 2), al.exclusive_scan_scratch_slots(n, 2))
    total(x, y, sums, qd.ndarray(qd.u32, slots))
    assert sums.to_numpy()[-1] == largest[1:].sum(dtype=np.int32) and y[0] == 2**31 - 1 - n
    assert reports(capfd) == []
