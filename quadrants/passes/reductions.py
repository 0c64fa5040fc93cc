"""Parallel reductions into one cell: accumulate in a local, one atomic a chunk of iterations.

An atomic qualifies when its place does not depend on the loop and nothing else in the loop touches that variable or
array. Of one iteration there is nothing to gather.
"""

from __future__ import annotations

from quadrants.ir import walk
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Call,
    Cell,
    Const,
    Declare,
    ElemPlace,
    Eval,
    For,
    If,
    Load,
    Module,
    Store,
    Var,
    VarPlace,
)
from quadrants.ir.overlap import is_same_memory
from quadrants.ir.types import DType, u1

COMBINE = {"add": "add", "sub": "add", "min": "min", "max": "max", "and": "bit_and", "or": "bit_or", "xor": "bit_xor"}


def recognise_reductions(module: Module) -> Module:
    for task in module.tasks:
        if task.loop is not None:
            recognise_in(task)
    return module


def recognise_in(task) -> None:
    """The same for one task, whose loop is parallel."""
    if _is_once(task.loop):
        return
    candidates: dict = {}
    touched: dict = {}
    atomics: set = set()
    for node in walk.walk(task.body):
        if isinstance(node, Eval) and isinstance(node.value, Atomic):
            key = _place_key(node.value.place)
            op = node.value.op
            if key is not None and op in COMBINE and isinstance(node.value.type, DType) and node.value.type.bits > 8:
                group = (key, COMBINE[op])
                candidates.setdefault(group, []).append(node)
                atomics.add(id(node))
    if not candidates:
        return
    _count_uses(task.body, atomics, touched, set())
    for (key, op), nodes in candidates.items():
        mixed = any(k == key and other != op for k, other in candidates)
        if touched.get(key[0]) or mixed or _is_touched(nodes[0].value.place, touched):
            continue
        task.reductions.append(_accumulate(task.body, op, nodes, len(task.reductions)))


def _is_once(loop: For) -> bool:
    """Whether a loop has one iteration."""
    ends = [e for pair in loop.bounds for e in pair]
    return all(isinstance(e, Const) for e in ends) and all(end.value - begin.value == 1 for begin, end in loop.bounds)


def _is_touched(place, touched: dict) -> bool:
    """Whether the memory of a field has another use, by another name."""
    cell = walk.root_cell(place)
    if cell is None:
        return False
    return any(kind == "array" and is_same_memory(cell.array, other) for (kind, _), other in touched.items())


def _place_key(place):
    """(root, constant path) of a place that no iteration changes, or None."""
    path: list = []
    while isinstance(place, ElemPlace):
        if not all(isinstance(e, Const) for e in place.indices):
            return None
        path.append(tuple(e.value for e in place.indices))
        place = place.base
    if isinstance(place, VarPlace):
        return (("var", place.var.id), tuple(path)) if place.var.shared else None
    if isinstance(place, Cell) and place.array.kind != "shared":
        if all(isinstance(e, Const) for e in place.indices):
            return (("array", place.array.id), (tuple(e.value for e in place.indices), *path))
    return None


def _count_uses(body, atomics: set, touched: dict, seen: set) -> None:
    """Every use of a shared variable or array other than as the place of the atomics themselves."""
    stack = list(walk.children_of(body))
    while stack:
        node = stack.pop()
        if id(node) in atomics:
            stack.extend(walk.children_of(node.value.args))
            continue
        if isinstance(node, Call) and id(node.func) not in seen:
            seen.add(id(node.func))
            _count_uses(node.func.body, atomics, touched, seen)
        if isinstance(node, VarPlace):
            touched[("var", node.var.id)] = True
        elif isinstance(node, Cell):
            touched[("array", node.array.id)] = node.array
        stack.extend(walk.children(node))


def _accumulate(body: list, op: str, nodes: list, number: int):
    """Rewrite the atomics to updates of a local; returns (Declare of the local, statement after the loop).

    The place is touched only if an update happened: a guard in the loop may have kept it from a cell that does not
    exist.
    """
    first = nodes[0].value
    t = first.type
    closing = "add" if op == "add" else first.op
    acc = Var(f"qd_acc{number or ''}", t, mutable=True, level=1)
    place = VarPlace(acc, t)
    updates: dict = {}
    for node in nodes:
        combine = "sub" if node.value.op == "sub" else op
        value = Binary(combine, Load(place, t), node.value.args[0], t)
        updates[id(node)] = Store(place, value, node.loc)
    _replace(body, updates)
    start = identity(op, t)
    final = Eval(Atomic(closing, first.place, (Load(place, t),), t))
    return Declare(acc, start, nodes[0].loc), If(Binary("ne", Load(place, t), start, u1), [final], [])


def _replace(block: list, updates: dict) -> None:
    for k, stmt in enumerate(block):
        if id(stmt) in updates:
            block[k] = updates[id(stmt)]
        else:
            for inner in walk.blocks(stmt):
                _replace(inner, updates)


def identity(op: str, t: DType) -> Const:
    if op == "min":
        return Const(float("inf") if t.is_real else t.max, t)
    if op == "max":
        return Const(float("-inf") if t.is_real else t.min, t)
    if op == "bit_and":
        return Const(t.max if t.kind != "i" else -1, t)
    return Const(0.0 if t.is_real else 0, t)
