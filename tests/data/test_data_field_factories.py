"""Field factories: what they accept, what they refuse, and that a refusal leaves nothing behind."""

import numpy as np
import pytest
from data_kit import DTYPES, REALS

from quadrants import session
from quadrants.data import factories, snode
from quadrants.data.field import Field, ScalarField
from quadrants.data.matrix_field import MatrixField
from quadrants.data.struct_field import StructField
from quadrants.errors import QuadrantsRuntimeError, QuadrantsSyntaxError
from quadrants.ir.types import f32, f64, i32, i64, u1
from quadrants.lang.struct_type import StructType
from quadrants.lang.tensor_types import MatrixType, VectorType
from quadrants.toolchain import build

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_element_of_every_dtype(dtype):
    f = factories.field(dtype, 1)
    assert f[0] == 0 and type(f[0]) is (float if dtype.is_real else int)
    f[0] = 1
    assert f[0] == 1
    assert f.to_numpy().dtype == np.dtype(dtype.numpy_name)
    assert f.dtype is dtype


def test_python_types_follow_the_defaults_of_init(init):
    assert [factories.field(t, 1).dtype for t in (float, int, bool)] == [f32, i32, u1]
    init(default_fp=f64, default_ip=i64)
    assert [factories.field(t, 1).dtype for t in (float, int, bool)] == [f64, i64, u1]


@pytest.mark.parametrize("bad", [np.float32, "f32", None, np.dtype("f4"), StructType({"a": i32})], ids=repr)
def test_invalid_dtype(bad):
    with pytest.raises(ValueError, match="Invalid data type.*such as qd.f32"):
        factories.field(bad, 3)


@pytest.mark.parametrize(
    "shape, expected",
    [(3, (3,)), (np.int32(3), (3,)), ([2, 3], (2, 3)), ((), ()), (np.array([2, 3]), (2, 3)), ((np.int64(4),), (4,))],
)
def test_shapes(shape, expected):
    f = factories.field(i32, shape)
    assert f.shape == expected and all(type(n) is int for n in f.shape)
    assert f.to_numpy().shape == expected


@pytest.mark.parametrize("shape", [0, -1, (2, 0), (3, -4)])
def test_extents_must_be_positive_and_the_next_field_works(shape):
    with pytest.raises(QuadrantsRuntimeError, match="Every dimension of a Quadrants field should be positive"):
        factories.field(i32, shape)
    f = factories.field(i32, 3)
    f[1] = 5
    assert f.to_numpy().tolist() == [0, 5, 0]


@pytest.mark.parametrize("shape", [2.5, "a", (2.5,), ("3",), (None,)])
def test_other_shapes_are_type_errors(shape):
    with pytest.raises(TypeError):
        factories.field(i32, shape)


def test_at_most_twelve_axes():
    assert factories.field(i32, (1,) * 12)[(0,) * 12] == 0
    with pytest.raises(RuntimeError, match="maximum dimensionality is 12"):
        factories.field(i32, (1,) * 13)


def test_unknown_keyword():
    with pytest.raises(TypeError, match="foo"):
        factories.field(i32, 3, foo=1)


REFUSED = [
    (lambda: factories.field(i32, 3, needs_grad=True), QuadrantsRuntimeError, "is not supported for field with"),
    (lambda: factories.field(i32, 3, needs_dual=True), QuadrantsRuntimeError, "is not supported for field with"),
    (lambda: factories.field(i32, (2, 3), order="jk"), QuadrantsSyntaxError, "Invalid axis k"),
    (lambda: factories.field(i32, (2, 3), order="jj"), QuadrantsSyntaxError, "The axes in order must be different"),
    (lambda: factories.field(i32, (2, 3), order="j"), QuadrantsSyntaxError, r"order must be the same \(2 != 1\)"),
    (lambda: factories.field(i32, order="j"), QuadrantsSyntaxError, "shape cannot be None when order is set"),
    (lambda: factories.field(i32, offset=1), QuadrantsSyntaxError, "shape cannot be None when offset is set"),
    (lambda: factories.field(i32, (2, 3), offset=1), QuadrantsSyntaxError, r"offset must be the same \(2 != 1\)"),
    (lambda: factories.matrix_field(3, 1, i32, 3, ndim=1, needs_grad=True), QuadrantsRuntimeError, "not supported"),
    (lambda: factories.matrix_field(0, 1, i32, 3, ndim=1), QuadrantsRuntimeError, "must be positive"),
    (lambda: factories.matrix_field(2, 1, [f32, i32], 3, ndim=1), QuadrantsRuntimeError, "same compute type"),
    (lambda: factories.matrix_field(2, 1, [f32], 3, ndim=1), AssertionError, "shape of dtype list"),
    (lambda: factories.matrix_field(2, 2, [f32, f32], 3), AssertionError, "shape of dtype list"),
    (lambda: factories.struct_field({"a": i32}, shape=3, needs_grad=True), QuadrantsRuntimeError, "member .*a;"),
    (lambda: factories.struct_field({"a": i32}, offset=3), QuadrantsSyntaxError, "shape cannot be None"),
    (lambda: factories.struct_field({"a": "f32"}, shape=3), ValueError, "Invalid data type"),
]


