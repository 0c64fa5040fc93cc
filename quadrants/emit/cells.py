"""Where a cell is in its array: index arithmetic as text."""

from __future__ import annotations

from typing import Any

from quadrants.emit.spelling import ADD, INFIX, MUL, UNARY, paren
from quadrants.ir import nodes as n
from quadrants.ir.types import TensorType, i32, i64


class CellIndices:
    """The part of a printer that writes the index of a cell, in elements of what the array's pointer points to."""

    dialect: Any
    type: Any
    text: Any
    constant: Any
    indexing: bool
    interleaved: dict = {}  # what slots are multiplied by, by id of the stacks that threads have in common memory

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

    def wide(self, e, need: int = 0) -> str:
        """The index of a 1-d array argument. Where signed sums wrap, it is one of 64 bits: `v[(int64_t)offset + i]`.

        The cells that it can reach are the same, but the compiler sees that they lie side by side, which a sum that may
        wrap hides from it: no loop that reads and writes such an array would be vectorised.
        """
        if not (self.dialect.signed_wraps and _is_sum(e)):
            return self.text(e, need)
        text, have = self._widened(e)
        return paren(text, have, need)

    def _widened(self, e):
        """Text and precedence of a sum, difference or product in i64: the first operand decides for all after it."""
        symbol, precedence = INFIX[e.op]
        if _is_sum(e.a):
            left = paren(*self._widened(e.a), precedence)
        elif isinstance(e.a, n.Const):
            left = paren(*self.constant(e.a.value, i64), precedence)
        else:
            left = f"({self.type(i64)}){self.text(e.a, UNARY)}"
        return f"{left} {symbol} {self.wide(e.b, precedence + 1)}", precedence

    def _slot(self, e, place: str) -> str:
        """Of a stack in the heap of a device: the slots of all threads with one number lie side by side."""
        if isinstance(e, n.Const):
            slot = self.constant(e.value, i64)[0]
        else:
            slot = self.text(e, MUL) if e.type is i64 else f"({self.type(i64)}){self.text(e, UNARY)}"
        return f"{slot} * {place}"

    @staticmethod
    def _is_big(decl) -> bool:
        return sum(abs(stride) * (extent - 1) for _, extent, _, stride in decl.levels) >= 2**31 - 1

    def _row_major(self, decl, indices) -> str:
        """Array arguments: extents are known at launch only, so the arithmetic is 64 bits wide."""
        order = decl.layout or tuple(range(decl.ndim))
        if decl.id in self.interleaved:
            return self._slot(indices[0], self.interleaved[decl.id])
        if decl.ndim == 1:
            return self.wide(indices[0])
        text = ""
        for k, axis in enumerate(order):
            index = self.text(indices[axis], ADD if k else UNARY)
            if k == 0:
                text = f"({self.type(i64)}){index}"
            else:
                text = f"{paren(text, ADD if k > 1 else UNARY, MUL)} * {decl.name}_shape{axis} + {index}"
        return text


def _is_sum(e) -> bool:
    """Whether an index is a sum, difference or product of i32 variables and constants."""
    if not isinstance(e, n.Binary) or e.op not in ("add", "sub", "mul") or e.type is not i32 or e.loc is not None:
        return False
    return all(_is_sum(x) or isinstance(x, (n.Const, n.Extent)) or _is_variable(x) for x in (e.a, e.b))


def _is_variable(e) -> bool:
    return isinstance(e, n.Load) and isinstance(e.place, n.VarPlace) and e.type is i32


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
