"""Live elements of containers: reads see the storage, writes go to it."""

import copy

import numpy as np
import pytest

from quadrants.ir.types import u1
from quadrants.lang.matrix import Matrix, Vector


def test_reads_are_live_and_widen():
    cell = np.array([1, 2, 3], np.float32)
    v = Vector._view(cell)
    cell[0] = 7
    assert v.x == 7.0 and type(v.x) is float
    assert isinstance(v, Vector) and isinstance(Matrix._view(np.zeros((2, 2))), Matrix)
    assert (v + 1).to_numpy().dtype == np.float64
    assert v.to_numpy() is not v.to_numpy()


def test_arithmetic_does_not_wrap_at_the_storage_width():
    v = Vector._view(np.array([200, 100], np.uint8))
    assert (v + v).to_list() == [400, 200] and v.sum() == 300
    big = Vector._view(np.array([2**64 - 1], np.uint64))
    assert big[0] == 2**64 - 1


@pytest.mark.parametrize(
    "dtype, value, stored",
    [
        ("int8", 300, 44),
        ("uint8", -1, 255),
        ("int32", 2**31, -(2**31)),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int64", True, 1),
    ],
)
def test_integers_wrap(dtype, value, stored):
    cell = np.zeros(2, dtype)
    v = Vector._view(cell)
    v[0] = value
    v.y = value
    assert cell.tolist() == [stored, stored]
    v._assign([value, value])
    v.fill(value)
    assert cell.tolist() == [stored, stored]


@pytest.mark.parametrize(
    "dtype, value", [("int32", 1.5), ("int32", 2**70), ("float32", "a"), ("int32", None), ("bool", 0.5)]
)
def test_values_that_do_not_convert(dtype, value):
    cell = np.zeros(2, dtype)
    v = Vector._view(cell)
    for write in (lambda: v.__setitem__(0, value), lambda: v._assign([value, value]), lambda: v.fill(value)):
        with pytest.raises(TypeError):
            write()
    assert not cell.any()


def test_booleans_kept_in_bytes():
    cell = np.zeros(2, np.uint8)
    v = Vector._view(cell, u1)
    v[0] = 5
    assert cell.tolist() == [1, 0] and v.x == 1 and type(v.x) is int


def test_assign_whole_elements():
    cell = np.zeros(3, np.float32)
    v = Vector._view(cell)
    v._assign([1, 2, 3, 4])
    assert cell.tolist() == [1, 2, 3]
    v._assign(Vector([4, 5, 6]))
    assert cell.tolist() == [4, 5, 6]
    with pytest.raises(IndexError):
        v._assign([1, 2])
    with pytest.raises(TypeError):
        v._assign(5)
    m = Matrix._view(np.zeros((2, 2), np.int32))
    m._assign([[1, 2], [3, 4]])
    assert m.to_list() == [[1, 2], [3, 4]]


def test_views_write_through_and_copies_do_not():
    cell = np.zeros((2, 2), np.float32)
    m = Matrix._view(cell)
    m[0, 1] = 3
    other = copy.deepcopy(m)
    other[0, 0] = 9
    assert cell.tolist() == [[0, 3], [0, 0]] and type(other) is Matrix


def test_remote_views_fetch_and_store_whole_elements():
    memory = [np.zeros(3, np.float32)]
    v = Vector._view_through(lambda: memory[0], lambda x: memory.__setitem__(0, x))
    v.xy = [1, 2]
    v[2] = 3
    memory[0] = memory[0] * 2
    assert v.to_list() == [2, 4, 6] and isinstance(v, Vector)
