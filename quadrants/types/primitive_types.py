"""Primitive types and the sets of them."""

from quadrants.lang.annotations import RefType, ref
from quadrants.lang.primitive_types import (
    all_types,
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
    integer_types,
    real_types,
    type_ids,
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

real_type_ids = [id(t) for t in real_types]
integer_type_ids = [id(t) for t in integer_types]

__all__ = [
    "RefType", "all_types", "f16", "f32", "f64", "float16", "float32", "float64", "i16", "i32", "i64", "i8", "int16",
    "int32", "int64", "int8", "integer_type_ids", "integer_types", "real_type_ids", "real_types", "ref", "type_ids",
    "u1", "u16", "u32", "u64", "u8", "uint1", "uint16", "uint32", "uint64", "uint8",
]  # fmt: skip
