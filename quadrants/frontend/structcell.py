"""`sf[i]` in kernel scope: one cell of a struct field, whose members live in the member fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants.errors import QuadrantsCompilationError
from quadrants.frontend.struct_methods import bind_struct_method
from quadrants.ir.nodes import Const, Make
from quadrants.ir.types import StructType
from quadrants.lang import access
from quadrants.lang.unpacked import unpacked_row
from quadrants.lang.value import Value

if TYPE_CHECKING:
    from quadrants.frontend.memory import Memory


class StructCell:
    __slots__ = ("memory", "field", "indices")

    def __init__(self, memory: Memory, field, indices) -> None:
        self.memory = memory
        self.field = field
        self.indices = tuple(
            x if not isinstance(x, Value) or isinstance(x.expr, Const) else memory.writer.temp(x)
            for x in access.flatten_indices(indices)
        )

    @property
    def keys(self) -> list:
        return list(self.field.keys)

    def member(self, name: str):
        return self.memory.subscript_object(self.field.get_member_field(name), self.indices)

    def attribute(self, name: str):
        if name in self.keys:
            return self.member(name)
        method = (getattr(self.field, "struct_methods", None) or {}).get(name)
        if method is not None:
            return bind_struct_method(method, self)
        row = unpacked_row(self.keys, name, self.member)
        if row is not None:
            return row
        raise QuadrantsCompilationError(f"The struct field has no member '{name}'; it has {self.keys}")

    def as_value(self) -> Value:
        """A copy of the whole cell."""
        exprs = {}
        for key in self.keys:
            part = self.member(key)
            exprs[key] = (part.as_value() if isinstance(part, StructCell) else part).expr
        t = StructType(
            tuple((k, e.type) for k, e in exprs.items()), "struct", getattr(self.field, "struct_methods", None)
        )
        return Value(Make(tuple(exprs.values()), t))


def is_runtime(x) -> bool:
    """Whether computing with `x` needs IR: a Value, or a container holding one."""
    if isinstance(x, (Value, StructCell)):
        return True
    return isinstance(x, (list, tuple)) and any(is_runtime(e) for e in x)
