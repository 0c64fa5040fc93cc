"""`qd.types`: primitive types, compound types and annotations."""

from typing import TYPE_CHECKING

from quadrants import absent
from quadrants.lang.annotations import BufferViewType, Template, ref, sparse_matrix_builder, template
from quadrants.lang.primitive_types import is_integral, is_real, is_signed, is_tensor

if TYPE_CHECKING:
    from quadrants.typing_extensions import (
        NDArray,
        f16,
        f32,
        f64,
        float16,
        float32,
        float64,
        i8,
        i16,
        i32,
        i64,
        int8,
        int16,
        int32,
        int64,
        matrix,
        ndarray,
        struct,
        u1,
        u8,
        u16,
        u32,
        u64,
        uint1,
        uint8,
        uint16,
        uint32,
        uint64,
        vector,
    )
else:
    from quadrants.lang.annotations import NDArray, ndarray
    from quadrants.lang.compound import matrix, struct, vector
    from quadrants.lang.primitive_types import (
        f16,
        f32,
        f64,
        float16,
        float32,
        float64,
        i8,
        i16,
        i32,
        i64,
        int8,
        int16,
        int32,
        int64,
        u1,
        u8,
        u16,
        u32,
        u64,
        uint1,
        uint8,
        uint16,
        uint32,
        uint64,
    )

from . import annotations, buffer_view_type, compound_types, enums, ndarray_type, primitive_types, quant, utils

if not TYPE_CHECKING:  # else checkers would take any misspelt name
    __getattr__ = absent.names_of("types", globals())

__all__ = [
    "BufferViewType", "NDArray", "Template", "annotations", "buffer_view_type", "compound_types", "enums", "f16",
    "f32", "f64", "float16", "float32", "float64", "i16", "i32", "i64", "i8", "int16", "int32", "int64", "int8",
    "is_integral", "is_real", "is_signed", "is_tensor", "matrix", "ndarray", "ndarray_type", "primitive_types",
    "quant", "ref", "sparse_matrix_builder", "struct", "template", "u1", "u16", "u32", "u64", "u8", "uint1", "uint16",
    "uint32", "uint64", "uint8", "utils", "vector",
]  # fmt: skip
