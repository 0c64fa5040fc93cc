"""assert, bounds and overflow checks (language.md 16.2, 16.3; runtime.md 11)."""

from __future__ import annotations

import numpy as np
import pytest
from language_kit import raises
from spec_kit import run_script

import quadrants as qd

debug = pytest.mark.runtime(debug=True, cpu_max_num_threads=4)
bounds_only = pytest.mark.runtime(check_out_of_bound=True, cpu_max_num_threads=4)


@debug
def test_assert_messages(arch):
    """16.2: f-string, format, %-tuple, constant, source of the condition; earlier writes stay; usable afterwards."""
    f = qd.field(qd.i32, shape=4)

    @qd.kernel
    def fails(kind: qd.template(), a: qd.i32, x: qd.f32):
        f[0] = 7
        if qd.static(kind == 0):
            assert a > 3, f"value {a} bad"
        elif qd.static(kind == 1):
            assert a > 3, "value {} and {:.1f} bad".format(a, x)
        elif qd.static(kind == 2):
            assert a > 3, "value %d and %f bad" % (a, x)
        elif qd.static(kind == 3):
            assert a > 3, "constant"
        elif qd.static(kind == 4):
            assert a > 3 and x < 100
        elif qd.static(kind == 5):
            assert a > 3, 17
        f[1] = 8

    texts = ("value 1 bad", "value 1 and 2.5", "value 1 and 2.5", "constant", "a > 3 and x < 100", "17")
    for kind, text in enumerate(texts):
        f.fill(0)
        with raises(qd.QuadrantsAssertionError, text):
            fails(kind, 1, 2.5)
        assert f.to_numpy().tolist() == [7, 0, 0, 0]
        fails(kind, 4, 2.5)
        assert f[1] == 8
    with pytest.raises(AssertionError):
        fails(0, 1, 2.5)
    with pytest.raises(RuntimeError):
        fails(0, 1, 2.5)


@debug
def test_one_failure_of_many_threads(arch):
    f = qd.field(qd.i32, shape=10000)

    @qd.func
    def check(i):
        assert f[i] != 1, f"cell {i}"

    @qd.kernel
    def all_fail():
        for i in f:
            check(i)
            f[i] = 5

    f.fill(1)
    with raises(qd.QuadrantsAssertionError, "cell "):
        all_fail()
    f.fill(2)
    all_fail()
    assert (f.to_numpy() == 5).all()


def test_asserts_are_ignored_without_debug(arch):
    """16.2, runtime.md 11 (b): ignored; effects of the condition stay."""
    f = qd.field(qd.i32, shape=())

    @qd.func
    def tick():
        f[None] += 1
        return f[None]

    @qd.kernel
    def ignored() -> qd.i32:
        assert tick() > 100
        return 5

    assert ignored() == 5 and f[None] == 1


@pytest.mark.parametrize("index", [4, -1, 1000])
@pytest.mark.parametrize("mode", ["debug", "check_out_of_bound"])
def test_bounds(init, mode, index):
    """16.3: reads and writes of fields, ndarrays, vectors, on every axis; the next launch is clean."""
    init(**{mode: True})
    f = qd.field(qd.i32, shape=4)
    g = qd.field(qd.i32, shape=(8, 4))
    a = qd.ndarray(qd.i32, shape=4)
    b = qd.ndarray(qd.f32, shape=(4, 4))

    @qd.kernel
    def access(
        what: qd.template(), k: qd.i32, x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.f32, 2)
    ) -> qd.i32:
        r = 0
        if qd.static(what == 0):
            f[k] = 1
        elif qd.static(what == 1):
            r = g[3, k]
        elif qd.static(what == 2):
            x[k] += 1
        elif qd.static(what == 3):
            y[k, 1] = 1
        elif qd.static(what == 4):
            v = qd.Vector([1, 2, 3])
            r = v[k]
        elif qd.static(what == 5):
            for i in range(2):
                r += f[k - i * (k - 1)]
        elif qd.static(what == 6):
            m = qd.Matrix([[1, 2], [3, 4]])
            m[1, k] = 5
            r = m[1, 1]
        elif qd.static(what == 7):
            r = 1 if k < 4 and k >= 0 and f[k] >= 0 else 2
        return r

    texts = (
        f"of size (4) with indices ({index})",
        f"of size (8, 4) with indices (3, {index})",
        f"Out of bound access to ndarray at arg 2 with indices [{index}]",
        f"Out of bound access to ndarray at arg 3 with indices [{index}, 1]",
        f"Out of bound access to a [3] matrix with index [{index}]",
        f"with indices ({index})",
        "Out of bound access to a [2, 2] matrix",
    )
    for what, text in enumerate(texts):
        with raises(qd.QuadrantsAssertionError, text) as caught:
            access(what, index, a, b)
        assert "access" in str(caught.value) and "test_debug_checks.py" in str(caught.value).replace("\n", "")
        access(what, 1, a, b)
    assert access(7, index, a, b) == 2
    with raises(qd.QuadrantsAssertionError) if mode == "debug" else pytest.raises(Exception):
        f[index] if index >= 0 else f[index - 4]


