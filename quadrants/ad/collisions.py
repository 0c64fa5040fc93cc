"""Whether two cells of a parallel loop meet: one that an iteration writes, and one that an iteration reads.

`apart` proves that they never do: multiples of 2 are no odd numbers, 0..3 is not 12..15. `collide` finds two different
iterations in which they are one cell. A loop whose length only the launch knows is supposed to run twice; one over an
array as often as the indices of that array tell. Where neither is found, nothing is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from quadrants.ad.indices import COMPUTED, Indices, Length, Sum, computed, mentions

_WRAP = 1 << 32  # indices that differ by this may be the same
_TRIES = 2000  # a longer search would be felt while a kernel is compiled
_NEAR = 32  # steps of one loop that are tried, from each end


@dataclass
class Access:
    """A cell that is read or written, or a component of it.

    forms, sums: of its `axes` indices, then of those of the component. steps: variables of the loops around it, the
    outermost first. conditions: of the branches around it. parts: the numbers of the cell, see `ir.overlap`.
    effect: "read", "add", "store", or "clear" for a store that passes no derivative on. lengths: of the loops, by their
    variables. chosen: whether choices made the indices these.
    """

    forms: tuple
    sums: tuple
    steps: tuple
    conditions: tuple
    parts: frozenset
    effect: str
    lengths: dict
    chosen: bool
    axes: int
    loc: object = None

    def to_cell(self) -> Access:
        """The same as an access to the whole cell."""
        return replace(self, forms=self.forms[: self.axes], sums=self.sums[: self.axes])


class Collisions:
    """In one parallel loop. extents: how long the axes of arrays are at least, by their forms."""

    def __init__(self, indices: Indices, extents: dict):
        self.indices = indices
        self.extents = extents

    # ------------------------------------------------------------ never

    def apart(self, written: Access, read: Access) -> bool:
        """Whether the two cells never meet, whatever the iterations, if these are two."""
        if written.parts.isdisjoint(read.parts) or self._is_own(written, read):
            return True
        return any(self._differ(a, b) for a, b in zip(written.sums, read.sums))

    def _is_own(self, written: Access, read: Access) -> bool:
        """Whether equal indices tell each variable of the parallel loop."""
        same = [a.terms for a, b in zip(written.sums, read.sums) if a is not None and a == b]
        told = {t[1] for terms in same for t in terms if sum(u[0] == "step" for u in terms) == 1 and t[0] == "step"}
        return self.indices.outer <= told

    def _differ(self, a: Sum | None, b: Sum | None) -> bool:
        if a is None or b is None:
            return False
        moving = [(t, n) for t, n in a.terms.items() if t[0] == "step"]
        moving += [(t, -n) for t, n in b.terms.items() if t[0] == "step"]
        gap = a.plus(b, -1)
        fixed = [n for t, n in gap.terms.items() if t[0] != "step"]
        if not moving and not fixed:
            return gap.number % _WRAP != 0
        if abs(gap.number) >= _WRAP // 2:
            return False
        divisor = math.gcd(*(n for _, n in moving), *fixed)
        if gap.number % (math.gcd(divisor, _WRAP) if fixed else divisor):
            return True
        if fixed:
            return False
        ends = [n * self._last(t[1]) for t, n in moving]
        return gap.number + sum(min(0, e) for e in ends) > 0 or gap.number + sum(max(0, e) for e in ends) < 0

    def _last(self, var: int) -> float:
        found = self.indices.length(var)
        length = None if found is None else found.sum
        return math.inf if length is None or length.terms else max(length.number - 1, 0)

    # ------------------------------------------------------------ at times

    def collide(self, written: Access, read: Access) -> bool:
        """Whether two different iterations are found in which the cells are one."""
        accesses = (written, read)
        if any(None in a.conditions for a in accesses):
            return False
        equations, compared = [], []
        pairs = zip(zip(written.forms, read.forms), zip(written.sums, read.sums))
        for axis, (forms, sums) in enumerate(pairs):
            equation = None if None in sums else _tagged(sums[0], 0).plus(_tagged(sums[1], 1), -1)
            known = equation is not None and all(t[0] == "step" for t in equation.terms)
            if known:
                equations.append(equation)
            elif equation is None and not any(mentions(f, ("fixed",)) or f is None for f in forms):
                compared.append(forms)
            elif axis < written.axes:  # of components, any may be the same
                return False
        return _Search(self, accesses, equations, compared).found(0)


class _Search:
    """Over the steps of the two iterations; an equation gives the last step that it has. compared: pairs of forms that
    are no sums.
    """

    def __init__(self, collisions: Collisions, accesses: tuple, equations: list, compared: list):
        self.collisions = collisions
        self.accesses = accesses
        self.compared = compared
        self.order = [(side, var) for side in (1, 0) for var in accesses[side].steps]
        self.places = places = {step: k for k, step in enumerate(self.order)}
        self.equations = equations
        self.telling: dict = {}
        for e in equations:
            self.telling.setdefault(max((places[t[1:]] for t in e.terms), default=-1), []).append(e)
        self.free = {t[1:] for e in equations for t in e.terms}
        self.free.update(*map(self._steers, self.order))
        if compared or any(a.conditions for a in accesses):
            self.free.update(self.order)
        self.values: dict = {}
        self.tries = 0

    # ------------------------------------------------------------ lengths

    def _steers(self, step: tuple) -> set:
        """The steps of outer loops that the length of a loop depends on."""
        side, var = step
        length = self.accesses[side].lengths[var]
        if length is None:
            return set()
        if length.sum is None:
            return {(side, outer) for outer in self.accesses[side].steps}
        return {(side, t[1]) for t in length.sum.terms if t[0] == "step"}

    def _length(self, step: tuple) -> int:
        """How often a loop runs, given the outer ones; at least that, where only the launch knows."""
        side, var = step
        length = self.accesses[side].lengths[var]
        if length is not None and length.sum is None:
            begin, end = self._value(length.begin, side), self._value(length.end, side)
            length = None if begin is None or end is None else Length(Sum(end - begin, {}), begin, end)
        if length is None:
            return 2
        number, open_ = length.sum.number, False
        for term, count in length.sum.terms.items():
            if term[0] == "step":
                number += count * self.values[side, term[1]]
            else:
                open_ = True
                number += count * self.collisions.extents.get(term, 0)
        return max(number, 2) if open_ else number

    def _longest(self, step: tuple) -> float:
        """How often a loop runs at most, whatever the outer ones do."""
        side, var = step
        length = self.accesses[side].lengths[var]
        if length is None or length.sum is None or any(t[0] != "step" for t in length.sum.terms):
            return math.inf
        ends = [n * (self._longest((side, t[1])) - 1) for t, n in length.sum.terms.items()]
        return length.sum.number + sum(max(end, 0) for end in ends)

    # ------------------------------------------------------------ iterations

    def found(self, k: int) -> bool:
        if k == 0 and any(e.number % _WRAP for e in self.telling.get(-1, ())):
            return False
        if k == len(self.accesses[1].steps) and not self._reached(1):
            return False
        if k == len(self.order):
            return self._differ() and self._same() and self._reached(0)
        for value in self._candidates(k):
            self.tries += 1
            if self.tries > _TRIES:
                return False
            self.values[self.order[k]] = value
            if self.found(k + 1):
                return True
        return False

    def _candidates(self, k: int) -> list:
        step = self.order[k]
        length = self._length(step)
        told = {self._solved(e, step) for e in self.telling.get(k, ())}
        if told:
            return [v for v in told if v is not None and 0 <= v < length] if len(told) == 1 else []
        if step not in self.free and step[1] not in self.collisions.indices.outer:
            return [0] if length > 0 else []
        return self._ends(*self._narrowed(k, length), [e for e in self.equations if ("step", *step) in e.terms], k)

    def _narrowed(self, k: int, length: int) -> tuple[int, int]:
        """The least and the greatest value of a step for which later ones may solve the equations."""
        low, high = 0, length - 1
        term = ("step", *self.order[k])
        for e in self.equations:
            if term not in e.terms:
                continue
            least, greatest = self._rest(e, k)
            count = e.terms[term]
            ends = sorted((-least / count, -greatest / count))
            low = max(low, math.ceil(ends[0])) if ends[0] > -math.inf else low
            high = min(high, math.floor(ends[1])) if ends[1] < math.inf else high
        return low, high

    def _rest(self, e: Sum, k: int) -> tuple[float, float]:
        """The least and the greatest value of an equation without the step `k`, given those before it."""
        least: float = e.number
        greatest: float = e.number
        for t, n in e.terms.items():
            place = self.places[t[1:]]
            if place < k:
                least += n * self.values[t[1:]]
                greatest += n * self.values[t[1:]]
            elif place > k:
                known = all(self.places[s] < k for s in self._steers(t[1:]))
                end = n * max((self._length(t[1:]) if known else self._longest(t[1:])) - 1, 0)
                least, greatest = least + min(end, 0), greatest + max(end, 0)
        return least, greatest

    def _ends(self, low: int, high: int, equations: list, k: int) -> list:
        """Values between two that later steps can make up for, from both ends; all, where these are not many."""
        count = min(high - low + 1, 2 * _NEAR)
        tried = [low + n // 2 if n % 2 == 0 else high - n // 2 for n in range(count)]
        return [v for v in tried if self._divides(equations, k, v)]

    def _divides(self, equations: list, k: int, value: int) -> bool:
        for e in equations:
            later = [n for t, n in e.terms.items() if self.places[t[1:]] > k]
            known = e.number + e.terms[("step", *self.order[k])] * value
            known += sum(n * self.values[t[1:]] for t, n in e.terms.items() if self.places[t[1:]] < k)
            if known % math.gcd(*later) if later else known:
                return False
        return True

    def _solved(self, equation: Sum, step: tuple) -> int | None:
        rest = equation.number + sum(n * self.values[t[1:]] for t, n in equation.terms.items() if t[1:] != step)
        count = equation.terms[("step", *step)]
        return None if rest % count else -rest // count

    def _differ(self) -> bool:
        return any(self.values[0, var] != self.values[1, var] for var in self.collisions.indices.outer)

    def _same(self) -> bool:
        values = [(self._value(a, 0), self._value(b, 1)) for a, b in self.compared]
        return all(a is not None and a == b for a, b in values)

    # ------------------------------------------------------------ branches

    def _reached(self, side: int) -> bool:
        return all(self._holds(c, side) for c in self.accesses[side].conditions)

    def _holds(self, condition: tuple, side: int) -> bool:
        if condition[0] in ("all", "any"):
            return (all if condition[0] == "all" else any)(self._holds(c, side) for c in condition[1:])
        op, a, b, wanted = condition
        values = self._value(a, side), self._value(b, side)
        return None not in values and _COMPARED[op](*values) == wanted

    def _value(self, form, side: int) -> int | None:
        """A form as a number, in these iterations."""
        known = self.collisions.indices.sum(form)
        if known is not None and all(t[0] == "step" for t in known.terms):
            return known.number + sum(n * self.values[side, t[1]] for t, n in known.terms.items())
        if form[0] == "shift":
            inner = self._value(form[1], side)
            return None if inner is None else inner + form[2]
        return computed(form[0], *(self._value(part, side) for part in form[1:])) if form[0] in COMPUTED else None


_COMPARED = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip


def _tagged(total: Sum, side: int) -> Sum:
    """A sum in which steps are those of one of the two iterations."""
    return Sum(total.number, {("step", side, t[1]) if t[0] == "step" else t: n for t, n in total.terms.items()})
