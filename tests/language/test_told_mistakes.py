"""What was silent, or told in words that did not help: literals, lists, bounds, types of elements."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd


def test_a_real_literal_that_its_type_does_not_hold(arch):
    x = qd.field(qd.f32, 3)

    @qd.kernel
    def write():
        x[0] = qd.f32(1e39)
        x[1] = -qd.f32(1e300)
        x[2] = 1e38

    with pytest.warns(UserWarning, match=r"1e\+39 is further from 0 than every number of f32.* Write qd.f64\(1e\+39\)"):
        write()
    assert x.to_numpy().tolist() == [np.inf, -np.inf, np.float32(1e38)]


def test_lists_of_run_time_values_are_repeated(arch):
    @qd.kernel
    def repeated(a: qd.i32) -> qd.types.vector(4, qd.i32):
        pair = [a, 7] * 2
        return qd.Vector([pair[0], pair[2], qd.Vector([a] * 3).sum(), qd.Vector(2 * [a, 1])[3]])

    assert list(repeated(5)) == [5, 5, 15, 1]


@pytest.mark.runtime(exclude=("metal",))
def test_a_negative_begin_beside_an_unsigned_end(arch):
    @qd.kernel
    def count(n: qd.u32) -> qd.i32:
        total = 0
        for _ in qd.ndrange((-1, n)):
            total += 1
        return total

    with pytest.warns(UserWarning, match="compared as u32, where -1 is more than the end can be"):
        assert count(2) == 0


@pytest.mark.parametrize("dtype", [np.float32, "f32", np.dtype("float32"), 3, [qd.f32]], ids=str)
def test_element_types_that_are_none(arch, dtype):
    with raises(TypeError, "of array elements; use a primitive type such as qd.f32"):
        qd.types.ndarray(dtype=dtype, ndim=1)


def test_large_integers_in_vectors_of_reals(arch):
    @qd.kernel
    def first(v: qd.types.vector(2, qd.f32)) -> qd.f32:
        return v[0]

    assert first([2**80, 1]) == np.float32(2.0**80)
    with raises(OverflowError, "further from 0 than every real number"):
        first([10**400, 1])


def test_an_integer_beyond_all_reals_is_told_with_the_call(arch):
    @qd.kernel
    def first(x: qd.f32) -> qd.f32:
        return x

    with raises(OverflowError, "further from 0 than every real number") as caught:
        first(10**400)
    assert "In this call of kernel first:" in str(caught.value) and "first(10**400)" in str(caught.value)


def test_layouts_and_extents_that_are_none(arch):
    with raises(TypeError, "layout must be qd.Layout.AOS or qd.Layout.SOA, not 'SOA'"):
        qd.Vector.field(2, qd.f32, shape=2, layout="SOA")
    with raises(qd.QuadrantsRuntimeError, "(0,) is not a valid shape for ndarray: an axis holds at least 1 element"):
        qd.ndarray(qd.f32, 0)


@pytest.mark.parametrize("case", ["transposed", "columns"])
@pytest.mark.runtime(exclude=("cuda", "amdgpu", "opencl", "metal", "vulkan"))  # where each argument is a copy
def test_overlapping_arrays_of_which_one_is_a_copy(arch, case):
    @qd.kernel
    def two(a: qd.types.ndarray(dtype=qd.f32, ndim=2), b: qd.types.ndarray(dtype=qd.f32, ndim=2)):
        for i, j in a:
            a[i, j] += 1
        for i, j in b:
            b[i, j] += 2

    x = np.zeros((2, 6), np.float32, order="C" if case == "transposed" else "F")
    with raises(qd.QuadrantsRuntimeError, "shares memory with another argument that was written, too"):
        two(x, x.T) if case == "transposed" else two(x[:, :4], x[:, 2:])
    y = np.zeros((2, 6), np.float32, order="F")
    two(y, y)
    assert (y == 3).all()


def test_fields_made_by_several_threads(arch):
    wrong = []

    def work(number: int) -> None:
        try:
            for _ in range(60):
                f = qd.field(qd.i32, shape=7 + number)
                f.fill(4 + number)
                if not (f.to_numpy() == 4 + number).all():
                    wrong.append(f.to_numpy())
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
