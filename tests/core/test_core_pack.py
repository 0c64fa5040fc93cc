"""Scalars and arrays in the argument block, and results."""

import enum
import math
import struct

import numpy as np
import pytest
from core_native import Recorder, entry, make_array
from hypothesis import given
from hypothesis import strategies as st

from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError, QuadrantsRuntimeTypeError

INTEGERS = {"i8": "=b", "i16": "=h", "i32": "=i", "i64": "=q", "u8": "=B", "u16": "=H", "u32": "=I", "u64": "=Q"}
WIDTH = {name: struct.calcsize(code) * 8 for name, code in INTEGERS.items()}
ECHO = entry("")


def echo(dtype):
    """A kernel that returns its only argument as this type."""
    return Recorder([core.SCALAR], core.Plan(ECHO, bytes(8), [], [(dtype, 0, 0, None)], (dtype, 0), name="echo"))


ECHOES = {name: echo(name) for name in core.SCALAR_NAMES}


def wrapped(value, dtype):
    value %= 1 << WIDTH[dtype]
    if dtype[0] == "i" and value >> (WIDTH[dtype] - 1):
        value -= 1 << WIDTH[dtype]
    return value


@pytest.mark.parametrize("dtype", [name for name in INTEGERS if name[0] == "i"])
@given(value=st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-300, 300)))
def test_signed_integers_wrap_to_the_width(dtype, value):
    assert ECHOES[dtype](value) == wrapped(value, dtype)


# Python keeps an integer in digits of 30 bits, of 15 on some builds.
BORDERS = [sign * (2**bits + more) for bits in (0, 15, 30, 31, 60) for more in (-1, 0, 1) for sign in (1, -1)]


@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize("value", BORDERS)
def test_integers_of_one_digit_and_of_more_are_stored_alike_and_touch_no_neighbour(dtype, value):
    width = WIDTH[dtype] // 8
    pack = [("i32", 0, 0, None), (dtype, 1, 8, None), ("i32", 2, 8 + width, None)]
    for read, at, expected in [("i32", 0, 5), (dtype, 8, wrapped(value, dtype)), ("i32", 8 + width, 9)]:
        kernel = Recorder([core.SCALAR] * 3, core.Plan(ECHO, bytes(24), [], pack, (read, at), name="echo"))
        assert kernel(5, value, 9) == expected


@pytest.mark.parametrize("dtype", [name for name in INTEGERS if name[0] == "u"])
@given(value=st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 300)))
def test_unsigned_integers_wrap_to_the_width(dtype, value):
    assert ECHOES[dtype](value) == wrapped(value, dtype)


@pytest.mark.parametrize("dtype", [name for name in INTEGERS if name[0] == "u"])
@pytest.mark.parametrize("value", [-1, -(2**80), np.int8(-3)])
def test_negative_numbers_for_unsigned_are_refused(dtype, value):
    with pytest.raises(TypeError, match=f"is negative.*{dtype}"):
        ECHOES[dtype](value)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("value", [2**64, 2**64 + 5, 10**30, 10**5000], ids=["2**64", "2**64+5", "1e30", "1e5000"])
def test_numbers_beyond_64_bits_are_refused(dtype, value):
    with pytest.raises(TypeError, match=f"does not fit in 64 bits.*{dtype}"):
        ECHOES[dtype](value)


@pytest.mark.parametrize("dtype", [name for name in INTEGERS if name[0] == "i"])
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64 - 1, np.uint64(2**63)])
def test_numbers_beyond_63_bits_are_refused_for_signed(dtype, value):
    with pytest.raises(TypeError, match=f"does not fit in 64 bits with a sign.*{dtype}"):
        ECHOES[dtype](value)


class Colour(enum.IntEnum):
    RED = 3


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("value, expected", [(True, 1), (Colour.RED, 3), (np.int64(5), 5), (np.uint8(200), 200)])
def test_integer_like_objects(dtype, value, expected):
    assert ECHOES[dtype](value) == wrapped(expected, dtype)


