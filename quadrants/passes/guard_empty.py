"""Accesses to clamped arrays that may have an extent of zero: none of their indices can be limited to a cell.

    x: qd.types.ndarray(boundary="clamp")       x[i] = x[j] + 1

    if 0 < extent(x, 0):
        x[i] = (x[j] if 0 < extent(x, 0) else 0) + 1

What is read is 0, what is written is lost. Whether an array is empty is the same for a whole launch, which compilers
see. It is done late: for other passes an access is an access, as to any array.
"""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.adstack_heaps import of_task
from quadrants.ir.types import DType, TensorType, i32, u1

_VALUES = (n.Load, n.Volatile, n.Atomic)


def guard_empty(module: n.Module) -> n.Module:
    """Put conditions around what reads and writes arrays with `may_be_empty`."""
    if not any(array.may_be_empty for array in module.arrays):
        return module
    depths: dict[int, n.StackDepth] = {}
    for task in module.tasks:
        depths.update((id(decl.source), decl.source) for decl in of_task(task))
        if task.loop is not None:
            task.loop.bounds = tuple((_node(begin), _node(end)) for begin, end in task.loop.bounds)
        for s in (*task.pre, *(s for pair in task.reductions for s in pair)):
            walk.update(s, _node)
        _block(task.body)
    for function in module.functions:
        _block(function.body)
    for depth in depths.values():
        _block(depth.statements)
        depth.count = _node(depth.count)
    return module


def _block(body: list[n.Stmt]) -> list[n.Stmt]:
    for k, s in enumerate(body):
        array = _written(s)
        if array is None:
            walk.update(s, _node)
        else:
            _update_parts(s)
            body[k] = n.If(_has_cells(array), [s], [], s.loc)
    return body


def _written(s: n.Stmt) -> n.ArrayDecl | None:
    """The array that may be empty of a statement that does no more than write to it."""
    if type(s) is n.Store:
        return _array(s.place)
    return _array(s.value.place) if type(s) is n.Eval and type(s.value) is n.Atomic else None


def _update_parts(s: n.Stmt) -> None:
    if type(s) is n.Eval:
        s.value = walk.rebuilt(s.value, _node)
    else:
        walk.update(s, _node)


def _node(x: Any) -> Any:
    if type(x) is list:
        return _block(x)
    made = walk.rebuilt(x, _node)
    array = _array(made.place) if type(made) in _VALUES else None
    return made if array is None else n.Select(_has_cells(array), made, _zero(made.type), made.type)


def _array(place: n.Place) -> n.ArrayDecl | None:
    cell = walk.root(place)
    return cell.array if type(cell) is n.Cell and cell.array.may_be_empty else None


def _has_cells(array: n.ArrayDecl) -> n.Expr:
    tests = [n.Binary("lt", n.Const(0, i32), n.Extent(array, axis, i32), u1) for axis in range(array.ndim)]
    found = tests[0]
    for test in tests[1:]:
        found = n.Binary("logic_and", found, test, u1)
    return found


def _zero(t: DType | TensorType) -> n.Expr:
    if isinstance(t, TensorType):
        return n.Make((_zero(t.dtype),) * t.count, t)
    return n.Const(0.0 if t.is_real else 0, t)
