"""Cells that a launch overwrites after it read them, although its derivative needs what was read.

    x[i] = sin(x[i])            x_grad[i] = x_grad[i] * cos(x[i])       by then of the new x[i]

Gradients of a tape run when all launches are done, so these are wrong. A warning says so where one and the same index
shows it: read, written later in the same loops, not read behind that, and read by the derivative. What other indices
lead to is not compared; `Tape(validation=True)` finds it out.

A program that calls `k.grad()` by itself may have put back what was there, so only a tape asks for the warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from quadrants.ad.refusals import users_frame
from quadrants.caller import warn_at
from quadrants.ir.nodes import Atomic, Binary, Cast, Cell, Const, ElemPlace, Load, Store, Unary, Var, VarPlace
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


def tell(primal: list, derivative: list) -> None:
    """A warning at the line of each such write, if a tape asked for it."""
    if not _asked.get():
        return
    loads, stores = _accesses(primal)
    changed = {place.var.id for place, _, _ in stores if isinstance(place, VarPlace)}
    same = partial(_key, called=lambda var: None if var.id in changed else var.id)
    alike = partial(_key, called=lambda var: var.name)  # the derivative has copies of variables
    last_read = {same(place): number for place, number, _ in loads}  # in the order of execution
    lost = {}
    for place, at, loc in stores:
        key = same(place)
        if key is not None and last_read.get(key, at) < at and loc is not None:
            lost[alike(place)] = place, loc
    needed = {alike(x.place) for x in walk(derivative) if isinstance(x, Load)} if lost else ()
    told = {
        (root(place).array.id, users_frame(loc)): (place, loc) for key, (place, loc) in lost.items() if key in needed
    }
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
    """(place, number in the order of execution, line) of what is loaded, and of what is written."""
    loads, stores, seen, loc = [], [], set(), None
    for number, node in enumerate(walk(body)):
        loc = getattr(node, "loc", None) or loc
        if isinstance(node, (Store, Atomic)):
            inner = [x for x in walk(node) if isinstance(x, Load)]
            seen.update(map(id, inner))
            loads += [(x.place, number, loc) for x in inner]
            stores.append((node.place, number + 0.5, loc))
        elif isinstance(node, Load) and id(node) not in seen:
            loads.append((node.place, number, loc))
    return loads, stores


def _key(place, called: Callable[[Var], object]) -> tuple | None:
    """What tells a cell, or an element of one; None where that is not known."""
    at = root(place)
    if not isinstance(at, Cell):
        return None
    inside = place.indices if isinstance(place, ElemPlace) and place.base is at else ()
    forms = [_form(e, called) for e in (*at.indices, *inside)]
    return None if None in forms else (at.array.id, len(inside), *forms)


def _form(e, called: Callable[[Var], object]) -> tuple | None:
    if isinstance(e, Const):
        return ("number", e.value)
    if isinstance(e, Load) and isinstance(e.place, VarPlace):
        found = called(e.place.var)
        return None if found is None else ("variable", found)
    if isinstance(e, (Unary, Cast)):
        a = _form(e.a, called)
        return a and (type(e).__name__, getattr(e, "op", e.type), a)
    if isinstance(e, Binary):
        a, b = _form(e.a, called), _form(e.b, called)
        return a and b and (e.op, a, b)
    return None
