"""Parallel loops whose iterations read what others write: their derivative has no order to follow.

    for i in range(1, n): a[i] = a[i - 1] * 2

An array is refused if one iteration of a parallel loop stores to it and another reads it, as the indices show: two
iterations are found in which they are one cell, or both are arithmetic on variables of the parallel loop, and differ.
So is one to which two iterations write, unless both add: y[i // 2] = x[i].
Indices that come out of arrays are the user's to know, and so are branches that only the launch decides.
Cells that never meet are no race: z[t + 1, i] = z[t, i + 1] with a t from outside the loop.
"""

from __future__ import annotations

from itertools import product

from quadrants.ad.activity import Activity
from quadrants.ad.collisions import Access, Collisions
from quadrants.ad.indices import Indices, mentions
from quadrants.ad.refusals import Refusals
from quadrants.ad.versions import Versions
from quadrants.ir import rename
from quadrants.ir.nodes import Atomic, Cell, Const, Declare, ElemPlace, For, If, Load, Select, Store
from quadrants.ir.overlap import is_same_memory, parts
from quadrants.ir.walk import only, root, walk


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
        self.reads: dict = {}  # array -> (node, indices, line, variables of the loops around it, branches around it)
        self.writes: dict = {}
        self.versions = Versions(loop)
        self._block(loop.body, tuple(v.id for v in loop.vars), ())

    def check(self, refusals: Refusals) -> None:
        shared = [(a, b) for a in self.writes for b in self.reads if is_same_memory(a, b)]
        stored = [(a, b) for a in self.writes for b in self.writes if is_same_memory(a, b) and self._stores(a)]
        if not shared and not stored:
            return
        cells = _Cells(self.loop, self.versions)
        collisions = Collisions(cells.indices, cells.extents)
        written = {a: cells.accesses(self.writes[a]) for pair in (*shared, *stored) for a in pair if a in self.writes}
        read = {b: cells.accesses(self.reads[b]) for _, b in shared}
        for a, b in shared:
            for access, other in _pairs(written[a], a, read[b], b):
                if _meet(collisions, access, other):
                    refusals.cross_iteration(a, access.loc or self.loop.loc)
        for a, b in stored:
            for access, other in _pairs(written[a], a, written[b], b):
                if _is_ordered(access.effect, other.effect) and _meet(collisions, access, other):
                    refusals.cross_stores(a, access.loc or self.loop.loc)

    def _stores(self, array) -> bool:
        return any(isinstance(found[0], Store) for found in self.writes[array])

    # ------------------------------------------------------------ what is read and written

    def _block(self, body: list, steps: tuple, branches: tuple) -> None:
        for s in body:
            if isinstance(s, If):
                self._branches(s, steps, branches)
            elif isinstance(s, For):
                self._nodes(s.bounds, s.loc, steps, branches)
                behind = self.versions.enter(s)
                self._block(s.body, (*steps, *(v.id for v in s.vars)), branches)
                self.versions.leave(behind)
            else:
                self._nodes(s, s.loc, steps, branches)
                self.versions.after(s)

    def _branches(self, s: If, steps: tuple, branches: tuple) -> None:
        self._nodes(s.cond, s.loc, steps, branches)
        cond, before = self.versions.now(s.cond), self.versions.branch()
        self._block(s.then, steps, (*branches, (cond, True)))
        then = self.versions.other(before)
        self._block(s.orelse, steps, (*branches, (cond, False)))
        self.versions.join(cond, before, then)

    def _nodes(self, nodes, loc, steps: tuple, branches: tuple) -> None:
        chosen: dict = {}
        for node in only(nodes, (Select, Load, Store, Atomic)):
            if isinstance(node, Select):
                _choose(node, self.versions.now(node.cond), chosen)
            elif isinstance(node, Load) and isinstance(root(node.place), Cell) and self.activity.is_varied(node):
                self._note(self.reads, node, loc, steps, (*branches, *chosen.get(id(node), ())))
            elif isinstance(node, (Store, Atomic)):
                at = root(node.place)
                if isinstance(at, Cell) and self.activity.companion(at.array) is not None:
                    self._note(self.writes, node, loc, steps, branches, self._effect(node))

    def _effect(self, node) -> str:
        if isinstance(node, Atomic):
            return "add"
        return "store" if self.activity.is_varied(node.value) else "clear"

    def _note(self, found: dict, node, loc, steps: tuple, branches: tuple, effect: str = "read") -> None:
        at = root(node.place)
        inside = node.place.indices if isinstance(node.place, ElemPlace) and node.place.base is at else ()
        indices = self.versions.all_now((*at.indices, *inside))
        found.setdefault(at.array, []).append((node, indices, loc, steps, branches, effect))


def _choose(e: Select, cond, chosen: dict) -> None:
    """Note for what is below the two sides which it is."""
    for side, wanted in ((e.a, True), (e.b, False)):
        for node in walk(side):
            chosen[id(node)] = (*chosen.get(id(node), ()), (cond, wanted))


class _Cells:
    """What one loop's cells look like."""

    def __init__(self, loop: For, versions: Versions):
        self.indices = Indices(loop, versions)
        self.extents: dict = {}
        self._idle = _idle(loop.body)

    def accesses(self, found: list) -> list:
        """Those that differ, without what nothing uses."""
        made: dict = {}
        for node, indices, loc, steps, branches, effect in found:
            if id(node) in self._idle:
                continue
            for forms, sums, conditions, lengths, chosen in self.indices.variants(indices, branches, steps):
                axes = len(root(node.place).indices)
                key = (forms, steps, conditions, parts(node.place), effect)
                if key not in made:
                    made[key] = Access(forms, sums, *key[1:], lengths, chosen, axes, loc)
                    if not conditions:
                        self._note_extents(root(node.place).array, forms)
        return list(made.values())

    def _note_extents(self, array, forms: tuple) -> None:
        for axis, form in enumerate(forms):
            if isinstance(form, int):
                extent = ("fixed", ("extent", array.id, axis))
                self.extents[extent] = max(self.extents.get(extent, 0), form + 1)


def _idle(body: list) -> set:
    """Nodes of values that nothing uses: the frontend keeps the old value of what a statement writes, in case."""
    used = rename.uses(body)
    unused = [s.init for s in only(body, (Declare,)) if s.var.id not in used]
    values = [e for e in unused if not isinstance(e, Atomic)]
    return {id(node) for node in walk(values)}


def _pairs(accesses: list, a, others: list, b):
    """Accesses to two arrays that share memory. Where they are not one, indices of components mean different things."""
    if a is not b:
        accesses, others = [x.to_cell() for x in accesses], [x.to_cell() for x in others]
    return product(accesses, others)


def _is_ordered(a: str, b: str) -> bool:
    """Whether it matters for derivatives which of two writes to a cell came first."""
    return "store" in (a, b) or {a, b} == {"clear", "add"}


def _meet(collisions: Collisions, written: Access, other: Access) -> bool:
    """Whether two iterations reach one cell, as the indices show."""
    if collisions.apart(written, other):
        return False
    searched = (written.chosen or other.chosen) and None not in (*written.conditions, *other.conditions)
    return collisions.collide(written, other) or not searched and _cross(written, other)


# ---------------------------------------------------------------- by the forms of the indices


def _cross(written: Access, read: Access) -> bool:
    """Whether indices over the variables of the parallel loop differ, be they sums or not."""
    sums = zip(written.sums, read.sums)
    forms = zip(written.forms[: written.axes], read.forms)
    differing = [pair for pair, (a, b) in zip(forms, sums) if a is None or a != b]
    pairs = [(_known(a), _known(b)) for a, b in differing]
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
