"""What a derivative in reverse mode reads of the primal: it must still be there on the way back."""

from __future__ import annotations

from quadrants.ir.nodes import Cell, Load, Module, Volatile
from quadrants.ir.types import TensorType, element_dtype
from quadrants.ir.walk import root, walk


class Needed:
    """The arrays whose values a differentiated kernel reads; none without a module.

    Declarations of other traces of the kernel are told by what they stand for: the memory of a field, the place of an
    argument.
    """

    def __init__(self, module: Module | None = None):
        self._arguments: set = set()
        self._memory: dict = {}  # tree -> (first byte, end) of cells that are read
        if module is not None:
            companions = {a.grad.id for a in module.arrays if a.grad is not None}
            for decl in _loaded([*module.body, *(f.body for f in module.functions)]):
                if decl.id not in companions:
                    self._add(decl)

    def has(self, decl) -> bool:
        """Whether the derivative reads the array of a declaration, or one that shares its cells."""
        if decl.kind == "array":
            return decl.source in self._arguments
        return any(
            begin < end_read and begin_read < end
            for tree, begin, end in _spans(decl)
            for begin_read, end_read in self._memory.get(id(tree), ())
        )

    def _add(self, decl) -> None:
        if decl.kind == "array":
            self._arguments.add(decl.source)
        elif decl.kind == "field":
            for tree, begin, end in _spans(decl):
                self._memory.setdefault(id(tree), []).append((begin, end))


def _loaded(body: list):
    for node in walk(body):
        if isinstance(node, (Load, Volatile)) and isinstance(root(node.place), Cell):
            yield root(node.place).array


def _spans(decl):
    """(tree, first byte, end) of the cells at the origin of a field: those of different fields are apart."""
    for part in decl.components or (decl,):
        count = part.type.count if isinstance(part.type, TensorType) else 1
        yield part.source.tree, part.source.offset, part.source.offset + count * element_dtype(part.type).size
