"""Arithmetic, bitwise, comparison, logic, conditional expressions, augmented assignment (language.md 11)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from language_kit import raises
from spec_kit import same_type, traced_helpers

import quadrants as qd

pytestmark = traced_helpers


@pytest.mark.runtime(fast_math=False)
def test_division_family_on_all_signs(arch):
    """11.1: / // % raw_div raw_mod on (7, 3) with every sign, integer and real, constant and at run time."""
    cases = [(a, b) for a in (7, -7) for b in (3, -3)]

    @qd.kernel
    def divide(a: qd.i32, b: qd.i32, out: qd.types.ndarray(qd.f64, 1)):
        x = qd.cast(a, qd.f64)
        y = qd.cast(b, qd.f64)
        out[0] = a / b
        out[1] = a // b
        out[2] = a % b
        out[3] = qd.raw_div(a, b)
        out[4] = qd.raw_mod(a, b)
        out[5] = x / y
        out[6] = x // y
        out[7] = x % y
        out[8] = qd.raw_div(x, y)
        out[9] = qd.raw_mod(x, y)
        out[10] = qd.cast(a, qd.i8) // qd.cast(b, qd.i8)
        out[11] = qd.cast(a, qd.i16) % qd.cast(b, qd.i16)
        out[12] = qd.cast(a, qd.i64) // b

    for a, b in cases:
        out = qd.ndarray(qd.f64, shape=13)
        divide(a, b, out)
        trunc = int(a / b)
        assert out[0] == pytest.approx(a / b, rel=3e-7)  # GPUs divide f32 approximately
        expected = [
            a // b,
            a % b,
            trunc,
            a - trunc * b,
            a / b,
            a // b,
            a % b,
            a / b,
            math.fmod(a, b),
        ]
        np.testing.assert_allclose(out.to_numpy()[1:], [*expected, a // b, a % b, a // b], rtol=1e-15)


def test_division_types(arch):
    """11.1: integers divide as default_fp, also i64; reals keep their width; IEEE special results."""

    @qd.kernel
    def types(zero: qd.f32, one: qd.f32, out: qd.types.ndarray(qd.f64, 1)):
        seven = 7
        wide = qd.i64(10000000001)
        qd.static_assert(same_type(seven / 2, qd.f32))
        qd.static_assert(same_type(wide / 2, qd.f32))
        qd.static_assert(same_type(qd.f64(1.0) / seven, qd.f64))
        qd.static_assert(same_type(qd.cast(one, qd.f16) / seven, qd.f32))
        out[0] = seven / 2
        out[1] = wide / 2
        out[2] = one / zero
        out[3] = -one / zero
        out[4] = one % zero
        out[5] = zero / zero

    out = qd.ndarray(qd.f64, shape=6)
    types(0.0, 1.0, out)
    got = out.to_numpy()
    assert got[:4].tolist() == [3.5, float(np.float32(5000000000.5)), math.inf, -math.inf]
    assert np.isnan(got[4:]).all()


def test_power(arch):
    """11.1: base's type for integer exponents, promoted for real ones; 0**0; negative exponents."""

    @qd.kernel
    def powers(n: qd.i32, e: qd.i32, x: qd.f32, out: qd.types.ndarray(qd.f64, 1)):
        qd.static_assert(same_type(n**e, qd.i32))
        qd.static_assert(same_type(x**e, qd.f32))
        qd.static_assert(same_type(n**x, qd.f32))
        out[0] = n**e
        out[1] = x**e
        out[2] = x**-e
        out[3] = (n - n) ** (e - e)
        out[4] = (x - x) ** (e - e)
        out[5] = qd.pow(n, 2)
        out[6] = x**0.5
        out[7] = n**31
        out[8] = 2**e
        out[9] = n ** qd.f64(0.5)
        out[10] = qd.cast(n, qd.u8) ** 5

    out = qd.ndarray(qd.f64, shape=11)
    powers(3, 4, 1.5, out)
    wrapped = (3**31 + 2**31) % 2**32 - 2**31
    expected = [81, 1.5**4, 1.5**-4, 1, 1, 9, 1.5**0.5, wrapped, 16, 3**0.5, 3**5]
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-6)


def test_negative_integer_powers(arch):
    @qd.kernel
    def constant(n: qd.i32) -> qd.i32:
        return n**-1

    with raises(qd.QuadrantsRuntimeError, "Negative exponent in pow(int, int) is not allowed."):
        constant(2)


@pytest.mark.runtime(debug=True)
def test_negative_integer_powers_at_run_time_in_debug(arch):
    @qd.kernel
    def power(n: qd.i32, e: qd.i32) -> qd.i32:
        return n**e

    assert power(2, 3) == 8
    with raises(qd.QuadrantsAssertionError, "Negative exponent in pow(int, int) is not allowed."):
        power(2, -1)
    assert power(2, 4) == 16


def test_shifts_of_a_bit(arch):
    """11.2: a shift has the type of its left side, so nothing of a u1 is left behind a count of 1 or more."""

    @qd.kernel
    def shifts(x: qd.i32, n: qd.i32, out: qd.types.ndarray(qd.i64, 1)):
        for _ in range(1):
            yes = x > 0
            v = qd.Vector([x, -x]) > 0
            out[0] = yes << n
            out[1] = yes >> n
            out[2] = qd.bit_shr(yes, n)
            out[3] = (x > 0) << 0
            out[4] = ((x > 0) << 1) + 10
            out[5] = (v << n)[0] * 10 + (v >> 0)[0]
            out[6] = (yes << qd.Vector([0, n]))[0] * 10 + (yes << qd.Vector([0, n]))[1]
            out[7] = qd.cast(yes, qd.i32) << 4
            yes <<= n
            out[8] = qd.cast(yes, qd.i32) * 7
            qd.static_assert(same_type(yes << 4, qd.u1))
            qd.static_assert(same_type(yes >> 4, qd.u1))

    out = qd.ndarray(qd.i64, shape=9)
    for x, n in ((1, 4), (1, 1), (1, 0), (-1, 4), (-1, 0), (1, 31)):
        shifts(x, n, out)
        bit, kept = int(x > 0), int(x > 0 and n == 0)
        expected = [kept, kept, kept, bit, 10, 10 * kept + bit, 10 * bit + kept, 16 * bit, 7 * kept]
        assert out.to_numpy().tolist() == expected, (x, n)


def test_bits(arch):
    """11.2: & | ^ ~, shifts keep the left type, >> by sign, bit_shr logical."""

    @qd.kernel
    def bits(m: qd.i32, out: qd.types.ndarray(qd.i64, 1)):
        u = qd.cast(m, qd.u32)
        small = qd.cast(m, qd.i8)
        yes = m < 0
        out[0] = m & 0xFF
        out[1] = m | 1
        out[2] = m ^ 5
        out[3] = ~m
        out[4] = m >> 1
        out[5] = u >> 1
        out[6] = qd.bit_shr(m, 1)
        out[7] = m << 3
        out[8] = small << qd.i64(1)
        out[9] = qd.bit_shr(small, 1)
        out[10] = yes & (m > 0)
        out[11] = yes | (m > 0)
        out[12] = yes ^ yes
        out[13] = qd.cast(m, qd.u8) << 1
        out[14] = small >> 1
        qd.static_assert(same_type(small << qd.i64(1), qd.i8))
        qd.static_assert(same_type(m & qd.i64(1), qd.i64))

    out = qd.ndarray(qd.i64, shape=15)
    bits(-7, out)
    expected = [249, -7, -7 ^ 5, 6, -4, (2**32 - 7) >> 1, 2147483644, -56, -14, 124, 0, 1, 0, 242, -4]
    assert out.to_numpy().tolist() == expected


@pytest.mark.runtime(debug=True)
def test_shift_counts_in_debug(arch):
    """11.2: a count of another type outside the width fails in debug mode."""

    @qd.kernel
    def shift(a: qd.i32, b: qd.i64) -> qd.i32:
        return (a << b) + (a >> b)

    assert shift(5, 2) == 21
    for count in (40, -1):
        with raises(qd.QuadrantsAssertionError, "Detected overflow for bit_shift_op"):
            shift(1, count)
    assert shift(5, 2) == 21


@pytest.mark.runtime(debug=True)
def test_shifts_of_truth_values_in_debug(arch):
    """They have one bit, whatever the type of the count: a count that is a truth value as well is no exception."""

    @qd.kernel
    def shift(a: qd.i32, b: qd.i32) -> qd.i32:
        return qd.cast((a > 0) << (b > 0), qd.i32)

    assert [shift(1, 0), shift(0, 0)] == [1, 0]
    for a in (0, 1):
        with raises(qd.QuadrantsAssertionError, "Detected overflow for bit_shift_op"):
            shift(a, 1)


def test_operand_errors(arch):
    """11.1, 11.2, 11.3, 11.4: wrong operand types by error class and text."""
    f = qd.field(qd.f32, shape=4)

    @qd.kernel
    def float_and():
        f[0] = f[0] & 1

    @qd.kernel
    def float_shift():
        f[0] = f[0] << 1

    @qd.kernel
    def float_invert():
        f[0] = ~f[0]

    @qd.kernel
    def shapes():
        v = qd.Vector([1, 2]) + qd.Vector([1, 2, 3])  # noqa: F841

    @qd.kernel
    def float_logic() -> qd.i32:
        return f[0] and 1

    @qd.kernel
    def membership(x: qd.i32) -> qd.i32:
        return x in (1, 2)

    two = 2

    @qd.kernel
    def identity(x: qd.i32) -> qd.i32:
        return x is two

    @qd.kernel
    def matmul(x: qd.i32) -> qd.i32:
        return x @ x

    @qd.kernel
    def vector_condition() -> qd.i32:
        v = qd.Vector([1, 2])
        return 1 if v else 0

    @qd.kernel
    def float_condition() -> qd.i32:
        return 1 if f[0] else 0

    @qd.kernel
    def float_select() -> qd.i32:
        return qd.select(f[0], 1, 0)

    type_error, syntax_error = qd.QuadrantsTypeError, qd.QuadrantsSyntaxError
    for kernel, args, kind, fragment in (
        (float_and, (), type_error, "unsupported operand type(s) for '&'"),
        (float_shift, (), type_error, "unsupported operand type(s) for '<<'"),
        (float_invert, (), type_error, "takes integral inputs only"),
        (shapes, (), type_error, "unsupported operand type(s) for '+'"),
        (float_logic, (), type_error, "unsupported operand type(s) for"),
        (membership, (1,), syntax_error, "is only supported inside `qd.static`"),
        (identity, (1,), syntax_error, 'Operator "is" in Quadrants scope is not supported.'),
        (matmul, (1,), qd.QuadrantsCompilationError, "unsupported operand type(s) for '@'"),
        (vector_condition, (), syntax_error, "qd.select"),
        (float_condition, (), type_error, "conditions must be an integer"),
        (float_select, (), type_error, "select"),
    ):
        with raises(kind, fragment):
            kernel(*args)


def test_comparisons(arch):
    """11.3: promotion, chains with single evaluation, elementwise on vectors, NaN."""
    counter = qd.field(qd.i32, shape=())

    @qd.func
    def tick(value):
        counter[None] += 1
        return value

    @qd.kernel
    def compare(a: qd.i32, nan: qd.f32, out: qd.types.ndarray(qd.i32, 1)):
        out[0] = 1 < tick(a) < 9
        out[1] = 1 < a < 2 < tick(5)
        out[2] = a > 9 > tick(1)
        out[3] = counter[None]
        out[4] = nan < a
        out[5] = nan == nan
        out[6] = qd.math.isnan(nan)
        v = qd.Vector([1, 5, 3]) < a
        out[7] = v[0] * 100 + v[1] * 10 + v[2]
        out[8] = all(v) * 10 + any(v)
        out[9] = a == 3.5
        out[10] = a != 3
        qd.static_assert(same_type(a < 3, qd.u1))

    out = qd.ndarray(qd.i32, shape=11)
    compare(3, math.nan, out)
    assert out.to_numpy().tolist() == [1, 0, 0, 1, 0, 0, 1, 100, 1, 0, 0]


def test_logic_values_and_short_circuit(arch):
    """11.4: Python's values; the right side runs only when needed, reads and calls alike."""
    f = qd.field(qd.i32, shape=4)
    counter = qd.field(qd.i32, shape=())

    @qd.func
    def tick():
        counter[None] += 1
        return 1

    @qd.kernel
    def logic(two: qd.i32, huge: qd.i32, out: qd.types.ndarray(qd.i32, 1)):
        zero = two - 2
        out[0] = 5 and two
        out[1] = (two + 2) or two
        out[2] = zero or (two + 5)
        out[3] = zero and tick()
        out[4] = huge < 4 and f[huge] > 0
        out[5] = huge >= 4 or f[huge] > 0
        out[6] = two or tick()
        out[7] = False and tick() > 0
        out[8] = True or tick() > 0
        out[9] = not two
        out[10] = not zero
        out[11] = two and (zero or tick()) and two
        out[12] = counter[None]
        v = qd.Vector([1, 0]) and qd.Vector([2, 2])
        out[13] = v[0] * 10 + v[1]
        out[14] = qd.i64(4294967296) and 1

    out = qd.ndarray(qd.i32, shape=15)
    logic(2, 500_000_000, out)
    assert out.to_numpy().tolist() == [2, 4, 7, 0, 0, 1, 2, 0, 1, 0, 1, 2, 1, 10, 1]


@pytest.mark.runtime(short_circuit_operators=False)
def test_logic_without_short_circuit(arch):
    @qd.kernel
    def logic(a: qd.i32, b: qd.i32) -> qd.i32:
        return (a and b) * 100 + (a or b)

    assert logic(5, 2) == 7


def test_conditional_expressions(arch):
    """11.5: only the chosen side is read or called; promotion; static choice of any kind; select."""
    f = qd.field(qd.i32, shape=4)
    counter = qd.field(qd.i32, shape=())
    grid = qd.ndarray(qd.i32, shape=(2, 2))

    @qd.func
    def tick(v):
        counter[None] += 1
        return v

    @qd.kernel
    def choose(huge: qd.i32, flag: qd.template(), g: qd.types.ndarray(), out: qd.types.ndarray(qd.f64, 1)):
        f[1] = 5
        i = 1
        out[0] = f[huge] if huge < 4 else -1
        out[1] = tick(1) if i > 5 else tick(2) + tick(3)
        out[2] = counter[None]
        out[3] = 1 if i == 1 else 0.5
        index = [i, 0] if qd.static(flag) else i
        g[index] = 7
        out[4] = g[1, 0]
        out[5] = qd.select(qd.Vector([1, 0]), qd.Vector([1, 2]), 10).sum()
        v = qd.Vector([1, 2]) if i > 0 else qd.Vector([3, 4])
        out[6] = v[1]
        w = qd.Vector([1.5, 2]) if i > 5 else 7
        out[7] = w[1]
        out[8] = 1 if qd.static(True) else undefined_name  # noqa: F821
        out[9] = 3 if qd.i64(4294967296) * i else 4
        qd.static_assert(same_type(1 if i == 1 else 0.5, qd.f32))

    out = qd.ndarray(qd.f64, shape=10)
    choose(500_000_000, True, grid, out)
    assert out.to_numpy().tolist() == [-1, 5, 2, 1, 7, 11, 2, 7, 1, 3]


@pytest.mark.runtime(debug=True)
def test_shift_counts_of_vectors_in_debug(arch):
    @qd.kernel
    def shifted(a: qd.i32, count: qd.u8, what: qd.template()) -> qd.i32:
        v = qd.Vector([a, a])
        r = v
        if qd.static(what == 0):
            r = v << qd.Vector([count, qd.u8(1)], qd.u8)
        elif qd.static(what == 1):
            r = v >> count
        else:
            r = qd.bit_shr(v, qd.Vector([1, count], qd.i64))
        return r[0] + r[1] * 100

    assert [shifted(8, 2, what) for what in range(3)] == [32 + 1600, 202, 4 + 200]
    for what in range(3):
        with raises(qd.QuadrantsAssertionError, "Detected overflow for bit_shift_op"):
            shifted(8, 32, what)


def test_comparisons_of_computed_constants_are_those_of_literals(arch):
    @qd.kernel
    def computed(a: qd.f32) -> qd.types.vector(2, qd.f32):
        both = (qd.cos(1.4) > 0.1) + (qd.cos(1.3) > 0.1)
        return qd.Vector([a - -(qd.cos(1.4) > 0.1) * 2.0, 1.0 * both])

    @qd.kernel
    def literal(a: qd.f32) -> qd.types.vector(2, qd.f32):
        both = (0.2 > 0.1) + (0.3 > 0.1)
        return qd.Vector([a - -(0.2 > 0.1) * 2.0, 1.0 * both])

    assert computed(1.0).to_list() == literal(1.0).to_list() == [3, 2]


def test_bit_shr_of_constants(arch):
    @qd.func
    def halved(n: qd.template()):
        return qd.bit_shr(n, 1)

    @qd.kernel
    def run() -> qd.i32:
        return qd.bit_shr(9, 1) + halved(-2)

    assert run() == 4 + 0x7FFFFFFF - (1 << 32)


def test_indices_of_loops_over_blocks_are_i32(init):
    init(default_ip=qd.i64)
    x = qd.field(qd.i32)
    qd.root.dense(qd.i, 2).dense(qd.i, 2).place(x)

    @qd.kernel
    def run():
        for i in x:
            x[i] = qd.bit_cast(i, qd.i32)

    run()
    assert x.to_numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64"])
def test_the_least_number_stays_when_it_is_negated(arch, name):
    """Wherever its negative goes: into a store, a wider number, a vector, a comparison."""
    dtype = getattr(qd, name)
    least = -(2 ** (int(name[1:]) - 1))
    x, same = qd.field(dtype, 2), qd.field(dtype, (2, 2))
    wide = qd.field(qd.i64, (5, 2))
    x.from_numpy(np.array([least, 5], f"int{name[1:]}"))

    @qd.kernel
    def run():
        for i in x:
            same[0, i] = -x[i]
            same[1, i] = abs(x[i])
            wide[0, i] = -x[i]
            wide[1, i] = qd.cast(abs(x[i]), qd.i64) * 3
            wide[2, i] = (-qd.Vector([x[i], x[i]]))[1]
            wide[3, i] = qd.select(-x[i] < 0, 1, 2)
            kept = -x[i]
            wide[4, i] = qd.cast(kept, qd.i64) + 1

    run()
    assert same.to_numpy().tolist() == [[least, -5], [least, 5]]
    wrapped = (3 * least + 2**63) % 2**64 - 2**63
    assert wide.to_numpy().tolist() == [[least, -5], [wrapped, 15], [least, -5], [1, 1], [least + 1, -4]]
