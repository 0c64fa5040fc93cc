"""Every access of a field below a sparse node finds its container: a read that of zeros where none is active, a write
or an atomic operation one that is made.

In a loop over containers that of the iteration is known, for cells at the loop's own indices.
"""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.adstack_heaps import depths_of, of_task
from quadrants.ir.sparse import SparseNode, Within
from quadrants.ir.types import i32
from quadrants.passes.address_arithmetic import plus
from quadrants.passes.sparse.build import Body, compare, const, load, part
from quadrants.passes.sparse.functions import activate
from quadrants.passes.sparse.tree import Tree, within_shape
from quadrants.passes.sparse.value_numbers import ValueNumbers
from quadrants.passes.sparse.where import axes_of


def find_containers(module: n.Module) -> n.Module:
    """Set `containers` of all cells of sparse fields."""
    tree = module.sparse
    if tree is None:
        return module
    for task in module.tasks:
        for depth in depths_of(of_task(task)):
            # The launch finds the depth, in front of all iterations.
            depth.statements = _Access(tree, None, True, module.beside).whole(depth.statements)
        access = _Access(tree, task.loop, _frees(tree, task), module.beside)
        for declare in task.pre:
            walk.update(declare, access.read)
        if task.loop is not None:
            task.loop.bounds = tuple((access.read(a), access.read(b)) for a, b in task.loop.bounds)
        task.body = access.whole(task.body)
        task.reductions = [(declare, access.reduced(final)) for declare, final in task.reductions]
    for function in list(module.functions):
        function.body = _Access(tree, None, True, module.beside).whole(function.body)
    tree.note_written()
    return module


def _frees(tree: Tree, task: n.Task) -> bool:
    """Whether a task may make cells inactive, so that the container of an iteration need not stay its own."""
    makers = {id(tree.function_of("deactivate", node)) for node in tree.made("deactivate")}
    calls = walk.with_functions(task.body, (n.Call,))
    return bool(makers) and any(id(call.func) in makers for call in calls)


