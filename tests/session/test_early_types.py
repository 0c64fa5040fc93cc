"""Types that are made before `qd.init` keep what `float` and `int` were; it warns where it says otherwise."""

from __future__ import annotations

import inspect
import warnings

import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only


@pytest.fixture
def before_init():
    qd.reset()
    yield
    qd.reset()


def warned(**options) -> list[tuple[int, str]]:
    """(line of this file, text) of the warnings of a `qd.init`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        qd.init(arch=qd.cpu, **options)
    assert all(w.filename == __file__ for w in caught)
    return [(w.lineno, str(w.message)) for w in caught]


def line() -> int:
    return inspect.currentframe().f_back.f_lineno


def test_the_line_of_every_type_that_is_too_early(before_init):
    at = line()
    kind = qd.types.vector(2, float)
    whole = qd.types.matrix(2, 2, int)
    record = qd.types.struct(a=float, b=qd.f32, c=int)
    told = warned(default_fp=qd.f64, default_ip=qd.i64)
    assert [k - at for k, _ in told] == [1, 2, 3, 3]
    assert "`float` is f32 in this type" in told[0][1] and "Write qd.f64, or make the type after qd.init." in told[0][1]
    assert "`int` is i32 in this type" in told[1][1] and "qd.init(default_ip=qd.i64)" in told[1][1]
    assert (kind.dtype, whole.dtype, record.members["a"]) == (qd.f32, qd.i32, qd.f32)
    assert warned(default_fp=qd.f64) == []  # said once


def test_nothing_is_said_of_types_that_are_right(before_init):
    qd.types.vector(2, float)
    assert warned(default_ip=qd.i64) == []
    qd.types.vector(2, float)
    qd.math.vec2  # noqa: B018
    assert warned(default_fp=qd.f64) == []
    assert qd.types.vector(2, float).dtype is qd.f64


def test_types_that_follow_qd_init_are_not_too_early(before_init):
    assert qd.math.vec2.dtype is qd.f32
    assert warned(default_fp=qd.f64) == []
    assert qd.math.vec2.dtype is qd.f64
