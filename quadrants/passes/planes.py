"""Whole numbers of all lanes of a word at once: bit k of every lane's number is in plane k.

    a + b       plane k:  a_k ^ b_k ^ carry,  carry = a_k & b_k | carry & (a_k ^ b_k)

A lane is a bit of the word. What is known of a number, its least and largest value, says how many planes it has; the
last one counts negatively where the least value is below 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from quadrants.ir import nodes as n
from quadrants.ir.types import DType

MOST = 12  # planes of a number


class Numbers(NamedTuple):
    """The numbers of the lanes, from the lowest plane on."""

    planes: tuple[n.Expr, ...]
    low: int
    high: int


class TooWide(Exception):
    """Numbers of more planes than are worth it."""


class Planes:
    """Arithmetic on numbers of lanes. hold: keeps an expression in a variable."""

    def __init__(self, t: DType, hold: Callable[[n.Expr], n.Expr]) -> None:
        self.type = t
        self.zero, self.ones = n.Const(0, t), n.Const(t.max, t)
        self.hold = hold

    # ------------------------------------------------------------ one plane

    def _is(self, e: n.Expr, value: int) -> bool:
        return isinstance(e, n.Const) and e.value == value

    def both(self, a: n.Expr, b: n.Expr) -> n.Expr:
        if self._is(a, 0) or self._is(b, 0):
            return self.zero
        if self._is(a, self.type.max) or a is b:
            return b
        return a if self._is(b, self.type.max) else self.hold(n.Binary("bit_and", a, b, self.type))

    def either(self, a: n.Expr, b: n.Expr) -> n.Expr:
        if self._is(a, 0) or a is b:
            return b
        if self._is(b, 0):
            return a
        full = self._is(a, self.type.max) or self._is(b, self.type.max)
        return self.ones if full else self.hold(n.Binary("bit_or", a, b, self.type))

    def differs(self, a: n.Expr, b: n.Expr) -> n.Expr:
        if self._is(a, 0):
            return b
        if self._is(b, 0):
            return a
        if self._is(a, self.type.max):
            return self.inverse(b)
        return self.inverse(a) if self._is(b, self.type.max) else self.hold(n.Binary("bit_xor", a, b, self.type))

    def inverse(self, a: n.Expr) -> n.Expr:
        if isinstance(a, n.Const):
            return n.Const(~int(a.value) & self.type.max, self.type)
        return self.hold(n.Unary("bit_not", a, self.type))

    def one_of(self, mask: n.Expr, a: n.Expr, b: n.Expr) -> n.Expr:
        """Lane by lane, `a` where the mask is set."""
        if a is b:
            return a
        return self.either(self.both(mask, a), self.both(self.inverse(mask), b))

    # ------------------------------------------------------------ numbers

    def constant(self, value: int) -> Numbers:
        count = _count(value, value)
        return Numbers(tuple(self.ones if value >> k & 1 else self.zero for k in range(count)), value, value)

    def truth(self, mask: n.Expr) -> Numbers:
        """1 where the mask is set."""
        return Numbers((mask,), 0, 1)

    def plane(self, x: Numbers, k: int) -> n.Expr:
        """Plane k, also behind the last one."""
        if k < len(x.planes):
            return x.planes[k]
        return x.planes[-1] if x.low < 0 else self.zero

    def add(self, a: Numbers, b: Numbers) -> Numbers:
        return self._sum(a, b, self.zero, a.low + b.low, a.high + b.high)

    def sub(self, a: Numbers, b: Numbers) -> Numbers:
        low, high = a.low - b.high, a.high - b.low
        count = _count(low, high)
        flipped = Numbers(tuple(self.inverse(self.plane(b, k)) for k in range(count)), 0, 0)
        return self._sum(a, flipped, self.ones, low, high)

    def _sum(self, a: Numbers, b: Numbers, carry: n.Expr, low: int, high: int) -> Numbers:
        planes = []
        count = _count(low, high)
        for k in range(count):
            x, y = self.plane(a, k), self.plane(b, k)
            half = self.differs(x, y)
            planes.append(self.differs(half, carry))
            if k + 1 < count:
                carry = self.either(self.both(x, y), self.both(half, carry))
        return Numbers(tuple(planes), low, high)

    def mul(self, a: Numbers, b: Numbers) -> Numbers:
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high = min(ends), max(ends)
        count = _count(low, high)
        total = Numbers((self.zero,) * count, 0, 0)
        for k in range(count):
            moved = [self.zero] * k + [self.both(self.plane(a, j), self.plane(b, k)) for j in range(count - k)]
            total = self._sum(total, Numbers(tuple(moved), 0, 0), self.zero, low, high)
        return total

    def bitwise(self, op: str, a: Numbers, b: Numbers) -> Numbers:
        combine = {"bit_and": self.both, "bit_or": self.either, "bit_xor": self.differs}[op]
        negative = a.low < 0 or b.low < 0
        count = max(_count(min(x.low, -1) if negative else 0, x.high) for x in (a, b))
        planes = tuple(combine(self.plane(a, k), self.plane(b, k)) for k in range(count))
        low, high = (-(1 << (count - 1)), (1 << (count - 1)) - 1) if negative else (0, (1 << count) - 1)
        return Numbers(planes, low, high)

    def inverted(self, a: Numbers) -> Numbers:
        low, high = ~a.high, ~a.low
        return Numbers(tuple(self.inverse(self.plane(a, k)) for k in range(_count(low, high))), low, high)

    def chosen(self, mask: n.Expr, a: Numbers, b: Numbers) -> Numbers:
        low, high = min(a.low, b.low), max(a.high, b.high)
        planes = [self.one_of(mask, self.plane(a, k), self.plane(b, k)) for k in range(_count(low, high))]
        return Numbers(tuple(planes), low, high)

    # ------------------------------------------------------------ comparisons

    def nonzero(self, a: Numbers) -> n.Expr:
        found: n.Expr = self.zero
        for plane in a.planes:
            found = self.either(found, plane)
        return found

    def compare(self, op: str, a: Numbers, b: Numbers) -> n.Expr:
        """The mask of the lanes where the comparison holds."""
        if op in ("gt", "le"):
            a, b, op = b, a, {"gt": "lt", "le": "ge"}[op]
        if op in ("eq", "ne"):
            count = _count(min(a.low, b.low), max(a.high, b.high))
            other: n.Expr = self.zero
            for k in range(count):
                other = self.either(other, self.differs(self.plane(a, k), self.plane(b, k)))
            return other if op == "ne" else self.inverse(other)
        less = self.sub(a, b)
        below = less.planes[-1] if less.low < 0 else self.zero
        return below if op == "lt" else self.inverse(below)


def _count(low: int, high: int) -> int:
    """How many planes numbers from low to high have."""
    count = high.bit_length() if low >= 0 else max(high.bit_length(), (-low - 1).bit_length()) + 1
    if count > MOST:
        raise TooWide
    return max(count, 1)
