"""Parallel loops whose iterations read what others write: their derivative has no order to follow.

    for i in range(1, n): a[i] = a[i - 1] * 2

An array is refused if one iteration of a parallel loop stores to it and another reads it, as the indices show: both are
arithmetic on loop variables and numbers, and differ. Indices that come out of arrays are the user's to know.
Cells that never meet are no race: z[t + 1, i] = z[t, i + 1] with a t from outside the loop.
"""

from __future__ import annotations

from quadrants.ad.activity import Activity
from quadrants.ad.refusals import Refusals
from quadrants.ir import rename
from quadrants.ir.nodes import Atomic, Binary, Cast, Cell, Const, Declare, For, Load, Store, VarPlace
from quadrants.ir.overlap import is_same_memory
from quadrants.ir.walk import root, root_var, walk


def check(body: list, activity: Activity, refusals: Refusals) -> None:
    for s in body:
        if isinstance(s, For) and s.parallel:
            _Loop(s, activity).check(refusals)


class _Loop:
    def __init__(self, loop: For, activity: Activity):
        self.loop = loop
        self.bounds = dict(zip((v.id for v in loop.vars), loop.bounds))
        self.activity = activity
        self.inside: set = set()  # variables that this loop sets
        self.defined = self._assigned_once()

    def _assigned_once(self) -> dict:
        found, changed = {}, set()
        for node in walk(self.loop.body):
            if isinstance(node, Declare):
                found[node.var.id] = node.init
            elif isinstance(node, For):
                changed.update(v.id for v in node.vars)
            elif isinstance(node, (Store, Atomic)):
                var = root_var(node.place)
                if var is not None:
                    changed.add(var.id)
        self.inside = changed | set(found) | set(self.bounds)
        return {k: e for k, e in found.items() if k not in changed}

    def check(self, refusals: Refusals) -> None:
        reads: dict = {}
        writes: dict = {}
        idle = self.idle()
        for node in walk(self.loop.body):
            if id(node) in idle:
                continue
            if isinstance(node, Load) and isinstance(root(node.place), Cell) and self.activity.is_varied(node):
                reads.setdefault(root(node.place).array, []).append(root(node.place))
            elif isinstance(node, (Store, Atomic)):
                at = root(node.place)
                if isinstance(at, Cell) and self.activity.companion(at.array) is not None:
                    writes.setdefault(at.array, []).append((at, node))
        for array, cells in writes.items():
            for cell, node in cells:
                for other in _cells_of(array, reads):
                    if self.crosses(cell.indices, other.indices):
                        refusals.cross_iteration(array, getattr(node, "loc", None) or self.loop.loc)

    def idle(self) -> set:
        """Nodes of values that nothing uses: the frontend keeps the old value of what a statement writes, in case."""
        used = rename.uses(self.loop.body)
        values = [s.init for s in walk(self.loop.body) if isinstance(s, Declare) and s.var.id not in used]
        return {id(node) for node in walk(values)}

    def crosses(self, written: tuple, read: tuple) -> bool:
        """Whether two index tuples are known to belong to different iterations."""
        pairs = [(self.form(a), self.form(b)) for a, b in zip(written, read)]
        if any(self.apart(a, b) for a, b in pairs):
            return False
        return any(a != b and (_is_of_loop(a) and _is_of_loop(b) or _are_neighbours(a, b)) for a, b in pairs)

    def form(self, e):
        """An index as nested tuples over variables of the parallel loop ("i") and those from outside ("fixed"); None
        for what is not known.
        """
        for _ in range(32):
            if isinstance(e, Cast) and not e.bits and e.a.type.is_integral and _is_index(e):
                e = e.a
            elif isinstance(e, Load) and isinstance(e.place, VarPlace) and e.place.var.id in self.defined:
                e = self.defined[e.place.var.id]
            else:
                break
        if isinstance(e, Const):
            return int(e.value)
        if isinstance(e, Load) and isinstance(e.place, VarPlace) and e.place.var.id in self.bounds:
            return ("i", e.place.var.id)
        if isinstance(e, Load) and isinstance(e.place, VarPlace) and e.place.var.id not in self.inside:
            return ("fixed", e.place.var.id)
        if isinstance(e, Cast) and not e.bits and e.a.type.is_integral:
            a = self.form(e.a)
            return None if a is None else (e.type.name, a)
        if isinstance(e, Binary):
            a, b = self.form(e.a), self.form(e.b)
            if a is None or b is None:
                return None
            if not _is_index(e):
                return (e.op + e.type.name, a, b)
            if e.op == "sub" and isinstance(b, int):
                return _shifted(a, -b)
            if e.op == "add" and (isinstance(a, int) or isinstance(b, int)):
                return _shifted(a, b) if isinstance(b, int) else _shifted(b, a)
            return (e.op, a, b)
        return None

    def apart(self, a, b) -> bool:
        """Whether two indices never meet, whatever the iterations."""
        if a is None or b is None:
            return False
        if _base(a) == _base(b) and not _mentions(_base(a), "i"):
            return (_step(a) - _step(b)) % (1 << 32) != 0
        first, second = self.span(a), self.span(b)
        return first is not None and second is not None and (first[1] < second[0] or second[1] < first[0])

    def span(self, form):
        """(least, largest) value of an index, where the bounds of its loop are numbers."""
        if isinstance(form, int):
            return form, form
        if form[0] == "shift":
            inner = self.span(form[1])
            return None if inner is None else (inner[0] + form[2], inner[1] + form[2])
        if form[0] == "i":
            begin, end = self.bounds[form[1]]
            if isinstance(begin, Const) and isinstance(end, Const):
                return int(begin.value), int(end.value) - 1
        return None


def _shifted(form, step: int):
    if isinstance(form, int):
        return form + step
    if form[0] == "shift":
        form, step = form[1], form[2] + step
    return form if step == 0 else ("shift", form, step)


def _base(form):
    """An index without the number that is added to it."""
    return form[1] if isinstance(form, tuple) and form[0] == "shift" else 0 if isinstance(form, int) else form


def _step(form) -> int:
    """The number that is added to an index."""
    return form if isinstance(form, int) else form[2] if form[0] == "shift" else 0


def _is_index(e) -> bool:
    """Whether a number is one as the loops count: of fewer bits, different numbers may become the same."""
    return e.type.bits >= 32


def _are_neighbours(a, b) -> bool:
    """Whether two different indices are a sum with a loop variable in it, plus different numbers."""
    return a is not None and b is not None and _base(a) == _base(b) and _is_sum(_base(a)) and _mentions(_base(a), "i")


def _is_sum(form) -> bool:
    return form[0] in ("i", "fixed") or form[0] in ("add", "sub") and all(map(_is_sum, form[1:]))


def _mentions(form, kind: str) -> bool:
    return isinstance(form, tuple) and (form[0] == kind or any(_mentions(part, kind) for part in form[1:]))


def _is_of_loop(form) -> bool:
    """Whether an index is known to move with the iterations, whatever comes from outside."""
    return form is not None and not isinstance(form, int) and not _mentions(form, "fixed")


def _cells_of(array, reads: dict) -> list:
    """What is read of that memory."""
    return [cell for other, cells in reads.items() if is_same_memory(array, other) for cell in cells]
