"""Which arrays a kernel may write.

Arrays of other packages that it only reads need not be writable, nor be copied back. Integers, of fields too, are what
stacks have their lengths from, and these are kept between launches.
"""

from __future__ import annotations

from quadrants.ir.nodes import ArrayDecl, Cell, Load, Module, Node, Place, Volatile
from quadrants.ir.types import element_dtype
from quadrants.ir.walk import children, children_of


def note_writes(module: Module) -> Module:
    """Set `module.written`. A cell that is not loaded is one that is written, or handed to what may write it."""
    found: dict[int, ArrayDecl] = {}
    stack = children_of([*((t.body, t.reductions) for t in module.tasks), *(f.body for f in module.functions)])
    while stack:
        node = stack.pop()
        if isinstance(node, (Load, Volatile)):
            stack += _indices(node.place)
            continue
        if isinstance(node, Cell):
            found.update((array.id, array) for array in (node.array, *(node.array.components or ())))
        stack += children(node)
    module.written = [a for a in module.arrays if a.id in found and (a.kind == "array" or _counts_writes(a))]
    return module


def _indices(place: Place) -> list[Node]:
    """What is computed to find a place."""
    out: list[Node] = []
    part: Place | None = place
    while part is not None:
        out += children_of(getattr(part, "indices", ()))
        part = getattr(part, "base", None)
    return out


def _counts_writes(array: ArrayDecl) -> bool:
    return array.kind == "field" and element_dtype(array.type).is_integral
