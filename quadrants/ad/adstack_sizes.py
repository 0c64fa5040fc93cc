"""How deep a stack must be: the length of its loop, as an expression that the launch evaluates (`adstack_size_trees`).

For `for k in range(n[i])` in a loop over i that is over(i; 0, extent, read(n; loop(i))): the longest of all. A loop
variable that is no index is replaced by the end of its range. Indices that nobody knows before the launch (`n[p[i]
// 2]`) range over the whole axis. Bounds that come from real numbers or from arrays that the kernel cannot be asked
about are refused. A loop that begins where nobody can tell is supposed to begin at zero, and fails if it is longer.

A size that is a number is never too small: such stacks are not guarded.
"""

from __future__ import annotations

from dataclasses import dataclass

from quadrants.ad.adstack_below_zero import below_zero
from quadrants.ad.components import component
from quadrants.ir.adstack_size_trees import (
    Size,
    Unresolved,
    const,
    contains_any,
    exact,
    indexed,
    is_index,
    larger,
    least_index,
    mentions,
    most,
    over_axes,
    plus,
    product,
    replaced,
    times,
    walk,
)
from quadrants.ir.nodes import Binary, Cast, Cell, Const, ElemPlace, Extent, Intrinsic, Load, Select, Unary, VarPlace
from quadrants.ir.walk import root


@dataclass(slots=True)
class Values:
    """What the variables of a body are: `once` the value of those assigned once, `assigned` all values of the others,
    `pushed` those of stacks, `loops` the bounds of loop variables; all by id.
    """

    once: dict
    assigned: dict
    pushed: dict
    loops: dict


