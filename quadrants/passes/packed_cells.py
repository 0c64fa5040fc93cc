"""Packed cells as places in words, and what is read from them: for the pass that lowers them."""

from __future__ import annotations

from itertools import count
from typing import Any, NamedTuple

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.places import flat_index
from quadrants.ir.quant import Packing, QuantFloat
from quadrants.ir.types import TensorType, scalar, tensor, u1
from quadrants.passes.bit_arithmetic import binary, load, unit
from quadrants.passes.hoisting import Hoisting
from quadrants.passes.own_words import Memory, memory, packed_cells
from quadrants.passes.packed_formats import Formats
from quadrants.passes.word_loops import WordLoop
from quadrants.passes.words import Words

CHANGING = (n.Call, n.Atomic, n.Rand, n.Intrinsic, n.Volatile)


class Target(NamedTuple):
    """A packed cell: the word's cell, or the variable that it is in, and how far a `quant_array` moves the bits."""

    packing: Packing
    word: n.Cell | n.VarPlace
    shift: n.Expr | None
    key: Memory


class PackedCells(Hoisting):
    """own: words that no other thread writes meanwhile; None for all. loop: the loop over words around what is
    rewritten, and held_words the variables in which it has its own.
    """

    def __init__(self, words: Words) -> None:
        super().__init__()
        self.words = words
        self.formats = Formats()
        self.own: set[Memory] | None = None
        self.loop: WordLoop | None = None
        self.held_words: dict[Memory, n.VarPlace] = {}
        self.numbers = count(1)

    def node(self, x: Any) -> Any:
        raise NotImplementedError

    def is_own(self, key: Memory) -> bool:
        return self.own is None or key in self.own

    def loaded(self, x: n.Load | n.Volatile) -> n.Expr:
        """Of components that run time chooses from, the one that is chosen."""
        cells, which = choices(x.place)
        index = self.held("qd_which", self.node(which)) if which is not None else None
        found: n.Expr | None = None
        for k in range(len(cells) - 1, -1, -1):
            target = self.target(cells[k])
            word = type(x)(target.word, target.word.type)
            value = self.formats.read(target.packing, word, target.shift)
            found = value if found is None else n.Select(is_number(index, k), value, found, x.type)
        assert found is not None
        return found

    def target(self, cell: n.Cell, stable: bool = False) -> Target:
        """stable: the indices are used several times."""
        packing = cell.array.packed
        assert packing is not None
        indices = tuple([self.node(e) for e in cell.indices])
        if stable:
            indices = tuple([self.held("qd_index", e) if _reads(e) else e for e in indices])
        shift = self.words.shift(cell.array, indices)
        if shift is not None and stable:
            shift = self.held("qd_shift", shift)
        word, key = self.words.of(cell.array), memory(cell.array)
        if self.loop is not None and self.loop.is_own_cell(cell):
            return Target(packing, self.held_words[key], shift, key)
        return Target(packing, n.Cell(word, indices, word.type), shift, key)

    def mask(self, target: Target) -> n.Expr:
        p = target.packing
        if isinstance(p.format, QuantFloat):
            return n.Const(float_mask(p), unit(p))
        return self.moved(n.Const((1 << p.width) - 1, unit(p)), target)

    def moved(self, bits: n.Expr, target: Target) -> n.Expr:
        up = binary("shl", bits, target.packing.bit)
        return up if target.shift is None else n.Binary("shl", up, target.shift, up.type)

    def held(self, name: str, e: n.Expr) -> n.Expr:
        """An expression that is used several times, in a variable."""
        if (
            isinstance(e, n.Const)
            or isinstance(e, n.Load)
            and isinstance(e.place, n.VarPlace)
            and not e.place.var.mutable
        ):
            return e
        var = n.Var(f"{name}_{next(self.numbers)}", e.type)
        self.before.append(n.Declare(var, e))
        return load(var)


def is_packed(place: n.Place) -> bool:
    """Whether a place is a number in a packed cell."""
    return bool(packed_cells(place)) and not isinstance(place.type, TensorType)


def choices(place: n.Place) -> tuple[list[n.Cell], n.Expr | None]:
    """The cells that a packed number may be in, and the number of the one that it is in."""
    cells = packed_cells(place)
    if not isinstance(place, n.ElemPlace):
        return cells, None
    which = flat_index(place.indices, tensor(place.base.type))
    return ([cells[int(which.value)]], None) if isinstance(which, n.Const) else (cells, which)


def is_number(index: n.Expr | None, k: int) -> n.Expr:
    assert index is not None
    return n.Binary("eq", index, n.Const(k, scalar(index.type)), u1)


def _reads(e: n.Expr) -> bool:
    """Whether an index may be another one when it is computed again."""
    return any(isinstance(node, (*n.MEMORY, *CHANGING)) for node in walk.walk([e]))


def float_mask(p: Packing) -> int:
    assert isinstance(p.format, QuantFloat)
    return ((1 << p.width) - 1) << p.bit | ((1 << p.format.exponent.bits) - 1) << p.exponent


def inverted(mask: n.Expr, target: Target) -> n.Expr:
    u = unit(target.packing)
    return n.Const(~int(mask.value) & u.max, u) if isinstance(mask, n.Const) else n.Unary("bit_not", mask, u)
