"""Construction, shape, elements and conversion of Python-scope vectors and matrices."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from quadrants.errors import QuadrantsCompilationError, QuadrantsTypeError
from quadrants.ir.types import f32, i32, u8
from quadrants.lang.matrix import Matrix, Vector


@pytest.mark.parametrize(
    "arr, dt, dtype",
    [
        ([1, 2], None, "int64"),
        ((1.0, 2), None, "float64"),
        ([True, False], None, "bool"),
        ([1, 2], f32, "float32"),
        (np.ones(2, np.float32), None, "float32"),
        ([2**63, 1], None, "uint64"),
        ([2**64 - 1, True], None, "uint64"),
    ],
)
def test_dtype_of_entries(arr, dt, dtype):
    v = Vector(arr, dt)
    assert v.to_numpy().dtype == dtype
    assert v.get_shape() == (2,) and v.to_list() == list(arr)


@pytest.mark.parametrize("arr", [[2**63, -1], [2**64, 1], [[2**63, 1], [-1, 1]]])
def test_integers_that_no_type_holds_are_refused(arr):
    with pytest.raises(QuadrantsTypeError, match="fit in 64 bits"):
        (Matrix if isinstance(arr[0], list) else Vector)(arr)


def test_reals_are_truncated_for_an_integer_dt():
    assert Vector([1.7, -2.7], i32).to_list() == [1, -2]


def test_entries_are_copied():
    source = np.zeros(3)
    v = Vector(source)
    source[0] = 5
    assert v[0] == 0


@pytest.mark.parametrize("bad", [3, range(3), "abc", None, np.array(1.0)])
def test_only_array_likes(bad):
    with pytest.raises(QuadrantsTypeError, match="can only be initialized with an array-like object"):
        Vector(bad)


def test_list_of_vectors_is_refused():
    with pytest.raises(Exception, match="cols/rows required when using list of vectors"):
        Matrix([Vector([1, 2]), Vector([3, 4])])


@pytest.mark.parametrize("entries", [["a"], [None], [1 + 2j], [2**70], np.array(["2020"], "datetime64")])
def test_only_numbers(entries):
    with pytest.raises(QuadrantsTypeError, match="Element type of the matrix is invalid"):
        Vector(entries)


def test_python_types_are_no_dt():
    with pytest.raises(AssertionError):
        Vector([1], float)


def test_rank_above_two_and_ragged_rows():
    with pytest.raises(QuadrantsTypeError, match="1 or 2 axes"):
        Matrix(np.zeros((2, 2, 2)))
    with pytest.raises(ValueError):
        Matrix([[1, 2], [3]])


def test_shape_attributes():
    v, m = Vector([1, 2, 3]), Matrix([[1, 2, 3], [4, 5, 6]])
    assert (v.n, v.m, v.ndim, len(v), v.get_shape()) == (3, 1, 1, 3, (3,))
    assert (m.n, m.m, m.ndim, len(m), m.get_shape()) == (2, 3, 2, 2, (2, 3))
    for name in ("shape", "T", "dtype"):
        assert not hasattr(v, name)


def test_indexing():
    v, m = Vector([1, 2, 3]), Matrix([[1, 2], [3, 4]])
    assert (v[0], v[-1], m[1, 0], m[0, -1], m[[0, 1]], v[[2]]) == (1, 3, 3, 2, 2, 3)
    assert m[Vector([1, 1])] == 4
    assert isinstance(v[0:2], np.ndarray) and v[0:2].tolist() == [1, 2]
    assert m[:, 1].tolist() == [2, 4]


@pytest.mark.parametrize("read", [lambda m: m[0], lambda m: m[0][1], lambda m: m[0, 0, 0]])
def test_index_count(read):
    with pytest.raises(AssertionError, match="Expected 2 indices, got"):
        read(Matrix([[1, 2], [3, 4]]))


@pytest.mark.parametrize("index", [3, -4, 1.0, None, ..., "a"])
def test_bad_index(index):
    with pytest.raises(IndexError):
        Vector([1, 2, 3])[index]


def test_item_assignment_writes_in_place():
    v, m = Vector([1, 2, 3]), Matrix([[1, 2], [3, 4]])
    v[0] = 1.7
    v[1:3] = [8, 9]
    m[0, 1] = 7
    assert v.to_list() == [1, 8, 9]
    assert m.to_list() == [[1, 7], [3, 4]]
    with pytest.raises(AssertionError, match="Expected 2 indices, got 1"):
        m[0] = 7


def test_iteration_and_unpacking():
    a, b, c = Vector([1, 2, 3])
    assert (a, b, c) == (1, 2, 3)
    assert list(Matrix([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    assert 2 in Vector([1, 2])


def test_conversions():
    m = Matrix([[1, 2], [3, 4]])
    assert m.to_list() == [[1, 2], [3, 4]]
    assert m.to_numpy() is m.to_numpy()
    assert np.array(m).tolist() == [[1, 2], [3, 4]]
    assert np.array(m, dtype=np.float32).dtype == np.float32
    assert str(m) == repr(m) == "[[1 2]\n [3 4]]"
    with pytest.raises(ValueError):
        np.array(m, dtype=np.float32, copy=False)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_clones_are_independent(clone):
    v = Vector([1, 2, 3])
    w = clone(v)
    w[0] = 9
    assert type(w) is Vector and v.to_list() == [1, 2, 3] and w.to_list() == [9, 2, 3]


def test_unknown_attributes_are_refused():
    v = Vector([1, 2])
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        v.foo  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        v.foo = 1


@pytest.mark.parametrize(
    "name, args", [("zero", (f32, 3)), ("one", (f32, 3)), ("identity", (f32, 3)), ("unit", (3, 1))]
)
def test_kernel_factories_name_the_scope(name, args):
    for cls in (Vector, Matrix):
        with pytest.raises(AssertionError, match=f"{name} cannot be called in Python-scope"):
            getattr(cls, name)(*args)


def test_host_factories():
    assert Matrix.diag(2, 2.5).to_list() == [[2.5, 0], [0, 2.5]]
    rows = Matrix.rows([Vector([1, 2]), [3.5, 4]])
    cols = Matrix.cols([Vector([1, 2]), Vector([3.5, 4])])
    assert rows.to_list() == [[1.0, 2.0], [3.5, 4.0]]
    assert cols.to_list() == [[1.0, 3.5], [2.0, 4.0]]
    assert Matrix.rows([Vector([1, 2])]).get_shape() == (1, 2)


@pytest.mark.parametrize("entries", [[], [Vector([1, 2]), Vector([1])], [[1, 2], [1, 2, 3]]])
def test_rows_of_unequal_lengths(entries):
    for stack in (Matrix.rows, Matrix.cols):
        with pytest.raises(QuadrantsCompilationError, match="required shapes to be the same, got shapes"):
            stack(entries)


@pytest.mark.parametrize("entries", [[1, 2], Vector([1, 2]), [Matrix([[1]])]])
def test_rows_of_what_is_no_vector(entries):
    with pytest.raises(QuadrantsCompilationError):
        Matrix.rows(entries)


def test_size_warning_starts_above_144_entries():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Vector([0] * 144)
    with pytest.warns(UserWarning, match="12x13 > 144 entries are not suggested"):
        Matrix([[0] * 13 for _ in range(12)])


def test_size_warning_obeys_the_log_level(monkeypatch):
    from quadrants import _logging

    monkeypatch.setattr(_logging, "_level", _logging._RANK["error"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Vector([0] * 200)


def test_sums_keep_the_element_dtype():
    assert Vector([200, 100], u8).sum() == 44
    assert Vector([True, True]).sum().dtype == np.bool_ and Vector([True, True]).sum()
