"""Parallel loops whose iterations read what others write: their derivative has no order to follow.

    for i in range(1, n): a[i] = a[i - 1] * 2

An array is refused if one iteration of a parallel loop stores to it and another reads it, as the indices show: two
iterations are found in which they are one cell, or both are arithmetic on variables of the parallel loop, and differ.
Indices that come out of arrays are the user's to know, and so are branches that only the launch decides.
Cells that never meet are no race: z[t + 1, i] = z[t, i + 1] with a t from outside the loop.
"""

from __future__ import annotations

from itertools import product

from quadrants.ad.activity import Activity
from quadrants.ad.collisions import Access, Collisions
from quadrants.ad.indices import Indices, mentions
from quadrants.ad.refusals import Refusals
from quadrants.ir import rename
from quadrants.ir.nodes import Atomic, Cell, Const, Declare, For, If, Load, Select, Store
from quadrants.ir.overlap import is_same_memory, parts
from quadrants.ir.walk import root, walk


def check(body: list, activity: Activity, refusals: Refusals) -> None:
    for s in body:
        if isinstance(s, For) and s.parallel and not _runs_once(s):
            _Loop(s, activity).check(refusals)


def _runs_once(loop: For) -> bool:
    bounds = [(begin, end) for begin, end in loop.bounds if isinstance(begin, Const) and isinstance(end, Const)]
    return len(bounds) == len(loop.bounds) and all(int(e.value) - int(b.value) <= 1 for b, e in bounds)


class _Loop:
    def __init__(self, loop: For, activity: Activity):
        self.loop = loop
        self.activity = activity
        self.reads: dict = {}  # array -> (place, line, variables of the loops around it, branches around it)
        self.writes: dict = {}
        self._block(loop.body, tuple(v.id for v in loop.vars), ())

    def check(self, refusals: Refusals) -> None:
        shared = [(a, b) for a in self.writes for b in self.reads if is_same_memory(a, b)]
        if not shared:
            return
        cells = _Cells(self.loop)
        collisions = Collisions(cells.indices, cells.extents)
        written = {a: cells.accesses(self.writes[a]) for a, _ in shared}
        read = {b: cells.accesses(self.reads[b]) for _, b in shared}
        for a, b in shared:
            for access, other in product(written[a], read[b]):
                if collisions.apart(access, other):
                    continue
                if _cross(access, other) or collisions.collide(access, other):
                    refusals.cross_iteration(a, access.loc or self.loop.loc)

    # ------------------------------------------------------------ what is read and written

    def _block(self, body: list, steps: tuple, branches: tuple) -> None:
        for s in body:
            if isinstance(s, If):
                self._nodes(s.cond, s.loc, steps, branches)
                self._block(s.then, steps, (*branches, (s.cond, True)))
                self._block(s.orelse, steps, (*branches, (s.cond, False)))
            elif isinstance(s, For):
                self._nodes(s.bounds, s.loc, steps, branches)
                self._block(s.body, (*steps, *(v.id for v in s.vars)), branches)
            else:
                self._nodes(s, s.loc, steps, branches)

    def _nodes(self, nodes, loc, steps: tuple, branches: tuple) -> None:
        chosen: dict = {}
        for node in walk(nodes):
            if isinstance(node, Select):
                _choose(node, chosen)
            elif isinstance(node, Load) and isinstance(root(node.place), Cell) and self.activity.is_varied(node):
                found = (node, loc, steps, (*branches, *chosen.get(id(node), ())))
                self.reads.setdefault(root(node.place).array, []).append(found)
            elif isinstance(node, (Store, Atomic)):
                at = root(node.place)
                if isinstance(at, Cell) and self.activity.companion(at.array) is not None:
                    self.writes.setdefault(at.array, []).append((node, loc, steps, branches))


def _choose(e: Select, chosen: dict) -> None:
    """Note for what is below the two sides which it is."""
    for side, wanted in ((e.a, True), (e.b, False)):
        for node in walk(side):
            chosen[id(node)] = (*chosen.get(id(node), ()), (e.cond, wanted))


class _Cells:
    """What one loop's cells look like."""

    def __init__(self, loop: For):
        self.indices = Indices(loop)
        self.extents: dict = {}
        self._idle = _idle(loop.body)
        self._conditions: dict = {}

    def accesses(self, found: list) -> list:
        """Those that differ, without what nothing uses."""
        made: dict = {}
        for node, loc, steps, branches in found:
            if id(node) in self._idle:
                continue
            at = root(node.place)
            forms = tuple(map(self.indices.form, at.indices))
            key = (forms, steps, tuple(self._condition(*b) for b in branches), parts(node.place))
            if key not in made:
                made[key] = Access(forms, tuple(map(self.indices.sum, forms)), *key[1:], loc)
                if not branches:
                    self._note_extents(at.array, forms)
        return list(made.values())

    def _condition(self, cond, wanted: bool):
        key = (id(cond), wanted)
        if key not in self._conditions:
            self._conditions[key] = self.indices.condition(cond, wanted)
        return self._conditions[key]

    def _note_extents(self, array, forms: tuple) -> None:
        for axis, form in enumerate(forms):
            if isinstance(form, int):
                extent = ("fixed", ("extent", array.id, axis))
                self.extents[extent] = max(self.extents.get(extent, 0), form + 1)


def _idle(body: list) -> set:
    """Nodes of values that nothing uses: the frontend keeps the old value of what a statement writes, in case."""
    used = rename.uses(body)
    unused = [s.init for s in walk(body) if isinstance(s, Declare) and s.var.id not in used]
    values = [e for e in unused if not isinstance(e, Atomic)]
    return {id(node) for node in walk(values)}


# ---------------------------------------------------------------- by the forms of the indices


def _cross(written: Access, read: Access) -> bool:
    """Whether indices over the variables of the parallel loop differ, be they sums or not."""
    pairs = [(_known(a), _known(b)) for a, b in zip(written.forms, read.forms)]
    return any(a != b and (_is_of_loop(a) and _is_of_loop(b) or _are_neighbours(a, b)) for a, b in pairs)


def _known(form):
    """A form without variables of loops inside the parallel one; of those it is not supposed that they differ."""
    return None if mentions(form, ("j",)) else form


def _base(form):
    """An index without the number that is added to it."""
    return form[1] if isinstance(form, tuple) and form[0] == "shift" else 0 if isinstance(form, int) else form


def _are_neighbours(a, b) -> bool:
    """Whether two different indices are a sum with a loop variable in it, plus different numbers."""
    return a is not None and b is not None and _base(a) == _base(b) and mentions(_base(a), ("i",)) and _is_sum(_base(a))


def _is_sum(form) -> bool:
    if isinstance(form, int):
        return True
    return form[0] in ("i", "fixed") or form[0] in ("add", "sub") and all(map(_is_sum, form[1:]))


def _is_of_loop(form) -> bool:
    """Whether an index is known to move with the iterations, whatever comes from outside."""
    return form is not None and not isinstance(form, int) and not mentions(form, ("fixed",))
