"""Numbers that are known while a kernel is compiled: computed by Python, and converted as numbers of the run are."""

from __future__ import annotations

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd

REALS = [0.0, -0.5, 2.7, -2.7, 300.0, -300.0, 3e9, -3e9, 4294967295.0, 5e9, 1e19, -1e19, 2.0**63, 2.0**64, 1e30, -1e30]
REALS += [float("inf"), float("-inf"), float("nan")]
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "u1")


@pytest.mark.parametrize("name", INTEGERS)
def test_constants_are_cast_as_variables_are(init, name):
    init(default_fp=qd.f64)
    t = getattr(qd, name)
    wide = qd.u64 if name == "u64" else qd.i64
    there = qd.ndarray(qd.f64, len(REALS))
    there.from_numpy(np.array(REALS))

    @qd.kernel
    def constants(out: qd.types.ndarray(wide, 1)):
        for k in qd.static(range(len(REALS))):
            out[k] = qd.cast(qd.cast(REALS[k], t), wide)

    @qd.kernel
    def variables(x: qd.types.ndarray(qd.f64, 1), out: qd.types.ndarray(wide, 1)):
        for k in x:
            out[k] = qd.cast(qd.cast(x[k], t), wide)

    @qd.kernel
    def filled(out: qd.types.ndarray(wide, 1)):
        for k in qd.static(range(len(REALS))):
            v = qd.Vector([REALS[k], 0.0])
            w = qd.cast(qd.Vector([REALS[k], 1.0]), t)
            out[k] = qd.cast(qd.cast(v, t)[0], wide) if qd.static(k % 2) else qd.cast(w[0], wide)

    found = []
    for run in (constants, filled):
        out = qd.ndarray(wide, len(REALS))
        run(out)
        found.append(out.to_numpy().tolist())
    out = qd.ndarray(wide, len(REALS))
    variables(there, out)
    assert found == [out.to_numpy().tolist()] * 2
    assert out.to_numpy()[REALS.index(300.0)] == {"i8": 44, "u8": 44, "u1": 1}.get(name, 300)


def test_int_of_a_constant_fits_or_is_refused(arch):
    @qd.kernel
    def fits() -> qd.i32:
        return int(2.7) + int(-2.7) * 10 + int(np.float32(7.5)) * 100

    assert fits() == 682

    large, endless = 3e9, float("inf")

    @qd.kernel
    def too_large() -> qd.i32:
        n = 0
        for _ in range(int(large)):
            n += 1
        return n

    @qd.kernel
    def infinite() -> qd.i32:
        return int(endless)

    with raises(qd.QuadrantsTypeError, "3000000000 exceeded the range of default_ip: i32"):
        too_large()
    with raises(qd.QuadrantsTypeError, "int() of inf is no integer"):
        infinite()


def test_numbers_of_numpy_have_no_width(arch):
    byte, half, yes = np.uint8(200), np.float16(0.1), np.bool_(True)

    @qd.kernel
    def run(x: qd.template()) -> qd.types.vector(5, qd.i32):
        return qd.Vector([byte + 100, byte * byte, -byte, x + 100, yes + yes])

    @qd.kernel
    def third() -> qd.f32:
        return half * 3

    assert run(np.uint8(200)).to_list() == [300, 40000, -200, 300, 2]
    assert third() == pytest.approx(float(half) * 3, rel=1e-6)


def test_functions_of_truth_values_are_not_computed_in_half_precision(init):
    init(default_fp=qd.f64)
    yes, one = True, np.uint8(1)

    @qd.kernel
    def run() -> qd.types.vector(4, qd.f64):
        return qd.Vector([qd.sin(yes), qd.exp(one), qd.atan2(yes, yes), qd.sqrt(yes) / 3])

    assert run().to_numpy() == pytest.approx([np.sin(1.0), np.e, np.pi / 4, 1 / 3], rel=1e-12)


def test_the_inverse_of_a_known_truth_value_is_warned_of(arch, capfd):
    flag = True

    @qd.kernel
    def run() -> qd.i32:
        return ~flag

    assert run() == -2
    assert "`~` of True, which is known while the kernel is compiled, is -2 as in Python" in capfd.readouterr().err


def test_functions_of_constants_have_the_digits_of_their_type(init):
    init()
    out = qd.ndarray(qd.f64, 8)
    third = 1 / 3

    @qd.kernel
    def functions(out: qd.types.ndarray(qd.f64, 1)):
        out[0] = qd.sqrt(qd.f32(2.0))
        kept = qd.sin(qd.f32(0.5))
        out[1] = kept
        out[2] = 1.0 / qd.sqrt(qd.f32(third))
        out[3] = qd.f64(qd.exp(qd.f32(0.3))) + qd.f64(0.0)
        pair = qd.Vector([qd.log(qd.f32(0.7)), qd.f32(third)])
        out[4], out[5] = pair[0], pair[1]
        out[6] = qd.sqrt(qd.cast(2.0, qd.f16))
        out[7] = qd.cast(third, qd.f16)

    functions(out)
    found = out.to_numpy()
    assert np.array_equal(found[:6], found[:6].astype(np.float32))
    assert np.array_equal(found[6:], found[6:].astype(np.float16))
    wanted = [2**0.5, np.sin(0.5), 3**0.5, np.exp(0.3), np.log(0.7), third, 2**0.5, third]
    assert np.allclose(found[:6], wanted[:6], rtol=5e-7) and np.allclose(found[6:], wanted[6:], rtol=2e-3)
