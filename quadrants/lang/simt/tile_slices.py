"""Blocks and columns of 2-d and 3-d arrays, `a[r0:r1, c0:c1]`, `a[b, r0:r1, c]`: placeholders for tile operations.

Nothing is read where a slice is written down. Lane t stands for row r0 + t; rows from min(r1, rows of a) on and columns
from min(c1, columns of a) on are left alone.
"""

from __future__ import annotations

from typing import Any

from quadrants.errors import QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.ir.nodes import ArrayDecl, Cell, Const, Load, Store
from quadrants.ir.types import DType, i32, u32
from quadrants.lang import access, scope, structs, typed
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.simt import kernel_scope as at
from quadrants.lang.simt.lanes import group_size
from quadrants.lang.value import Value


def log2_of(size: int) -> int | None:
    """Which lanes shuffle among themselves: 2**this many, None for all of a subgroup, where a tile has no other beside
    it."""
    alone = size == group_size() or scope.require().block_dim == size
    return None if alone else size.bit_length() - 1


def lane_of(size: int) -> Value:
    """The number of this lane in its tile."""
    lane: Value = scope.require().builtin("subgroup.invocation_id", i32)
    return lane if log2_of(size) is None else typed.binary("bit_and", lane, at.const(size - 1, i32))


class ArraySlice(KernelObject):
    """What blocks and columns have in common. `batch`: the index in front of the row, or nothing."""

    what = "array slice"

    def __init__(self, decl: ArrayDecl, batch: tuple, rows: tuple):
        self.decl, self.batch, self.rows = decl, batch, rows
        self.dtype: DType = decl.type

    def cell(self, row, column) -> Cell:
        return Cell(self.decl, (*self.batch, row, column), self.dtype)

    def begin(self, axis: int) -> int:
        """Where the array begins along an axis, counted from the last one (-1)."""
        return int(self.decl.index_offset[axis]) if self.decl.index_offset else 0

    def end(self, wanted, axis: int) -> Value:
        """The smaller of `wanted`, if that is there, and where the array ends along an axis."""
        extent = scope.require().extents(self.decl)[axis]
        if self.decl.index_offset:
            extent = typed.binary("add", Value(extent), self.decl.index_offset[axis]).expr
        if wanted is None:
            return Value(extent)
        if isinstance(wanted, Const) and isinstance(extent, Const):
            return at.const(min(wanted.value, extent.value), i32)
        return typed.binary("min", Value(wanted), Value(extent))

    def span(self, wanted, axis: int) -> Value:
        """How many indices there are from where the array begins to `end`; what `has` is asked with."""
        begin, end = self.begin(axis), self.end(wanted, axis)
        if isinstance(end.expr, Const):
            return Value(Const(max(end.expr.value - begin, 0), u32))
        above = typed.binary("max", end, at.const(begin, i32))
        return scope.require().temp(typed.cast(_less(above, begin), u32), "span")

    def has(self, index: Value, span: Value, axis: int) -> Value:
        """Whether an index lies there, by one comparison: what is below the array is a large number."""
        return typed.binary("lt", typed.cast(_less(index, self.begin(axis)), u32), span)

    def own_row(self, size: int) -> tuple:
        """(the row of this lane of a tile, whether the slice has it)"""
        tracer = scope.require()
        lane, first = lane_of(size), Value(self.rows[0])
        row = tracer.temp(lane if _is_zero(first) else typed.binary("add", first, lane), "row")
        inside = self.has(row, self.span(self.rows[1], -2), -2)
        for k, index in enumerate(self.batch):
            there = self.has(Value(index), self.span(None, k - self.decl.ndim), k - self.decl.ndim)
            inside = typed.binary("logic_and", inside, there)
        return row, inside

    def rebound(self, value: Any, innermost: bool) -> KernelObject:
        if isinstance(value, ArraySlice) and innermost:
            return value
        raise QuadrantsSyntaxError("The name of an array slice can only be assigned another slice, in the same block.")

    def as_value(self):
        raise QuadrantsTypeError(
            "An array slice is only valid in tile operations: t[:] = a[r0:r1, c0:c1], its reverse, and qd.outer."
        )

    def __add__(self, other: Any):
        return self.as_value()

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = __add__
    __floordiv__ = __mod__ = __pow__ = __and__ = __or__ = __xor__ = __lt__ = __le__ = __gt__ = __ge__ = __add__

    def __neg__(self):
        return self.as_value()


