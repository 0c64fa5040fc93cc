"""What a parameter annotation means, and which annotations are allowed."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing

from quadrants.errors import QuadrantsSyntaxError
from quadrants.ir.types import DType
from quadrants.lang.annotations import BufferViewType, NdarrayType, OptionalNdarray, Template, sparse_matrix_builder
from quadrants.lang.tensor_types import CompoundType, TensorTypeBase


def compound_kind(t) -> str:
    """'tensor' for vector and matrix types, 'struct' for struct types, else ''."""
    if isinstance(t, TensorTypeBase):
        return "tensor"
    return "struct" if isinstance(t, CompoundType) else ""


def is_template(a) -> bool:
    return a is Template or isinstance(a, Template)


def is_tensor_annotation(a) -> bool:
    """The class qd.Tensor."""
    return isinstance(a, type) and a.__name__ == "Tensor" and a.__module__.startswith("quadrants.")


def is_view_annotation(a) -> bool:
    if isinstance(a, BufferViewType):
        return True
    return isinstance(a, type) and a.__name__ == "BufferView" and a.__module__.startswith("quadrants.")


def is_ndarray_annotation(a) -> bool:
    return a is NdarrayType or isinstance(a, (NdarrayType, OptionalNdarray))


def is_array_annotation(a) -> bool:
    return is_ndarray_annotation(a) or is_tensor_annotation(a) or is_view_annotation(a)


def is_sparse_builder(a) -> bool:
    return a is sparse_matrix_builder or isinstance(a, sparse_matrix_builder)


def is_scalar(a) -> bool:
    return a in (int, float, bool) if isinstance(a, type) else isinstance(a, DType)


def is_dataclass(a) -> bool:
    return isinstance(a, type) and dataclasses.is_dataclass(a)


def optional_base(a) -> typing.Any:
    """T of `T | None` and Optional[T]; None if `a` is no optional."""
    args = getattr(a, "__args__", None)
    if args and len(args) == 2 and type(None) in args and _is_union(a):
        return next(t for t in args if t is not type(None))
    if isinstance(a, OptionalNdarray):
        return getattr(a, "base", NdarrayType)
    return None


def _is_union(a) -> bool:
    return isinstance(a, types.UnionType) or getattr(a, "__origin__", None) is typing.Union


def is_known(a) -> bool:
    """Whether funcs know what a parameter with this annotation receives."""
    if is_scalar(a) or is_template(a) or is_array_annotation(a) or is_sparse_builder(a):
        return True
    return bool(compound_kind(a) or is_dataclass(a))


def check_annotation(a, index: int, name: str, owner: str, known: bool) -> None:
    """Raise QuadrantsSyntaxError unless parameter `name`, the `index`-th of `owner`, may be annotated with `a`.

    known: whether it is known what such a parameter receives.
    """
    base = optional_base(a)
    if base is not None:
        if is_template(base) or is_array_annotation(base):
            return
        raise QuadrantsSyntaxError(
            f"`{name}: {a}`: optional arguments are only supported for qd.Tensor, qd.types.Template and NDArray."
        )
    if _is_union(a):
        raise QuadrantsSyntaxError(f"`{name}: {a}`: unions must be of the form 'T | None'.")
    if not known:
        raise QuadrantsSyntaxError(
            f"Invalid type annotation (argument {index}) of Quadrants {owner}: {name}: {a}. Write a dtype, "
            "qd.template(), qd.types.ndarray(...), qd.Tensor, a vector, matrix or struct type, or a dataclass."
        )


@functools.cache
def dataclass_members(cls: type) -> dict:
    """Name -> annotation of the members of a dataclass that annotates a parameter.

    Raises TypeError for `Final` members that cannot be constants of a kernel.
    """
    hints = {f.name: f.type for f in dataclasses.fields(cls)}
    if any(isinstance(t, str) for t in hints.values()):
        resolved = typing.get_type_hints(cls)
        for name, t in hints.items():
            if isinstance(t, str) and _is_final(resolved[name]):
                raise TypeError(f"{cls.__name__}.{name}: write Final[...] itself, not a string")
        hints = {name: resolved[name] for name in hints}
    for name, t in hints.items():
        _check_final(cls, name, t)
    return hints


def has_constants(cls: type) -> bool:
    """Whether a dataclass has Final members, at any depth."""
    return any(_is_final(t) or is_dataclass(t) and has_constants(t) for t in dataclass_members(cls).values())


def _is_final(t) -> bool:
    return t is typing.Final or typing.get_origin(t) is typing.Final


def _check_final(cls: type, name: str, t) -> None:
    where = f"{cls.__name__}.{name}"
    if t is typing.Final:
        raise TypeError(
            f"{where}: bare Final; write Final[int], Final[bool], Final[float], Final[str] or Final[SomeEnum]"
        )
    final = _is_final(t)
    if final:
        (kind,) = typing.get_args(t)
        if not (kind in (bool, int, float, str) or isinstance(kind, type) and issubclass(kind, enum.Enum)):
            raise TypeError(
                f"{where}: {kind} cannot be baked into a kernel; Final takes bool, int, float, str or an Enum class"
            )
    if (final or is_dataclass(t) and has_constants(t)) and cls.__hash__ is None:
        raise TypeError(
            f"{cls.__name__} is not frozen, but holds the constant {where}: "
            "declare it with @dataclasses.dataclass(frozen=True) or unsafe_hash=True"
        )
