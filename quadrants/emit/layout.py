"""The argument block of a kernel: members in order, with byte offsets under C rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from quadrants.ir.nodes import Module
from quadrants.ir.types import DType, TensorType, size_align, struct_offsets


@dataclass(slots=True)
class ArgsLayout:
    """Offsets in bytes: arrays by declaration number (pointer, extents or -1), values by variable id, results in order."""

    arrays: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    results: list = field(default_factory=list)
    size: int = 0
    members: list = field(default_factory=list)


def args_layout(module: Module) -> ArgsLayout:
    """Arrays first (pointer, then its run-time extents), then scalars and small tensors, then results."""
    out = ArgsLayout()
    at = 0

    def place(size: int, align: int) -> int:
        nonlocal at
        at = -(-at // align) * align
        here, at = at, at + size
        return here

    for decl in module.arrays:
        pointer = place(8, 8)
        out.members.append(("pointer", decl))
        shape = -1
        if decl.shape is None and decl.ndim:
            shape = place(4 * decl.ndim, 4)
            out.members.append(("shape", decl))
        out.arrays[decl.number] = (pointer, shape)
    for var in module.params:
        out.values[var.id] = place(*size_align(var.type))
        out.members.append(("value", var))
    for k, t in enumerate(module.result):
        out.results.append((t, place(*size_align(t))))
        out.members.append(("result", (k, t)))
    out.size = -(-max(at, 1) // 8) * 8
    return out


def leaves(t, base: int = 0) -> list:
    """(dtype, byte offset) of every scalar of a type, in order."""
    if isinstance(t, DType):
        return [(t, base)]
    if isinstance(t, TensorType):
        return [(t.dtype, base + k * t.dtype.size) for k in range(t.count)]
    offsets = struct_offsets(t)
    return [leaf for key, kind in t.members for leaf in leaves(kind, base + offsets[key])]


