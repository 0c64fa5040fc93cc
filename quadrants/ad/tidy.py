"""Makes derivative code read as if it were written by hand.

    adj_v = 0                  float adj_v = g * m
    adj_v += g * m

    adj_v = 0; adj_v += x      adj_v = x

    g = adj_v                  adj_v = adj_v * m
    adj_v = g * m

    x_grad[i] += a             x_grad[i] += a + b          one atomic for two
    x_grad[i] += b

Left what it gets, right what it makes of it.
"""

from __future__ import annotations

from quadrants.ad.build import add, is_zero
from quadrants.ad.collect import may_be_gradient
from quadrants.ad.prune import reads
from quadrants.ir import rename, walk
from quadrants.ir.nodes import Atomic, Binary, Cell, Const, Declare, ElemPlace, Eval, Load, Store, VarPlace
from quadrants.ir.overlap import may_overlap


def tidy(body: list, gradients: set) -> list:
    """The same statements, some joined; nested blocks too. gradients: the ids of the gradients of array arguments."""
    for s in body:
        walk.update_blocks(s, tidy, gradients)
    return _without_snapshots(_joined_atomics(_joined_resets(_joined_declarations(body)), gradients))


def _joined_declarations(body: list) -> list:
    """Accumulators are declared with the first thing added to them, where nothing comes between."""
    out: list = []
    waiting: dict = {}

    def release(mentioning) -> None:
        if waiting:
            out.extend(waiting.pop(var) for var in sorted(waiting.keys() & reads([mentioning])))

    for s in body:
        if isinstance(s, Declare) and s.var.mutable and is_zero(s.init):
            waiting[s.var.id] = s
            continue
        first = _sum(s)
        if first is not None and s.place.var.id in waiting and is_zero(waiting[s.place.var.id].init):
            declare = waiting.pop(s.place.var.id)
            release(first)
            out.append(Declare(declare.var, first, s.loc))
            continue
        release(s)
        out.append(s)
    return out + list(waiting.values())


def _sum(s):
    """x of the statement `v = v + x` where x does not mention v; else None."""
    if not isinstance(s, Store) or not isinstance(s.place, VarPlace):
        return None
    e, var = s.value, s.place.var
    if not (isinstance(e, Binary) and e.op == "add" and isinstance(e.a, Load) and isinstance(e.a.place, VarPlace)):
        return None
    return e.b if e.a.place.var is var and var.id not in reads([e.b]) and e.b.type == var.type else None


def _joined_resets(body: list) -> list:
    out: list = []
    for s in body:
        first = _sum(s)
        last = out[-1] if out else None
        if first is not None and isinstance(last, Store) and isinstance(last.place, VarPlace):
            if last.place.var is s.place.var and is_zero(last.value):
                out[-1] = Store(s.place, first, s.loc)
                continue
        out.append(s)
    return out


def _without_snapshots(body: list) -> list:
    """A copy of a variable that only the next statement reads, an assignment, is not made."""
    copies = {s.var.id: s.init.place.var for s, after in zip(body, body[1:]) if _is_copy(s) and _assigns(after)}
    if not copies:
        return body
    uses = _count(body, copies)
    out: list = []
    for s in body:
        last = out[-1] if out else None
        if _assigns(s) and _is_copy(last) and _count([s], copies).get(last.var.id) == uses.get(last.var.id):
            out[-1] = Store(s.place, rename.expression(s.value, {last.var.id: copies[last.var.id]}), s.loc)
            continue
        out.append(s)
    return out


def _is_copy(s) -> bool:
    if not isinstance(s, Declare) or not s.var.temporary:
        return False
    return isinstance(s.init, Load) and isinstance(s.init.place, VarPlace)


def _assigns(s) -> bool:
    return isinstance(s, Store) and isinstance(s.place, VarPlace)


def _count(body: list, among: dict) -> dict:
    found: dict = {}
    for place in walk.only(body, (VarPlace,)):
        if place.var.id in among:
            found[place.var.id] = found.get(place.var.id, 0) + 1
    return found


def _joined_atomics(body: list, gradients: set) -> list:
    """Additions to one cell of a gradient, with nothing but declarations and other additions in between; a declaration
    may read what is the same memory by another name.
    """
    out: list = []
    pending: dict = {}  # cell -> where in `out`
    for s in body:
        if not isinstance(s, (Declare, Eval)) or isinstance(s, Declare) and s.var.mutable:
            pending.clear()
        key = _target(s)
        if key is None:
            touched = [n.array for n in walk.walk([s]) if may_be_gradient(n, gradients)] if pending else ()
            pending = {k: at for k, at in pending.items() if not any(may_overlap(k[0], array) for array in touched)}
        elif key in pending:
            before = out[pending[key]]
            out[pending[key]] = None
            joined = add(before.value.args[0], s.value.args[0])
            s = Eval(Atomic("add", s.value.place, (joined,), s.value.type), s.loc)
        if key is not None:
            pending[key] = len(out)
        out.append(s)
    return [s for s in out if s is not None]


def _target(s):
    """The cell that a statement adds to, if its indices are numbers and variables that never change; else None."""
    if not isinstance(s, Eval) or not isinstance(s.value, Atomic) or s.value.op != "add":
        return None
    place, path = s.value.place, ()
    if any(isinstance(n, Cell) for a in s.value.args for n in walk.walk([a])):
        return None
    while isinstance(place, ElemPlace):
        path = (*place.indices, *path)
        place = place.base
    if not isinstance(place, Cell):
        return None
    keys = tuple(map(_index, (*place.indices, *path)))
    return None if None in keys else (place.array, len(path), keys)


def _index(e):
    if isinstance(e, Const):
        return ("number", e.value)
    if not isinstance(e, Load):
        return None
    p, path = e.place, ()
    while isinstance(p, ElemPlace):
        p, path = p.base, (*map(_index, p.indices), *path)
    if isinstance(p, VarPlace) and not p.var.mutable and None not in path:
        return ("variable", p.var.id, *path)
    return None