class Sizing:
    """Sizes of expressions at one place; `loops` has the bounds of the loop variables around, outermost first."""

    def __init__(self, values: Values, loops: dict, params: set):
        self.values = values
        self.defined = values.once
        self.loops = loops
        self.params = params
        self.open: set = set()

    def trips(self, bounds: tuple) -> Size:
        """The number of iterations of a loop over `bounds`, for all ways to enter it."""
        return self.closed(product([self.difference(end, begin) for begin, end in bounds]))

    def known(self, e) -> int | None:
        """The number that an expression always is."""
        e = self.behind(e)
        if isinstance(e, Const):
            return int(e.value)
        if isinstance(e, Unary) and e.op == "neg" and e.type.bits >= 32:
            a = self.known(e.a)
            return None if a is None else -a
        if isinstance(e, Binary) and e.op in ("add", "sub", "mul") and e.type.bits >= 32:
            a, b = self.known(e.a), self.known(e.b)
            if a is not None and b is not None:
                return a + b if e.op == "add" else a - b if e.op == "sub" else a * b
        return None

    def behind(self, e):
        """What stands behind the name of a variable that is assigned once, behind a component of a vector that is put
        together of numbers, such as a grouped index, or behind a conversion of integers.
        """
        for _ in range(64):
            if isinstance(e, Cast) and not e.bits and e.a.type.is_integral and e.type.is_integral and not _cuts(e):
                e = e.a
                continue
            meant = self._meant(e.place) if isinstance(e, Load) else None
            if meant is None:
                break
            e = meant
        return e

    def _meant(self, place):
        """What a place holds in all iterations of the loops around; None where nothing tells."""
        if isinstance(place, VarPlace):
            return self.defined.get(place.var.id)
        if isinstance(place, ElemPlace) and len(place.indices) == 1:
            at = self.known(place.indices[0])
            return None if at is None else component(Load(place.base, place.base.type), at, self._whole)
        return None

    def _whole(self, e):
        """What stands behind the name of a vector that is assigned once."""
        while isinstance(e, Load) and (meant := self._meant(e.place)) is not None:
            e = meant
        return e

    # ------------------------------------------------------------ upper bounds

    def of(self, e) -> Size:
        """An upper bound of an integer expression; it may be below zero where it is the value itself (`exact`)."""
        known = self.known(e)
        if known is not None:
            return const(known) if known >= 0 else most(const(0))
        e = self.behind(e)
        if isinstance(e, Extent):
            return Size("extent", (), (e.array, e.axis)) if e.array.shape is None else const(e.array.shape[e.axis])
        if isinstance(e, Load):
            return self._load(e)
        if isinstance(e, Binary):
            return self._binary(e)
        if isinstance(e, Select):
            return Size("most", (self.of(e.a), self.of(e.b)))
        if isinstance(e, Unary) and e.op in ("neg", "bit_not"):
            return most(plus(below_zero(self, e.a), 0 if e.op == "neg" else -1))
        if isinstance(e, Unary) and e.op == "abs":
            return larger(self.of(e.a), below_zero(self, e.a))
        if isinstance(e, Cast) and e.a.type.is_integral:
            return most(self.of(e.a))
        if isinstance(e, Cast):
            raise Unresolved(f"it comes from a number of type {e.a.type}")
        asked = isinstance(e, Intrinsic) and e.op == "sparse.length"
        raise Unresolved("it is the length of a list" if asked else f"it is computed by {type(e).__name__.lower()}")

    def _load(self, e: Load) -> Size:
        at = root(e.place)
        if isinstance(at, VarPlace):
            if at.var.id in self.loops:
                return Size("loop", (), at.var)
            if at.var.id in self.params and at is e.place:
                return Size("arg", (), at.var)
            if at.var.id in self.values.loops:
                return most(self._last(self.values.loops[at.var.id][1]))
            if at is e.place:
                return self.largest(at.var.id, at.var.name, self.values.assigned.get(at.var.id), Sizing.of)
            raise Unresolved(f"it is a component of '{at.var.name}'")
        if at.array.kind == "stack" and at is e.place:
            return self.largest(at.array.id, at.array.label, self.values.pushed.get(at.array.id), Sizing.of)
        if at is not e.place or at.array.kind not in ("field", "array") or not e.type.is_integral:
            raise Unresolved(f"it is a part of '{at.array.label or at.array.name}'")
        # The array behind a view does not come with its extents unless somebody needs them.
        at.array.extents = True
        return Size("read", tuple(self._index(at, axis) for axis in range(at.array.ndim)), at.array)

    def largest(self, key: int, name: str, values: list | None, bound) -> Size:
        """The largest `bound(self, value)` of all that a variable or stack may hold."""
        if not values:
            raise Unresolved(f"'{name}' is not assigned numbers that are known")
        if key in self.open:
            raise Unresolved(f"'{name}' depends on its own earlier value (a data-flow cycle)")
        self.open.add(key)
        try:
            sizes = [bound(self, e) for e in values]
        finally:
            self.open.discard(key)
        largest = most(sizes[0])
        for size in sizes[1:]:
            largest = Size("most", (largest, size))
        return largest

    def least(self, values, bound) -> Size:
        """The least `bound(self, value)`, of those that are known."""
        found = []
        for x in values:
            try:
                found.append(bound(self, x))
            except Unresolved as reason:
                last = reason
        if not found:
            raise last
        return most(found[0]) if len(found) == 1 else Size("min", tuple(found))

    def _index(self, cell: Cell, axis: int) -> Size:
        e = self.behind(cell.indices[axis])
        if isinstance(e, Const):
            return Size("const", (), int(e.value))
        if isinstance(e, Load) and isinstance(e.place, VarPlace):
            var = e.place.var
            if var.id in self.loops:
                return Size("loop", (), var)
            if var.id in self.params:
                return Size("arg", (), var)
        if isinstance(e, Binary) and e.op in ("add", "sub"):
            # i + 1: an index that moves with a loop.
            a, b = self.behind(e.a), self.known(e.b)
            if b is not None and isinstance(a, Load) and isinstance(a.place, VarPlace) and a.place.var.id in self.loops:
                step = b if e.op == "add" else -b
                return Size("shift", (Size("loop", (), a.place.var),), step)
        return Size("any", (), (cell.array, axis))

    def _binary(self, e: Binary) -> Size:
        if e.op == "add":
            return self._sum(e)
        if e.op == "sub":
            return self.difference(e.a, e.b)
        if e.op == "mul":
            return self._product(e.a, e.b)
        if e.op == "max":
            return Size("max", (self.of(e.a), self.of(e.b)))
        if e.op == "min":
            return self.least((e.a, e.b), Sizing.of)
        b = self.known(e.b)
        if e.op in ("floordiv", "raw_div"):
            if b is not None and b > 0:
                return Size("div", (self.of(e.a), const(b)))
            return larger(most(self.of(e.a)), self._below_or_zero(e.a))
        if e.op in ("mod", "raw_mod"):
            return most(const(b - 1) if b is not None and b > 0 else plus(self.of(e.b), -1))
        if e.op == "shl" and b is not None and 0 <= b < 31:
            return times(self.of(e.a), const(1 << b))
        if e.op in ("shr", "bit_shr"):
            return most(self.of(e.a))
        if e.op == "bit_and" and b is not None and b >= 0:
            return most(const(b))
        raise Unresolved(f"it is computed by '{e.op}'")

    def _product(self, a, b) -> Size:
        for x, y in ((a, b), (b, a)):
            factor = self.known(y)
            if factor is not None and factor < 0:
                return most(times(below_zero(self, x), const(-factor)))
        upper = times(self.of(a), self.of(b))
        if exact(upper):
            return upper
        below = times(self._below_or_zero(a), self._below_or_zero(b))
        return upper if below == const(0) else larger(most(upper), below)

    def _below_or_zero(self, e) -> Size:
        try:
            return below_zero(self, e)
        except Unresolved:
            return const(0)

    def _sum(self, e: Binary) -> Size:
        for x, y in ((e.a, e.b), (e.b, e.a)):
            step = self.known(y)
            if step is not None:
                return plus(self.of(x), step)
        return Size("add", (self.of(e.a), self.of(e.b)))

    def difference(self, a, b) -> Size:
        """An upper bound of a - b, where b may only be subtracted if it is as exact as a is."""
        first, step = self.known(a), self.known(b)
        if step is not None:
            return const(first - step) if first is not None else plus(self.of(a), -step)
        upper = self.of(a)
        try:
            lower = self.of(b)
            whole = Size("sub", (upper, lower))
            if exact(upper) and exact(lower) and self._is_least_first(lower, whole):
                return whole
        except Unresolved:
            pass  # what is not subtracted need not be known
        try:
            below = below_zero(self, b)
        except Unresolved:
            return most(upper)
        return upper if below == const(0) else Size("add", (upper, below))

    def _is_least_first(self, size: Size, whole: Size) -> bool:
        """Whether a size is least where the loops around begin, as `closed` takes it to be; a loop variable that is an
        index somewhere in `whole` is not replaced there.
        """
        if size.op == "loop":
            return is_index(whole, size.of.id) or self.known(self.loops[size.of.id][0]) is not None
        if size.op == "read":
            return True
        if size.op == "mul" and any(s.op == "loop" for s in walk(size)) and all(s.op != "const" for s in size.args):
            return False
        return all(self._is_least_first(s, whole) for s in size.args)

    # ------------------------------------------------------------ loops around

    def closed(self, size: Size) -> Size:
        """`size` for any iteration of the loops around it."""
        for var in reversed(list(self.loops)):
            if not mentions(size, var):
                continue
            begin, end = self.loops[var]
            if is_index(size, var):
                first, last = self._limits(begin, end, size, var)
                size = Size("over", (first, last, size), var)
            else:
                size = replaced(size, var, self._last(end), self._first(begin))
        if contains_any(size):
            size = over_axes(size)
        return size

    def _limits(self, begin, end, size: Size, var) -> tuple:
        first = self._first(begin, least_index(size, var))
        try:
            return first, self.of(end)
        except Unresolved:
            array, axis = indexed(size, var)
            return const(0), Size("extent", (), (array, axis))

    def _last(self, end) -> Size:
        return plus(self.of(end), -1)

    def _first(self, begin, otherwise: int = 0) -> Size:
        known = self.known(begin)
        return Size("const", (), otherwise if known is None else known)


def _cuts(e: Cast) -> bool:
    """Whether a conversion of integers may give another number, and to one of few bits."""
    old, new = e.a.type, e.type
    return new.bits < 32 and not (new.min <= old.min and old.max <= new.max)