@pytest.mark.parametrize("make, kind, text", REFUSED)
def test_refusals_leave_nothing_behind(make, kind, text):
    with pytest.raises(kind, match=text):
        make()
    assert not snode.current().root.children
    f = factories.field(i32, 2)
    f.fill(1)
    assert f.to_numpy().tolist() == [1, 1]


def test_classes_and_forwarding():
    scalar, vector = factories.field(f32, 2), factories.field(VectorType(3, f32), shape=2)
    matrix, struct = MatrixType(2, 1, f32).field(shape=2), StructType({"a": i32}).field(shape=2)
    assert [type(f) for f in (scalar, vector, matrix, struct)] == [ScalarField, MatrixField, MatrixField, StructField]
    assert all(isinstance(f, Field) for f in (scalar, vector, matrix, struct))
    assert (vector.n, vector.m, vector.ndim) == (3, 1, 1)
    assert (matrix.n, matrix.m, matrix.ndim) == (2, 1, 2)


def test_nested_dtype_list():
    f = factories.matrix_field(2, 2, [[f32, f32], [f32, f32]], 3)
    assert f.dtype is f32 and f.to_numpy().shape == (3, 2, 2)


def test_printing_does_not_materialize():
    f, v = factories.field(f32), factories.matrix_field(3, 1, f32, ndim=1)
    assert (repr(f), repr(v)) == ("<qd.field>", "<3x1 qd.Matrix.field>")
    assert str(f) == str(v) == "<Field: Definition of this field is incomplete>"
    g = factories.field(f32, 2)
    assert repr(g) == "<qd.field>" and g.cell is None
    snode.current().root._place((f, v), None)
    assert str(g) == "[0. 0.]"


def test_fields_take_attributes_and_hide_none():
    f = factories.field(f32, 2)
    for name in ("_tc", "_T_tc", "_np", "_T_np"):
        with pytest.raises(AttributeError):
            getattr(f, name)
        setattr(f, name, 7)
        assert getattr(f, name) == 7


def test_python_protocols():
    import copy
    import pickle

    struct = factories.struct_field({"a": i32}, shape=2)
    for f in (factories.field(f32, 2), factories.matrix_field(2, 2, f32, 2), struct):
        with pytest.raises(TypeError):
            len(f)
        with pytest.raises(NotImplementedError, match="Struct for is only available in Quadrants scope."):
            iter(f)
        for refused in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError):
                refused(f)
        assert f == f and hash(f) == hash(f) and f != factories.field(f32, 2)


def test_without_a_runtime():
    session.reset()
    for make in (lambda: factories.field(f32, 1), lambda: factories.ndarray(f32, 1)):
        with pytest.raises(QuadrantsRuntimeError, match="Maybe you forgot to call"):
            make()
    with pytest.raises(QuadrantsRuntimeError, match=r"Please call init\(\) first"):
        snode.root.place(3)
    with pytest.raises(QuadrantsRuntimeError, match="Maybe you forgot to call"):
        snode.FieldsBuilder()


def test_a_thousand_fields_need_no_compiler():
    compiled = build.statistics.compiled
    fields = [factories.field(REALS[k % 3], 4) for k in range(1024)]
    for f in fields:
        f.fill(1)
    for _ in range(1024):
        factories.field(f32, 4).fill(1)
    assert all(f.to_numpy().sum() == 4 for f in fields)
    assert len(snode.trees()) == 1025 and build.statistics.compiled == compiled
