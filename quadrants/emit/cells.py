"""Where a cell is in its array: index arithmetic as text."""

from __future__ import annotations

from typing import Any

from quadrants.emit.spelling import ADD, MUL, UNARY, paren
from quadrants.ir import nodes as n
from quadrants.ir.types import TensorType, i64


class CellIndices:
    """The part of a printer that writes the index of a cell, in elements of what the array's pointer points to."""

    type: Any
    text: Any
    indexing: bool

    def cell_index(self, p) -> str:
        outer, self.indexing = self.indexing, True
        text = self._cell_index(p)
        self.indexing = outer
        return text

    def _cell_index(self, p) -> str:
        decl = p.array
        if decl.ndim == 0:
            return "0"
        if decl.levels is None:
            return self._row_major(decl, p.indices)
        unit = cell_unit(decl)
        big = self._is_big(decl)
        terms, constant = [], 0
        for axis, extent, divisor, stride in decl.levels:
            index, shift = p.indices[axis], decl.index_offset[axis] if decl.index_offset else 0
            stride //= unit
            whole = extent * divisor >= decl.shape[axis]
            if isinstance(index, n.Const):
                constant += (index.value - shift) // divisor % extent * stride
                continue
            if divisor == 1 and whole:
                constant -= shift * stride
                terms.append(_times(self.text(index, MUL), stride, big))
                continue
            text = self.text(index, ADD) + (f" - {shift}" if shift else "")
            text = paren(text, ADD if shift else MUL, MUL)
            text = f"{text} / {divisor}" if divisor > 1 else text
            text = f"({text}) % {extent}" if not whole and divisor > 1 else f"{text} % {extent}" if not whole else text
            terms.append(_times(f"({text})", stride, big))
        text = " + ".join(terms)
        if constant or not terms:
            text = f"{text} {'-' if constant < 0 else '+'} {abs(constant)}" if terms else str(constant)
        return text

    @staticmethod
    def _is_big(decl) -> bool:
        return sum(abs(stride) * (extent - 1) for _, extent, _, stride in decl.levels) >= 2**31 - 1

    def _row_major(self, decl, indices) -> str:
        """Array arguments: extents are known at launch only, so the arithmetic is 64 bits wide."""
        order = decl.layout or tuple(range(decl.ndim))
        if decl.ndim == 1:
            return self.text(indices[0])
        text = ""
        for k, axis in enumerate(order):
            index = self.text(indices[axis], ADD if k else UNARY)
            if k == 0:
                text = f"({self.type(i64)}){index}"
            else:
                text = f"{paren(text, ADD if k > 1 else UNARY, MUL)} * {decl.name}_shape{axis} + {index}"
        return text


def cell_unit(decl) -> int:
    """Scalars in the pointed-to type: a whole cell when strides allow indexing by cells, else 1."""
    if not isinstance(decl.type, TensorType):
        return 1
    count = decl.type.count
    if decl.levels is None:
        return count
    return count if all(stride % count == 0 for _, _, _, stride in decl.levels) else 1


def _times(text: str, stride: int, big: bool) -> str:
    if stride == 1:
        return text
    return f"{text} * {stride}{'ll' if big else ''}"
