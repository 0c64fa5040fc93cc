"""How deep a stack must be: the length of its loop, as an expression that the launch evaluates.

A `Size` is an upper bound, in 64-bit integers, made of what is known before a launch:

    const(c)  extent(array, axis)  arg(variable)  read(array; indices)     with i the loop it stands for: loop(i)
    add sub mul max min div         sub is never below zero
    most                            the larger, where that is only a bound of the value
    over(i; begin, end, body)       the largest body for i in [begin, end), 0 when there is none

`for k in range(n[i])` in a loop over i needs over(i; 0, extent, read(n; loop(i))): the longest of all. A loop
variable that is no index is replaced by the end of its range. Indices that nobody knows before the launch (`n[p[i]
// 2]`) range over the whole axis. Bounds that come from real numbers or from arrays that the kernel cannot be asked
about are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from quadrants.ir.nodes import Binary, Cast, Cell, Const, Extent, Load, Select, Var, VarPlace
from quadrants.ir.walk import root


@dataclass(frozen=True, slots=True)
class Size:
    """One node. `of`: the number, array, (array, axis), variable or loop variable that it is about."""

    op: str
    args: tuple = ()
    of: object = None


class Unresolved(Exception):
    """No bound is known; `str()` says what stands in the way."""


def const(value: int) -> Size:
    return Size("const", (), max(0, int(value)))


def most(size: Size) -> Size:
    """A size that is only a bound: it must not be subtracted."""
    return Size("most", (size, const(0)))


def product(sizes) -> Size:
    total = None
    for s in sizes:
        total = s if total is None else _mul(total, s)
    return total or const(1)


def _mul(a: Size, b: Size) -> Size:
    if a.op == "const" and b.op == "const":
        return const(a.of * b.of)
    return b if a == const(1) else a if b == const(1) else Size("mul", (a, b))


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
        return self.closed(product([self._trips(begin, end) for begin, end in bounds]))

    def _trips(self, begin, end) -> Size:
        first = self.known(begin)
        if first is not None and first <= 0:
            return self._plus(self.of(end), -first)
        return self._difference(end, begin)

    def known(self, e) -> int | None:
        """The number that an expression always is."""
        e = self.behind(e)
        return int(e.value) if isinstance(e, Const) else None

    def behind(self, e):
        """What stands behind the name of a variable that is assigned once, or behind a conversion of integers."""
        for _ in range(64):
            if isinstance(e, Cast) and not e.bits and e.a.type.is_integral and e.type.is_integral:
                e = e.a
            elif isinstance(e, Load) and isinstance(e.place, VarPlace) and e.place.var.id in self.defined:
                e = self.defined[e.place.var.id]
            else:
                break
        return e

    # ------------------------------------------------------------ upper bounds

    def of(self, e) -> Size:
        """An upper bound of an integer expression, at least zero."""
        e = self.behind(e)
        if isinstance(e, Const):
            return const(e.value)
        if isinstance(e, Extent):
            return Size("extent", (), (e.array, e.axis)) if e.array.shape is None else const(e.array.shape[e.axis])
        if isinstance(e, Load):
            return self._load(e)
        if isinstance(e, Binary):
            return self._binary(e)
        if isinstance(e, Select):
            return Size("most", (self.of(e.a), self.of(e.b)))
        if isinstance(e, Cast):
            raise Unresolved(f"it comes from a number of type {e.a.type}")
        raise Unresolved(f"it is computed by {type(e).__name__.lower()}")

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
                return self._largest(at.var.id, at.var.name, self.values.assigned.get(at.var.id))
            raise Unresolved(f"it is a component of '{at.var.name}'")
        if at.array.kind == "stack" and at is e.place:
            return self._largest(at.array.id, at.array.label, self.values.pushed.get(at.array.id))
        if at is not e.place or at.array.kind not in ("field", "array") or not e.type.is_integral:
            raise Unresolved(f"it is a part of '{at.array.label or at.array.name}'")
        # The array behind a view does not come with its extents unless somebody needs them.
        at.array.extents = True
        return Size("read", tuple(self._index(at, axis) for axis in range(at.array.ndim)), at.array)

    def _largest(self, key: int, name: str, values: list | None) -> Size:
        """The bound of all that a variable or stack may hold."""
        if not values:
            raise Unresolved(f"'{name}' is not assigned numbers that are known")
        if key in self.open:
            raise Unresolved(f"'{name}' depends on its own earlier value (a data-flow cycle)")
        self.open.add(key)
        sizes = [self.of(e) for e in values]
        self.open.discard(key)
        largest = most(sizes[0])
        for size in sizes[1:]:
            largest = Size("most", (largest, size))
        return largest

    def _index(self, cell: Cell, axis: int) -> Size:
        e = self.behind(cell.indices[axis])
        if isinstance(e, Const):
            return const(e.value)
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
            return self._difference(e.a, e.b)
        if e.op == "mul":
            return _mul(self.of(e.a), self.of(e.b))
        if e.op in ("max", "min"):
            return self._extremum(e)
        b = self.known(e.b)
        if e.op in ("floordiv", "raw_div"):
            return Size("div", (self.of(e.a), const(b))) if b is not None and b > 0 else most(self.of(e.a))
        if e.op in ("mod", "raw_mod"):
            return most(const(b - 1) if b is not None and b > 0 else self._plus(self.of(e.b), -1))
        if e.op == "shl" and b is not None and 0 <= b < 31:
            return _mul(self.of(e.a), const(1 << b))
        if e.op in ("shr", "bit_shr"):
            return most(self.of(e.a))
        if e.op == "bit_and" and b is not None and b >= 0:
            return most(const(b))
        raise Unresolved(f"it is computed by '{e.op}'")

    def _extremum(self, e: Binary) -> Size:
        if e.op == "max":
            return Size("max", (self.of(e.a), self.of(e.b)))
        found = []
        for x in (e.a, e.b):
            try:
                found.append(self.of(x))
            except Unresolved as reason:
                last = reason
        if not found:
            raise last
        return most(found[0]) if len(found) == 1 else Size("min", tuple(found))

    def _sum(self, e: Binary) -> Size:
        for x, y in ((e.a, e.b), (e.b, e.a)):
            step = self.known(y)
            if step is not None:
                return self._plus(self.of(x), step)
        return Size("add", (self.of(e.a), self.of(e.b)))

    @staticmethod
    def _plus(size: Size, step: int) -> Size:
        if size.op == "const":
            return const(size.of + step)
        if step == 0:
            return size
        return Size("add", (size, const(step))) if step > 0 else Size("sub", (size, const(-step)))

    def _difference(self, a, b) -> Size:
        """a - b, where b may only be subtracted if it is as exact as a is."""
        step = self.known(b)
        if step is not None:
            return self._plus(self.of(a), -step)
        upper = self.of(a)
        try:
            lower = self.of(b)
        except Unresolved:
            return upper
        if not _exact(lower):
            return upper
        if _exact(upper):
            return Size("sub", (upper, lower))
        if any(s.op in ("read", "arg") for s in walk(lower)):  # it may be less than zero
            return Size("add", (upper, Size("sub", (const(0), lower))))
        return upper

    # ------------------------------------------------------------ loops around

    def closed(self, size: Size) -> Size:
        """`size` for any iteration of the loops around it."""
        for var in reversed(list(self.loops)):
            if not _mentions(size, var):
                continue
            begin, end = self.loops[var]
            if _is_index(size, var):
                first, last = self._limits(begin, end, size, var)
                size = Size("over", (first, last, size), var)
            else:
                size = _replaced(size, var, self._last(end), self._first(begin))
        if _contains_any(size):
            size = _over_axes(size)
        return size

    def _limits(self, begin, end, size: Size, var) -> tuple:
        known = self.known(begin)
        first = Size("const", (), known if known is not None else 0)
        try:
            return first, self.of(end)
        except Unresolved:
            array, axis = _indexed(size, var)
            return const(0), Size("extent", (), (array, axis))

    def _last(self, end) -> Size:
        return self._plus(self.of(end), -1)

    def _first(self, begin) -> Size:
        known = self.known(begin)
        return const(known if known is not None else 0)


def _exact(size: Size) -> bool:
    """Whether a size is the value itself, not only a bound, for given loop variables."""
    return size.op in ("const", "extent", "arg", "loop", "shift", "read", "add", "mul", "max", "min") and all(
        map(_exact, size.args)
    )


def walk(size: Size):
    yield size
    for a in size.args:
        yield from walk(a)


def _mentions(size: Size, var: int) -> bool:
    return any(s.op == "loop" and s.of.id == var for s in walk(size))


def _is_index(size: Size, var: int) -> bool:
    return any(s.op == "read" and any(_mentions(a, var) for a in s.args) for s in walk(size))


def _indexed(size: Size, var: int) -> tuple:
    for s in walk(size):
        if s.op == "read":
            for axis, a in enumerate(s.args):
                if _mentions(a, var):
                    return s.of, axis
    raise AssertionError("no array is indexed by the loop")


def _replaced(size: Size, var: int, high: Size, low: Size) -> Size:
    """The size with the loop variable at the end of its range, or at the start where it is subtracted."""
    if size.op == "loop":
        return high if size.of.id == var else size
    if not size.args:
        return size
    if size.op == "sub":
        a, b = size.args
        return Size("sub", (_replaced(a, var, high, low), _replaced(b, var, low, high)))
    return Size(size.op, tuple(_replaced(a, var, high, low) for a in size.args), size.of)


def _contains_any(size: Size) -> bool:
    return any(s.op == "any" for s in walk(size))


def _over_axes(size: Size) -> Size:
    """Indices that may be anything become loops over their axes.

    A read that depends on no loop becomes the largest cell by itself: `n[p] + m[q]` takes one walk over each of the two
    arrays, not one over all pairs of their cells.
    """
    loops: list = []

    def visit(s: Size) -> Size:
        if s.op == "read" and _contains_any(s) and not any(x.op == "loop" for x in walk(s)):
            return _wrapped(s)
        if s.op == "any":
            loops.append(_axis_loop(s))
            return Size("loop", (), loops[-1][0])
        return Size(s.op, tuple(map(visit, s.args)), s.of) if s.args else s

    return _around(visit(size), loops)


def _wrapped(read: Size) -> Size:
    loops = [_axis_loop(s) if s.op == "any" else None for s in read.args]
    indices = [s if loop is None else Size("loop", (), loop[0]) for s, loop in zip(read.args, loops)]
    return _around(Size("read", tuple(indices), read.of), [loop for loop in loops if loop is not None])


def _axis_loop(s: Size) -> tuple:
    """A loop variable, first and last, for an index that may be anything."""
    from quadrants.ir.types import i32

    array, axis = s.of
    first = Size("const", (), array.index_offset[axis] if array.index_offset else 0)
    if array.shape is not None:
        last = Size("const", (), first.of + array.shape[axis])
    else:
        last = Size("extent", (), (array, axis))
    return Var("qd_any", i32, False), first, last


def _around(size: Size, loops: list) -> Size:
    for var, first, last in loops:
        size = Size("over", (first, last, size), var.id)
    return size
