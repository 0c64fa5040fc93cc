"""User-facing struct types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quadrants import caller
from quadrants.errors import QuadrantsSyntaxError
from quadrants.ir import types as ir
from quadrants.lang import kernel_hook
from quadrants.lang.described import given_twice, surplus_values
from quadrants.lang.matrix import Matrix
from quadrants.lang.primitive_types import DefaultDType, kept_dtype, resolve_dtype
from quadrants.lang.store import cast_integer
from quadrants.lang.struct import Struct
from quadrants.lang.tensor_types import CompoundType, TensorTypeBase, VectorType


class StructType(CompoundType):
    """Type of structs: ordered named members with C layout, and methods.

    Attributes:
        members: name -> primitive type, vector or matrix type, or StructType.
        methods: name -> function (a `@qd.func`, or a plain function of Python scope).
        unpacked: name -> VectorType of the members declared `unpacked=True`; `members` holds `_name0`, ... instead.
    """

    __slots__ = ("members", "methods", "name", "unpacked")

    def __init__(self, members: Mapping[str, Any], methods: Mapping[str, Any] | None = None, name: str = "struct"):
        if isinstance(members, str):  # the name of a class of which a struct type is a base
            raise QuadrantsSyntaxError(
                f"The class {members} cannot have a qd.dataclass as its base: repeat its members, or make it a member."
            )
        self.members: dict[str, Any] = {}
        self.methods: dict[str, Any] = dict(methods or {})
        self.unpacked: dict[str, VectorType] = {}
        self.name = name
        for key, kind in members.items():
            if isinstance(kind, VectorType) and kind.unpacked:
                if kind.n is None:
                    raise ValueError(f"Invalid data type {kind} of member '{key}': give its size")
                self.unpacked[key] = kind
                for i in range(kind.n):
                    self._add(f"_{key}{i}", kind._dtype)
            else:
                self._add(key, kind)

    def _add(self, key: str, kind: Any) -> None:
        if key in self.members:
            raise QuadrantsSyntaxError(
                f"member name '{key}' collides with a synthetic member of a vector declared with unpacked=True. "
                "Rename the member or the unpacked vector."
            )
        self.members[key] = _member_type(key, kind)

    def ir_type(self) -> ir.StructType | None:
        """The IR struct type under the current `qd.init`; None if a member leaves its size or dtype open."""
        members = []
        for key, kind in self.members.items():
            found = kind.ir_type() if isinstance(kind, CompoundType) else resolve_dtype(kind)
            if found is None:
                return None
            members.append((key, found))
        return ir.StructType(tuple(members), self.name, self.methods or None)

    @property
    def dtype(self) -> ir.StructType | None:
        """Same as `ir_type()`."""
        return self.ir_type()

    def to_string(self) -> str:
        """E.g. 'struct{a: i32, p: VectorType[3, f32]}'."""
        return str(self)

    def __str__(self) -> str:
        return "struct{" + ", ".join(f"{k}: {t}" for k, t in self.members.items()) + "}"

    __repr__ = __str__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A struct value: members from positional, then keyword arguments; missing ones are 0.

        Numbers are cast (and fill every element of a vector or matrix member), sequences fill vector and matrix
        members, dicts fill struct members; surplus positional arguments are ignored, with a warning. Raises TypeError
        for a value that does not convert, IndexError for a short sequence, QuadrantsSyntaxError for a member that is
        unknown or given twice.
        """
        if kernel_hook.in_kernel() or kernel_hook.has_value(args) or kernel_hook.has_value(kwargs.values()):
            return kernel_hook.dispatch("compound_type", (self, *args), kwargs)
        names = list(self.members)
        unknown = [k for k in kwargs if k not in self.members]
        if unknown:
            raise QuadrantsSyntaxError(f"The struct has no member {unknown[0]!r}; its members are {names}")
        wrong = given_twice(names, args, kwargs)
        if wrong:
            raise QuadrantsSyntaxError(wrong)
        if len(args) > len(names):
            caller.warn(surplus_values(names, args))
        given = {**kwargs, **dict(zip(names, args, strict=False))}
        entries = {k: convert(given.get(k, 0), kind, k) for k, kind in self.members.items()}
        return Struct._make(entries, self.methods)

    def filled_with_scalar(self, value: Any) -> Struct:
        """A struct value with every number in it set to `value`, cast to the type of its place."""
        return self(**{key: value for key in self.members})

    def cast(self, struct: Any) -> Struct:
        """`struct` (a Struct or dict with these members) with its numbers cast to the types of this struct type."""
        return convert(struct, self, "struct")

    def __instancecheck__(self, instance: Any) -> bool:
        """`isinstance(v, S)`: does the struct value `v` have members of these names, kinds and shapes?"""
        if not isinstance(instance, Struct):
            return False
        entries = instance.entries
        if list(entries) != list(self.members):
            return False
        return all(_fits(entries[key], kind) for key, kind in self.members.items())

    def field(
        self, shape: Any = None, name: str = "<Struct>", offset: Any = None, needs_grad: bool = False,
        needs_dual: bool = False, layout: Any = None,
    ) -> Any:  # fmt: skip
        """A field of such structs: see `qd.Struct.field`."""
        return Struct.field(self.members, self.methods, shape, name, offset, needs_grad, needs_dual, layout)


