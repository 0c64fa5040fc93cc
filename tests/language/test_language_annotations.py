"""language.md 3.1: which annotations parameters may have; all of it before any init."""

from __future__ import annotations

import dataclasses
import typing

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd

pytestmark = pytest.mark.cpu_only


@dataclasses.dataclass
class Box:
    n: qd.i32


Pair = qd.types.struct(a=qd.i32, b=qd.f32)
NDArray = qd.types.NDArray

SCALARS = (
    *(qd.i8, qd.i16, qd.i32, qd.i64, qd.u8, qd.u16, qd.u32, qd.u64, qd.u1, qd.f16, qd.f32, qd.f64),
    *(qd.int8, qd.int16, qd.int32, qd.int64, qd.uint8, qd.uint16, qd.uint32, qd.uint64, qd.uint1),
    *(qd.float16, qd.float32, qd.float64, int, float, bool),
)
BOTH = (
    *(qd.types.ndarray, qd.types.ndarray(), qd.types.ndarray(dtype=qd.f32, ndim=2), NDArray, NDArray[qd.f32, 1]),
    *(qd.template(), qd.template, qd.Template, qd.Tensor, Box, Pair),
    *(qd.types.vector(3, qd.f32), qd.types.matrix(2, 3, qd.i32), qd.math.vec3),
    *(qd.BufferView, qd.BufferView[qd.f32], NDArray[qd.f32, 1] | None, qd.Tensor | None, qd.Template | None),
    typing.Optional[qd.Tensor],  # noqa: UP045 - the spelling is what is tested
    qd.types.ndarray(dtype=qd.f32, boundary="clamp"),
)
REFUSED = (
    *(str, list, dict, tuple, object, None, np.ndarray, typing.Any, qd.Field, qd.Ndarray, qd.Vector),
    *(typing.Final[int], list[int], 3, qd.types.NDArray[qd.f32, 1].__class__.__mro__[-1]),
)


def annotated(annotation):
    def body(x):
        pass

    body.__annotations__ = {"x": annotation}
    return body


@pytest.mark.parametrize("annotation", (*SCALARS, *BOTH), ids=str)
def test_accepted(annotation):
    assert qd.kernel(annotated(annotation)).__name__ == "body"
    assert qd.func(annotated(annotation)) is not None


def test_vectors_without_dtype_are_for_funcs():
    assert qd.func(annotated(qd.types.vector(3))) is not None


@pytest.mark.parametrize("annotation", REFUSED, ids=str)
def test_refused(annotation):
    with raises(qd.QuadrantsSyntaxError, "Invalid type annotation (argument 0)"):
        qd.kernel(annotated(annotation))


@pytest.mark.parametrize("annotation", (*REFUSED[:5], list[int]), ids=str)
def test_refused_by_funcs(annotation):
    with raises(qd.QuadrantsSyntaxError, "Invalid type annotation (argument 0)"):
        qd.func(annotated(annotation))


def test_strings_are_resolved_at_decoration():
    @qd.kernel
    def fine(a: qd.i32, b: NDArray[qd.f32, 1] | None, c: qd.template()) -> qd.f32:
        return a

    assert [type(a).__name__ for _, a in fine.parameters][1:] == ["OptionalNdarray", "Template"]
    with raises(qd.QuadrantsSyntaxError, "Invalid type annotation in"):

        @qd.kernel
        def unknown(a: qd.i33):  # noqa: F821
            pass

    with raises(qd.QuadrantsSyntaxError, "Invalid type annotation in"):

        @qd.func
        def unknown_too(a: nothing):  # noqa: F821
            pass


def test_optionals_and_unions():
    for annotation in (typing.Optional[int], int | None, Box | None):  # noqa: UP045
        with raises(qd.QuadrantsSyntaxError, "only supported for qd.Tensor, qd.types.Template and"):
            qd.kernel(annotated(annotation))
    for annotation in (int | float, qd.Tensor | int, qd.Tensor | qd.Template | None):
        with raises(qd.QuadrantsSyntaxError, "of the form 'T | None'"):
            qd.kernel(annotated(annotation))
    for expression in (lambda: qd.i32 | None, lambda: qd.template() | None, lambda: None | NDArray[qd.f32, 1]):
        with raises(TypeError):
            expression()


def test_ndarray_annotation_options():
    for options in ({"boundary": "wrap"}, {"field_dim": 1}):
        with raises(ValueError):
            qd.types.ndarray(dtype=qd.f32, **options)
    for options in ({"element_dim": 1}, {"element_shape": (3,)}, {"needs_grad": True}, {"boundary": "unsafe"}):
        assert qd.kernel(annotated(qd.types.ndarray(dtype=qd.f32, ndim=1, **options)))


def test_kinds_of_parameters():
    def star(*x: qd.i32): ...

    def keywords(**x: qd.i32): ...

    def keyword_only(*, x: qd.i32): ...

    def positional_only(x: qd.i32, /): ...

    def bare(x): ...

    def default(x: qd.i32 = 1): ...

    def dots(x: qd.i32) -> ...: ...

    def dots_in_tuple(x: qd.i32) -> tuple[qd.i32, ...]: ...

    for fn in (star, keywords, keyword_only, positional_only, bare, default, dots, dots_in_tuple):
        with raises(qd.QuadrantsSyntaxError):
            qd.kernel(fn)
    with raises(qd.QuadrantsSyntaxError):
        qd.real_func(bare)
