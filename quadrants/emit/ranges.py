"""Where signed arithmetic cannot overflow, or nobody can see that it did.

Compilers of C++ assume that signed numbers never overflow; in kernels they wrap. Unsigned arithmetic is always right,
but plain signed arithmetic is what people write, and lets the compiler fold offsets into addresses. It is kept where
the ranges of loop variables, extents and constants exclude an overflow, and in indices of cells: one that overflows is
outside of every array.
"""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.types import DType, element_dtype, i32
from quadrants.ir.walk import root_var

_ARITHMETIC = ("add", "sub", "mul", "neg")
# Where a value goes.
INDEX, USE = "index", "use"


class Ranges:
    """What is known about the integers of one function or task."""

    def __init__(self, body, loop=None):
        self.known: dict = {}  # variable -> (least, largest) value, or the expression it is initialised with
        self.bounds: dict = {}  # variable of a loop -> begin, end
        self.uses: dict = {}  # variable -> where its values go: INDEX, USE, or another variable
        self.stored: set = set()
        if loop is not None:
            self.loop(loop)
        self.block(body)
        self.settle()

    # ------------------------------------------------------------ ranges

    def of(self, e) -> tuple:
        """(least, largest) value of an integer expression."""
        t = e.type
        if not isinstance(t, DType) or not t.is_integral:
            return (0, 0)
        whole = (t.min, t.max)
        if isinstance(e, n.Const):
            return int(e.value), int(e.value)
        if isinstance(e, n.Extent):
            return (0, whole[1])
        if isinstance(e, n.Load) and isinstance(e.place, n.VarPlace):
            return self.variable(e.place.var, whole)
        if isinstance(e, n.Cast) and not e.bits and e.a.type.is_integral:
            return _within(self.of(e.a), whole)
        if isinstance(e, n.Binary):
            return _within(self.binary(e), whole)
        return whole

    def variable(self, var, whole: tuple) -> tuple:
        if var.id in self.stored:
            return whole
        found = self.known.get(var.id, whole)
        if var.id in self.bounds:
            begin, end = self.bounds.pop(var.id)
            low, high = self.of(begin)[0], self.of(end)[1]
            found = self.known[var.id] = (low, max(low, high - 1))
        elif not isinstance(found, tuple):
            self.known[var.id] = whole  # while it is looked at
            found = self.known[var.id] = self.of(found)
        return found

    def binary(self, e) -> tuple:
        """Before it wraps."""
        a, b = self.of(e.a), self.of(e.b)
        if e.op == "add":
            return a[0] + b[0], a[1] + b[1]
        if e.op == "sub":
            return a[0] - b[1], a[1] - b[0]
        if e.op == "mul":
            corners = [x * y for x in a for y in b]
            return min(corners), max(corners)
        if e.op == "bit_and" and max(a[0], b[0]) >= 0:
            return 0, min(x[1] for x in (a, b) if x[0] >= 0)
        if e.op == "mod" and b[0] > 0:
            return 0, b[1] - 1
        if e.op == "floordiv" and a[0] >= 0 and b[0] > 0:
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

    def only_indexes(self, var) -> bool:
        """Whether all that a variable is used for is the index of a cell."""
        return var.id in self.indices

    # ------------------------------------------------------------ one walk over the body

    def loop(self, loop) -> None:
        self.bounds.update((var.id, pair) for var, pair in zip(loop.vars, loop.bounds))

    def block(self, body) -> None:
        for s in body:
            if isinstance(s, n.Declare):
                if s.var.type is i32 or isinstance(s.var.type, DType) and s.var.type.kind == "i":
                    # A variable of an unrolled loop may be declared more than once, with other values.
                    known = s.var.id in self.known
                    self.known[s.var.id] = (s.var.type.min, s.var.type.max) if known or s.var.shared else s.init
                self.visit(s.init, s.var.id)
            elif isinstance(s, n.Store):
                var = root_var(s.place)
                if var is not None:
                    self.stored.add(var.id)
                self.visit(s.place, USE, write=True)
                self.visit(s.value, USE if var is None or var.shared or var.by_ref else var.id)
            elif isinstance(s, n.For):
                for pair in s.bounds:
                    for e in pair:
                        self.visit(e, USE)
                self.loop(s)
                self.block(s.body)
            elif isinstance(s, n.If):
                self.visit(s.cond, USE)
                self.block(s.then)
                self.block(s.orelse)
            elif isinstance(s, n.While):
                self.block(s.pre)
                self.visit(s.cond, USE)
                self.block(s.body)
            else:
                for slot in getattr(type(s), "__slots__", ()):
                    self.visit_any(getattr(s, slot))

    def visit_any(self, x) -> None:
        if isinstance(x, (list, tuple)):
            for item in x:
                self.visit_any(item)
        elif type(x).__module__ == n.__name__ and not isinstance(x, (n.Loc, n.For, n.Function)):
            self.visit(x, USE)

    def visit(self, e, goal, write: bool = False) -> None:
        """Note what an expression reads; `goal`: INDEX, USE, or the variable that its value is assigned to."""
        if isinstance(e, n.Load):
            self.visit(e.place, goal)
        elif isinstance(e, n.VarPlace):
            if not write:
                self.uses.setdefault(e.var.id, set()).add(goal)
        elif isinstance(e, n.Cell):
            for index in e.indices:
                self.visit(index, INDEX)
        elif isinstance(e, (n.ElemPlace, n.MemberPlace)):
            self.visit(e.base, goal, write)
            for index in getattr(e, "indices", ()):
                self.visit(index, USE)
        elif isinstance(e, n.Atomic):
            var = root_var(e.place)
            if var is not None:
                self.stored.add(var.id)
            self.visit(e.place, USE)
            for a in e.args:
                self.visit(a, USE)
        elif isinstance(e, n.Call):
            for a in e.args:
                if isinstance(a, n.VarPlace):
                    self.stored.add(a.var.id)
                self.visit(a, USE)
        else:
            kept = carries(e)
            for slot in getattr(type(e), "__slots__", ()):
                if slot not in ("type", "loc"):
                    for below in _nodes(getattr(e, slot)):
                        self.visit(below, goal if kept else USE)

    def settle(self) -> None:
        """Variables whose values go to indices only, also by way of other variables."""
        candidates = set(self.uses)
        while True:
            left = {v for v in candidates if all(goal == INDEX or goal in candidates for goal in self.uses[v])}
            if left == candidates:
                break
            candidates = left
        self.indices = candidates


def carries(e) -> bool:
    """Whether an overflow below an expression is outside of every array when the expression is an index."""
    if isinstance(e, (n.Binary, n.Unary)):
        return e.op in _ARITHMETIC and element_dtype(e.type).kind == "i"
    return isinstance(e, (n.Load, n.Elem, n.Make, n.Const, n.Member, n.Extent))


def _nodes(x):
    if isinstance(x, (list, tuple)):
        for item in x:
            yield from _nodes(item)
    elif type(x).__module__ == n.__name__ and not isinstance(x, (n.Loc, n.Function)):
        yield x


def _within(found: tuple, whole: tuple) -> tuple:
    return found if whole[0] <= found[0] and found[1] <= whole[1] else whole
