"""What is known about the integers of one function or task: between which values an expression lies.

Loop variables lie between their bounds, extents are not negative, and a variable that is assigned once is what it is
assigned. Everything else may be any value of its type.
"""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.types import DType, element_dtype
from quadrants.ir.walk import root_var, walk

ARITHMETIC = ("add", "sub", "mul")


class Ranges:
    """Ranges in `body`, which `loop`, if any, runs."""

    def __init__(self, body, loop=None):
        self.known: dict = {}  # variable -> (least, largest) value, or the expression it is initialised with
        self.bounds: dict = {}  # variable of a loop -> begin, end
        self.stored: set = set()
        if loop is not None:
            self.loop(loop)
        self.block(body)

    # ------------------------------------------------------------ ranges

    def of(self, e) -> tuple:
        """(least, largest) value of an integer expression."""
        t = e.type
        if not isinstance(t, DType) or not t.is_integral:
            return (0, 0)
        whole = (t.min, t.max)
        kind = type(e)
        if kind is n.Const:
            return int(e.value), int(e.value)
        if kind is n.Extent:
            return (0, whole[1])
        if kind is n.Load:
            return self.load(e.place, whole)
        if kind is n.Cast and not e.bits and isinstance(e.a.type, DType) and e.a.type.is_integral:
            return _within(self.of(e.a), whole)
        if kind is n.Binary and isinstance(e.a.type, DType) and not e.a.type.is_real:
            return _within(self.binary(e), whole)
        if kind is n.Unary and e.op == "neg":
            low, high = self.of(e.a)
            return _within((-high, -low), whole)
        if kind is n.Select and isinstance(e.cond.type, DType):
            a, b = self.of(e.a), self.of(e.b)
            return min(a[0], b[0]), max(a[1], b[1])
        return whole

    def load(self, place, whole: tuple) -> tuple:
        if isinstance(place, n.VarPlace):
            return self.variable(place.var, whole)
        if isinstance(place, n.ElemPlace) and isinstance(place.base, n.VarPlace):
            return self.component(place.base.var, place.indices, whole)
        return whole

    def variable(self, var, whole: tuple) -> tuple:
        if var.id in self.stored:
            return whole
        found = self.known.get(var.id, (0, whole[1]) if var.natural else whole)
        if var.id in self.bounds:
            begin, end = self.bounds.pop(var.id)
            low, high = self.of(begin)[0], self.of(end)[1]
            found = self.known[var.id] = (low, max(low, high - 1))
        elif not isinstance(found, tuple):
            self.known[var.id] = whole  # while it is looked at
            found = self.known[var.id] = self.of(found)
        return found

    def component(self, var, indices: tuple, whole: tuple) -> tuple:
        """Of a vector that is assigned once, as its components: `I` in a loop over all indices of a field."""
        made = self.known.get(var.id) if var.id not in self.stored else None
        if not isinstance(made, n.Make) or len(indices) != 1 or not isinstance(indices[0], n.Const):
            return whole
        at = indices[0].value
        return self.of(made.parts[at]) if 0 <= at < len(made.parts) else whole

    def binary(self, e) -> tuple:
        """Before it wraps."""
        a, b = self.of(e.a), self.of(e.b)
        if e.op in ARITHMETIC:
            return combined(e.op, a, b)
        if e.op == "bit_and" and max(a[0], b[0]) >= 0:
            return 0, min(x[1] for x in (a, b) if x[0] >= 0)
        if e.op == "mod" and b[0] > 0:
            return 0, b[1] - 1
        if e.op in ("floordiv", "raw_div") and a[0] >= 0 and b[0] > 0:
            return a[0] // b[1], a[1] // b[0]
        if e.op in ("min", "max"):
            pick = min if e.op == "min" else max
            return pick(a[0], b[0]), pick(a[1], b[1])
        return e.type.min, e.type.max

    def overflows(self, e) -> bool:
        """Whether a signed sum, difference, product or negative may leave its type."""
        if isinstance(e, n.Unary):
            return self.of(e.a)[0] == e.type.min
        low, high = self.binary(e)
        return low < e.type.min or high > e.type.max

    # ------------------------------------------------------------ one walk over the body

    def loop(self, loop) -> None:
        self.bounds.update((var.id, pair) for var, pair in zip(loop.vars, loop.bounds))

    def block(self, body) -> None:
        for node in walk(body):
            kind = type(node)
            if kind is n.Declare:
                self.declare(node)
            elif kind is n.Store or kind is n.Atomic:
                self.store(node.place)
            elif kind is n.For:
                self.loop(node)
            elif kind is n.Call or kind is n.Intrinsic:
                for a in node.args:
                    self.store(a)

    def declare(self, s) -> None:
        """A variable of an unrolled loop may be declared more than once, with other values."""
        var, dtype = s.var, element_dtype(s.var.type)
        if isinstance(dtype, DType) and dtype.kind == "i":
            many = var.id in self.known or var.shared
            self.known[var.id] = (dtype.min, dtype.max) if many else s.init

    def store(self, place) -> None:
        var = root_var(place)
        if var is not None:
            self.stored.add(var.id)


def combined(op: str, a: tuple, b: tuple) -> tuple:
    """Between what a sum, difference or product of numbers of two ranges lies, in whole numbers without end."""
    if op == "add":
        return a[0] + b[0], a[1] + b[1]
    if op == "sub":
        return a[0] - b[1], a[1] - b[0]
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _within(found: tuple, whole: tuple) -> tuple:
    return found if whole[0] <= found[0] and found[1] <= whole[1] else whole
