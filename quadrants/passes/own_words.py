"""Words that belong to one iteration: nobody else writes a bit of them, so that a change need not be atomic.

As for own cells, every write has each loop variable by itself at one and the same position among its indices; an axis
that a `quant_array` divides does not count, as neighbours on it share a word.
"""

from __future__ import annotations

from quadrants.ir import walk
from quadrants.ir.nodes import (
    ArrayDecl,
    Binary,
    Cell,
    Const,
    Declare,
    Expr,
    For,
    Load,
    Module,
    Node,
    Place,
    Stmt,
    Task,
    Var,
    VarPlace,
)
from quadrants.passes.own_cells import Values

Memory = tuple[int, int]


def memory(array: ArrayDecl) -> Memory:
    """What the words of a packed field are."""
    return id(array.source.tree), array.source.offset


def packed_cells(place: Place | Node) -> list[Cell]:
    """The packed cells that a place may be: several where it is a component that run time chooses."""
    at = walk.root(place) if not isinstance(place, Cell) else place  # type: ignore[arg-type]
    if not isinstance(at, Cell):
        return []
    if at.array.packed is not None:
        return [at]
    return [Cell(part, at.indices, part.type) for part in at.array.components or () if part.packed is not None]


def own_words(module: Module, task: Task) -> set[Memory]:
    """The words of which each belongs to one iteration of the task's loop."""
    loop = task.loop
    if loop is None or not loop.vars or any(region.kind in ("parallel", "stream") for region in module.regions):
        return set()
    nodes = list(walk.with_functions(task.body))
    writes: dict[Memory, list[tuple[Expr, ...]]] = {}
    for node in nodes:
        for place in walk.written_places(node):
            for cell in packed_cells(place):
                writes.setdefault(memory(cell.array), []).append(_undivided(cell))
    for node in walk.walk(task.reductions):
        if isinstance(node, Cell):
            for cell in packed_cells(node):
                writes.pop(memory(cell.array), None)
    variables = _counters(task.body, loop)
    values = Values(nodes, variables)
    for v in variables:
        values.once.pop(v.id, None)  # it stands for itself
    return {key for key, indices in writes.items() if values.own(indices, variables)}


def _counters(body: list[Stmt], loop: For) -> tuple[Var, ...]:
    """Variables that together have other values in each iteration: those of the loop, or where it goes block by block
    the indices that the body puts together of them, as `i = i_0 * 4 + i_1`; of a loop over active cells their indices.
    """
    if loop.index:
        return loop.index
    extents = {
        v.id: end.value
        for v, (begin, end) in zip(loop.vars, loop.bounds)
        if isinstance(begin, Const) and begin.value == 0 and isinstance(end, Const)
    }
    made: list[Var] = []
    used: set[int] = set()
    for s in body:
        if not isinstance(s, Declare) or s.var.mutable:
            continue
        digits = _digits(s.init)
        if digits is None or len(digits) < 2 or not digits.keys() <= extents.keys() - used:
            continue
        unit = 1
        for number, factor in sorted(digits.items(), key=lambda pair: pair[1]):
            unit = unit * extents[number] if factor == unit else 0
        if unit:
            made.append(s.var)
            used |= digits.keys()
    return (*made, *(v for v in loop.vars if v.id not in used))


def _digits(e: Expr, factor: int = 1) -> dict[int, int] | None:
    """What each variable of a sum of products by numbers is multiplied by; None for anything else."""
    if isinstance(e, Const):
        return {}
    if isinstance(e, Load) and isinstance(e.place, VarPlace):
        return {e.place.var.id: factor}
    if isinstance(e, Binary) and e.op == "mul" and isinstance(e.b, Const):
        return _digits(e.a, factor * int(e.b.value))
    if isinstance(e, Binary) and e.op == "add":
        a, b = _digits(e.a, factor), _digits(e.b, factor)
        return {**a, **b} if a is not None and b is not None and a.keys().isdisjoint(b) else None
    return None


def _undivided(cell: Cell) -> tuple[Expr, ...]:
    assert cell.array.packed is not None
    divided = {axis for axis, _, _, _ in cell.array.packed.levels}
    return tuple(e for axis, e in enumerate(cell.indices) if axis not in divided)
