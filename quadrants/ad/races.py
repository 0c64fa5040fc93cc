"""Parallel loops whose iterations read what others write: their derivative has no order to follow.

    for i in range(1, n): a[i] = a[i - 1] * 2

An array is refused if one iteration of a parallel loop stores to it and another reads it, as the indices show: two
iterations are found in which they are one cell, or both are arithmetic on variables of the parallel loop, and differ.
Indices that come out of arrays are the user's to know, and so are branches that only the launch decides.
Cells that never meet are no race: z[t + 1, i] = z[t, i + 1] with a t from outside the loop.
"""

from __future__ import annotations

from quadrants.ad.activity import Activity
from quadrants.ad.collisions import Access, Collisions
from quadrants.ad.indices import Indices, mentions
from quadrants.ad.refusals import Refusals
from quadrants.ir import rename
from quadrants.ir.nodes import Atomic, Cell, Declare, For, If, Load, Select, Store
from quadrants.ir.overlap import is_same_memory, parts
from quadrants.ir.walk import root, walk


def check(body: list, activity: Activity, refusals: Refusals) -> None:
    for s in body:
        if isinstance(s, For) and s.parallel:
            _Loop(s, activity).check(refusals)


class _Loop:
    def __init__(self, loop: For, activity: Activity):
        self.loop = loop
        self.activity = activity
        self.indices = Indices(loop)
        self.idle = _idle(loop.body)
        self.reads: dict = {}  # array -> key of an access -> that access
        self.writes: dict = {}
        self.extents: dict = {}
        self._block(loop.body, tuple(v.id for v in loop.vars), ())

    def check(self, refusals: Refusals) -> None:
        collisions = Collisions(self.indices, self.extents)
        for array, writes in self.writes.items():
            for written in writes.values():
                for read in _of_memory(array, self.reads):
                    if collisions.apart(written, read):
                        continue
                    if _cross(written, read) or collisions.collide(written, read):
                        refusals.cross_iteration(array, written.loc or self.loop.loc)

    # ------------------------------------------------------------ what is read and written

    def _block(self, body: list, steps: tuple, conditions: tuple) -> None:
        for s in body:
            if isinstance(s, If):
                self._nodes(s.cond, s.loc, steps, conditions)
                self._block(s.then, steps, (*conditions, self.indices.condition(s.cond, True)))
                self._block(s.orelse, steps, (*conditions, self.indices.condition(s.cond, False)))
            elif isinstance(s, For):
                self._nodes(s.bounds, s.loc, steps, conditions)
                self._block(s.body, (*steps, *(v.id for v in s.vars)), conditions)
            else:
                self._nodes(s, s.loc, steps, conditions)

    def _nodes(self, nodes, loc, steps: tuple, conditions: tuple) -> None:
        chosen: dict = {}
        for node in walk(nodes):
            if id(node) in self.idle:
                continue
            if isinstance(node, Select):
                self._choice(node, chosen)
            elif isinstance(node, Load) and isinstance(root(node.place), Cell) and self.activity.is_varied(node):
                self._note(self.reads, node.place, loc, steps, (*conditions, *chosen.get(id(node), ())))
            elif isinstance(node, (Store, Atomic)):
                at = root(node.place)
                if isinstance(at, Cell) and self.activity.companion(at.array) is not None:
                    self._note(self.writes, node.place, loc, steps, conditions)

    def _choice(self, e: Select, chosen: dict) -> None:
        for side, wanted in ((e.a, True), (e.b, False)):
            condition = self.indices.condition(e.cond, wanted)
            for node in walk(side):
                chosen[id(node)] = (*chosen.get(id(node), ()), condition)

    def _note(self, into: dict, place, loc, steps: tuple, conditions: tuple) -> None:
        at = root(place)
        forms = tuple(map(self.indices.form, at.indices))
        key = (forms, steps, conditions, parts(place))
        cells = into.setdefault(at.array, {})
        if key not in cells:
            cells[key] = Access(forms, tuple(map(self.indices.sum, forms)), *key[1:], loc)
        for axis, form in enumerate(forms):
            if isinstance(form, int) and not conditions:
                extent = ("fixed", ("extent", at.array.id, axis))
                self.extents[extent] = max(self.extents.get(extent, 0), form + 1)


def _idle(body: list) -> set:
    """Nodes of values that nothing uses: the frontend keeps the old value of what a statement writes, in case."""
    used = rename.uses(body)
    values = [s.init for s in walk(body) if isinstance(s, Declare) and s.var.id not in used]
    return {id(node) for node in walk(values)}


def _of_memory(array, reads: dict) -> list:
    """What is read of that memory."""
    return [read for other, cells in reads.items() if is_same_memory(array, other) for read in cells.values()]


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
