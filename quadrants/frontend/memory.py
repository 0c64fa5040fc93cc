"""Fields and array arguments as places: index arithmetic rules and bounds checks."""

from __future__ import annotations

import numpy as np

from quadrants.errors import QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.fields import Fields
from quadrants.frontend.outside import Outside, outside_axis
from quadrants.frontend.refs import ArrayRef
from quadrants.frontend.state import State
from quadrants.frontend.structcell import StructCell
from quadrants.ir.nodes import ArrayDecl, Binary, Cell, Const, Extent, Load
from quadrants.ir.types import TensorType, i32
from quadrants.lang import access
from quadrants.lang.described import type_name
from quadrants.lang.kinds import kind_of
from quadrants.lang.value import Value


class Memory:
    """What `x[i]` means for fields and arrays."""

    __slots__ = ("options", "reports", "writer", "fields", "outside")

    def __init__(self, state: State, fields: Fields, outside: Outside) -> None:
        self.options = state.options
        self.reports = state.reports
        self.writer = state.writer
        self.fields = fields
        self.outside = outside

    def subscript_array(self, decl: ArrayDecl, indices, what: str):
        """The cell of a field or array at canonical indices, as an assignable value."""
        flat = access.flatten_indices(indices)
        if any(isinstance(x, slice) for x in flat):
            if (decl.components or (decl,))[0].packed is not None:
                raise QuadrantsTypeError(
                    f"{what} '{decl.label}' is quantised, and slices are of fields whose numbers lie apart."
                )
            if decl.ndim > 1:
                from quadrants.lang.simt.tile_slices import sliced  # few kernels have tiles

                return sliced(decl, flat, checked=decl.kind != "field")
            raise QuadrantsSyntaxError(
                f"{what} cannot be sliced in a kernel; index it, or pass a qd.BufferView of a 1-D array."
            )
        if len(flat) != decl.ndim:
            told = f"{what} with dim {decl.ndim} accessed with indices of dim {len(flat)}"
            raise QuadrantsIndexError(f"{told}. {_as_indexed(decl, len(flat))}")
        values = tuple(self._index(x, k, decl) for k, x in enumerate(flat))
        if decl.may_be_empty and self.options.check_bounds:
            self._check_cells_exist(decl, values)
        return self.cell(decl, self.within(decl, values))

    def cell(self, decl: ArrayDecl, exprs: tuple) -> Value:
        """The cell at i32 indices; a constant that is outside makes no address."""
        axis = outside_axis(decl, exprs)
        return self._cell(decl, exprs) if axis is None else self.outside.cell(decl, exprs, axis)

    @staticmethod
    def _cell(decl: ArrayDecl, exprs: tuple) -> Value:
        place = Cell(decl, exprs, decl.type)
        return Value(Load(place, decl.type), place)

    def array_cell(self, decl: ArrayDecl, exprs: tuple) -> Value:
        """The cell of a view's array, checked where that is asked for and views are not."""
        if not decl.clamp and self.options.check_bounds and not self.options.debug:
            exprs = self.check_cell(decl, exprs)
        return self._cell(decl, exprs)

    def within(self, decl: ArrayDecl, values: tuple) -> tuple:
        """Indices as i32, as the array asks for them: clamped, checked where all are, or cut."""
        if decl.clamp:
            return access.clamped(values, self.extents(decl))
        if self.options.check_bounds:
            return self.check_cell(decl, values)
        return tuple(map(access.narrowed, values))

    def _index(self, x, axis: int, decl: ArrayDecl):
        """One index, in its own dtype where i32 does not hold all values of that."""
        constant = access.constant_of(x) if isinstance(x, Value) else x
        if isinstance(constant, (int, np.integer)) and constant < 0 and decl.kind == "field":
            return Const(int(constant), i32)
        if not decl.clamp and isinstance(x, Value) and x.is_scalar and x.type.is_integral and x.type.bits > 32:
            self.reports.log_warning(f"Field index {axis} not int32, casting into int32 implicitly")
        return access.index_value(x, axis)

    def extents(self, decl: ArrayDecl) -> list:
        """Canonical extents as i32 expressions."""
        if decl.shape is not None:
            return [Const(int(n), i32) for n in decl.shape]
        return [Extent(decl, k, i32) for k in range(decl.ndim)]

    def check_cell(self, decl: ArrayDecl, values: tuple) -> tuple:
        """The indices as i32, behind a check that the cell is there."""
        exprs = tuple(map(access.narrowed, self.check_width(values, self.bounds_site(decl))))
        held = tuple(e if isinstance(e, Const) else self.writer.temp(Value(e)).expr for e in exprs)
        local = held
        if decl.index_offset:
            local = tuple(Binary("sub", e, Const(o, i32), i32) for e, o in zip(held, decl.index_offset))
        extents = self.extents(decl)
        self.writer.check(access.in_bounds(local, extents), self.bounds_site(decl), held)
        return held

    def check_width(self, values: tuple, site: tuple) -> tuple:
        """The indices, behind a check that they keep their values as i32."""
        if not any(map(access.may_exceed_i32, values)):
            return values
        held = tuple(self.writer.temp(Value(e)).expr for e in values)
        self.writer.check(access.fit_indices(filter(access.may_exceed_i32, held)), site, held)
        return held

    def _check_cells_exist(self, decl: ArrayDecl, exprs: tuple) -> None:
        """An index can be limited to the valid range only where there is one."""
        first = tuple(Const(0, i32) for _ in exprs)
        self.writer.check(access.in_bounds(first, self.extents(decl)), self.bounds_site(decl), exprs)

    def check_tensor_index(self, exprs: tuple, shape: tuple) -> tuple:
        held = tuple(e if isinstance(e, Const) else self.writer.temp(Value(e)).expr for e in exprs)
        self.writer.check(access.in_bounds(held, shape), ("tensor", shape), held)
        return held

    def bounds_site(self, decl: ArrayDecl):
        if decl.kind == "field":
            return ("field", decl.label, decl.shape, decl.index_offset)
        if decl.kind == "shared":
            return ("shared", decl.shape)
        return ("ndarray", decl.source[0], decl.label)

    def subscript_object(self, obj, indices):
        """`obj[indices]` of an array, a field or a struct field."""
        kind = kind_of(obj)
        if isinstance(obj, ArrayRef):
            return self.subscript_array(obj.decl, indices, "Array")
        if kind in ("field", "matrix_field"):
            return self.subscript_array(self.fields.field_decl(obj), indices, "Field")
        if kind == "struct_field":
            return StructCell(self, obj, indices)
        raise QuadrantsTypeError(f"An object of type {type_name(obj)} cannot be indexed in a kernel.")


def _as_indexed(decl: ArrayDecl, given: int) -> str:
    """How a cell of the array is written."""
    if decl.ndim == 0:
        return f"Write `{decl.label}[None]`."
    written = f"{decl.label}[{', '.join('ijklmnpq'[: decl.ndim])}]"
    element = decl.type.shape if isinstance(decl.type, TensorType) else ()
    if element and given == decl.ndim + len(element):
        part, cells = ("row", "vectors") if len(element) == 1 else ("row, column", "matrices")
        return f"Its cells are {cells}: write `{written}[{part}]`."
    return f"Write `{written}`."
