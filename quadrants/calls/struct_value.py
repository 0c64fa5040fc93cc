"""Structs by value: `s: Particle`, a type from `qd.types.struct` or `@qd.dataclass`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants._ext.core import OPAQUE
from quadrants.calls.kind import Kind, Packer, Source
from quadrants.calls.matrix import pack_tensor, tell_of_lost_bits, whole_numbers
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.ir.types import StructType, TensorType, struct_offsets
from quadrants.lang import parameters
from quadrants.lang.store import check_integer

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Struct(Kind):
    core = OPAQUE
    slot = "struct"
    selects = "type"

    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return parameters.compound_kind(annotation) == "struct"

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return declarer.variable(source, name, self.annotation.ir_type(), self.slot)

    def binding(self, x: Any) -> str:
        return "var"

    @classmethod
    def packer(cls, t: Any, name: str) -> Packer:
        return lambda value, block, offset: _pack_struct(t, name, value, block, offset)


def _pack_struct(t: StructType, name: str, value: Any, block: memoryview, offset: int) -> None:
    if not getattr(value, "_qd_host_struct", False):
        raise QuadrantsRuntimeTypeError(
            f"Argument {name} (type={type(value)}) cannot be converted into required type {t}; pass an instance of the "
            f"struct type, with the members {[key for key, _ in t.members]}"
        )
    entries = value.to_dict()
    _pack_members(t, name, entries, block, offset)


def _pack_tensor_member(t: TensorType, name: str, value: Any, block: memoryview, offset: int) -> None:
    """As an argument of its own, but of exactly the shape of the type: the structs are of different types otherwise."""
    shape = np.shape(value)
    if shape != t.shape:
        raise QuadrantsRuntimeTypeError(f"Argument {name} of shape {shape} cannot be converted into required type {t}")
    pack_tensor(t, name, value, block, offset)


def _pack_members(t: StructType, name: str, entries: dict[str, Any], block: memoryview, offset: int) -> None:
    if list(entries) != [k for k, _ in t.members]:
        raise QuadrantsRuntimeTypeError(
            f"Argument {name} has members {list(entries)}, but the struct type needs {[k for k, _ in t.members]}"
        )
    for (key, kind), at in zip(t.members, struct_offsets(t).values()):
        item = entries[key]
        if isinstance(kind, StructType):
            if not isinstance(item, dict):
                raise QuadrantsRuntimeTypeError(
                    f"Argument {name}.{key} (type={type(item)}) cannot be converted into required type {kind}"
                )
            _pack_members(kind, f"{name}.{key}", item, block, offset + at)
        elif isinstance(kind, TensorType):
            _pack_tensor_member(kind, f"{name}.{key}", item, block, offset + at)
        else:
            number = np.asarray(item)
            if number.dtype.kind == "O":
                number = whole_numbers(number, kind, f"{name}.{key}")
            if number.dtype.kind not in "biuf" or (number.dtype.kind == "f" and not kind.is_real):
                raise QuadrantsRuntimeTypeError(
                    f"Argument {name}.{key} (type={type(item)}) cannot be converted into required type {kind}"
                )
            if number.dtype.kind in "iu":
                check_integer(int(number), kind, f"Argument {name}.{key}")
                tell_of_lost_bits(number, kind, f"{name}.{key}")
            with np.errstate(all="ignore"):
                raw = number.astype(kind.numpy_name).tobytes()
            block[offset + at : offset + at + len(raw)] = raw
