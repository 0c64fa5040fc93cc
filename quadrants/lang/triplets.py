"""A sparse matrix builder in kernel scope: `B[i, j] += v` appends a triplet (row, column, value).

The triplets are three arrays and a count. A thread takes the next place by an atomic, and what finds no place is
counted all the same, so that the host knows that triplets were lost.
"""

from __future__ import annotations

from typing import Any

from quadrants.errors import QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.ir.nodes import ArrayDecl, Const
from quadrants.ir.types import i32, u32
from quadrants.lang import access, scope, typed
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.value import Value

_HOW = "a sparse matrix builder takes `B[i, j] += v` and `B[i, j] -= v`, with a row and a column"


class Triplets(KernelObject):
    """What a parameter annotated with `qd.types.sparse_matrix_builder()` stands for."""

    what = "sparse matrix builder"

    def __init__(self, rows: ArrayDecl, columns: ArrayDecl, values: ArrayDecl, count: ArrayDecl):
        self.rows, self.columns, self.values, self.count = rows, columns, values, count

    def subscript(self, indices: tuple) -> Entry:
        flat = access.flatten_indices(indices)
        if len(flat) != 2 or any(isinstance(k, slice) for k in flat):
            raise QuadrantsIndexError(f"{len(flat)} indices: {_HOW}.")
        return Entry(self, *(_index(k, axis) for axis, k in enumerate(flat)))

    def append(self, row: Value, column: Value, value: Value) -> None:
        tracer = scope.require()
        first = (Const(0, i32),)
        place = tracer.temp(tracer.atomic("add", tracer.cell(self.count, first), Value(Const(1, u32))), "place")
        (room,) = tracer.extents(self.rows)
        with tracer.when(typed.binary("lt", place, typed.cast(Value(room), u32))):
            at = (typed.cast(place, i32).expr,)
            for decl, x in ((self.rows, row), (self.columns, column), (self.values, value)):
                tracer.assign_to(tracer.cell(decl, at), x)


def _index(x: Any, axis: int) -> Value:
    """An index as i32; one that does not fit is one that no matrix has."""
    e = access.index_value(x, axis)
    fitting = access.saturated(e) if access.may_exceed_i32(e) else access.narrowed(e)
    return scope.require().temp(Value(fitting))


class Entry(KernelObject):
    """`B[i, j]`, which can only be added to."""

    what = "entry of a sparse matrix builder"

    def __init__(self, triplets: Triplets, row: Value, column: Value):
        self.triplets, self.row, self.column = triplets, row, column

    def augment(self, op: str, value: Any) -> None:
        if op not in ("add", "sub"):
            raise AssertionError("Only operations '+=' and '-=' are supported on sparse matrices.")
        dtype = self.triplets.values.type
        v = typed.to_value(value)
        if v.is_tensor or v.is_struct:
            raise QuadrantsTypeError(f"An entry of a sparse matrix is a number, not {v.type}.")
        held = Value(typed.convert_expr(v.expr, dtype))
        self.triplets.append(self.row, self.column, held if op == "add" else typed.unary("neg", held))

    def assign(self, value: Any) -> None:
        raise QuadrantsSyntaxError(f"An entry of a sparse matrix cannot be assigned: {_HOW}.")

    def as_value(self, *_: Any) -> Any:
        raise QuadrantsTypeError(f"An entry of a sparse matrix cannot be read while it is built: {_HOW}.")

    named = passed = rebound = subscript = as_value
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = as_value
    __floordiv__ = __mod__ = __pow__ = __matmul__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = as_value
    __bool__ = as_value
