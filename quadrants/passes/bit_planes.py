"""Loops over words whose cells are bits, done for all cells of a word at once.

    n = x[i, j - 1] + x[i, j + 1]           west = x{w} << 1 | x{w - 1} >> 31
    y[i, j] = n == 1                        east = x{w} >> 1 | x{w + 1} << 31
                                            y{w} = west ^ east

Every number of the body must be small and whole, and every index that counts cells the loop's variable and a distance,
perhaps modulo the extent. Conditions become masks, and what they would have kept from being read is read at the nearest
word there is. Where anything else is met, the caller does cell by cell.
"""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.ops import COMPARISONS
from quadrants.ir.quant import QuantInt
from quadrants.ir.types import DType, TensorType, i32, scalar, u1
from quadrants.passes.bit_arithmetic import cast, chosen, load, unit
from quadrants.passes.own_words import Memory, memory, packed_cells
from quadrants.passes.planes import Numbers, Planes, TooWide
from quadrants.passes.word_loops import WordLoop
from quadrants.passes.words import Words

_IMPURE = (n.Call, n.Atomic, n.Rand, n.Intrinsic, n.Volatile, n.Builtin)


class _Unsuited(Exception):
    """Something that has no form for all cells at once."""


def at_once(made: WordLoop, words: Words) -> list[n.Stmt] | None:
    """The body for one word, or None where that cannot be. The loop counts words already."""
    if len(made.lanes) != 1 or not all(_is_bits(array, made.lanes) for array in made.own.values()):
        return None
    try:
        return _Body(made, words).statements(made.task.body)
    except (_Unsuited, TooWide):
        return None


def _is_bits(array: n.ArrayDecl, lanes: tuple[tuple[int, int], ...]) -> bool:
    """Whether every bit of the word is a cell, along one and the same axis."""
    p = array.packed
    if p is None or not isinstance(p.format, QuantInt) or p.format.bits != 1:
        return False
    found = tuple((axis, extent) for axis, extent, _, _ in p.levels if extent > 1)
    return found == lanes and found[0][1] == p.word.bits


