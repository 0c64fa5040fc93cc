"""Annotation objects, enumerations, primitive types and the public `qd.types` package."""

import copy
import pickle
from typing import Optional

import numpy as np
import pytest

from quadrants import types
from quadrants.errors import QuadrantsSyntaxError
from quadrants.ir.types import PRIMITIVES, f32, i32, u1
from quadrants.lang import enums, primitive_types
from quadrants.lang.annotations import OptionalNdarray
from quadrants.lang.tensor_types import MatrixType, VectorType


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitives_are_singletons(name):
    t = PRIMITIVES[name]
    assert pickle.loads(pickle.dumps(t)) is t and copy.deepcopy(t) is t
    assert str(t) == t.to_string() == name and getattr(types, name) is t
    assert primitive_types.from_numpy_type(primitive_types.to_numpy_type(t)) is t


def test_sets_and_questions():
    assert primitive_types.real_types == {types.f16, types.f32, types.f64, float}
    assert {int, bool, u1} <= primitive_types.integer_types
    assert types.is_real(f32) and types.is_integral(u1) and not types.is_signed(u1) and not types.is_tensor(f32)


def test_resolution():
    assert primitive_types.resolve_dtype(float) is f32 and primitive_types.resolve_dtype(int) is i32
    assert primitive_types.resolve_dtype(bool) is u1
    for bad in ("f32", None, np.float32):
        with pytest.raises(ValueError, match="Invalid data type"):
            primitive_types.resolve_dtype(bad)


@pytest.mark.parametrize("dtype", ["complex64", "object", "U3", ">f4", "datetime64[s]"])
def test_numpy_types_without_counterpart(dtype):
    with pytest.raises(TypeError, match="no primitive type"):
        primitive_types.from_numpy_type(dtype)


def test_calling_a_dtype_on_the_host():
    for call in (lambda: f32(3), lambda: primitive_types.host_cast_error(f32, 3)):
        with pytest.raises(QuadrantsSyntaxError, match="cannot be called outside Quadrants kernels"):
            call()


def test_ndarray_annotations():
    assert types.NDArray is types.ndarray
    a = types.ndarray(f32, 2)
    assert (a.dtype, a.ndim, a.needs_grad, a.boundary) == (f32, 2, None, 0)
    assert repr(a) == "NdarrayType(dtype=f32, ndim=2, layout=Layout.AOS, needs_grad=None)"
    assert types.NDArray[f32, 1].ndim == 1 and types.NDArray[f32].ndim is None
    assert types.ndarray(boundary="clamp").boundary == enums.BoundaryMode.CLAMP
    vector = types.ndarray(element_dim=1).dtype
    matrix = types.ndarray(f32, element_shape=(2, 3)).dtype
    assert isinstance(vector, VectorType) and vector.n is None and vector.dtype is None
    assert isinstance(matrix, MatrixType) and matrix.get_shape() == (2, 3) and matrix.dtype is f32
    assert types.ndarray(f32, element_dim=0).dtype is f32


def test_optional_annotations():
    optional = types.NDArray[f32, 1] | None
    assert isinstance(optional, OptionalNdarray) and optional.base.dtype is f32
    assert type(None) in Optional[types.NDArray[f32, 1]].__args__  # noqa: UP045 - users write it
    assert type(None) in (types.Template | None).__args__ and type(None) in (types.NDArray | None).__args__
    for make in (lambda: None | types.NDArray[f32], lambda: types.template() | None, lambda: f32 | None):
        with pytest.raises(TypeError):
            make()


@pytest.mark.parametrize(
    "kwargs, error",
    [
        ({"element_dim": 3}, ValueError),
        ({"element_shape": (1, 2, 3)}, ValueError),
        ({"element_dim": 2, "element_shape": (3,)}, ValueError),
        ({"dtype": types.vector(3, f32), "element_dim": 1}, TypeError),
        ({"dtype": "a", "element_dim": 1}, TypeError),
        ({"field_dim": 1}, ValueError),
        ({"boundary": "x"}, ValueError),
        ({"boundary": 1}, ValueError),
    ],
)
def test_ndarray_annotation_errors(kwargs, error):
    with pytest.raises(error):
        types.ndarray(**kwargs)


def test_other_annotations():
    assert types.template is types.Template and types.template().ndim is None
    assert types.Template(int, 2).element_type is int and types.template[int] is not None
    assert repr(types.BufferViewType(f32)) == "BufferViewType(dtype=f32, boundary=0)"
    assert types.BufferViewType(f32, "clamp").boundary == 1
    assert types.BufferViewType(f32).ndarray_type.ndim == 1
    with pytest.raises(ValueError, match="Valid options"):
        types.BufferViewType(f32, "x")
    assert types.ref(f32).tp is f32 and types.sparse_matrix_builder() is not None
    for use in (lambda: types.ndarray()[0], lambda: types.template()[0], lambda: types.ndarray().to_dlpack()):
        with pytest.raises(TypeError, match="annotation"):
            use()


def test_enumerations():
    assert str(enums.Layout.SOA) == repr(enums.Layout.SOA) == "Layout.SOA" and enums.Layout.NULL == 2
    assert enums.Backend.NDARRAY == 1 and types.enums.Format.depth32f == len(types.enums.Format) - 1
    assert pickle.loads(pickle.dumps(types.enums.Format.r8)) is types.enums.Format.r8
    assert types.enums.BoundaryMode.CLAMP == 1


def test_quantised_types():
    q = types.quant
    assert (q.int(13).bits, q.int(13).compute, q.int(13, False).signed) == (13, i32, False)
    assert q.fixed(16).scale == 2.0**-15 and q.fixed(8, signed=False, max_value=2.0).scale == 2.0**-7
    assert q.float(5, 10).bits == 15 and q.float(5, 10).compute is f32
    for make in (lambda: q.int(0), lambda: q.int(65), lambda: q.float(9, 5), lambda: q.float(5, 25)):
        with pytest.raises(ValueError):
            make()