@pytest.mark.parametrize("value, expected", [(0, 0), (1, 1), (256, 1), (-7, 1), (2**64, 1), (True, 1), (np.int8(0), 0)])
def test_u1_stores_truth(value, expected):
    result = ECHOES["u1"](value)
    assert result == expected and type(result) is int


@given(value=st.floats(width=64))
def test_f64_is_exact(value):
    result = ECHOES["f64"](value)
    assert result == value or math.isnan(value) and math.isnan(result)


@given(value=st.floats(width=64))
def test_f32_rounds_like_numpy(value):
    with np.errstate(over="ignore", under="ignore"):
        expected = float(np.float32(value))
    result = ECHOES["f32"](value)
    assert result == expected or math.isnan(value) and math.isnan(result)


@given(value=st.one_of(st.floats(width=64), st.floats(-70000, 70000), st.floats(-1e-4, 1e-4), st.floats(width=16)))
def test_f16_rounds_like_numpy(value):
    with np.errstate(over="ignore", under="ignore"):
        expected = float(np.float16(value))
    result = ECHOES["f16"](value)
    assert result == expected or math.isnan(value) and math.isnan(result)
    assert math.copysign(1, result) == math.copysign(1, expected)


def test_every_half_survives_the_round_trip():
    for bits in range(1 << 16):
        value = float(np.array(bits, np.uint16).view(np.float16))
        result = ECHOES["f16"](value)
        assert result == value or math.isnan(value) and math.isnan(result), hex(bits)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("value", [3, True, np.float32(3.0), np.float16(1.5), np.int8(-2), np.float64(0.5)])
def test_real_slots_take_integers_and_numpy_numbers(dtype, value):
    assert ECHOES[dtype](value) == float(value)


@pytest.mark.parametrize("dtype", [*INTEGERS, "u1"])
@pytest.mark.parametrize("value", [1.0, np.float32(1), None, "1", np.array(True), np.array(1), [1], 1j])
def test_integer_slots_refuse(dtype, value):
    with pytest.raises(QuadrantsRuntimeTypeError) as caught:
        ECHOES[dtype](value)
    assert str(caught.value) == f"Argument (0,) (type={type(value)}) cannot be converted into required type {dtype}"


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("value", [None, "1", np.array(True), np.array(1.0), 1j])
def test_real_slots_refuse(dtype, value):
    with pytest.raises(QuadrantsRuntimeTypeError, match=f"required type {dtype}"):
        ECHOES[dtype](value)


@pytest.mark.parametrize("dtype", [*INTEGERS, "u1", "f16", "f32", "f64"])
def test_all_slots_take_the_truth_values_of_numpy(dtype):
    """They are what a comparison of two numbers of NumPy gives."""
    assert [ECHOES[dtype](value) for value in (np.bool_(True), np.bool_(False))] == [1, 0]


def test_an_integer_too_large_for_a_float():
    with pytest.raises(OverflowError):
        ECHOES["f64"](10**400)


def test_a_refused_argument_leaves_the_launcher_usable():
    with pytest.raises(QuadrantsRuntimeTypeError):
        ECHOES["i32"]("x")
    assert ECHOES["i32"](4) == 4


def test_template_bytes_are_kept_and_every_launch_starts_from_them():
    body = "AT(int32_t, 0) += AT(int32_t, 4) + 1;"
    plan = core.Plan(entry(body), struct.pack("=ii", 10, 0), [], [("i32", 0, 4, None)], ("i32", 0))
    kernel = Recorder([core.SCALAR], plan)
    assert [kernel(5), kernel(5), kernel(0)] == [16, 16, 11]


def test_a_block_larger_than_the_stack_part():
    body = "AT(int64_t, 0) = AT(int64_t, 99992) + AT(int32_t, 50000);"
    template = bytearray(100000)
    template[50000:50004] = struct.pack("=i", 7)
    plan = core.Plan(entry(body), bytes(template), [], [("i64", 0, 99992, None)], ("i64", 0))
    assert Recorder([core.SCALAR], plan)(30) == 37