@debug
def test_bounds_with_offsets(arch):
    f = qd.field(qd.i32, shape=4, offset=-2)

    @qd.kernel
    def access(k: qd.i32) -> qd.i32:
        f[k] = k
        return f[k]

    assert [access(k) for k in range(-2, 2)] == [-2, -1, 0, 1]
    for k in (-3, 2):
        with raises(qd.QuadrantsAssertionError, "Accessing field"):
            access(k)


def test_checks_cost_nothing_when_off(arch):
    @qd.kernel
    def plain(a: qd.types.ndarray(qd.i32, 1)):
        for i in range(a.shape[0]):
            assert a[i] == 0
            a[i] = i

    a = qd.ndarray(qd.i32, shape=4)
    plain(a)
    text = qd.source(plain, a) if hasattr(qd, "source") else plain.source(a)
    assert "qd_fail" not in text and "setjmp" not in text and "overflow" not in text


OVERFLOW = """
import quadrants as qd
qd.init(debug=True, cpu_max_num_threads=1, enable_fallback=False)

@qd.kernel
def wraps(a: qd.i32, u: qd.u32, w: qd.i64) -> qd.i64:
    r = qd.i64(0)
    r += a + 1
    r += (-2 - a) * 10
    r += a * 2
    r += u + qd.u32(1)
    r += u * qd.u32(2)
    r += a << 1
    w2 = w + 1
    ok = a - 1
    small = qd.i8(127) + qd.i8(1)
    return r + (w2 < 0) + ok * 0 + small * 0

print("result", wraps(2147483647, 4294967295, 9223372036854775807))
"""


def test_overflow_reports(tmp_path, arch_environment):
    """runtime.md 11: printed with the operation and the place; the result wraps."""
    done = run_script(tmp_path / "overflow.py", OVERFLOW, **arch_environment)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "overflow detected in" in line]
    names = [line.split(" overflow")[0] for line in lines]
    assert names == [
        "Addition", "Subtraction", "Multiplication", "Multiplication", "Addition", "Multiplication", "Shift left",
        "Addition", "Addition",
    ]  # fmt: skip
    assert all("overflow.py" in line for line in lines)
    a, u = 2**31 - 1, 2**32 - 1

    def wrap(x, bits=32):
        return (x + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)

    total = wrap(a + 1) + wrap(wrap(-2 - a) * 10) + wrap(a * 2) + 0 + (u * 2) % 2**32 + wrap(a << 1) + 1
    assert f"result {total}" in done.stdout


@debug
def test_checked_arithmetic_in_loop_bounds(arch, capfd):
    """Bounds of parallel loops are evaluated once, by a task, so that they can report."""

    @qd.kernel
    def count(n: qd.i32, a: qd.types.ndarray()) -> qd.i32:
        s = 0
        for i in range(n + 1):
            s += 1
        for i, j in qd.ndrange(a.shape[0] - 1, (n - 1, n * 2)):
            s += 100
        for i in range(1 << n, n << 2):
            s += 10000
        return s

    assert count(3, np.zeros(3, np.float32)) == 4 + 2 * 4 * 100 + 4 * 10000
    count(2**31 - 1, np.zeros(1, np.float32))
    assert capfd.readouterr().out.count(" for i in range(n + 1):\n") == 1


