"""What is known about the integers of one function or task: between which values an expression lies.

Loop variables lie between their bounds, extents are not negative, and a variable that is assigned once is what it is
assigned. Everything else may be any value of its type.
"""

from __future__ import annotations

from collections.abc import Sequence

from quadrants.ir import nodes as n
from quadrants.ir.types import DType, element_dtype
from quadrants.ir.walk import only, root_var

Range = tuple[int, int]  # the least and the largest value

ARITHMETIC = ("add", "sub", "mul")
# What says something of a variable; all other nodes are passed over.
_TELLING = frozenset((n.Declare, n.Store, n.Atomic, n.For, n.Call, n.Intrinsic))


class Ranges:
    """Ranges in `body`, which `loop`, if any, runs."""

    def __init__(self, body: Sequence[n.Stmt], loop: n.For | None = None) -> None:
        self.known: dict[int, Range | n.Expr] = {}  # of a variable, or the expression it is initialised with
        self.bounds: dict[int, tuple[n.Expr, n.Expr]] = {}  # variable of a loop -> begin, end
        self.stored: set[int] = set()
        if loop is not None:
            self.loop(loop)
        self.block(body)

    # ------------------------------------------------------------ ranges

    def of(self, e: n.Expr) -> Range:
        """(least, largest) value of an integer expression."""
        t = e.type
        if not isinstance(t, DType) or not t.is_integral:
            return (0, 0)
        whole = (t.min, t.max)
        if isinstance(e, n.Load):
            return self.load(e.place, whole)
        if isinstance(e, n.Const):
            return int(e.value), int(e.value)
        if isinstance(e, n.Binary) and isinstance(e.a.type, DType) and not e.a.type.is_real:
            return _within(self.binary(e), whole)
        if isinstance(e, n.Cast) and not e.bits and isinstance(e.a.type, DType) and e.a.type.is_integral:
            return _within(self.of(e.a), whole)
        if isinstance(e, n.Extent):
            return (0, whole[1])
        if isinstance(e, n.Unary) and e.op == "neg":
            low, high = self.of(e.a)
            return _within((-high, -low), whole)
        if isinstance(e, n.Select) and isinstance(e.cond.type, DType):
            a, b = self.of(e.a), self.of(e.b)
            return min(a[0], b[0]), max(a[1], b[1])
        return whole

    def load(self, place: n.Place, whole: Range) -> Range:
        if isinstance(place, n.VarPlace):
            return self.variable(place.var, whole)
        if isinstance(place, n.ElemPlace) and isinstance(place.base, n.VarPlace):
            return self.component(place.base.var, place.indices, whole)
        return whole

    def variable(self, var: n.Var, whole: Range) -> Range:
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

    def component(self, var: n.Var, indices: tuple[n.Expr, ...], whole: Range) -> Range:
        """Of a vector that is assigned once, as its components: `I` in a loop over all indices of a field."""
        made = self.known.get(var.id) if var.id not in self.stored else None
        if not isinstance(made, n.Make) or len(indices) != 1 or not isinstance(indices[0], n.Const):
            return whole
        at = indices[0].value
        return self.of(made.parts[at]) if 0 <= at < len(made.parts) else whole

    def binary(self, e: n.Binary) -> Range:
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
        if e.op == "floordiv" and b[0] == b[1] > 0:
            return a[0] // b[0], a[1] // b[0]
        if e.op == "shr" and isinstance(e.type, DType) and 0 <= b[0] == b[1] < e.type.bits:
            return a[0] >> b[0], a[1] >> b[0]
        if e.op in ("bit_or", "bit_xor") and min(a[0], b[0]) >= 0:
            return 0, (1 << max(a[1], b[1]).bit_length()) - 1
        if e.op in ("min", "max"):
            pick = min if e.op == "min" else max
            return pick(a[0], b[0]), pick(a[1], b[1])
        assert isinstance(e.type, DType)
        return e.type.min, e.type.max

    def overflows(self, e: n.Unary | n.Binary) -> bool:
        """Whether a signed sum, difference, product or negative may leave its type."""
        assert isinstance(e.type, DType)
        if isinstance(e, n.Unary):
            return self.of(e.a)[0] == e.type.min
        low, high = self.binary(e)
        return low < e.type.min or high > e.type.max

    # ------------------------------------------------------------ one walk over the body

    def loop(self, loop: n.For) -> None:
        self.bounds.update((var.id, pair) for var, pair in zip(loop.vars, loop.bounds))

    def block(self, body: Sequence[n.Stmt]) -> None:
        for node in only(body, _TELLING):
            if isinstance(node, n.Declare):
                self.declare(node)
            elif isinstance(node, (n.Store, n.Atomic)):
                self.store(node.place)
            elif isinstance(node, n.For):
                self.loop(node)
            elif isinstance(node, (n.Call, n.Intrinsic)):
                for a in node.args:
                    if isinstance(a, (n.VarPlace, n.ElemPlace, n.MemberPlace)):
                        self.store(a)

    def declare(self, s: n.Declare) -> None:
        """A variable of an unrolled loop may be declared more than once, with other values."""
        var, dtype = s.var, element_dtype(s.var.type)
        if isinstance(dtype, DType) and dtype.kind == "i":
            many = var.id in self.known or var.shared
            self.known[var.id] = (dtype.min, dtype.max) if many else s.init

    def store(self, place: n.Place) -> None:
        var = root_var(place)
        if var is not None:
            self.stored.add(var.id)


def known_length(begin: n.Expr, end: n.Expr) -> int | None:
    """How many numbers there are from `begin` to before `end`; None where one of these is no constant."""
    if not isinstance(begin, n.Const) or not isinstance(end, n.Const):
        return None
    return max(0, int(end.value) - int(begin.value))


def combined(op: str, a: Range, b: Range) -> Range:
    """Between what a sum, difference or product of numbers of two ranges lies, in whole numbers without end."""
    if op == "add":
        return a[0] + b[0], a[1] + b[1]
    if op == "sub":
        return a[0] - b[1], a[1] - b[0]
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _within(found: Range, whole: Range) -> Range:
    return found if whole[0] <= found[0] and found[1] <= whole[1] else whole
