"""Cells of arrays become elements of linear memory: the arithmetic of addresses is IR like any other.

    x[i, j]         dense((2, 3))              x{i * 3 + j}
    x[i + 1]        dense(4).dense(4)          x{((i + 1) >> 2) * 4 + ((i + 1) & 3)}
    s[i].v[k]       v beside a scalar          s{i * 4 + 1 + k}       (one number behind another)
    v[i][k]         components in arrays of their own, k known at run time        (v_0{i} if k == 0 else v_1{i})

A user's index is an i32 whose arithmetic wraps. Address arithmetic does not: it is 64 bits wide where the target wants
that, or where the array is too big for 32. A sum in an index may become part of the address arithmetic, `exact`, where
that cannot be told from wrapping by an index that is in range. Let its value without wrapping be between `low` and
`high`, and the array begin at index `first` and have `extent` indices: if it wrapped into the array it would be
2^32 below `first` at least, or 2^32 above the last index; both can be excluded:

    high < first + 2^32   and   low >= first + extent - 2^32

So `x[offset + i]` is as good as `(x + offset)[i]` for any loop that counts from zero, while `f[i * i]` is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from quadrants.ir import cost, walk
from quadrants.ir import nodes as n
from quadrants.ir.adstack_heaps import FLOAT, ROWS, kind_of, of_task, split
from quadrants.ir.places import digit_levels, elements, flat_index
from quadrants.ir.ranges import ARITHMETIC, Range, Ranges, combined
from quadrants.ir.types import DType, TensorType, ValueType, i32, i64, scalar, u32
from quadrants.passes.address_arithmetic import convert, digit, plus, times, total

Levels = tuple[tuple[int, int, int, int], ...]  # see `ir.memory.ArrayDecl`

_ANY = (i32.min, i32.max)
# The longest axis of an array argument.
_LONGEST = i32.max


def lower_places(module: n.Module, *, wide: bool, device: bool = False) -> n.Module:
    """Put a Slot in place of every Cell of tasks and functions.

    wide: addresses are computed in 64 bits where something is known of an index, as that it counts a loop: compilers
    see through those where 32 bits may wrap. device: stacks that are not local lie row by row, slot k of all threads
    side by side.
    """
    cost.note_costs(module.tasks)
    depths: dict[int, n.StackDepth] = {}
    for task in module.tasks:
        stacks = of_task(task) if module.stacked else []
        depths.update((id(decl.source), decl.source) for decl in stacks)
        lowering = _Lowering(Ranges((*task.pre, *task.body), task.loop), wide)
        if device:
            lowering.rows = {decl.id: _row(decl, task.gate) for decl in split(stacks)[1]}
        lowering.task(task)
    for function in module.functions:
        _Lowering(Ranges(function.body), wide).block(function.body)
    for depth in depths.values():
        lowering = _Lowering(Ranges(depth.statements), wide)
        lowering.block(depth.statements)
        depth.count = lowering.node(depth.count)
    return module


def _row(decl: n.ArrayDecl, gate: n.Gate | None) -> tuple[n.Var, n.Var | None]:
    """(rows of a stack in its heap, row of this thread, or None if the stack's pointer is at the row already)"""
    if gate is not None and kind_of(decl) == FLOAT:
        return gate.rows, gate.row
    return ROWS, None


class _Lowering:
    """Rewrites one body."""

    def __init__(self, ranges: Ranges, wide: bool) -> None:
        self.ranges = ranges
        self.wide = wide
        self.rows: dict[int, tuple[n.Var, n.Var | None]] = {}
        # By id of a tensor's cell: the cell, and its slot for all components.
        self.slots: dict[int, tuple[n.Cell, n.Slot]] = {}
        # In a loop over containers, digits that are its variables: by id of the index, its offset, divisor and extent.
        self.digits: dict[tuple[int, int, int, int], n.Var] = {}

    # ------------------------------------------------------------ nodes

    def task(self, task: n.Task) -> None:
        if task.loop is not None:
            self.digits = _digits(task.loop)
            task.loop.bounds = tuple((self.node(begin), self.node(end)) for begin, end in task.loop.bounds)
        self.block(task.pre)
        self.block(task.body)
        for pair in task.reductions:
            self.block(pair)

    def block(self, body: Sequence[n.Stmt]) -> None:
        for s in body:
            walk.update(s, self.node)

    def node(self, x: Any) -> Any:
        kind = type(x)
        if kind is list:
            self.block(x)
            return x
        if kind is n.Load:
            return self.load(x)
        if kind is n.Cell:
            return self.cell(x)
        if kind is n.ElemPlace and type(x.base) is n.Cell:
            return self.component(x, x.base)
        return walk.rebuilt(x, self.node)

    def load(self, e: n.Load) -> n.Expr:
        cell = e.place
        if type(cell) is not n.Cell or cell.array.components is None:
            return walk.rebuilt(e, self.node)
        indices = self.indices(cell)
        containers = self.containers(cell)
        slots = [self.slot(part, indices, part.type, c) for part, c in zip(cell.array.components, containers)]
        return n.Make(tuple([n.Load(slot, slot.type) for slot in slots]), e.type)

    # ------------------------------------------------------------ places

    def indices(self, cell: n.Cell) -> tuple[n.Expr, ...]:
        return tuple([self.node(e) for e in cell.indices])

    def cell(self, cell: n.Cell) -> n.Slot:
        assert cell.array.components is None, "a tensor that is in several arrays is no place"
        return self.slot(cell.array, self.indices(cell), cell.type, self.containers(cell)[0])

    def containers(self, cell: n.Cell) -> tuple[n.Expr | None, ...]:
        """The container of a cell, or of each of its components; None where that is no part of the address."""
        if not cell.containers:
            return (None,) * len(cell.array.components or (cell.array,))
        return tuple([None if e is None else self.node(e) for e in cell.containers])

    def slot(
        self, decl: n.ArrayDecl, indices: tuple[n.Expr, ...], t: ValueType, container: n.Expr | None = None
    ) -> n.Slot:
        address = self.address(decl, indices)
        if container is not None:
            assert decl.within is not None
            first = times(convert(container, i64), decl.within.stride // elements(decl))
            address = total(first, convert(address, i64))
        return n.Slot(decl, address, t)

    def component(self, place: n.ElemPlace, cell: n.Cell) -> n.Place:
        """A component of a tensor in memory: of one element, or an element itself."""
        which = tuple([self.node(e) for e in place.indices])
        decl, t = cell.array, cell.type
        assert isinstance(t, TensorType)
        if decl.components is not None:
            return self.separate(cell, decl.components, flat_index(which, t), place.type)
        if id(cell) not in self.slots:
            self.slots[id(cell)] = cell, self.cell(cell)
        slot = self.slots[id(cell)][1]
        if elements(decl) > 1:
            return n.ElemPlace(slot, which, place.type)
        base = slot.index
        wide = scalar(base.type)
        if len(which) == 1:
            return n.Slot(decl, total(base, self.term(which[0], wide, 0, t.count)), place.type)
        rows, columns = t.shape
        row, column = self.term(which[0], wide, 0, rows), self.term(which[1], wide, 0, columns)
        return n.Slot(decl, total(total(base, times(row, columns)), column), place.type)

    def separate(self, cell: n.Cell, components: tuple[n.ArrayDecl, ...], which: n.Expr, t: ValueType) -> n.Place:
        indices, containers = self.indices(cell), self.containers(cell)
        if isinstance(which, n.Const):
            return self.slot(components[which.value], indices, t, containers[which.value])
        return n.Choice(which, tuple([self.slot(d, indices, t, c) for d, c in zip(components, containers)]), t)

    # ------------------------------------------------------------ addresses

    def address(self, decl: n.ArrayDecl, indices: tuple[n.Expr, ...]) -> n.Expr:
        """The number of an element, counted from the array's pointer."""
        if decl.ndim == 0:
            return n.Const(0, i32)
        if decl.id in self.rows:
            return _in_row(indices[0], *self.rows[decl.id])
        if decl.levels is None:
            return self.row_major(decl, indices)
        return self.in_tree(decl, decl.levels, indices)

    def row_major(self, decl: n.ArrayDecl, indices: tuple[n.Expr, ...]) -> n.Expr:
        """Of an array whose extents only the launch knows: 64 bits wide as soon as it is multiplied by one."""
        order = decl.layout or range(decl.ndim)
        t = self.width(indices) if decl.ndim == 1 else i64
        address: n.Expr | None = None
        for axis in order:
            extent = decl.shape[axis] if decl.shape is not None else _LONGEST
            term = self.term(indices[axis], t, 0, extent)
            if address is not None:
                rows = n.Const(extent, t) if decl.shape is not None else convert(n.Extent(decl, axis, i32), t)
                term = total(n.Binary("mul", address, rows, t, exact=True), term)
            address = term
        assert address is not None
        return address

    def in_tree(self, decl: n.ArrayDecl, levels: Levels, indices: tuple[n.Expr, ...]) -> n.Expr:
        """Of a tree of dense nodes: the sum of digits of the indices, each times the elements of what it numbers."""
        unit, first = elements(decl), decl.index_offset or (0,) * decl.ndim
        t = i64 if _is_big(levels) else self.width(indices)
        terms: dict[int, n.Expr] = {}
        address: n.Expr | None = None
        constant = 0
        assert decl.shape is not None
        for axis, extent, divisor, stride in levels:
            index, size = indices[axis], decl.shape[axis]
            outermost = extent * divisor >= size
            if isinstance(index, n.Const):
                number = (index.value - first[axis]) // divisor
                constant += (number if outermost else number % extent) * (stride // unit)
                continue
            known = self.known_digit(index, first[axis], divisor, extent)
            if known is not None:
                term = times(convert(_load(known), t), stride // unit)
                address = term if address is None else total(address, term)
                continue
            if axis not in terms:
                terms[axis] = self.term(index, t, first[axis], size)
            term = terms[axis]
            if divisor == 1 and outermost:
                constant -= first[axis] * (stride // unit)
            else:
                term = digit(plus(term, -first[axis]), divisor, 0 if outermost else extent, decl.within is not None)
            term = times(term, stride // unit)
            address = term if address is None else total(address, term)
        return n.Const(constant, t) if address is None else plus(address, constant)

    def known_digit(self, index: n.Expr, offset: int, divisor: int, extent: int) -> n.Var | None:
        if self.digits and isinstance(index, n.Load) and isinstance(index.place, n.VarPlace):
            return self.digits.get((index.place.var.id, offset, divisor, extent))
        return None

    def width(self, indices: tuple[n.Expr, ...]) -> DType:
        types = [scalar(e.type) for e in indices]
        if any(t.bits > 32 or t is u32 for t in types):
            return i64
        return i64 if self.wide and any(self.span(e) != _ANY for e in indices) else i32

    # ------------------------------------------------------------ indices as terms of an address

    def term(self, e: n.Expr, t: DType, first: int, extent: int) -> n.Expr:
        """An index of an axis as a number of type `t`: its sums become address arithmetic where nobody can tell."""
        if not _is_sum(e):
            return convert(e, t)
        low, high = self.span(e)
        if low < first + extent - (1 << 32) or high >= first + (1 << 32):
            return convert(e, t)
        return self.exact(e, t) if t is i64 else self.exact_top(e, t)

    def span(self, e: n.Expr) -> Range:
        """(least, largest) value of a sum that nowhere wraps."""
        if not _is_sum(e):
            return self.ranges.of(e)
        return combined(e.op, self.span(e.a), self.span(e.b))

    def exact(self, e: n.Expr, t: DType) -> n.Expr:
        if not _is_sum(e):
            return convert(e, t)
        return n.Binary(e.op, self.exact(e.a, t), self.exact(e.b, t), t, exact=True)

    def exact_top(self, e: n.Expr, t: DType) -> n.Expr:
        """In the width of the index itself, where a compiler may assume that no step on the way wraps."""
        if not _is_sum(e):
            return convert(e, t)
        a, b = [self.exact_top(x, t) if _is_sum(x) and not self.ranges.overflows(x) else x for x in (e.a, e.b)]
        return n.Binary(e.op, a, b, t, exact=True)


def _digits(loop: n.For) -> dict[tuple[int, int, int, int], n.Var]:
    """What the variables of a loop over containers are of its index."""
    if loop.over is None or not loop.index:
        return {}
    levels = digit_levels(loop.over)
    first = loop.over.index_offset or (0,) * loop.over.ndim
    found = zip(levels, loop.vars[len(loop.vars) - len(levels) :])
    return {
        (loop.index[axis].id, first[axis], divisor, extent): var for (axis, extent, divisor, _), var in found
    }  # fmt: skip


def _in_row(index: n.Expr, rows: n.Var, row: n.Var | None) -> n.Expr:
    """Slots of all threads with one number lie side by side."""
    address = n.Binary("mul", convert(index, i64), convert(_load(rows), i64), i64, exact=True)
    return address if row is None else total(address, convert(_load(row), i64))


def _load(var: n.Var) -> n.Load:
    return n.Load(n.VarPlace(var, var.type), var.type)


def _is_sum(e: n.Expr) -> TypeGuard[n.Binary]:
    """Whether an index is arithmetic that may wrap, and that nobody checks for it."""
    return isinstance(e, n.Binary) and e.op in ARITHMETIC and e.type is i32 and e.loc is None and not e.exact


def _is_big(levels: Levels) -> bool:
    return sum(abs(stride) * (extent - 1) for _, extent, _, stride in levels) >= 2**31 - 1
