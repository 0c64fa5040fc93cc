"""The words of packed fields: their declarations, and how some bits of one are changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from quadrants.ir import nodes as n
from quadrants.ir.types import i32, scalar, u1
from quadrants.passes.address_arithmetic import digit, plus
from quadrants.passes.bit_arithmetic import binary, cast, compared, load, unit
from quadrants.passes.own_words import Memory, memory

_Word = n.Cell | n.VarPlace
_MakeWord = Callable[[n.Expr], n.Expr]


@dataclass(slots=True, eq=False, repr=False)
class Change:
    """A store of `bits` under `mask`, both where they are in the word. used: bits of the word that mean anything."""

    word: n.Cell | n.VarPlace
    key: Memory
    used: int
    mask: n.Expr
    bits: n.Expr
    loc: n.Loc | None

    def joins(self, other: Change) -> bool:
        """Whether both change one word, at places that are known."""
        fixed = isinstance(self.mask, n.Const) and isinstance(other.mask, n.Const)
        return fixed and _same_place(self.word, other.word)

    def joined(self, later: Change) -> Change:
        """One change for both."""
        assert isinstance(self.mask, n.Const) and isinstance(later.mask, n.Const)
        left = int(self.mask.value) & ~int(later.mask.value)
        kept = self.bits if left == self.mask.value else binary("bit_and", self.bits, left)
        mask = n.Const(left | int(later.mask.value), scalar(later.mask.type))
        return replace(later, mask=mask, bits=binary("bit_or", kept, later.bits))


class Words:
    """The array of words of every packed field, by what it is."""

    def __init__(self, packed: list[n.ArrayDecl]) -> None:
        self.arrays: dict[tuple[object, ...], n.ArrayDecl] = {}
        self.first: dict[int, n.ArrayDecl] = {}
        self.numbers = count(1)
        for array in packed:
            key = _layout(array)
            if key not in self.arrays:
                self.arrays[key] = self.first[array.id] = array.words or _words_of(array)
            array.words = self.arrays[key]

    def of(self, array: n.ArrayDecl) -> n.ArrayDecl:
        """The words of a packed field."""
        return self.arrays[_layout(array)]

    def declarations(self) -> dict[int, n.ArrayDecl]:
        """Words by the id of the packed field whose name they have."""
        return self.first

    @staticmethod
    def shift(array: n.ArrayDecl, indices: tuple[n.Expr, ...]) -> n.Expr | None:
        """How far the bits of a cell of a `quant_array` are moved; None of other fields."""
        p, first = array.packed, array.index_offset or (0,) * array.ndim
        assert p is not None
        total: n.Expr | None = None
        for axis, extent, divisor, bits in p.levels:
            if extent == 1:
                continue
            term = digit(plus(cast(indices[axis], i32), -first[axis]), divisor, extent)
            term = binary("mul", term, bits) if bits > 1 else term
            total = term if total is None else n.Binary("add", total, term, i32, exact=True)
        return cast(total, unit(p)) if total is not None else None

    # ------------------------------------------------------------ changes

    def changed(self, change: Change, own: bool) -> list[n.Stmt]:
        """The statements of a change. own: no other thread writes the word meanwhile."""
        word, mask, bits, loc = change.word, change.mask, change.bits, change.loc
        u = scalar(bits.type)
        known = int(mask.value) if isinstance(mask, n.Const) else None
        if known is not None and known & change.used == change.used:
            return [n.Store(word, cast(bits, scalar(word.type)), loc)]
        keep = n.Const(~known & u.max, u) if known is not None else n.Unary("bit_not", mask, u)
        if not own and known is not None and known & (known - 1) == 0:
            return self._one_bit(change, keep)
        return self.by(word, lambda was: binary("bit_or", binary("bit_and", cast(was, u), keep), bits), own, loc)[1]

    def _one_bit(self, change: Change, keep: n.Expr) -> list[n.Stmt]:
        """A bit is set or cleared at once."""
        on = self.at_once(change.word, "or", change.mask, change.loc)[1]
        off = self.at_once(change.word, "and", keep, change.loc)[1]
        if isinstance(change.bits, n.Const):
            return on if change.bits.value else off
        return [n.If(compared("ne", change.bits, 0), on, off, change.loc)]

    def by(self, word: _Word, make: _MakeWord, own: bool, loc: n.Loc | None) -> tuple[n.Expr, list[n.Stmt]]:
        """(the word that was there, statements) of a change that `make` describes."""
        t, k = scalar(word.type), next(self.numbers)
        was = n.Var(f"qd_word_{k}", t)
        if own:
            return load(was), [
                n.Declare(was, n.Load(word, t), loc), n.Store(word, cast(make(load(was)), t), loc)
            ]  # fmt: skip
        seen, found = n.Var(f"qd_seen_{k}", t, mutable=True), n.Var(f"qd_found_{k}", t)
        swap = n.Atomic("cas", word, (load(was), cast(make(load(was)), t)), t)
        pre: list[n.Stmt] = [
            n.Declare(was, load(seen), loc),
            n.Declare(found, swap, loc),
            n.Store(n.VarPlace(seen, t), load(found), loc),
        ]
        return load(seen), [
            n.Declare(seen, n.Load(word, t), loc), n.While(pre, n.Binary("ne", load(found), load(was), u1), [], loc)
        ]  # fmt: skip

    def at_once(
        self, word: _Word, op: str, bits: n.Expr, loc: n.Loc | None, asked: bool = False
    ) -> tuple[n.Expr, list[n.Stmt]]:
        """The same of a change that is an atomic operation on the word. asked: somebody reads what was there."""
        t = scalar(word.type)
        update = n.Atomic(op, word, (cast(bits, t),), t)
        if not asked:
            return n.Const(0, t), [n.Eval(update, loc)]
        was = n.Var(f"qd_word_{next(self.numbers)}", t)
        return load(was), [n.Declare(was, update, loc)]


def _layout(array: n.ArrayDecl) -> tuple[object, ...]:
    return (*memory(array), array.levels, array.index_offset)


def _words_of(array: n.ArrayDecl) -> n.ArrayDecl:
    assert array.packed is not None
    return n.ArrayDecl(
        name=array.name, kind="field", type=array.packed.word, ndim=array.ndim, shape=array.shape, levels=array.levels,
        index_offset=array.index_offset, source=array.source, number=array.number, label=array.label,
        within=array.within,
    )  # fmt: skip


def _same_place(a: _Word, b: _Word) -> bool:
    if isinstance(a, n.Cell) and isinstance(b, n.Cell):
        return a.array is b.array and all(map(_same, a.indices, b.indices))
    return isinstance(a, n.VarPlace) and isinstance(b, n.VarPlace) and a.var is b.var


def _same(a: n.Expr, b: n.Expr) -> bool:
    """Whether two indices, between which no variable is assigned, are equal."""
    if isinstance(a, n.Const) and isinstance(b, n.Const):
        return bool(a.value == b.value)
    if isinstance(a, n.Load) and isinstance(b, n.Load):
        return isinstance(a.place, n.VarPlace) and isinstance(b.place, n.VarPlace) and a.place.var is b.place.var
    if isinstance(a, n.Binary) and isinstance(b, n.Binary):
        return a.op == b.op and _same(a.a, b.a) and _same(a.b, b.b)
    return isinstance(a, n.Cast) and isinstance(b, n.Cast) and a.type is b.type and _same(a.a, b.a)