def _member_type(key: str, kind: Any) -> Any:
    if isinstance(kind, TensorTypeBase) and (None in kind.get_shape() or kind.dtype is None):
        raise ValueError(f"Invalid data type {kind} of member '{key}': give its size and dtype")
    if isinstance(kind, (CompoundType, DefaultDType)):
        return kind
    if isinstance(kind, dict):
        return StructType(kind)
    if isinstance(kind, str):
        raise ValueError(
            f"Invalid data type {kind} of member '{key}'. String annotations are not resolved here: write the type "
            "itself and drop `from __future__ import annotations`."
        )
    try:
        return kept_dtype(kind)
    except ValueError as error:
        raise ValueError(f"Member '{key}': {_instead(key, kind) or error}") from None


def _instead(key: str, kind: Any) -> str:
    """What to write instead of a quantised member; "" for other kinds."""
    from quadrants.ir.quant import QuantType  # imports of this package are counted

    if not isinstance(kind, QuantType):
        return ""
    return (
        f"the quantised type {kind} is one of fields, and a struct type is one of values. Make the field by "
        f"qd.Struct.field({{'{key}': ..}}), and place `{key}` in a qd.BitpackedFields."
    )


def convert(value: Any, kind: Any, key: str) -> Any:
    """`value` as the member `key` of type `kind` of a host struct."""
    if isinstance(kind, StructType):
        return _convert_struct(value, kind, key)
    if isinstance(kind, TensorTypeBase):
        if isinstance(value, (Struct, dict, str)) or value is None:
            raise TypeError(f"member '{key}' needs a number or a sequence for {kind}, not {type(value).__name__}")
        return kind._instantiate((value,))
    dtype = resolve_dtype(kind)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, (int, float, np.number, np.bool_)):
        raise TypeError(f"member '{key}' needs a number, not {type(value).__name__}")
    # The value a kernel would see, whatever the size of the Python int.
    return float(value) if dtype.is_real else cast_integer(value, dtype)


def _convert_struct(value: Any, kind: StructType, key: str) -> Struct:
    if isinstance(value, Struct):
        value = value.entries
    if not isinstance(value, dict):
        # A number goes to the first member, like the first positional argument.
        return kind(value)
    if set(value) != set(kind.members):
        raise QuadrantsSyntaxError(
            f"Incompatible arguments for custom struct members! '{key}' has the members {list(kind.members)}, "
            f"but {list(value)} are given"
        )
    return kind(**value)


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, StructType):
        return kind.__instancecheck__(value)
    if isinstance(kind, TensorTypeBase):
        return isinstance(value, Matrix) and value.get_shape() == kind.get_shape()
    return isinstance(value, (int, float, np.number, np.bool_))
