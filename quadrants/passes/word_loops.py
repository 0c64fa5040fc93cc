"""Loops over the cells of a `quant_array`: an iteration a word. `qd.loop_config(bit_vectorize=True)` asks for it; on a
processor, whose threads are few, it is done wherever that is possible.

    for i, j in y:                      for i, w in ..:
        y[i, j] = f(x[i, j])                word = y{i, w}
                                            for c in range(32):
                                                j = w * 32 + c
                                                .. f(x[i, j]) into the bits of `word`
                                            y{i, w} = word

An iteration then owns the words of what it writes. Where each cell is one bit, `bit_planes` may do all cells at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.types import i32
from quadrants.passes.bit_arithmetic import load
from quadrants.passes.own_cells import Values
from quadrants.passes.own_words import Memory, memory, packed_cells

_THREADS = (n.Builtin, n.Intrinsic, n.Rand)
_Levels = tuple[tuple[int, int], ...]


@dataclass(slots=True, eq=False, repr=False)
class WordLoop:
    """What is known of such a loop. axes: the variable of each axis. lanes: (axis, cells in a word) of those that words
    divide. words: the variable that counts words, by axis. own: the fields of which a word belongs to an iteration.
    values: finds the variable behind an index.
    """

    task: n.Task
    loop: n.For
    axes: dict[int, n.Var]
    lanes: _Levels
    own: dict[Memory, n.ArrayDecl]
    values: Values
    words: dict[int, n.Var] = field(default_factory=dict)
    begins: dict[int, int] = field(default_factory=dict)

    def is_own_cell(self, cell: n.Cell) -> bool:
        """Whether it is the cell of the iteration."""
        return memory(cell.array) in self.own and _is_own(cell, self.axes, self.values)

    def index(self, e: n.Expr) -> n.Expr:
        """An index, or the loop's variable that it stands for."""
        found = self.values.variable(e)
        return next((load(v) for v in self.axes.values() if v.id == found), e)

    def first(self, axis: int) -> n.Expr:
        """The index of the first cell of the word."""
        extent = dict(self.lanes)[axis]
        begin = n.Binary("mul", load(self.words[axis]), n.Const(extent, i32), i32, exact=True)
        at = self.begins[axis]
        return begin if at == 0 else n.Binary("add", begin, n.Const(at, i32), i32, exact=True)


def word_loop(task: n.Task, always: bool) -> WordLoop | None:
    """The loop of a task over words, if it writes to cells of its own in a `quant_array`. always: also one that does
    not ask for it, unless it looks at who does which iteration.
    """
    loop = task.loop
    if loop is None or task.reductions:
        return None
    asked = loop.config is not None and loop.config.bit_vectorize
    if not (asked or always):
        return None
    nodes = list(walk.with_functions(task.body))
    if not asked and any(isinstance(x, _THREADS) for x in nodes):
        return None
    bounds = [(b.value, e.value) for b, e in loop.bounds if isinstance(b, n.Const) and isinstance(e, n.Const)]
    if len(bounds) != len(loop.vars):
        return None
    cells = [cell for x in nodes for place in walk.written_places(x) for cell in packed_cells(place)]
    cells = [cell for cell in cells if cell.array.packed is not None and cell.array.packed.levels]
    if not cells or any(cell.array.within is not None for cell in cells):  # whole words would make cells active
        return None
    values = Values(nodes, loop.vars)
    axes = _axes(cells[0], values, loop)
    own = {memory(cell.array): cell.array for cell in cells}
    if axes is None or len({(_lanes(array), array.shape, array.index_offset) for array in own.values()}) != 1:
        return None
    made = WordLoop(task, loop, axes, _lanes(cells[0].array), own, values)
    if any(not _is_own(cell, axes, values) for cell in cells) or not _covers(made, bounds):
        return None
    return made


def _axes(cell: n.Cell, values: Values, loop: n.For) -> dict[int, n.Var] | None:
    by_id = {v.id: v for v in loop.vars}
    found = {axis: values.variable(e) for axis, e in enumerate(cell.indices)}
    if None in found.values() or len(set(found.values())) != len(loop.vars) or len(found) != len(loop.vars):
        return None
    return {axis: by_id[number] for axis, number in found.items() if number is not None}


def _is_own(cell: n.Cell, axes: dict[int, n.Var], values: Values) -> bool:
    return all(values.variable(e) == axes[axis].id for axis, e in enumerate(cell.indices))


def _lanes(array: n.ArrayDecl) -> _Levels:
    assert array.packed is not None
    return tuple((axis, extent) for axis, extent, _, _ in array.packed.levels if extent > 1)


def _covers(made: WordLoop, bounds: list[tuple[int, int]]) -> bool:
    """Whether the loop visits all cells of the fields that it writes."""
    array = next(iter(made.own.values()))
    first = array.index_offset or (0,) * array.ndim
    by_var = {v.id: pair for v, pair in zip(made.loop.vars, bounds)}
    assert array.shape is not None
    made.begins = dict(enumerate(first))
    return all(by_var[made.axes[a].id] == (first[a], first[a] + array.shape[a]) for a in range(array.ndim))


def count_words(made: WordLoop) -> None:
    """Have the loop count words in place of cells."""
    loop, extents = made.loop, dict(made.lanes)
    axis_of = {v.id: axis for axis, v in made.axes.items()}
    variables, bounds = [], []
    for v, (begin, end) in zip(loop.vars, loop.bounds):
        axis = axis_of[v.id]
        if axis in extents:
            assert isinstance(begin, n.Const) and isinstance(end, n.Const)
            v = made.words[axis] = n.Var(f"{v.name}_word", i32, level=v.level)
            begin, end = n.Const(0, i32), n.Const((end.value - begin.value) // extents[axis], i32)
        variables.append(v)
        bounds.append((begin, end))
    loop.vars, loop.bounds = tuple(variables), tuple(bounds)


def over_cells(made: WordLoop, body: list[n.Stmt]) -> n.For:
    """The loop over the cells of a word around the body."""
    inner, head = [], []
    for axis, extent in made.lanes:
        lane = n.Var(f"{made.axes[axis].name}_lane", i32)
        inner.append((lane, (n.Const(0, i32), n.Const(extent, i32))))
        index = n.Binary("add", made.first(axis), load(lane), i32, exact=True)
        head.append(n.Declare(made.axes[axis], index, made.loop.loc))
    return n.For(
        tuple(v for v, _ in inner), tuple(pair for _, pair in inner), [*head, *body], kind="range_for",
        loc=made.loop.loc,
    )  # fmt: skip
