"""Constant indices outside of an array whose extents are known while compiling.

    x = qd.field(qd.i32, shape=10)      x[12], x[-1]

The cell does not exist, but the line may be behind a condition, as in an unrolled loop over neighbours. So it is a
warning, and the access goes to a variable of its own that starts as 0: there is no address, which could be that of
another cell or of what lies beside the array.
"""

from __future__ import annotations

from quadrants.frontend.state import State
from quadrants.ir.nodes import ArrayDecl, Const
from quadrants.ir.types import TensorType, i32
from quadrants.ir.walk import root_var
from quadrants.lang import typed
from quadrants.lang.value import Value


def outside_axis(decl: ArrayDecl, exprs: tuple) -> int | None:
    """The first axis on which an index is a constant that no cell has."""
    if decl.shape is None or decl.clamp:
        return None
    for axis, e in enumerate(exprs):
        first = _first(decl, axis)
        if isinstance(e, Const) and not first <= e.value < first + decl.shape[axis]:
            return axis
    return None


class Outside:
    """Makes what stands for cells that do not exist. `variables`: the ids of these."""

    __slots__ = ("reports", "writer", "variables")

    def __init__(self, state: State) -> None:
        self.reports = state.reports
        self.writer = state.writer
        self.variables: set[int] = set()

    def cell(self, decl: ArrayDecl, exprs: tuple, axis: int) -> Value:
        """What stands for a cell: 0 when it is read, and what is written is lost."""
        self._warn(decl, exprs[axis].value, axis)
        zero = Const(0, i32)
        expr = typed.splat(zero, decl.type) if isinstance(decl.type, TensorType) else typed.cast_expr(zero, decl.type)
        found = self.writer.declare("outside", expr)
        self.variables.add(found.place.var.id)
        return found

    def stands_for(self, place) -> bool:
        """Whether a place is, or is part of, what stands for a cell that does not exist."""
        var = root_var(place)
        return var is not None and var.id in self.variables

    def _warn(self, decl: ArrayDecl, index: int, axis: int) -> None:
        first = _first(decl, axis)
        last = first + (decl.shape or ())[axis] - 1
        kind, checked = ("field", "; with debug=True it is an error") if decl.kind == "field" else ("shared array", "")
        self.reports.warn_in_banner_once(
            "outside",
            f"Index {index} is out of range on axis {axis} of {kind} '{decl.label}', which goes from {first} to "
            f"{last}. Where this line runs, it reads 0, and what it writes is lost{checked}.",
        )


def _first(decl: ArrayDecl, axis: int) -> int:
    return decl.index_offset[axis] if decl.index_offset else 0
