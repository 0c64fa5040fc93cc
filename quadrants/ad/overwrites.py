"""Cells that a launch overwrites after it read them, although its derivative needs what was read.

    x[i] = sin(x[i])            x_grad[i] = x_grad[i] * cos(x[i])       by then of the new x[i]

Gradients of a tape run when all launches are done, so these are wrong. A warning says so where one and the same index
shows it: read, written later, in the same loops or in later ones, and the derivative has a copy of that read. What
other indices lead to is not compared; `Tape(validation=True)` finds it out.

A program that calls `k.grad()` by itself may have put back what was there, so only a tape asks for the warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from quadrants.ad.refusals import users_frame
from quadrants.caller import warn_at
from quadrants.ir.forms import form
from quadrants.ir.nodes import ArrayDecl, Atomic, Cell, Const, Declare, ElemPlace, For, Load, Make, Store, VarPlace
from quadrants.ir.walk import root, walk

_asked: ContextVar[bool] = ContextVar("overwrites asked", default=False)


@contextmanager
def asked(value: bool) -> Iterator[None]:
    """Whether derivatives that are made meanwhile tell of such cells."""
    token = _asked.set(value)
    try:
        yield
    finally:
        _asked.reset(token)


def number(primal: list) -> None:
    """Give the loads of a kernel the numbers that their copies in its derivative keep, if a tape asked."""
    if _asked.get():
        loads = {id(x): x for x in walk(primal) if isinstance(x, Load) and isinstance(root(x.place), Cell)}
        for k, x in enumerate(loads.values(), 1):
            x.origin = k


def tell(primal: list, derivative: list) -> None:
    """A warning at the line of each such write, if a tape asked for it."""
    if not _asked.get():
        return
    loads, stores = _accesses(primal)
    names = _Names(primal, {root(place).var.id for place, _, _ in stores if isinstance(root(place), VarPlace)})
    written: dict[tuple, list] = {}
    for place, at, loc in stores:
        key = names.of(place)
        if key is not None and loc is not None:
            written.setdefault(key, []).append((place, at, loc))
    last_read = {x.origin: (x.place, at) for x, at in loads if x.origin}  # in the order of execution
    needed = {x.origin for x in walk(derivative) if isinstance(x, Load)} if written else set()
    told = {}
    for place, read in (last_read[k] for k in sorted(needed & last_read.keys())):
        stores_there = written.get(names.of(place), ())
        later = [(other, loc) for other, at, loc in stores_there if at > read and names.meet(place, other)]
        for place, loc in later[:1]:
            array = names.array(root(place))
            told.setdefault((array.id, users_frame(loc)), (array, loc))
    for array, loc in told.values():
        _warn(array, loc)


def _warn(array: ArrayDecl, loc) -> None:
    file, line, _ = users_frame(loc)
    warn_at(
        file,
        line,
        f"'{array.label or array.name}' is overwritten here after the same launch read it, and the derivative needs "
        "what was read: where it does, it will find the new value, and be wrong. Write the result to another field or "
        "to the cells of another step, `x[t + 1, i] = f(x[t, i])`, or overwrite in a kernel that is not on the tape.",
    )


def _accesses(body: list) -> tuple[list, list]:
    """(load, number in the order of execution), and (place, number, line) of what is written."""
    loads, stores, seen, loc = [], [], set(), None
    for at, node in enumerate(walk(body)):
        loc = getattr(node, "loc", None) or loc
        if isinstance(node, (Store, Atomic)):
            inner = [x for x in walk(node) if isinstance(x, Load)]
            seen.update(map(id, inner))
            loads += [(x, at) for x in inner]
            stores.append((node.place, at + 0.5, loc))
        elif isinstance(node, Load) and id(node) not in seen:
            loads.append((node, at))
    return loads, stores


class _Names:
    """What tells a cell from others. changed: variables that are assigned, so that they name nothing.

    Loops of the top level follow one another: where two have the same bounds, their variables name the same cells. A
    variable that keeps its first value is named as that.
    """

    def __init__(self, body: list, changed: set[int]) -> None:
        self.changed = changed
        self.loops: dict[int, object] = {}
        for loop in body:
            if isinstance(loop, For) and all(isinstance(e, Const) for pair in loop.bounds for e in pair):
                bounds = tuple((begin.value, end.value) for begin, end in loop.bounds)
                self.loops |= {var.id: (axis, bounds) for axis, var in enumerate(loop.vars)}
        # Of arrays with the elements of a tensor apart: number of the array of each, to all and which it is.
        tensors = {x.array.id: x.array for x in walk(body) if isinstance(x, Cell) and x.array.components}
        self.wholes = {part.id: (t, k) for t in tensors.values() for k, part in enumerate(t.components)}
        self.first = {x.var.id: x.init for x in walk(body) if isinstance(x, Declare) and x.var.id not in changed}

    def of(self, place) -> tuple | None:
        """The name of the cell that a place is, or is in; None where there is none."""
        at = root(place)
        if not isinstance(at, Cell):
            return None
        forms = [self._form(e) for e in at.indices]
        return None if None in forms else (self.array(at).id, *forms)

    def array(self, cell: Cell) -> ArrayDecl:
        """The array of a cell, that of all elements where they are apart."""
        whole = self.wholes.get(cell.array.id)
        return cell.array if whole is None else whole[0]

    def meet(self, a, b) -> bool:
        """Whether two places in one cell surely have something in common."""
        parts = self._part(a), self._part(b)
        return None in parts or parts[0] == parts[1] != ()

    def _part(self, place) -> int | tuple | None:
        """Which element of its cell a place is: None for all of it, () where nothing says so."""
        whole = self.wholes.get(root(place).array.id)
        if whole is not None:
            return whole[1]
        if not isinstance(place, ElemPlace):
            return None
        forms = [self._form(e) for e in place.indices]
        if None in forms:
            return ()
        if not all(isinstance(e, Const) for e in place.indices):
            return tuple(forms)
        flat = 0
        for e, extent in zip(place.indices, place.base.type.shape, strict=True):
            flat = flat * extent + e.value
        return flat

    def _form(self, e) -> tuple | None:
        return form(e, self._variable)

    def _variable(self, place) -> tuple | None:
        if isinstance(place, ElemPlace) and isinstance(place.base, VarPlace):
            first = self.first.get(place.base.var.id)
            index = place.indices[0]
            if isinstance(first, Make) and len(place.indices) == 1 and isinstance(index, Const):
                return self._form(first.parts[index.value])
            forms = [self._variable(place.base), *(self._form(e) for e in place.indices)]
            return None if None in forms else ("element", *forms)
        if not isinstance(place, VarPlace) or place.var.id in self.changed:
            return None
        first = self.first.get(place.var.id)
        known = self._form(first) if first is not None else None
        return known or ("variable", self.loops.get(place.var.id, place.var.id))
