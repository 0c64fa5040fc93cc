"""Words that belong to one iteration: nobody else writes a bit of them, so that a change need not be atomic.

As for own cells, every write has each loop variable by itself at one and the same position among its indices; an axis
that a `quant_array` divides does not count, as neighbours on it share a word.
"""

from __future__ import annotations

from quadrants.ir import walk
from quadrants.ir.nodes import PLACES, ArrayDecl, Atomic, Call, Cell, Expr, Module, Node, Place, Store, Task
from quadrants.passes.own_cells import Values, everything

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
    nodes = everything(task.body)
    writes: dict[Memory, list[tuple[Expr, ...]]] = {}
    for node in nodes:
        for place in written_places(node):
            for cell in packed_cells(place):
                writes.setdefault(memory(cell.array), []).append(_undivided(cell))
    for node in walk.walk(task.reductions):
        if isinstance(node, Cell):
            for cell in packed_cells(node):
                writes.pop(memory(cell.array), None)
    values = Values(nodes, loop.vars)
    return {key for key, indices in writes.items() if values.own(indices, loop.vars)}


def written_places(node: Node) -> list[Place]:
    """The places that a node may write to."""
    if isinstance(node, (Store, Atomic)):
        return [node.place]
    return [a for a in node.args if isinstance(a, PLACES)] if isinstance(node, Call) else []


def _undivided(cell: Cell) -> tuple[Expr, ...]:
    assert cell.array.packed is not None
    divided = {axis for axis, _, _, _ in cell.array.packed.levels}
    return tuple(e for axis, e in enumerate(cell.indices) if axis not in divided)
