"""Parallel reductions into one cell: accumulate in a local, one atomic a chunk of iterations.

An atomic qualifies when its place does not depend on the loop and nothing else in the loop touches that variable or
array. Of one iteration there is nothing to gather. Where threads know of each other, each block does the iterations
that are its own, and no later ones, so that its threads have nothing to gather either.
"""

from __future__ import annotations

from quadrants.ir import walk
from quadrants.ir.nodes import (
    ArrayDecl,
    Atomic,
    Binary,
    Call,
    Cell,
    Const,
    Declare,
    ElemPlace,
    Eval,
    Expr,
    For,
    If,
    Load,
    Module,
    Place,
    Stmt,
    Store,
    Task,
    Var,
    VarPlace,
)
from quadrants.ir.overlap import is_same_memory
from quadrants.ir.types import DType, scalar, u1

# A variable or array, and the constant indices of a part of it.
Root = tuple[str, int]
Key = tuple[Root, tuple[tuple[int, ...], ...]]
Update = tuple[Eval, Atomic]  # a statement, and what it evaluates
Touched = dict[Root, ArrayDecl | None]

COMBINE = {"add": "add", "sub": "add", "min": "min", "max": "max", "and": "bit_and", "or": "bit_or", "xor": "bit_xor"}


def recognise_reductions(module: Module) -> Module:
    for task in module.tasks:
        if task.loop is not None:
            recognise_in(task)
    return module


def recognise_in(task: Task) -> None:
    """The same for one task, whose loop is parallel."""
    if task.loop is None or _is_once(task.loop) or task.collective or task.shared_arrays:
        return
    candidates: dict[tuple[Key, str], list[Update]] = {}
    touched: Touched = {}
    atomics: dict[int, Atomic] = {}
    for node in walk.statements(task.body):
        if isinstance(node, Eval) and isinstance(node.value, Atomic):
            key = _place_key(node.value.place)
            op, t = node.value.op, node.value.type
            if key is not None and op in COMBINE and isinstance(t, DType) and t.bits > 8:
                group = (key, COMBINE[op])
                candidates.setdefault(group, []).append((node, node.value))
                atomics[id(node)] = node.value
    if not candidates:
        return
    _count_uses(task.body, atomics, touched, set())
    for (key, op), updates in candidates.items():
        mixed = any(k == key and other != op for k, other in candidates)
        if key[0] in touched or mixed or _is_touched(updates[0][1].place, touched):
            continue
        task.reductions.append(_accumulate(task.body, op, updates, len(task.reductions)))


def _is_once(loop: For) -> bool:
    """Whether a loop has one iteration."""
    return all(
        isinstance(begin, Const) and isinstance(end, Const) and end.value - begin.value == 1
        for begin, end in loop.bounds
    )


def _is_touched(place: Place, touched: Touched) -> bool:
    """Whether the memory of a field has another use, by another name."""
    cell = walk.root_cell(place)
    if cell is None:
        return False
    return any(other is not None and is_same_memory(cell.array, other) for other in touched.values())


def _place_key(place: Place) -> Key | None:
    """(root, constant path) of a place that no iteration changes, or None."""
    path: list[tuple[int, ...]] = []
    while isinstance(place, ElemPlace):
        at = _constants(place.indices)
        if at is None:
            return None
        path.append(at)
        place = place.base
    if isinstance(place, VarPlace):
        return (("var", place.var.id), tuple(path)) if place.var.shared else None
    if isinstance(place, Cell) and place.array.kind != "shared" and not _needs_each(place.array):
        at = _constants(place.indices)
        if at is not None:
            return (("array", place.array.id), (at, *path))
    return None


def _needs_each(array: ArrayDecl) -> bool:
    """Whether every update counts: numbers that are bits of words are rounded each time, and no single atomic adds the
    sum of all; cells below a sparse node become active, whatever is added.
    """
    return any(part.packed is not None or part.within is not None for part in array.components or (array,))


def _constants(indices: tuple[Expr, ...]) -> tuple[int, ...] | None:
    """The numbers that some indices are; None where one is no constant."""
    found = [e.value for e in indices if isinstance(e, Const)]
    return tuple(found) if len(found) == len(indices) else None


def _count_uses(body: list[Stmt], atomics: dict[int, Atomic], touched: Touched, seen: set[int]) -> None:
    """Every use of a shared variable or array other than as the place of the atomics themselves."""
    stack = list(walk.children_of(body))
    while stack:
        node = stack.pop()
        update = atomics.get(id(node))
        if update is not None:
            stack.extend(walk.children_of(update.args))
            continue
        if isinstance(node, Call) and id(node.func) not in seen:
            seen.add(id(node.func))
            _count_uses(node.func.body, atomics, touched, seen)
        if isinstance(node, VarPlace):
            touched[("var", node.var.id)] = None
        elif isinstance(node, Cell):
            touched[("array", node.array.id)] = node.array
        stack.extend(walk.children(node))


def _accumulate(body: list[Stmt], op: str, updates: list[Update], number: int) -> tuple[Declare, If]:
    """Rewrite the atomics to updates of a local; returns (Declare of the local, statement after the loop).

    The place is touched only if an update happened: a guard in the loop may have kept it from a cell that does not
    exist.
    """
    statement, first = updates[0]
    t = scalar(first.type)
    closing = "add" if op == "add" else first.op
    acc = Var(f"qd_acc{number or ''}", t, mutable=True, level=1)
    place = VarPlace(acc, t)
    stores: dict[int, Store] = {}
    for s, atomic in updates:
        combine = "sub" if atomic.op == "sub" else op
        value = Binary(combine, Load(place, t), atomic.args[0], t)
        stores[id(s)] = Store(place, value, s.loc)
    _replace(body, stores)
    start = identity(op, t)
    final = Eval(Atomic(closing, first.place, (Load(place, t),), t))
    return Declare(acc, start, statement.loc), If(Binary("ne", Load(place, t), start, u1), [final], [])


def _replace(block: list[Stmt], stores: dict[int, Store]) -> None:
    for k, stmt in enumerate(block):
        if id(stmt) in stores:
            block[k] = stores[id(stmt)]
        else:
            for inner in walk.blocks(stmt):
                _replace(inner, stores)


def identity(op: str, t: DType) -> Const:
    if op == "min":
        return Const(float("inf") if t.is_real else t.max, t)
    if op == "max":
        return Const(float("-inf") if t.is_real else t.min, t)
    if op == "bit_and":
        return Const(t.max if t.kind != "i" else -1, t)
    return Const(0.0 if t.is_real else 0, t)
