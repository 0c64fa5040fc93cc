"""language.md 17.2: what a kernel with fastcache=True may read."""

import enum
import math
import warnings

import numpy as np
import pytest
from language_kit import alive, raises

import quadrants as qd

number = 3
real = 0.5
flag = True
text = "abc"
LIMIT = 4
G1 = 5
items = (1, 2)


class Mode(enum.IntEnum):
    fast = 2


class Constants:
    size = 6
    SIZE = 7


@qd.func
def reads_global(x):
    return x + number


@qd.func
def twice(x):
    return 2 * x


VIOLATION = "[PURE.VIOLATION]"


@pytest.fixture
def impure(arch):
    field = qd.field(qd.i32, shape=2)

    @qd.kernel(fastcache=True)
    def an_int() -> qd.i32:
        return number

    @qd.kernel(fastcache=True)
    def a_float() -> qd.f32:
        return real

    @qd.kernel(fastcache=True)
    def a_bool() -> qd.i32:
        return flag

    @qd.kernel(fastcache=True)
    def a_string(x: qd.i32) -> qd.i32:
        if text == "abc":
            pass
        return x

    @qd.kernel(fastcache=True)
    def a_field() -> qd.i32:
        return field[0]

    @qd.kernel(fastcache=True)
    def an_attribute() -> qd.i32:
        return Constants.size

    @qd.kernel(fastcache=True)
    def in_a_func() -> qd.i32:
        return reads_global(1)

    return an_int, a_float, a_bool, lambda: a_string(1), a_field, an_attribute, in_a_func


def test_lower_case_captures_raise(impure):
    for action in impure:
        with raises(qd.QuadrantsCompilationError, VIOLATION):
            action()
    alive()


def test_upper_case_captures_warn(arch):
    @qd.kernel(fastcache=True)
    def upper() -> qd.i32:
        return LIMIT

    @qd.kernel(fastcache=True)
    def with_digit() -> qd.i32:
        return G1

    @qd.kernel(fastcache=True)
    def attribute() -> qd.i32:
        return Constants.SIZE

    @qd.kernel(fastcache=True)
    def static() -> qd.i32:
        s = 0
        for _ in qd.static(range(number)):
            s += 1
        return s

    for k, result in ((upper, 4), (with_digit, 5), (attribute, 7), (static, 3)):
        with pytest.warns(UserWarning, match=r"\[PURE.VIOLATION\]") as said:
            assert k() == result
        # At the line of the kernel, where whoever reads it can do something about it.
        assert [w.filename for w in said] == [__file__]


def test_what_is_exempt(arch):
    @qd.data_oriented
    class Solver:
        def __init__(self):
            self.n = 3

        @qd.kernel(fastcache=True)
        def run(self, x: qd.f32, a: qd.types.ndarray(), dtype: qd.template()) -> qd.f32:
            r = x + Mode.fast + math.pi + np.pi + qd.math.pi + self.n + items[1]
            r += twice(qd.cast(1, dtype)) + a[0]
            return r

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = Solver().run(1.0, np.array([4.0], np.float32), qd.f32)
    assert result == pytest.approx(1 + 2 + 3 * math.pi + 3 + 2 + 2 + 4, rel=1e-6)


@pytest.mark.runtime(print_non_pure=True)
def test_impure_kernels_are_named_on_request(arch, capfd):
    @qd.kernel
    def careless() -> qd.i32:
        return number

    @qd.kernel(fastcache=True)
    def careful(x: qd.i32) -> qd.i32:
        return x

    careless()
    careful(1)
    out = capfd.readouterr().out
    assert "[NOT_PURE] Debug information: not pure: careless" in out and "careful" not in out


@pytest.mark.cpu_only
def test_cached_member_values_have_a_name():
    from quadrants.lang._fast_caching import FIELD_METADATA_CACHE_VALUE

    assert isinstance(FIELD_METADATA_CACHE_VALUE, str)
