"""What a device has not of what its language has: types of numbers, atomics on them, large blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from quadrants.ir.ops import ATOMICS

_NOTHING: Mapping[str, str] = MappingProxyType({})
_NO_ATOMIC: Mapping[tuple[str, str], str] = MappingProxyType({})


class Lacks(NamedTuple):
    """device: how messages call it, as "arch opencl on Mali-G52". types: the names of primitive types that it has no
    values of. atomics: (operation of `ir.ops.ATOMICS`, name of the type) that it has not. Each with the feature that
    the device would need, "" where there is none. block_threads: the most of a block; shared_bytes: what its threads
    may share in all. 0 for as much as the target has.
    """

    device: str = ""
    types: Mapping[str, str] = _NOTHING
    atomics: Mapping[tuple[str, str], str] = _NO_ATOMIC
    block_threads: int = 0
    shared_bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.types or self.atomics or self.block_threads or self.shared_bytes)

    def joined(self, more: Lacks) -> Lacks:
        """What both say, of the device of `more`."""
        threads, shared = [
            min(filter(None, pair), default=0)
            for pair in ((self.block_threads, more.block_threads), (self.shared_bytes, more.shared_bytes))
        ]
        types, atomics = {**self.types, **more.types}, {**self.atomics, **more.atomics}
        return Lacks(more.device, types, atomics, threads, shared)

    def no_type(self, name: str) -> str:
        """What messages say of a type of `types`."""
        return self._says(name, self.types[name])

    def no_atomic(self, op: str, name: str) -> str:
        """The same of one of `atomics`."""
        return self._says(f"atomic_{op} on {name}", self.atomics[op, name])

    def _says(self, what: str, feature: str) -> str:
        return f"{self.device} has no {what}" + f" ({feature})" * bool(feature)


def all_atomics(types: Sequence[str], feature: str) -> dict[tuple[str, str], str]:
    """`Lacks.atomics` of a device without any on some types."""
    return {(op, name): feature for op in ATOMICS for name in types}


# What to write for a number of a type that a device has not, or has no atomic of.
NARROWER = {"f64": "f32", "i64": "i32", "u64": "u32", "f16": "f32"}