class _Body:
    def __init__(self, made: WordLoop, words: Words) -> None:
        self.made, self.words = made, words
        array = next(iter(made.own.values()))
        assert array.packed is not None
        self.axis, self.lanes = made.lanes[0]
        self.lane = made.axes[self.axis]
        self.unit = unit(array.packed)
        if self.unit.bits != self.lanes:
            raise _Unsuited
        self.out: list[n.Stmt] = []
        self.count = 0
        self.planes = Planes(self.unit, self.hold)
        self.known: dict[int, Numbers] = {}
        self.distances: dict[int, int] = {}  # of variables that are the loop's and a number
        self.uniform = {v.id for v in made.loop.vars} | {v.id for v in made.axes.values()} - {self.lane.id}
        self.results: dict[Memory, n.Expr] = {}
        self.masks: list[n.Expr] = []

    def hold(self, e: n.Expr) -> n.Load:
        self.count += 1
        var = n.Var(f"qd_plane_{self.count}", e.type)
        self.out.append(n.Declare(var, e, self.made.loop.loc))
        return load(var)

    # ------------------------------------------------------------ statements

    def statements(self, body: list[n.Stmt]) -> list[n.Stmt]:
        """The whole body, and the stores of the words at its end."""
        cells = {
            memory(a): n.Cell(self.words.of(a), self.first(), a.packed.word) for a in self.made.own.values() if a.packed
        }
        for key, cell in cells.items():
            self.results[key] = self.hold(cast(n.Load(cell, cell.type), self.unit))
        self.block(body)
        for key, cell in cells.items():
            self.out.append(n.Store(cell, cast(self.results[key], scalar(cell.type)), self.made.loop.loc))
        return self.out

    def first(self) -> tuple[n.Expr, ...]:
        """The indices of the first cell of the word."""
        return tuple(self.made.first(a) if a == self.axis else load(v) for a, v in sorted(self.made.axes.items()))

    def block(self, body: list[n.Stmt]) -> None:
        for s in body:
            if isinstance(s, n.Comment):
                continue
            if isinstance(s, n.Declare):
                self.declare(s)
            elif isinstance(s, n.Store):
                self.store(s)
            elif isinstance(s, n.If):
                self.branches(s)
            else:
                raise _Unsuited

    def declare(self, s: n.Declare) -> None:
        if isinstance(s.var.type, TensorType) and s.var.id in self.made.values.once:
            return  # the indices of a grouped loop, which are found behind its name
        distance = self.distance(s.init)
        if distance is not None and not s.var.mutable:
            self.distances[s.var.id] = distance
        elif not s.var.mutable and self.is_uniform(s.init) and not isinstance(s.init, n.Const):
            if self.masks:
                raise _Unsuited  # what a condition keeps from being computed
            self.uniform.add(s.var.id)
            self.out.append(s)
        else:
            self.known[s.var.id] = self.number(s.init)

    def store(self, s: n.Store) -> None:
        if isinstance(s.place, n.VarPlace):
            value, var = self.number(s.value), s.place.var
            if var.id not in self.known or var.shared:
                raise _Unsuited
            self.known[var.id] = self.masked(value, self.known[var.id])
            return
        cells = packed_cells(s.place)
        if len(cells) != 1 or not isinstance(s.place, n.Cell) or not self.made.is_own_cell(cells[0]):
            raise _Unsuited
        key, value = memory(cells[0].array), self.number(_low_bits(s.value))
        bit = Numbers((self.planes.plane(value, 0),), 0, 1)
        self.results[key] = self.masked(bit, Numbers((self.results[key],), 0, 1)).planes[0]

    def masked(self, value: Numbers, before: Numbers) -> Numbers:
        return self.planes.chosen(self.masks[-1], value, before) if self.masks else value

    def branches(self, s: n.If) -> None:
        mask = self.mask(s.cond)
        around = self.masks[-1] if self.masks else self.planes.ones
        for taken, body in ((mask, s.then), (self.planes.inverse(mask), s.orelse)):
            if body:
                self.masks.append(self.planes.both(around, taken))
                self.block(body)
                self.masks.pop()

    # ------------------------------------------------------------ numbers

    def number(self, e: n.Expr) -> Numbers:
        found = self._number(e)
        t = e.type
        if not isinstance(t, DType) or t.is_real or not t.min <= found.low <= found.high <= t.max and t is not u1:
            raise _Unsuited
        return found

    def _number(self, e: n.Expr) -> Numbers:
        if isinstance(e, n.Const):
            return self.planes.constant(int(e.value))
        if isinstance(e, n.Load):
            return self.loaded(e)
        if isinstance(e, n.Cast) and not e.bits:
            return self.planes.truth(self.planes.nonzero(self.number(e.a))) if e.type is u1 else self.number(e.a)
        if isinstance(e, n.Select):
            return self.planes.chosen(self.mask(e.cond), self.number(e.a), self.number(e.b))
        if isinstance(e, n.Unary):
            return self.unary(e)
        if not isinstance(e, n.Binary) or e.loc is not None:
            raise _Unsuited
        if e.op in COMPARISONS or e.op in ("logic_and", "logic_or"):
            return self.planes.truth(self.mask(e))
        a, b = self.number(e.a), self.number(e.b)
        if e.op in ("add", "sub", "mul"):
            return {"add": self.planes.add, "sub": self.planes.sub, "mul": self.planes.mul}[e.op](a, b)
        if e.op in ("bit_and", "bit_or", "bit_xor"):
            return self.planes.bitwise(e.op, a, b)
        raise _Unsuited

    def unary(self, e: n.Unary) -> Numbers:
        if e.op == "logic_not":
            return self.planes.truth(self.planes.inverse(self.planes.nonzero(self.number(e.a))))
        if e.op == "neg":
            return self.planes.sub(self.planes.constant(0), self.number(e.a))
        if e.op == "bit_not" and e.type is not u1:
            return self.planes.inverted(self.number(e.a))
        raise _Unsuited

    def loaded(self, e: n.Load) -> Numbers:
        if isinstance(e.place, n.VarPlace):
            if e.place.var.id not in self.known:
                raise _Unsuited
            return self.known[e.place.var.id]
        if not isinstance(e.place, n.Cell) or e.place.array.packed is None:
            raise _Unsuited
        p = e.place.array.packed
        if not _is_bits(e.place.array, self.made.lanes) or p.word.bits != self.lanes:
            raise _Unsuited
        signed = p.format.signed
        return Numbers((self.word(e.place),), -1 if signed else 0, 0 if signed else 1)

    # ------------------------------------------------------------ conditions

    def mask(self, e: n.Expr) -> n.Expr:
        """The lanes in which a condition holds."""
        if self.is_uniform(e) and not isinstance(e, n.Const):
            return self.hold(chosen(e, self.planes.ones, self.planes.zero))
        if isinstance(e, n.Binary) and e.op in ("logic_and", "logic_or"):
            combine = self.planes.both if e.op == "logic_and" else self.planes.either
            return combine(self.mask(e.a), self.mask(e.b))
        if isinstance(e, n.Cast) and not e.bits and e.type is u1 and e.a.type is u1:
            return self.mask(e.a)
        if isinstance(e, n.Binary) and e.op in COMPARISONS:
            for op, a, b in ((e.op, e.a, e.b), (_TURNED[e.op], e.b, e.a)):
                distance = self.distance(a)
                if distance is not None and self.is_uniform(b):
                    return self.lanes_where(op, distance, b)
            return self.planes.compare(e.op, self.number(e.a), self.number(e.b))
        return self.planes.nonzero(self.number(e))

    def lanes_where(self, op: str, distance: int, limit: n.Expr) -> n.Expr:
        """The lanes in which the loop's variable and a number compare to what is the same for all lanes."""
        if limit.type is not i32:
            raise _Unsuited
        if op in ("eq", "ne"):
            found = self.planes.both(
                self.below(distance, limit, 1), self.planes.inverse(self.below(distance, limit, 0))
            )
        else:
            found = self.below(distance, limit, 1 if op in ("le", "gt") else 0)
        return self.planes.inverse(found) if op in ("ne", "ge", "gt") else found

    def below(self, distance: int, limit: n.Expr, more: int) -> n.Expr:
        """The lanes whose index and `distance` are less than the limit and `more`."""
        over = n.Binary("sub", limit, self.made.first(self.axis), i32)
        lanes = n.Binary("max", n.Binary("add", over, n.Const(more - distance, i32), i32), n.Const(0, i32), i32)
        held = self.hold(n.Binary("min", lanes, n.Const(self.lanes, i32), i32))
        part = n.Binary("min", held, n.Const(self.lanes - 1, i32), i32)
        bit = n.Binary("shl", n.Const(1, self.unit), cast(part, self.unit), self.unit)
        some = n.Binary("sub", bit, n.Const(1, self.unit), self.unit)
        full = n.Binary("eq", held, n.Const(self.lanes, i32), u1)
        return self.hold(chosen(full, self.planes.ones, some))

    # ------------------------------------------------------------ cells

    def word(self, cell: n.Cell) -> n.Expr:
        """The bits of a cell and its neighbours in the next lanes."""
        key = memory(cell.array)
        if key in self.results and self.made.is_own_cell(cell):
            return self.results[key]
        array = cell.array
        assert array.shape is not None
        offset, extent = (array.index_offset or (0,) * array.ndim)[self.axis], array.shape[self.axis]
        begin = self.made.begins[self.axis] - offset
        distance, around = self.distance(cell.indices[self.axis]), False
        if distance is None:
            distance, around = self.distance_around(cell.indices[self.axis], extent), True
            if offset or distance is None:
                raise _Unsuited
        whole, rest = divmod(distance + begin, self.lanes)
        others = [self.row(array, a, e) for a, e in enumerate(cell.indices) if a != self.axis]
        low = self.part(array, others, whole, around)
        if rest == 0:
            return low
        high = self.part(array, others, whole + 1, around)
        down = n.Binary("shr", low, n.Const(rest, self.unit), self.unit)
        up = n.Binary("shl", high, n.Const(self.lanes - rest, self.unit), self.unit)
        return self.hold(n.Binary("bit_or", down, up, self.unit))

    def row(self, array: n.ArrayDecl, axis: int, e: n.Expr) -> n.Expr:
        """An index that is the same for all lanes, brought into the field: conditions around it are masks now."""
        e = self.made.index(e)
        if not self.is_uniform(e):
            raise _Unsuited
        if _is_variable(e, self.made.axes[axis]) and array.shape == next(iter(self.made.own.values())).shape:
            return e
        assert array.shape is not None
        first = (array.index_offset or (0,) * array.ndim)[axis]
        return _limited(e, first, first + array.shape[axis] - 1)

    def part(self, array: n.ArrayDecl, others: list[n.Expr], whole: int, around: bool) -> n.Expr:
        """The word that is so many words further on."""
        assert array.shape is not None and array.packed is not None
        count = array.shape[self.axis] // self.lanes
        at: n.Expr = load(self.made.words[self.axis])
        if whole:
            at = n.Binary("add", at, n.Const(whole, i32), i32)
            at = n.Binary("mod", at, n.Const(count, i32), i32) if around else _limited(at, 0, count - 1)
        index: n.Expr = n.Binary("mul", at, n.Const(self.lanes, i32), i32, exact=True)
        offset = (array.index_offset or (0,) * array.ndim)[self.axis]
        if offset:
            index = n.Binary("add", index, n.Const(offset, i32), i32, exact=True)
        cell = n.Cell(self.words.of(array), (*others[: self.axis], index, *others[self.axis :]), array.packed.word)
        return self.hold(cast(n.Load(cell, cell.type), self.unit))

    # ------------------------------------------------------------ indices

    def is_uniform(self, e: n.Expr) -> bool:
        """Whether an expression is the same for all lanes, and reads nothing that could be written meanwhile."""
        for node in walk.walk([e]):
            if isinstance(node, (*_IMPURE, *n.MEMORY)):
                return False
            if isinstance(node, n.VarPlace):
                var: Any = node.var
                if isinstance(var.type, TensorType):
                    return False
                if var.id in self.known or var.id in self.distances or var is self.lane:
                    return False
                if var.id not in self.uniform and (var.shared or var.mutable):
                    return False
        return True

    def distance(self, e: n.Expr) -> int | None:
        """What is added to the loop's variable, if that is all of an index."""
        e = self.made.index(e)
        if isinstance(e, n.Load) and isinstance(e.place, n.VarPlace):
            return 0 if e.place.var is self.lane else self.distances.get(e.place.var.id)
        if isinstance(e, n.Binary) and e.op in ("add", "sub") and e.type is i32:
            a, b = self.distance(e.a), self.distance(e.b)
            if a is not None and isinstance(e.b, n.Const):
                return a + (int(e.b.value) if e.op == "add" else -int(e.b.value))
            if b is not None and e.op == "add" and isinstance(e.a, n.Const):
                return b + int(e.a.value)
        return None

    def distance_around(self, e: n.Expr, extent: int) -> int | None:
        """The same of an index modulo the extent of the axis."""
        if isinstance(e, n.Binary) and e.op == "mod" and isinstance(e.b, n.Const) and e.b.value == extent:
            return self.distance(e.a)
        return None


_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def _is_variable(e: n.Expr, var: n.Var) -> bool:
    return isinstance(e, n.Load) and isinstance(e.place, n.VarPlace) and e.place.var is var


def _low_bits(e: n.Expr) -> n.Expr:
    """A number whose low bits are those of another: a store to a cell drops the rest."""
    while isinstance(e, n.Cast) and not e.bits and e.type is not u1 and scalar(e.a.type).is_integral:
        e = e.a
    return e


def _limited(e: n.Expr, low: int, high: int) -> n.Expr:
    return n.Binary("max", n.Binary("min", e, n.Const(high, i32), i32), n.Const(low, i32), i32)