class BlockSlice(ArraySlice):
    """`a[r0:r1, c0:c1]`"""

    def __init__(self, decl: ArrayDecl, batch: tuple, rows: tuple, columns: tuple):
        super().__init__(decl, batch, rows)
        self.columns = columns

    def each(self, size: int, visit) -> None:
        """`visit(k, cell)` for the elements that this lane has: element k of the tile and its place in the array."""
        tracer = scope.require()
        row, inside = self.own_row(size)
        first, span = Value(self.columns[0]), self.span(self.columns[1], -1)
        known = isinstance(first.expr, Const) and isinstance(span.expr, Const)
        whole = known and self.begin(-1) <= first.expr.value <= self.begin(-1) + span.expr.value - size

        def element(k):
            column = typed.binary("add", first, k) if not _is_zero(first) else k
            if whole:
                visit(k, self.cell(row.expr, column.expr))
                return
            column = tracer.temp(column, "column")
            with tracer.when(self.has(column, span, -1)):
                visit(k, self.cell(row.expr, column.expr))

        with tracer.when(inside):
            tracer.repeat(0, size, element, unroll="full")

    def assign(self, value: Any) -> None:
        store = getattr(value, "store_to", None)
        if store is None:
            raise QuadrantsTypeError("An array slice can only be assigned a tile: a[r0:r1, c0:c1] = t")
        store(self)


class ColumnSlice(ArraySlice):
    """`a[r0:r1, c]`: one element a lane, 0 where there is no such row."""

    def __init__(self, decl: ArrayDecl, batch: tuple, rows: tuple, column):
        super().__init__(decl, batch, rows)
        self.column = column

    def read(self, size: int) -> Value:
        """The element of this lane of a tile, read here."""
        tracer = scope.require()
        result = tracer.declare("element", structs.zero(self.dtype))
        row, inside = self.own_row(size)
        inside = typed.binary("logic_and", inside, self.has(Value(self.column), self.span(None, -1), -1))
        with tracer.when(inside):
            cell = self.cell(row.expr, self.column)
            tracer.emit(Store(result.place, Load(cell, self.dtype)))
        return result


def _less(x: Value, begin: int) -> Value:
    return x if begin == 0 else typed.binary("sub", x, at.const(begin, i32))


def _is_zero(x: Value) -> bool:
    return isinstance(x.expr, Const) and x.expr.value == 0


def sliced(decl: ArrayDecl, flat: list, checked: bool) -> ArraySlice:
    """The slice `flat` of an array. `checked`: negative literals are errors."""
    if not isinstance(decl.type, DType):
        raise QuadrantsTypeError(f"Tile slices are of arrays of scalars; '{decl.label}' holds {decl.type}.")
    if len(flat) != decl.ndim or decl.ndim not in (2, 3):
        raise QuadrantsIndexError(
            f"A tile slice is a[r0:r1, c0:c1] of a 2-d array or a[b, r0:r1, c0:c1] of a 3-d one; '{decl.label}' has "
            f"{decl.ndim} axes and {len(flat)} indices"
        )
    *batch, rows, columns = flat
    if any(isinstance(b, slice) for b in batch) or not isinstance(rows, slice):
        raise QuadrantsSyntaxError("The batch index of a tile slice comes first: a[b, r0:r1, c0:c1].")
    indices = tuple(_bound(b, checked) for b in batch)
    row_bounds = _bounds(rows, "row", checked)
    if isinstance(columns, slice):
        return BlockSlice(decl, indices, row_bounds, _bounds(columns, "col", checked))
    return ColumnSlice(decl, indices, row_bounds, _bound(columns, checked))


def _bounds(s: slice, which: str, checked: bool) -> tuple:
    if s.start is None or s.stop is None:
        raise QuadrantsSyntaxError(f"Tile {which} slice: both start and stop indices are required")
    if s.step is not None:
        raise QuadrantsSyntaxError(f"Tile {which} slice: a step is not supported")
    return _bound(s.start, checked), _bound(s.stop, checked)


def _bound(x: Any, checked: bool):
    """An index or bound as an i32 expression that later statements do not change."""
    if not checked and isinstance(x, int) and x < 0:
        return Const(x, i32)
    return scope.require().temp(Value(access.index_expr(x, 0))).expr
