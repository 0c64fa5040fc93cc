"""Atomics on cells that belong to one iteration become plain updates.

In `for i in x: x[i] += 1` no two iterations touch the same cell. That holds for an array when every access of the task
has each loop variable by itself at one and the same position among the indices, and nothing else can reach its memory:
another field is other memory, but two array arguments may overlap, and an array argument may be a view of a field.
"""

from __future__ import annotations

from quadrants.ir import walk
from quadrants.ir.nodes import (
    ArrayDecl,
    Atomic,
    Cell,
    Const,
    Declare,
    Elem,
    ElemPlace,
    Expr,
    For,
    Load,
    Make,
    Module,
    Node,
    Store,
    Task,
    Var,
    VarPlace,
)
from quadrants.ir.types import element_dtype


def use_own_cells(module: Module) -> Module:
    for task in module.tasks:
        if task.loop is not None:
            _own_cells(module, task, task.loop)
    return module


_TELLING = frozenset((Cell, Declare, *walk.WRITERS))


def _own_cells(module: Module, task: Task, loop: For) -> None:
    cells = [(atomic, walk.root_cell(atomic.place)) for atomic in walk.only(task.body, (Atomic,))]
    atomics = [(atomic, cell.array) for atomic, cell in cells if cell is not None]
    if not atomics or not loop.vars:
        return
    nodes = list(walk.with_functions(task.body, _TELLING))
    variables = loop.index or loop.vars
    values = Values(nodes, variables)
    accesses: dict[ArrayDecl, list[tuple[Expr, ...]]] = {}
    written: set[ArrayDecl] = set()
    for node in nodes:
        if isinstance(node, Cell):
            for array in (node.array, *(node.array.components or ())):
                accesses.setdefault(array, []).append(node.indices)
        elif isinstance(node, (Store, Atomic)):
            cell = walk.root_cell(node.place)
            if cell is not None:
                written.add(cell.array)
    # What is reduced is written behind the loop, while threads that are not so far are still in theirs.
    written.update(cell.array for cell in walk.only(task.reductions, (Cell,)))
    shared = _overlapping(module.arrays)
    plain: dict[ArrayDecl, bool] = {}  # unrolled loops have many atomics of one array
    for atomic, array in atomics:
        if array.components is not None:
            continue
        if array not in plain:
            alone = array not in shared and not any(_may_share(array, other) for other in written)
            own = alone and array.kind in ("field", "array") and values.own(accesses[array], variables)
            plain[array] = own
        atomic.plain = plain[array]


def _may_share(a: ArrayDecl, b: ArrayDecl) -> bool:
    """Whether an array argument may be a view of another array; of a field only where the numbers are of one type."""
    if a is b or "array" not in (a.kind, b.kind):
        return False
    return a.kind == b.kind or {a.kind, b.kind} == {"field", "array"} and element_dtype(a.type) is element_dtype(b.type)


class Values:
    """Finds the loop variable behind an index, also through names that are assigned once."""

    def __init__(self, nodes: list[Node], variables: tuple[Var, ...]) -> None:
        self.variables = {v.id for v in variables}
        self.once: dict[int, Expr] = {}
        self.changed: set[int] = set()  # what is written to behind its declaration, or declared twice
        for node in nodes:
            if isinstance(node, Declare):
                if node.var.id in self.once:
                    self.changed.add(node.var.id)
                self.once[node.var.id] = node.init
            self.changed.update(var.id for var in map(walk.root_var, walk.written_places(node)) if var is not None)
        for changed in self.changed | self.variables:  # those of a loop over containers are declared in its body
            self.once.pop(changed, None)

    def own(self, accesses: list[tuple[Expr, ...]], variables: tuple[Var, ...]) -> bool:
        """Whether all tuples of indices have every loop variable at the same position."""
        found = [[self.variable(e) for e in indices] for indices in accesses]
        return all(any(all(row[k] == v.id for row in found) for k in range(min(map(len, found)))) for v in variables)

    def variable(self, e: Expr) -> int | None:
        """The id of the loop variable that an expression is, or None."""
        for _ in range(8):
            e = self.simpler(e)
            if isinstance(e, Load) and isinstance(e.place, VarPlace) and e.place.var.id in self.variables:
                return e.place.var.id
        return None

    def simpler(self, e: Expr) -> Expr:
        """One step from a name or an element of a vector to what it stands for."""
        if isinstance(e, Load) and isinstance(e.place, VarPlace):
            return self.once.get(e.place.var.id, e)
        if isinstance(e, Load) and isinstance(e.place, ElemPlace) and isinstance(e.place.base, VarPlace):
            whole, indices = self.once.get(e.place.base.var.id), e.place.indices
        elif isinstance(e, Elem):
            whole, indices = self.simpler(e.a), e.indices
        else:
            return e
        if isinstance(whole, Make) and len(indices) == 1 and isinstance(indices[0], Const):
            at = indices[0].value
            return whole.parts[at] if 0 <= at < len(whole.parts) else e
        return Elem(whole, indices, e.type) if isinstance(whole, Load) and not isinstance(e, Elem) else e


def _overlapping(arrays: list[ArrayDecl]) -> set[ArrayDecl]:
    """Fields of which another declaration has the same memory."""
    first: dict[tuple[int, ...], ArrayDecl] = {}
    shared: set[ArrayDecl] = set()
    for array in arrays:
        if array.kind != "field":
            continue
        for k in range(getattr(array.type, "count", 1)):
            at = array.source.offset + k * element_dtype(array.type).size if array.packed is None else array.packed.bit
            place = (id(array.source.tree), array.source.offset, at)
            other = first.setdefault(place, array)
            if other is not array:
                shared |= {array, other}
    return shared
