"""Order of evaluation: every operand has the value that Python would have read.

An operand is an expression that reads variables and memory where it is printed, after the statements that later
operands needed. Where these write what an earlier operand reads, the operand is copied to a temporary before them.
"""

from __future__ import annotations

from functools import partial

from quadrants.frontend.structcell import StructCell
from quadrants.frontend.writer import Writer
from quadrants.ir import walk
from quadrants.ir.nodes import Atomic, Call, Cell, Declare, ElemPlace, Intrinsic, Load, MemberPlace, Store, VarPlace
from quadrants.lang import access
from quadrants.lang.access import SlicedValue
from quadrants.lang.value import Value

MEMORY = "memory"
REFERENCE = "reference"


def _root(place):
    """What a place belongs to: memory as a whole, any variable passed by reference, or one variable."""
    var = walk.root_var(place)
    if var is None:
        return MEMORY
    return REFERENCE if var.by_ref else var.id


def writes(statements) -> set:
    """The roots that `statements` may change, without the variables that they declare themselves."""
    found, own = set(), set()
    for node in walk.walk(statements):
        if isinstance(node, (Store, Atomic)):
            found.add(_root(node.place))
        elif isinstance(node, Declare):
            own.add(node.var.id)
        elif isinstance(node, (Call, Intrinsic)):
            found.update(_root(a) for a in node.args if isinstance(a, VarPlace))
            # Other threads write what a barrier makes visible.
            if isinstance(node, Intrinsic) or not node.func.pure:
                found.add(MEMORY)
    return found - own


def reads(node) -> set:
    """The roots that an expression, or the indices of a place, read."""
    found = set()
    for part in walk.walk([node]):
        if isinstance(part, Load):
            found.add(_root(part.place))
        elif isinstance(part, Call):
            found.add(MEMORY)
    return found


class Operands:
    """Values of one expression, evaluated from left to right: `add` them, then read `values`."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.values: list = []
        self._modes: list = []

    def add(self, evaluate, by_place: bool = False):
        """Append `evaluate()`. `by_place`: the operand stands for the place it names, whatever is written there."""
        block, start = self.writer.block, len(self.writer.block)
        value = evaluate()
        if len(block) > start and self.values:
            changed = writes(block[start:])
            if changed:
                hold = _Hold(self.writer, block, start, changed)
                self.values = [hold.held(v, by) for v, by in zip(self.values, self._modes)]
        self.values.append(value)
        self._modes.append(by_place)
        return value


class _Hold:
    """Copies operands to temporaries in front of statement `at` of `block`."""

    def __init__(self, writer: Writer, block: list, at: int, changed: set) -> None:
        self.writer, self.block, self.at, self.changed = writer, block, at, changed

    def held(self, value, by_place: bool):
        if isinstance(value, StructCell):
            return value if by_place or MEMORY not in self.changed else Value(self.expr(value.as_value().expr))
        if isinstance(value, SlicedValue):
            return access.moved(value, partial(self.held, by_place=by_place), by_place)
        if isinstance(value, Value):
            if by_place and value.place is not None:
                place = self.place(value.place)
                return value if place is value.place else Value(Load(place, value.type), place, value.immutable)
            expr = self.expr(value.expr)
            return value if expr is value.expr else Value(expr, self.place(value.place), value.immutable)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self.held(v, by_place) for v in value))
        if type(value) in (list, tuple):
            return type(value)([self.held(v, by_place) for v in value])
        if type(value) is dict:
            return {k: self.held(v, by_place) for k, v in value.items()}
        return value

    def expr(self, e):
        if not reads(e) & self.changed:
            return e
        var = self.writer.new_var("t", e.type, mutable=False)
        self.block.insert(self.at, Declare(var, e, self.writer.positions.loc()))
        self.at += 1
        return self.writer.variable(var).expr

    def place(self, p):
        """The same place, found by the indices it has now."""
        if isinstance(p, Cell):
            indices = tuple(self.expr(e) for e in p.indices)
            return p if indices == p.indices else Cell(p.array, indices, p.type)
        if isinstance(p, ElemPlace):
            base, indices = self.place(p.base), tuple(self.expr(e) for e in p.indices)
            return p if base is p.base and indices == p.indices else ElemPlace(base, indices, p.type)
        if isinstance(p, MemberPlace):
            base = self.place(p.base)
            return p if base is p.base else MemberPlace(base, p.name, p.type)
        return p
