"""Statements and expressions of IR in few words, for the passes of sparse trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quadrants.ir import nodes as n
from quadrants.ir.types import i32, u1
from quadrants.passes.address_arithmetic import digit, times, total


def const(value: int) -> n.Const:
    return n.Const(value, i32)


def load(var: n.Var) -> n.Load:
    return n.Load(n.VarPlace(var, var.type), var.type)


def binary(op: str, a: n.Expr, b: n.Expr) -> n.Expr:
    return n.Binary(op, a, b, i32, exact=op in ("add", "sub", "mul"))


def compare(op: str, a: n.Expr, b: n.Expr) -> n.Expr:
    return n.Binary(op, a, b, u1)


def both(a: n.Expr | None, b: n.Expr) -> n.Expr:
    return b if a is None else n.Binary("logic_and", a, b, u1)


def part(coords: Sequence[n.Expr], k: int, divisor: int, extent: int) -> n.Expr:
    """`coords[k] // divisor % extent`; no remainder where `extent` is 0."""
    x = coords[k]
    if isinstance(x, n.Const):
        return const(x.value // divisor % extent if extent else x.value // divisor)
    return digit(x, divisor, extent, anything=True)


def joined(parts: Sequence[tuple[n.Expr, int]]) -> n.Expr:
    """The number whose digits are given with their extents, the last one fastest."""
    number: n.Expr = const(0)
    for value, extent in parts:
        number = value if _is_zero(number) else total(times(number, extent), value)
    return number


def shifted(sums: n.Expr | None, term: n.Expr) -> n.Expr:
    return term if sums is None else total(sums, term)


def _is_zero(e: n.Expr) -> bool:
    return isinstance(e, n.Const) and e.value == 0


def at(decl: n.ArrayDecl, *indices: n.Expr) -> n.Cell:
    return n.Cell(decl, indices, i32)


def got(cell: n.Cell) -> n.Load:
    return n.Load(cell, i32)


class Body:
    """A block that is being written. unique: makes a name that nothing else has, where the block is not all of a
    function."""

    def __init__(self, loc: n.Loc | None = None, unique: Callable[[str], str] = str) -> None:
        self.statements: list[n.Stmt] = []
        self.loc = loc
        self.unique = unique

    def declare(self, name: str, value: n.Expr, mutable: bool = False) -> n.Var:
        var = n.Var(self.unique(f"qd_{name}"), value.type, mutable, level=1)
        self.statements.append(n.Declare(var, value, self.loc))
        return var

    def hold(self, name: str, value: n.Expr) -> n.Expr:
        """The value of a variable that is set once; a constant or such a variable itself."""
        if isinstance(value, n.Const) or isinstance(value, n.Load) and isinstance(value.place, n.VarPlace):
            return value
        return load(self.declare(name, value))

    def set(self, var: n.Var, value: n.Expr) -> None:
        self.statements.append(n.Store(n.VarPlace(var, var.type), value, self.loc))

    def store(self, cell: n.Cell, value: n.Expr) -> None:
        self.statements.append(n.Store(cell, value, self.loc))

    def atomic(self, op: str, cell: n.Cell, *args: n.Expr, name: str = "") -> n.Expr:
        """The old value where it has a name."""
        made = n.Atomic(op, cell, args, i32)
        if name:
            return load(self.declare(name, made))
        self.statements.append(n.Eval(made, self.loc))
        return const(0)

    def when(self, cond: n.Expr) -> Body:
        """The block that runs where a condition holds."""
        inner = Body(self.loc, self.unique)
        self.statements.append(n.If(cond, inner.statements, [], self.loc))
        return inner

    def repeat(self, names: Sequence[str], ends: Sequence[n.Expr], begins: Sequence[n.Expr] | None = None,
               parallel: bool = False) -> tuple[Body, list[n.Expr]]:  # fmt: skip
        """A loop over a product of ranges, and its variables."""
        inner = Body(self.loc, self.unique)
        variables = tuple(n.Var(self.unique(f"qd_{name}"), i32, False, level=1) for name in names)
        bounds = tuple(zip(begins or [const(0)] * len(ends), ends))
        self.statements.append(n.For(variables, bounds, inner.statements, parallel, kind="range_for", loc=self.loc))
        return inner, [load(v) for v in variables]

    def back(self, value: n.Expr) -> None:
        self.statements.append(n.Return((value,), self.loc))
