"""What Python scope is told of writes and copies that cannot be done."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only


def test_an_element_takes_a_number(arch):
    for container in (qd.field(qd.f32, 2), qd.field(qd.i32, 2), qd.ndarray(qd.f32, 2)):
        for value in (None, "a"):
            with pytest.raises(TypeError, match="cannot be stored as .32; an element takes a number; fill"):
                container[0] = value
    with pytest.raises(TypeError, match=r"1.5 \(float\) cannot be stored as i32; write int\(..\) to truncate"):
        qd.field(qd.i32, 2)[0] = 1.5


def test_a_part_of_a_struct(arch):
    s = qd.Struct.field({"a": qd.f32, "b": qd.i32, "c": qd.i32}, shape=2)
    with pytest.raises(KeyError, match=r"the members \['b', 'c'\] are missing.* give \['a', 'b', 'c'\], or write one"):
        s[0] = {"a": 1}
    assert s[0].a == 0
    with pytest.warns(UserWarning, match="no members .'more'."):
        s[0] = {"a": 1, "b": 2, "c": 3, "more": 4}
    assert (s[0].a, s[0].b, s[0].c) == (1, 2, 3)


def test_sources_of_copies(arch):
    field, array, data = qd.field(qd.f32, 2), qd.ndarray(qd.f32, 2), np.zeros(2)
    with pytest.raises(TypeError, match=r"non-field object: numpy.ndarray; .from_numpy\(..\) takes that"):
        field.copy_from(data)
    with pytest.raises(TypeError, match=r"non-field object: ScalarNdarray; write .from_numpy\(x.to_numpy\(\)\)"):
        field.copy_from(array)
    with pytest.raises(AssertionError, match=r"needs a qd.ndarray, not numpy.ndarray; .from_numpy\(..\) takes that"):
        array.copy_from(data)
    with pytest.raises(AssertionError, match=r"needs a qd.ndarray, not ScalarField; write .from_numpy"):
        array.copy_from(field)
    with pytest.raises(AssertionError, match="needs a qd.ndarray, not list$"):
        array.copy_from([1, 2])
    with pytest.raises(TypeError, match="non-field object: numpy.ndarray"):
        qd.Struct.field({"a": qd.f32}, shape=2).copy_from(data)
