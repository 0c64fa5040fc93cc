"""language.md 3.2, 3.3: binding of arguments, checks of values."""

import importlib.util

import numpy as np
import pytest
from language_kit import alive, raises

import quadrants as qd
from quadrants.lang.exception import QuadrantsRuntimeTypeError

CONVERT = "cannot be converted into required type"


@qd.kernel
def mixed(x: qd.i32, y: qd.f32) -> qd.f32:
    return 10 * x + y


def test_binding(arch):
    assert mixed(1, 2) == mixed(1, y=2) == mixed(y=2, x=1) == mixed(*(1, 2)) == mixed(*[1, 2]) == 12
    for text, action in (
        ("Too many arguments", lambda: mixed(1, 2, 3)),
        ("Missing argument 'y'.", lambda: mixed(1)),
        ("Missing argument 'x'.", lambda: mixed(y=1)),
        ("Unexpected argument 'z'.", lambda: mixed(1, 2, z=3)),
        ("Multiple values for argument 'x'.", lambda: mixed(1, 2, x=3)),
    ):
        with raises(qd.QuadrantsSyntaxError, text):
            action()
    assert mixed(2, 1) == 21


def test_expansion_in_kernels(arch):
    size = (2, 3)

    @qd.func
    def weigh(a, b, c):
        return a + 10 * b + 100 * c

    @qd.kernel
    def run() -> qd.types.vector(3, qd.i32):
        count = 0
        for i, j in qd.ndrange(*size):
            count += 1
        v = qd.Vector([2, 3])
        return qd.Vector([count, weigh(1, *v), weigh(*[4, 5, 6])])

    @qd.kernel
    def keywords() -> qd.i32:
        d = {"a": 1, "b": 2, "c": 3}
        return weigh(**d)

    assert list(run()) == [6, 321, 654]
    with raises(qd.QuadrantsSyntaxError):
        keywords()
    alive()


@qd.kernel
def integer(x: qd.i32) -> qd.i64:
    return x


@qd.kernel
def wide(x: qd.i64) -> qd.i64:
    return x


@qd.kernel
def byte(x: qd.i8) -> qd.i32:
    return x


@qd.kernel
def unsigned(x: qd.u32) -> qd.u64:
    return x


@qd.kernel
def flag(x: bool) -> qd.i32:
    return x


@qd.kernel
def one_bit(x: qd.u1) -> qd.i32:
    return x


@qd.kernel
def builtin_int(x: int) -> int:
    return x


@qd.kernel
def builtin_float(x: float) -> float:
    return x


@qd.kernel
def real(x: qd.f32) -> qd.f32:
    return x


@qd.kernel
def double(x: qd.f64) -> qd.f64:
    return x


def test_scalar_values(arch):
    for k in (integer, wide, builtin_int, byte, unsigned):
        assert [k(5), k(True), k(np.int8(7)), k(np.uint64(9))] == [5, 1, 7, 9]
    for k in (real, double, builtin_float):
        assert [k(5), k(True), k(0.5), k(np.float16(0.25)), k(np.int64(-3))] == [5, 1, 0.5, 0.25, -3]
    for k in (flag, one_bit):
        assert [k(True), k(False), k(0), k(2), k(np.int32(256))] == [1, 0, 0, 1, 1]


def test_widths(arch):
    assert [integer(2**32 + 5), integer(2**31), wide(2**40), byte(200), byte(-129)] == [5, -(2**31), 2**40, -56, 127]
    assert unsigned(2**32 - 1) == 2**32 - 1
    assert real(1e300) == float("inf") and double(1e300) == 1e300
    assert real(0.1) == np.float32(0.1)
    with raises(TypeError):
        unsigned(-1)
    assert unsigned(1) == 1


@pytest.mark.parametrize("kernel", [integer, byte, unsigned, flag, one_bit, builtin_int, real, double, builtin_float])
def test_what_is_no_number(arch, kernel):
    bad = [None, "1", np.array(1), np.ones(2), [1], (1,), np.array(True), qd.Vector([1]), 1j, object()]
    bad.append(qd.field(qd.i32, shape=()))
    if kernel not in (real, double, builtin_float):
        bad += [1.0, np.float32(1)]
    for value in bad:
        with raises(QuadrantsRuntimeTypeError, CONVERT):
            kernel(value)
    assert kernel(1) == kernel(np.bool_(True)) == 1


vec = qd.types.vector(3, qd.f32)
ivec = qd.types.vector(3, qd.i32)
mat = qd.types.matrix(2, 2, qd.i32)


@qd.kernel
def third(v: vec) -> qd.f32:
    return v[2]


@qd.kernel
def third_int(v: ivec) -> qd.i32:
    return v[2]


@qd.kernel
def corner(m: mat) -> qd.i32:
    return m[1, 0]


