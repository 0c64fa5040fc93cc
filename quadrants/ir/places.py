"""How tensors lie in memory: what an array's pointer points to, and which of its numbers a component is."""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.types import TensorType, i32


def elements(decl: n.ArrayDecl) -> int:
    """Numbers of what the pointer of an array points to: those of a whole cell where its strides allow that, else 1."""
    if not isinstance(decl.type, TensorType):
        return 1
    count = decl.type.count
    if decl.levels is None:
        return count
    if decl.within is not None and decl.within.stride % count:
        return 1
    return count if all(stride % count == 0 for _, _, _, stride in decl.levels) else 1


def digit_levels(decl: n.ArrayDecl) -> list[tuple[int, int, int, int]]:
    """The levels of a field in a container, from the outside in, and those of its cells in a word: what loops over
    containers have a variable for.
    """
    assert decl.levels is not None
    inside = decl.packed.levels if decl.packed is not None else ()
    return [*sorted(decl.levels, key=lambda level: -level[3]), *inside]


def flat_index(indices: tuple[n.Expr, ...], t: TensorType) -> n.Expr:
    """The number of a component, row by row."""
    if len(indices) == 1:
        return indices[0]
    i, j = indices
    columns = t.shape[1]
    if isinstance(i, n.Const) and isinstance(j, n.Const):
        return n.Const(int(i.value) * columns + int(j.value), i32)
    if isinstance(i, n.Const) and i.value == 0:
        return j
    row = n.Const(int(i.value) * columns, i32) if isinstance(i, n.Const) else _exact("mul", i, n.Const(columns, i32))
    return _exact("add", row, n.Const(int(j.value), i32) if isinstance(j, n.Const) else j)


def _exact(op: str, a: n.Expr, b: n.Expr) -> n.Expr:
    return n.Binary(op, a, b, i32, exact=True)
