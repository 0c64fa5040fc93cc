"""Type objects: attributes, live defaults, instances in Python scope."""

import pickle

import numpy as np
import pytest

import quadrants as qd
from quadrants import types
from quadrants.errors import QuadrantsSyntaxError
from quadrants.ir import types as ir
from quadrants.ir.types import f32, f64, i32, i64, u1, u8, u32, u64
from quadrants.lang import math_primitives as qmath
from quadrants.lang.matrix import Matrix, Vector


def test_attributes():
    v, m = types.vector(3, f32), types.matrix(3, 2, i32)
    assert (v.n, v.m, v.ndim, v.dtype, v.get_shape()) == (3, 1, 1, f32, (3,))
    assert (m.n, m.m, m.ndim, m.dtype, m.get_shape()) == (3, 2, 2, i32, (3, 2))
    assert v.to_string() == "VectorType[3, f32]" and m.to_string() == "MatrixType[3,2, i32]"
    assert types.vector(3, i32, unpacked=True).to_string() == "VectorType[3, i32, unpacked=True]"
    assert v != types.vector(3, f32)


def test_ir_types():
    assert types.vector(3, f32).ir_type() is ir.tensor_type((3,), f32)
    assert types.matrix(2, 1, bool).ir_type() is ir.tensor_type((2, 1), u1)
    assert types.vector(3).ir_type() is None and types.vector().ir_type() is None


def test_math_types_follow_the_defaults(default_types):
    assert (qmath.vec3.dtype, qmath.ivec3.dtype, qmath.uvec3.dtype, qmath.mat2.dtype) == (f32, i32, u32, f32)
    default_types(f64, i64)
    assert (qmath.vec3.dtype, qmath.ivec3.dtype, qmath.uvec3.dtype, qmath.mat2.dtype) == (f64, i64, u64, f64)
    assert qmath.vec3(1, 2, 3).to_numpy().dtype == np.float64


def test_python_types_are_resolved_when_the_type_is_made(default_types):
    before = types.vector(3, float)
    default_types(f64)
    assert before.dtype is f32 and types.vector(3, float).dtype is f64


@pytest.mark.parametrize("bad", ["a", np.float32, list, 3])
def test_invalid_dtype(bad):
    with pytest.raises(ValueError, match="Invalid data type"):
        types.vector(3, bad)


@pytest.mark.parametrize(
    "args, want",
    [
        ((1,), [1, 1, 1]),
        ((1, 2, 3), [1, 2, 3]),
        (([1, 2, 3],), [1, 2, 3]),
        ((np.ones((1, 3)),), [1, 1, 1]),
        (([[1, 2], 3],), [1, 2, 3]),
        ((Vector([1, 2]), 3), [1, 2, 3]),
        ((1, 2, 3, 4), [1, 2, 3]),
    ],
)
def test_vector_instances(args, want):
    v = types.vector(3, f32)(*args)
    assert type(v) is Vector and v.to_numpy().dtype == np.float32 and v.to_list() == want


@pytest.mark.parametrize(
    "args",
    [
        (1, 2, 3, 4),
        ([1, 2], [3, 4]),
        ([[1, 2], [3, 4]],),
        (Vector([1, 2]), Vector([3, 4])),
        (Matrix([[1, 2], [3, 4]]),),
    ],
)
def test_matrix_instances(args):
    m = types.matrix(2, 2, i32)(*args)
    assert type(m) is Matrix and m.to_list() == [[1, 2], [3, 4]]


def test_conversion_of_elements():
    assert qmath.ivec3(1.9, -2.9, 3).to_list() == [1, -2, 3]
    assert types.vector(3, u1)(0.5, 0, -1).to_list() == [True, False, True]


WRAPPED = [(300, 44), (-1, 255), (np.int64(300), 44), (300.7, 44), (np.float32(300.7), 44)]


@pytest.mark.parametrize("value, kept", WRAPPED)
def test_integers_wrap_in_constructors(value, kept, recwarn):
    """Vectors, matrices and structs alike, and as a scalar member does."""
    assert types.vector(2, u8)([value, 1]).to_list() == types.vector(2, u8)(value, 1).to_list() == [kept, 1]
    assert types.matrix(1, 2, u8)([[value, 1]]).to_list() == Matrix([[value, 1]], u8).to_list() == [[kept, 1]]
    made = types.struct(a=u8, v=types.vector(2, u8))(a=value, v=[value, 1])
    assert made.a == kept and made.v.to_list() == [kept, 1]
    v = Vector([0, 0], u8)
    v[0] = value
    assert v.to_list() == [kept, 0]
    assert not recwarn.list


def test_integers_wrap_in_constructors_of_wide_types():
    assert qmath.uvec2(-1, 0).to_list() == [2**32 - 1, 0] and qmath.ivec2(2**31, 0).to_list() == [-(2**31), 0]
    assert types.vector(1, u64)(2**64 - 1).to_list() == [2**64 - 1]


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
@pytest.mark.parametrize("make", [types.vector(2, i32), types.struct(a=i32), qmath.ivec2, types.vector(2, i64)])
def test_what_no_integer_holds_is_refused(make, value):
    with pytest.raises(TypeError, match="cannot be converted to i"):
        make(value)


REALS = [5.7, -5.7, 300.7, 3e9, -3e9, 5e9, 1e19, 1e20, -1e19, float("nan"), float("inf"), -float("inf")]


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_reals_become_integers_in_one_way(name):
    """By way of i32 or i64; what does not fit there is the least of it."""
    dtype = getattr(types, name)
    way = 31 if name == "i32" or dtype.bits < 32 else 63
    for x in REALS:
        if name == "u64" and 2.0**63 <= x < 2.0**64:
            wanted = int(x)
        else:
            wanted = (int(x) if -(2.0**way) <= x < 2.0**way else -(2**way)) & ((1 << dtype.bits) - 1)
            wanted -= (wanted >> (dtype.bits - 1) << dtype.bits) if name[0] == "i" else 0
        assert types.vector(2, dtype)(x, 0).to_list() == Vector([x, 0], dtype).to_list() == [wanted, 0], x
        assert types.struct(a=dtype)(a=x).a == int(qd.cast(x, dtype)) == wanted, x


def test_instance_errors():
    with pytest.raises(QuadrantsSyntaxError, match="need to be created with an initial value"):
        qmath.vec3()
    with pytest.raises(IndexError):
        qmath.vec3(1, 2)
    with pytest.raises(IndexError):
        qmath.mat2(1, 2, 3)
    with pytest.raises(QuadrantsSyntaxError, match="no size"):
        types.vector()(1)


@pytest.mark.parametrize("use", [lambda t: t(1, 2, 3), lambda t: t.field(shape=3), lambda t: t.ndarray(shape=3)])
def test_unpacked_is_a_storage_hint_only(use):
    with pytest.raises(QuadrantsSyntaxError, match="unpacked=True"):
        use(types.vector(3, i32, unpacked=True))


def test_pickle_keeps_the_live_default(default_types):
    vec3 = pickle.loads(pickle.dumps(qmath.vec3))
    default_types(f64)
    assert vec3.dtype is f64 and vec3.n == 3
