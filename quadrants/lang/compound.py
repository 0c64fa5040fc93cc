"""`qd.types.vector`, `qd.types.matrix`, `qd.types.struct` and `@qd.dataclass`: how users make compound types."""

from __future__ import annotations

import inspect
from typing import Any

from quadrants import caller
from quadrants.errors import QuadrantsSyntaxError
from quadrants.lang.struct_type import StructType
from quadrants.lang.tensor_types import CompoundType, MatrixType, TensorTypeBase, VectorType

__all__ = [
    "CompoundType", "MatrixType", "StructType", "TensorTypeBase", "VectorType", "dataclass", "matrix", "struct",
    "vector",
]  # fmt: skip


def vector(n: int | None = None, dtype: Any = None, *, unpacked: bool = False) -> VectorType:
    """Type of vectors with `n` elements of `dtype` (a primitive type, or int, float, bool).

    Without `dtype` it only serves to annotate `@qd.func` parameters: the shape is checked, any dtype is accepted.
    Raises ValueError for another dtype.

        vec3 = qd.types.vector(3, qd.f32)
        x = vec3.field(shape=8)
    """
    return VectorType(n, dtype, unpacked)


def matrix(n: int | None = None, m: int | None = None, dtype: Any = None) -> MatrixType:
    """Type of `n` x `m` matrices with elements of `dtype` (a primitive type, or int, float, bool).

    Without `dtype` it only serves to annotate `@qd.func` parameters: the shape is checked, any dtype is accepted.
    Raises ValueError for another dtype.

        mat3 = qd.types.matrix(3, 3, qd.f32)
        x = mat3.field(shape=8)
    """
    return MatrixType(n, m, dtype)


def struct(**kwargs: Any) -> StructType:
    """Struct type with the given members, e.g. `qd.types.struct(a=qd.i32, p=qd.math.vec3, inner=T)`.

    Members are primitive types (or int, float, bool), vector and matrix types, struct types; ValueError for others.

        Particle = qd.types.struct(pos=qd.math.vec3, mass=qd.f32)
        p = Particle.field(shape=8)
    """
    return StructType(kwargs)


def dataclass(cls: type) -> StructType:
    """Make a struct type of a class: annotations become members, functions become methods.

    A `@qd.func` method gets `self` by reference in kernels; plain methods run in Python scope. Raises
    QuadrantsSyntaxError for default values and inherited members, ValueError for annotations that are no member types.

        @qd.dataclass
        class Particle:
            pos: qd.math.vec3
            mass: qd.f32
    """
    for base in cls.__mro__[1:-1]:
        if inspect.get_annotations(base):
            raise QuadrantsSyntaxError(
                f"@dataclass does not inherit members, but the base class {base.__name__} has annotations. "
                f"Repeat them in {cls.__name__}, or make {base.__name__} a member."
            )
    members = inspect.get_annotations(cls)
    methods = {}
    for name, value in vars(cls).items():
        if name in members:
            raise QuadrantsSyntaxError(
                f"Default value in @dataclass is not supported. Remove the value of `{name}` and pass it at creation."
            )
        if not name.startswith("__") and not isinstance(value, type) and _is_method(value):
            methods[name] = value
    bare = [name for name in vars(cls) if not name.startswith("_") and name not in methods]
    if not members and bare:
        caller.warn(
            f"The struct {cls.__name__} has no members: those of a @qd.dataclass have annotations and no values. Write "
            f"`{bare[0]}: qd.f32`, with the type of `{bare[0]}`.",
            SyntaxWarning,
        )
    try:
        return StructType(members, methods, name=cls.__name__)
    except ValueError as error:
        raise ValueError(f"@qd.dataclass {cls.__name__}: {error}") from None


def _is_method(value: Any) -> bool:
    return callable(value) or isinstance(value, staticmethod)