def test_six_hundred_scalars():
    body = "int64_t s = 0; for (int i = 0; i < 600; ++i) s += AT(int32_t, 4 * i); AT(int64_t, 2400) = s;"
    pack = [("i32", i, 4 * i, None) for i in range(600)]
    kernel = Recorder([core.SCALAR] * 600, core.Plan(entry(body), bytes(2408), [], pack, ("i64", 2400)))
    assert kernel(*range(600)) == sum(range(600))


SUM = entry(
    """
    float *data = AT(float *, 0); float *grad = AT(float *, 8); int32_t *shape = (int32_t *) (args + 16);
    double sum = 0;
    for (int i = 0; i < shape[0] * shape[1]; ++i) { sum += data[i]; data[i] += 1; if (grad) grad[i] = 2; }
    AT(double, 24) = sum;
    """
)


def sum_plan():
    return core.Plan(SUM, bytes(32), [], [("array", 0, 0, (16, 8))], ("f64", 24), name="sum")


def test_an_array_passes_pointer_extents_and_no_gradient():
    array = make_array((2, 3))
    view = np.frombuffer(array._buffer, np.float32)
    view[:6] = range(6)
    kernel = Recorder([core.ARRAY], sum_plan())
    assert kernel(array) == 15 and list(view[:7]) == [1, 2, 3, 4, 5, 6, 0]


def test_an_array_passes_its_gradient():
    gradient = make_array((2, 3))
    array = make_array((2, 3), grad=gradient)
    assert array.grad is gradient
    Recorder([core.ARRAY], sum_plan())(array)
    assert list(np.frombuffer(gradient._buffer, np.float32)[:7]) == [2] * 6 + [0]


def test_a_numpy_array_is_used_in_place():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    kernel = Recorder([core.ARRAY], sum_plan())
    assert kernel(values) == 15 and kernel(values) == 21
    assert values.tolist() == [[2, 3, 4], [5, 6, 7]] and kernel.asked == []


def test_extents_are_not_part_of_the_token():
    kernel = Recorder([core.ARRAY], sum_plan())
    for shape in [(1, 1), (3, 5), (0, 7), (2, 2)]:
        assert kernel(np.ones(shape, np.float32)) == shape[0] * shape[1]
    assert len(kernel.misses) == 1


def test_only_the_asked_number_of_extents_is_written():
    plan = core.Plan(ECHO, bytes([255] * 24), [], [("array", 0, 0, (8, -1, 1))], lambda view: bytes(view[8:24]))
    values = np.zeros((5, 3), np.float32)
    assert Recorder([core.ARRAY], plan)(values) == struct.pack("=i", 5) + b"\xff" * 12


def test_more_extents_than_room_is_an_error_not_an_overrun():
    plan = core.Plan(ECHO, bytes(16), [], [("array", 0, 0, (8, -1))], name="small")
    with pytest.raises(QuadrantsRuntimeError, match="3 dimensions"):
        Recorder([core.ARRAY], plan)(np.zeros((2, 2, 2)))


def test_extents_beyond_32_bits_are_refused():
    array = make_array((2**31,))
    with pytest.raises(QuadrantsRuntimeError, match="2147483648 elements along axis 0"):
        Recorder([core.ARRAY], core.Plan(ECHO, bytes(16), [], [("array", 0, 0, (8, -1))]))(array)


def test_an_object_that_is_no_array_in_an_array_slot():
    with pytest.raises(QuadrantsRuntimeTypeError, match="contiguous array"):
        Recorder([core.ARRAY], sum_plan())([1.0])


@pytest.mark.parametrize("ret", [("f32", 0), ("u64", 0), ("i8", 0)])
def test_result_types(ret):
    bits = {"f32": struct.pack("=f", -1.5), "u64": b"\xff" * 8, "i8": b"\x80"}[ret[0]]
    kernel = Recorder([], core.Plan(ECHO, bits, [], [], ret))
    assert kernel() == {"f32": -1.5, "u64": 2**64 - 1, "i8": -128}[ret[0]]