BEYOND_I32 = [
    (qd.i64, 2**32 + 1), (qd.i64, -(2**32) + 1), (qd.i64, 2**40), (qd.u32, 2**32 - 1), (qd.u32, 2**31),
    (qd.u64, 2**32 + 1), (qd.u64, 2**64 - 1), (qd.u64, 2**63 + 1),
]  # fmt: skip


@pytest.mark.parametrize("t, n", BEYOND_I32, ids=str)
def test_an_index_is_not_cut_to_one_that_exists(init, t, n):
    """Also to that below zero of a field with an offset; the message has the value that the user has."""
    init(debug=True)
    x = qd.field(qd.i32, 4, offset=-1)
    a = qd.ndarray(qd.i32, 4)
    inside, outside = np.array([1], t.numpy_name), np.array([n], t.numpy_name)

    @qd.kernel
    def write_field(at: qd.types.ndarray()):
        x[at[0]] = 7

    @qd.kernel
    def write_array(at: qd.types.ndarray(), a: qd.types.ndarray()):
        a[at[0]] = 7

    @qd.kernel
    def read_vector(at: qd.types.ndarray()) -> qd.i32:
        v = qd.Vector([1, 2, 3])
        return v[at[0]]

    @qd.kernel
    def read_row(at: qd.types.ndarray()) -> qd.i32:
        m = qd.Matrix([[1, 0], [2, 0], [3, 0]])
        row = m[at[0], :]
        return row[0]

    write_field(inside)
    write_array(inside, a)
    assert read_vector(inside) == 2 and read_row(inside) == 2 and x[1] == 7 and a[1] == 7
    for kernel, *more in ((write_field,), (write_array, a), (read_vector,), (read_row,)):
        with pytest.raises(AssertionError, match=rf"[(\[]{n}[)\]]"):
            kernel(outside, *more)
            qd.sync()
    assert x.to_numpy().sum() == 7 and a.to_numpy().sum() == 7


@debug
def test_constants_that_no_index_has(arch):
    """A constant that i32 does not hold is an error of the launch, as any other that is outside."""
    a = qd.ndarray(qd.i32, 4)

    @qd.kernel
    def plain(a: qd.types.ndarray()) -> qd.i32:
        return a[2**32 + 1]

    @qd.kernel
    def typed(a: qd.types.ndarray()) -> qd.i32:
        return a[qd.u64(2**64 - 2)]

    for kernel, n in ((plain, 2**32 + 1), (typed, 2**64 - 2)):
        with raises(qd.QuadrantsAssertionError, f"Out of bound access to ndarray at arg 0 with indices [{n}]"):
            kernel(a)


@debug
def test_values_of_messages_have_the_sign_of_their_type(arch):
    @qd.kernel
    def check(a: qd.u64, b: qd.i64, c: qd.u32):
        assert a < 5, f"{a} {b} {c}"

    with raises(qd.QuadrantsAssertionError, f"{2**64 - 1} {-(2**63)} {2**32 - 1}"):
        check(2**64 - 1, -(2**63), 2**32 - 1)


@debug
def test_failures_where_threads_of_a_block_wait_for_each_other(arch):
    """A thread that has failed does not keep those from the barrier of the reduction that begin after it."""
    f = qd.field(qd.i32, shape=4)

    @qd.kernel
    def reduces(n: qd.i32) -> qd.i32:
        assert n < 100, "too many"
        found = 15
        for i in range(n):
            assert f[i % 4] >= 0, "negative"
            found &= 12 + f[i % 4]
        return found

    assert reduces(64) == 12
    f[1] = -1
    for n in (5, 64, 99):
        with raises(qd.QuadrantsAssertionError, "negative"):
            reduces(n)
    f[1] = 3
    assert reduces(64) == 12
    with raises(qd.QuadrantsAssertionError, "too many"):
        reduces(100)