class _Access:
    """Rewrites one body."""

    def __init__(self, tree: Tree, loop: n.For | None, frees: bool, beside: frozenset[int]) -> None:
        self.tree = tree
        self.beside = beside
        self.loop = loop if loop is not None and loop.over is not None and loop.index else None
        self.frees = frees
        self.container = _container(self.loop)
        self.out = Body(unique=tree.unique)
        # What was activated in front of a statement, in its block and those around it: by node and coordinates.
        self.made: dict[tuple[Any, ...], n.Expr] = {}
        self.values = ValueNumbers([])

    def whole(self, body: list[n.Stmt]) -> list[n.Stmt]:
        """The body of a task or function."""
        self.values = ValueNumbers(body)
        return self.block(body)

    def block(self, body: list[n.Stmt]) -> list[n.Stmt]:
        outer, self.out = self.out, Body(unique=self.tree.unique)
        around, self.made = self.made, dict(self.made)
        for s in body:
            self.out.loc = s.loc
            if self.beside and (cell := _written_cell(s)) is not None and self.is_beside(cell):
                self.where_active(s, cell)
                continue
            if isinstance(s, n.Store):
                s.place, s.value = self.place(s.place), self.read(s.value)
            else:
                walk.update(s, self.read)
            self.out.statements.append(s)
        made, self.out, self.made = self.out.statements, outer, around
        return made

    def reduced(self, final: n.If) -> n.If:
        final.then = self.block(final.then)
        return final

    def read(self, x: Any) -> Any:
        """An expression, place or block; places of stores and atomics are written."""
        kind = type(x)
        if kind is list:
            return self.block(x)
        if kind is n.Atomic:
            args = tuple([self.read(a) for a in x.args])
            return n.Atomic(x.op, self.place(x.place), args, x.type, x.plain)
        if kind is n.Cell:
            return self.cell(x, written=False)
        return walk.rebuilt(x, self.read)

    def place(self, place: Any) -> Any:
        if type(place) is n.Cell:
            return self.cell(place, written=True)
        if isinstance(place, (n.ElemPlace, n.MemberPlace)):
            base = self.place(place.base)
            if isinstance(place, n.ElemPlace):
                return n.ElemPlace(base, tuple([self.read(e) for e in place.indices]), place.type)
            return n.MemberPlace(base, place.name, place.type)
        return walk.rebuilt(place, self.read)

    # ------------------------------------------------------------ gradients

    def is_beside(self, cell: n.Cell) -> bool:
        """Whether a cell is of a gradient that a derivative does not make active, and not that of the iteration."""
        parts = cell.array.components or (cell.array,)
        if not all(decl.id in self.beside for decl in parts):
            return False
        return not all(self.is_own(decl, cell.indices, True) for decl in parts)

    def where_active(self, s: n.Stmt, cell: n.Cell) -> None:
        """Write to a gradient if its cell is active. What a kernel read where nothing is was zero, and is no variable;
        and loops of the derivative visit the cells that those of the kernel did.
        """
        parts = cell.array.components or (cell.array,)
        within = parts[0].within
        assert within is not None
        indices = tuple([self.out.hold("index", self.read(e)) for e in cell.indices])
        coords = self.coords(parts[0], within, indices)
        inside = self.out.when(within_shape(within.node, coords)).when(self.tree.is_active(within.node, coords))
        container = self.tree.holder(within.node, coords)
        if container is not None:
            container = inside.hold("there", container)
        known = n.Cell(cell.array, indices, cell.type, (container,) * len(parts))

        def rewrite(x: Any) -> Any:
            if type(x) is list:
                for inner in x:
                    walk.update(inner, rewrite)
                return x
            return known if x is cell else self.read(x) if isinstance(x, n.Load) else walk.rebuilt(x, rewrite)

        walk.update(s, rewrite)
        inside.statements.append(s)

    # ------------------------------------------------------------ cells

    def cell(self, cell: n.Cell, written: bool) -> n.Cell:
        indices = tuple([self.read(e) for e in cell.indices])
        if cell.containers:
            return n.Cell(cell.array, indices, cell.type, cell.containers)
        parts = cell.array.components or (cell.array,)
        if all(decl.within is None for decl in parts):
            return cell if indices == cell.indices else n.Cell(cell.array, indices, cell.type)
        found: dict[int, n.Expr | None] = {}
        containers: list[n.Expr | None] = []
        for decl in parts:
            key = id(decl.within.node) if decl.within is not None else 0
            if key not in found:
                found[key] = self.of(decl, indices, written)
            containers.append(found[key])
        return n.Cell(cell.array, indices, cell.type, tuple(containers))

    def of(self, decl: n.ArrayDecl, indices: tuple[n.Expr, ...], written: bool) -> n.Expr | None:
        """The container of a cell; None for that of the root."""
        within = decl.within
        if within is None:
            return None
        if self.is_own(decl, indices, written):
            return load(self.container) if self.container is not None else None
        coords = self.coords(decl, within, indices)
        if not written:
            return self.tree.holder(within.node, coords)
        key = (id(within.node), *(self.values.of(e) for e in coords))
        made = self.made.get(key)
        if made is None:
            made = self.out.hold("made", self.activated(within.node, coords))
            if not self.frees and None not in key:
                self.made[key] = made
        return made if within.holder is not None else None

    def activated(self, node: SparseNode, coords: list[n.Expr]) -> n.Expr:
        """The container of a cell that is made active. Most are, so that it is looked up in place first."""
        made: n.Expr = activate(self.tree, node, coords)
        if node.kind != "pointer":
            return made
        found = self.out.hold("found", self.tree.find(node, coords))
        return n.Select(compare("gt", found, const(0)), found, made, i32)

    @staticmethod
    def coords(decl: n.ArrayDecl, within: Within, indices: tuple[n.Expr, ...]) -> list[n.Expr]:
        """The coordinates of the sparse node that a cell is below."""
        first = decl.index_offset or (0,) * decl.ndim
        zero_based = [plus(e, -offset) for e, offset in zip(indices, first)]
        return [part(zero_based, axis, divisor, 0) for axis, divisor in within.axes]

    def is_own(self, decl: n.ArrayDecl, indices: tuple[n.Expr, ...], written: bool) -> bool:
        """Whether a cell is in the container of the iteration, and, where it is written, active."""
        loop, within = self.loop, decl.within
        if loop is None or self.frees or within is None or loop.over is None or loop.over.within is None:
            return False
        over = loop.over.within
        if over.holder is not within.holder or written and over.node is not within.node:
            return False
        node = within.node if written else within.holder
        if node is None:
            return True
        first = decl.index_offset or (0,) * decl.ndim
        first_over = loop.over.index_offset or (0,) * loop.over.ndim
        return all(
            a[1] == b[1] and _is(indices[a[0]], loop.index[b[0]]) and first[a[0]] == first_over[b[0]]
            for a, b in zip(axes_of(within, node), axes_of(over, node))
        )


def _written_cell(s: n.Stmt) -> n.Cell | None:
    """The cell that a statement does nothing but write."""
    if isinstance(s, n.Store):
        place: Any = s.place
    elif isinstance(s, n.Eval) and isinstance(s.value, n.Atomic):
        place = s.value.place
    elif isinstance(s, n.While) and not s.body and (swap := _swap(s)) is not None:
        place = swap.place
    else:
        return None
    found = walk.root(place)
    return found if isinstance(found, n.Cell) else None


def _swap(s: n.While) -> n.Atomic | None:
    """The exchange of a loop that changes some bits of a word."""
    made = [d.init for d in s.pre if isinstance(d, n.Declare) and isinstance(d.init, n.Atomic)]
    return made[0] if len(made) == 1 and made[0].op == "cas" else None


def _is(e: n.Expr, var: n.Var) -> bool:
    return isinstance(e, n.Load) and isinstance(e.place, n.VarPlace) and e.place.var is var


def _container(loop: n.For | None) -> n.Var | None:
    """The variable with the container of an iteration: what the body of a loop over containers declares first."""
    if loop is None or loop.over is None or loop.over.within is None or loop.over.within.holder is None:
        return None
    declare = loop.body[0]
    assert isinstance(declare, n.Declare)
    return declare.var
