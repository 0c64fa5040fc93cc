"""The block of IR that is being filled, and the variables that are declared in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quadrants.frontend.flow import Flow
from quadrants.frontend.names import Names
from quadrants.frontend.options import Options
from quadrants.frontend.positions import Positions
from quadrants.ir.nodes import Cast, Cell, Check, Const, Declare, ElemPlace, Load, MemberPlace, Var, VarPlace
from quadrants.ir.types import DType, f32
from quadrants.lang import typed
from quadrants.lang.value import Value


class Writer:
    """Appends statements to a block. sites: what each check that may fail at run time says then. newest: the last
    temporary, and how many statements of the user had been begun.
    """

    __slots__ = ("options", "names", "positions", "flow", "block", "sites", "newest")

    def __init__(self, options: Options, names: Names, positions: Positions, flow: Flow) -> None:
        self.options = options
        self.names = names
        self.positions = positions
        self.flow = flow
        self.block: list = []
        self.sites: list[tuple] = []
        self.newest: tuple[Var | None, int] = None, 0

    def emit(self, stmt) -> None:
        if stmt.loc is None:
            stmt.loc = self.positions.loc()
        self.block.append(stmt)

    @contextmanager
    def in_block(self, block: list, fresh_names: bool = True) -> Iterator[list]:
        """Fill `block`. Names bound inside end with it, and unless told otherwise those of variables are free again."""
        saved, self.block = self.block, block
        names = set(self.names.local) if fresh_names else None
        try:
            with self.positions.frame.static_scope():
                yield block
        finally:
            self.block = saved
            if names is not None:
                self.names.local = names

    # ------------------------------------------------------------ variables

    def new_var(self, name: str, t, mutable: bool = True) -> Var:
        return Var(self.names.unique_name(name), t, mutable, level=self.flow.level)

    @staticmethod
    def variable(var: Var) -> Value:
        """A variable as a value that can be assigned."""
        place = VarPlace(var, var.type)
        return Value(Load(place, var.type), place)

    def declare(self, name: str, expr, mutable: bool = True) -> Value:
        var = self.new_var(name, expr.type, mutable)
        self.emit(Declare(var, expr))
        return self.variable(var)

    def temp(self, value: Any, name: str = "t") -> Value:
        """A value that may be read several times: itself when it is a constant or an unassigned variable."""
        v = typed.to_value(value)
        e = v.expr
        if isinstance(e, Const):
            return v
        if isinstance(e, Load) and is_settled(e.place):
            return v
        held = self.declare(name, e, mutable=False)
        held.place.var.temporary = True
        self.newest = held.place.var, self.positions.statements
        return held

    def named(self, expr, name: str) -> Value:
        """Declare a user's variable; takes over a temporary that was made for this very value, by the same statement:
        what another one has made may be an item of a list.
        """
        last = self.block[-1] if self.block else None
        if (
            isinstance(last, Declare)
            and isinstance(expr, Load)
            and isinstance(expr.place, VarPlace)
            and expr.place.var is last.var
            and last.var.temporary
            and self.newest == (last.var, self.positions.statements)
        ):
            last.var.temporary = False
            last.var.name = self.names.unique_name(name)
            last.var.mutable = True
            return self.variable(last.var)
        return self.declare(name, expr)

    def is_local_place(self, place) -> bool:
        """Whether a place is private to this thread: its root is a variable declared inside the loop or function."""
        while not isinstance(place, VarPlace):
            if isinstance(place, Cell):
                return False
            place = place.base
        var = place.var
        if var.by_ref or self.flow.in_function:
            return True
        return var.level > 0 or self.flow.parallel_depth == 0

    # ------------------------------------------------------------ checks that may fail at run time

    def check(self, cond, message: tuple, values: tuple | list = ()) -> None:
        """Fail the launch with `message` (a site description) unless `cond` holds."""
        if isinstance(cond, Const) and cond.value:
            return
        self.sites.append((message, self.positions.error_frames(), self.options.kernel_name))
        exprs = tuple(e if isinstance(e.type, DType) else Cast(e, f32) for e in values)
        self.emit(Check(cond, len(self.sites) - 1, exprs))


def is_settled(place) -> bool:
    """Whether a place is a variable that is never assigned again, or a fixed component of one."""
    while isinstance(place, (ElemPlace, MemberPlace)):
        if isinstance(place, ElemPlace) and not all(isinstance(i, Const) for i in place.indices):
            return False
        place = place.base
    return isinstance(place, VarPlace) and not place.var.mutable