def test_a_callable_reads_structured_results_and_may_keep_the_block():
    kept = []

    def read(view):
        kept.append(np.frombuffer(view, np.int32))
        return tuple(kept[-1])

    kernel = Recorder([core.SCALAR], core.Plan(ECHO, bytes(8), [], [("i32", 0, 4, None)], read))
    assert kernel(3) == (0, 3) and kernel(4) == (0, 4)
    assert [list(block) for block in kept] == [[0, 3], [0, 4]]


class Kept:
    def __init__(self, log, value):
        self.log, self.value = log, value

    def finish(self):
        self.log.append(("finish", self.value))


def test_call_packers_write_the_block_and_finish_after_the_run():
    log = []

    def packer(value, view, offset):
        log.append(("pack", value))
        view[offset : offset + 4] = struct.pack("=i", value[0])
        return Kept(log, value[0])

    plan = core.Plan(ECHO, bytes(8), [], [("call", 0, 4, packer)], ("i32", 4))
    kernel = Recorder([core.OPAQUE], plan)
    assert kernel([41]) == 41 and log == [("pack", [41]), ("finish", 41)]


def test_call_packers_may_return_nothing_or_something_without_finish():
    plan = core.Plan(ECHO, bytes(8), [], [("call", 0, 0, lambda *_: None), ("call", 1, 4, lambda *_: object())])
    assert Recorder([core.OPAQUE] * 2, plan)(1, 2) is None


def test_a_packer_that_raises_stops_the_launch():
    log = []
    ran = np.zeros(1, np.int32)

    def refuse(value, view, offset):
        raise ValueError("no")

    pack = [("call", 0, 8, lambda *_: Kept(log, 0)), ("call", 1, 8, refuse), ("array", 2, 0, None)]
    plan = core.Plan(entry("*AT(int32_t *, 0) = 1;"), bytes(16), [], pack)
    with pytest.raises(ValueError, match="no"):
        Recorder([core.OPAQUE, core.OPAQUE, core.ARRAY], plan)(1, 2, ran)
    assert log == [] and ran[0] == 0


def test_a_finish_that_raises_is_heard():
    class Bad:
        def finish(self):
            raise OSError("cannot copy back")

    plan = core.Plan(ECHO, bytes(8), [], [("call", 0, 0, lambda *_: Bad())])
    with pytest.raises(OSError, match="copy back"):
        Recorder([core.OPAQUE], plan)(1)


@pytest.mark.parametrize(
    "description, message",
    [
        (dict(entry=0), "entry address"),
        (dict(pack=[("i32", 0, 14, None)]), "do not fit"),
        (dict(pack=[("i32", 0, -1, None)]), "do not fit"),
        (dict(pack=[("array", 0, 9, None)]), "do not fit"),
        (dict(pack=[("array", 0, 0, (-1, 9))]), "do not fit"),
        (dict(pack=[("bf16", 0, 0, None)]), "unknown pack code"),
        (dict(pack=[("i32", -1, 0, None)]), "negative source"),
        (dict(ret=("f128", 0)), "unknown return type"),
        (dict(ret=("f64", 9)), "do not fit"),
        (dict(members=[(0, (), 1)]), "needs a parameter and a path"),
    ],
)
def test_plans_that_do_not_hold_together(description, message):
    with pytest.raises(ValueError, match=message):
        core.Plan(**{"entry": ECHO, "args_template": bytes(16), **description})


def test_a_call_packer_must_be_callable():
    with pytest.raises(TypeError, match="must be callable"):
        core.Plan(ECHO, bytes(16), [], [("call", 0, 0, 5)])


@pytest.mark.parametrize("plan", [dict(pack=[("i32", 1, 0, None)]), dict(members=[(1, ("x",), 1)])])
def test_a_plan_that_names_more_than_the_kernel_has(plan):
    with pytest.raises(ValueError, match="there is no"):
        Recorder([core.SCALAR], core.Plan(ECHO, bytes(16), **plan))(1)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_integers_that_no_real_number_reaches(dtype, value):
    with pytest.raises(OverflowError, match=r"Argument \(0,\): an integer of 1329 bits is further from 0 than"):
        ECHOES[dtype](value)