def test_vectors_and_matrices(arch):
    given = (qd.Vector([1.0, 2.0, 3.0]), [1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3]), vec(1, 2, 3))
    assert [third(v) for v in given] == [3] * 5
    assert third_int([1, 2, 3]) == third_int(np.array([1, 2, 3], np.uint8)) == 3
    assert corner(qd.Matrix([[1, 2], [3, 4]])) == corner(np.array([[1, 2], [3, 4]])) == 3


def test_extra_entries_are_ignored(arch):
    assert third([1, 2, 3, 4]) == 3
    assert corner(np.array([[1, 2, 9], [3, 4, 9]])) == 3


def test_what_is_no_vector(arch):
    for value in ([1.0, 2, 3], np.ones(3), qd.Vector([1.0, 2.0, 3.0])):
        with raises(QuadrantsRuntimeTypeError, CONVERT):
            third_int(value)
    with raises(QuadrantsRuntimeTypeError):
        third("abc")
    for value in ([1, 2], np.ones(2), qd.Vector([1.0, 2.0])):
        with raises(IndexError):
            third(value)
    for value in (1.0, 3):
        with raises(TypeError):
            third(value)
    assert corner([[1, 2], [3, 4]]) == 3
    assert third([1, 2, 3]) == 3
    alive()


def kernel_with(count: int, annotation: str, body: str, tmp_path):
    names = [f"p{i}" for i in range(count)]
    lines = [
        "import quadrants as qd",
        "@qd.kernel",
        f"def many({', '.join(f'{n}: {annotation}' for n in names)}) -> qd.i32:",
    ]
    lines += ["    s = 0", *(f"    s += {body.format(n)}" for n in names), "    return s", ""]
    path = tmp_path / f"many_{count}.py"
    path.write_text("\n".join(lines))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.many


def test_many_parameters(arch, tmp_path):
    assert kernel_with(600, "qd.i32", "{}", tmp_path)(*range(600)) == 600 * 599 // 2
    arrays = [np.full(2, i, np.int32) for i in range(100)]
    assert kernel_with(100, "qd.types.ndarray()", "{}[1]", tmp_path)(*arrays) == 4950


@pytest.mark.parametrize("dtype", [qd.i32, qd.i64, qd.u8, qd.u64])
def test_members_and_entries_of_more_than_64_bits(arch, dtype):
    """Arguments by value follow one rule: integers of 64 bits wrap to the width, others are refused."""
    unsigned = dtype in (qd.u8, qd.u64)
    pair, box = qd.types.vector(2, dtype), qd.types.struct(a=dtype)

    @qd.kernel
    def entry(x: pair) -> dtype:
        return x[0]

    @qd.kernel
    def member(x: box) -> dtype:
        return x.a

    top = 2**64 - 1 if unsigned else 2**63 - 1
    expected = {qd.i32: -1, qd.i64: top, qd.u8: 255, qd.u64: top}[dtype]
    assert entry([top, 1]) == expected
    assert member(box(a=top)) == expected
    for value in (top + 1, 2**64, 10**30):
        with pytest.raises(TypeError, match="does not fit in 64 bits"):
            entry([value, 1])
        held = box(a=0)
        held.a = value
        with pytest.raises(TypeError, match="does not fit in 64 bits"):
            member(held)
    with pytest.raises(TypeError, match="does not fit in 64 bits"):
        box(a=2**64)
    if unsigned:
        held.a = -1
        for call in (lambda: entry([-1, 1]), lambda: entry(np.array([-1, 1])), lambda: member(held)):
            with pytest.raises(TypeError, match="is negative"):
                call()
    with pytest.raises(TypeError, match="float64"):
        entry([2.5, 1])


@pytest.mark.parametrize("dtype", [qd.i8, qd.i32, qd.i64], ids=str)
def test_integers_from_2_to_the_63_on_are_refused_in_any_container(arch, dtype):
    """NumPy has those of a list in u64 where all are as large, and in f64 or as objects where not."""
    pair, square = qd.types.vector(2, dtype), qd.types.matrix(2, 2, dtype)

    @qd.kernel
    def entry(x: pair) -> dtype:
        return x[0]

    @qd.kernel
    def corner(x: square) -> dtype:
        return x[1, 1]

    for far in (2**63, 2**64 - 1):
        for other in (1, far):
            array = np.array([far, other], np.uint64)
            for pair_of in ([far, other], (np.uint64(far), np.uint64(other)), qd.Vector([far, other]), array):
                with pytest.raises(TypeError, match="does not fit in 64 bits with a sign"):
                    entry(pair_of)
            with pytest.raises(TypeError, match="does not fit in 64 bits with a sign"):
                corner([[other, other], [other, far]])
    assert entry(np.array([100, 2], np.uint64)) == 100 and entry(qd.Vector([-1, 2])) == -1


def test_fill_with_more_than_64_bits(arch):
    for filled in (qd.field(qd.u64, shape=2), qd.ndarray(qd.u64, shape=2)):
        filled.fill(2**64 - 1)
        assert filled[1] == 2**64 - 1
        with pytest.raises(TypeError, match="does not fit in 64 bits"):
            filled.fill(2**64)
