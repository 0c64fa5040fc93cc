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
from quadrants.ir.nodes import Atomic, Cell, Const, ElemPlace, For, Load, Store, VarPlace
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
    names = _Names(primal, {place.var.id for place, _, _ in stores if isinstance(place, VarPlace)})
    written: dict[tuple, list] = {}
    for place, at, loc in stores:
        key = names.of(place)
        if key is not None and loc is not None:
            written.setdefault(key, []).append((place, at, loc))
    last_read = {x.origin: (x.place, at) for x, at in loads if x.origin}  # in the order of execution
    needed = {x.origin for x in walk(derivative) if isinstance(x, Load)} if written else set()
    told = {}
    for place, read in (last_read[k] for k in sorted(needed & last_read.keys())):
        later = [(place, loc) for place, at, loc in written.get(names.of(place), ()) if at > read]
        for place, loc in later[:1]:
            told.setdefault((root(place).array.id, users_frame(loc)), (place, loc))
    for place, loc in told.values():
        _warn(place, loc)


def _warn(place, loc) -> None:
    array = root(place).array
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
    """What tells a cell, or an element of one. changed: variables that are assigned, so that they name nothing.

    Loops of the top level follow one another: where two have the same bounds, their variables name the same cells.
    """

    def __init__(self, body: list, changed: set[int]) -> None:
        self.changed = changed
        self.loops: dict[int, object] = {}
        for loop in body:
            if isinstance(loop, For) and all(isinstance(e, Const) for pair in loop.bounds for e in pair):
                bounds = tuple((begin.value, end.value) for begin, end in loop.bounds)
                self.loops |= {var.id: (axis, bounds) for axis, var in enumerate(loop.vars)}

    def of(self, place) -> tuple | None:
        at = root(place)
        if not isinstance(at, Cell):
            return None
        inside = place.indices if isinstance(place, ElemPlace) and place.base is at else ()
        forms = [self._form(e) for e in (*at.indices, *inside)]
        return None if None in forms else (at.array.id, len(inside), *forms)

    def _form(self, e) -> tuple | None:
        return form(e, self._variable)

    def _variable(self, place) -> tuple | None:
        if not isinstance(place, VarPlace) or place.var.id in self.changed:
            return None
        return ("variable", self.loops.get(place.var.id, place.var.id))
