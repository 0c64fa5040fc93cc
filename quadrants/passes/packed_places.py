"""Cells that are some bits of a word become shifts and masks of the word.

    y = x[i]            y = (i32) (w[i] << 19) >> 19
    x[i] = y            w[i] = w[i] & ~8191 | y & 8191                  where one thread writes w[i]

                        seen = w[i]                                     elsewhere
                        while True:
                            was = seen
                            seen = atomic_cas(w[i], was, was & ~8191 | y & 8191)
                            if seen == was: break

Stores to one word that stand side by side are one store. See docs/development/quantised.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.adstack_heaps import of_task
from quadrants.ir.quant import Packing, QuantFloat
from quadrants.ir.types import scalar
from quadrants.passes.bit_arithmetic import binary, cast, load, unit
from quadrants.passes.bit_planes import at_once
from quadrants.passes.own_words import Memory, memory, own_words, packed_cells
from quadrants.passes.packed_cells import (
    CHANGING,
    PackedCells,
    Target,
    choices,
    float_mask,
    inverted,
    is_number,
    is_packed,
)
from quadrants.passes.word_loops import WordLoop, count_words, over_cells, word_loop
from quadrants.passes.words import Change, Words


def lower_packed_places(module: n.Module, device: bool = True) -> n.Module:
    """Leave no packed cell, and in place of packed fields the arrays of their words. device: a loop has as many
    iterations as the user wrote, unless asked for less; elsewhere an iteration is a word wherever that can be.
    """
    packed = [a for a in module.arrays if a.packed is not None]
    if not packed:
        return module
    rewrite = _Rewrite(Words(packed), always=not device)
    for task in module.tasks:
        rewrite.task(module, task)
    for function in module.functions:
        rewrite.body(function.body, set())
    depths = {id(decl.source): decl.source for task in module.tasks for decl in of_task(task)}
    for depth in depths.values():
        rewrite.body(depth.statements, None)
        depth.count = rewrite.node(depth.count)
    module.functions[:0] = rewrite.formats.functions.values()
    words = rewrite.words.declarations()
    module.beside |= {rewrite.words.of(a).id for a in packed if a.id in module.beside}
    module.arrays = [words.get(a.id, a) for a in module.arrays if a.packed is None or a.id in words]
    return module


def lower_packed_sizes(module: n.Module) -> n.Module:
    """The same of tasks that were made since, which find the depths of stacks in integers."""
    made = [task for sizing in module.sizings for task in module.tasks[sizing.begin : sizing.end]]
    cells = [cell for node in walk.walk([(t.body, t.reductions) for t in made]) for cell in _packed_cell(node)]
    if cells:
        rewrite = _Rewrite(Words([cell.array for cell in cells]))
        for task in made:
            rewrite.task(module, task)
    return module


def _packed_cell(node: n.Node) -> list[n.Cell]:
    return packed_cells(node) if isinstance(node, n.Cell) else []


class _Rewrite(PackedCells):
    """always: have loops count words where they can."""

    def __init__(self, words: Words, always: bool = False) -> None:
        super().__init__(words)
        self.always = always

    def task(self, module: n.Module, task: n.Task) -> None:
        alone = task.loop is None and not any(region.kind in ("parallel", "stream") for region in module.regions)
        own = None if alone else own_words(module, task)
        if task.loop is not None:
            task.loop.bounds = tuple((self.node(begin), self.node(end)) for begin, end in task.loop.bounds)
        self.own = own
        task.pre = self.block(task.pre)  # type: ignore[assignment, arg-type]
        by_word = word_loop(task, self.always) if not alone else None
        if by_word is not None:
            self.words_at_once(task, by_word, own or set())
        else:
            self.body(task.body, own)
        for declare, final in task.reductions:
            walk.update(declare, self.node)
            self.body(final.then, set())

    def words_at_once(self, task: n.Task, made: WordLoop, own: set[Memory]) -> None:
        """An iteration a word: all cells at once, or one by one in a variable that holds the word."""
        count_words(made)
        found = at_once(made, self.words)
        if found is not None:
            task.body[:] = found
            return
        self.loop, self.own = made, own | set(made.own)
        before: list[n.Stmt] = []
        behind: list[n.Stmt] = []
        indices = tuple(made.first(a) if a in made.words else load(v) for a, v in sorted(made.axes.items()))
        for key, array in made.own.items():
            word = self.words.of(array)
            t = scalar(word.type)
            var = n.Var(f"{word.name}_word", t, mutable=True)
            cell = n.Cell(word, indices, t)
            self.held_words[key] = n.VarPlace(var, t)
            before.append(n.Declare(var, n.Load(cell, t), made.loop.loc))
            behind.append(n.Store(cell, load(var), made.loop.loc))
        task.body[:] = [*before, over_cells(made, self.block(task.body)), *behind]
        self.held_words.clear()
        self.loop = None

    def body(self, body: list[n.Stmt], own: set[Memory] | None) -> None:
        self.own = own
        body[:] = self.block(body)

    # ------------------------------------------------------------ statements

    def block(self, body: list[n.Stmt]) -> list[n.Stmt]:
        out: list[n.Stmt] = []
        pending: Change | None = None
        for s in body:
            outer, self.before = self.before, []
            if pending is not None and not _passes(s, pending.key):
                out += self.flushed(pending)
                pending = None
            if isinstance(s, n.Store) and (change := self.change(s)) is not None:
                out += self.before
                if pending is not None and pending.joins(change):
                    change = pending.joined(change)
                elif pending is not None:
                    out += self.flushed(pending)
                pending = change
            else:
                made = self.statement(s)
                out += [*self.before, *made]
            self.before = outer
        return out if pending is None else out + self.flushed(pending)

    def statement(self, s: n.Stmt) -> list[n.Stmt]:
        made: list[n.Stmt] = [s]
        if isinstance(s, n.Store) and packed_cells(s.place) and is_packed(s.place):
            value = self.held("qd_value", self.node(s.value))
            loc = s.loc
            made = self.each(s.place, lambda target: self.stored(target, value, loc))
        elif isinstance(s, n.Eval) and isinstance(s.value, n.Atomic) and is_packed(s.value.place):
            made = self.updated(s.value, s.loc, None)
        elif isinstance(s, n.While):
            self.condition(s)
        else:
            walk.update(s, self.node)
        return made

    def condition(self, s: n.While) -> None:
        """What the condition of a loop needs is computed in each round."""
        s.body = self.block(s.body)
        pre = self.block(s.pre)
        outer, self.before = self.before, []
        s.cond = self.node(s.cond)
        s.pre, self.before = [*pre, *self.before], outer

    # ------------------------------------------------------------ expressions

    def node(self, x: Any) -> Any:
        if isinstance(x, list):
            return self.block(x)
        if isinstance(x, (n.Load, n.Volatile)) and is_packed(x.place):
            return self.loaded(x)
        if isinstance(x, n.Load) and isinstance(x.place, n.Cell) and packed_cells(x.place):
            parts = packed_cells(x.place)
            return n.Make(tuple([self.loaded(n.Load(part, part.type)) for part in parts]), x.type)
        if isinstance(x, n.Atomic) and is_packed(x.place):
            was = n.Var(f"qd_was_{next(self.numbers)}", x.type, mutable=True)
            zero = n.Const(0.0 if scalar(x.type).is_real else 0, scalar(x.type))
            changed = self.updated(x, None, was)
            self.before += [n.Declare(was, zero), *changed]
            return load(was)
        if isinstance(x, n.Cell) and x.array.packed is not None:  # whose address is asked for
            return self.target(x).word
        return walk.rebuilt(x, self.node)

    # ------------------------------------------------------------ writes

    def each(self, place: n.Place, write: Callable[[Target], list[n.Stmt]]) -> list[n.Stmt]:
        """What writes to a place, in branches where run time chooses it."""
        cells, which = choices(place)
        if which is None:
            return write(self.target(cells[0], stable=True))
        index = self.held("qd_which", self.node(which))
        made = write(self.target(cells[-1], stable=True))
        for k in range(len(cells) - 2, -1, -1):
            made = [n.If(is_number(index, k), write(self.target(cells[k], stable=True)), made)]
        return made

    def change(self, s: n.Store) -> Change | None:
        """A store that others may join; None for other statements."""
        if not is_packed(s.place):
            return None
        cells, which = choices(s.place)
        packing = cells[0].array.packed
        assert packing is not None
        if which is not None or packing.group:
            return None
        target = self.target(cells[0], stable=True)
        return self.changed(target, self.node(s.value), s.loc)

    def changed(self, target: Target, value: n.Expr, loc: n.Loc | None) -> Change:
        p = target.packing
        bits, mask = self.formats.bits(p, value), self.mask(target)
        if not isinstance(p.format, QuantFloat):
            bits = self.moved(bits, target)
        return Change(target.word, target.key, p.used, mask, self.held("qd_bits", bits), loc)

    def stored(self, target: Target, value: n.Expr, loc: n.Loc | None) -> list[n.Stmt]:
        if not target.packing.group:
            outer, self.before = self.before, []
            change = self.changed(target, value, loc)
            made, self.before = [*self.before, *self.flushed(change)], outer
            return made
        p = target.packing
        return self.words.by(target.word, lambda was: self.formats.shared(p, was, value), self.is_own(target.key), loc)[
            1
        ]

    def updated(self, x: n.Atomic, loc: n.Loc | None, was: n.Var | None) -> list[n.Stmt]:
        """An atomic update. was: what gets the number that was there."""
        arg = self.held("qd_operand", self.node(x.args[0]))
        return self.each(x.place, lambda target: self.update(target, x.op, arg, loc, was))

    def update(self, target: Target, op: str, arg: n.Expr, loc: n.Loc | None, was: n.Var | None) -> list[n.Stmt]:
        p, own = target.packing, self.is_own(target.key)
        outer, self.before = self.before, []
        if isinstance(p.format, QuantFloat):
            before, made = self.words.by(target.word, lambda word: self.summed(p, op, word, arg), own, loc)
        else:
            bits = self.held("qd_bits", self.moved(self.formats.bits(p, arg), target))
            mask = self.mask(target)
            if own and op in ("and", "or", "xor"):
                whole = binary("bit_or", bits, inverted(mask, target)) if op == "and" else bits
                before, made = self.words.by(
                    target.word, lambda word: binary(f"bit_{op}", cast(word, unit(p)), whole), own, loc
                )
            elif not own and (op in ("and", "or", "xor") or self.is_highest(target)):
                whole = binary("bit_or", bits, inverted(mask, target)) if op == "and" else bits
                before, made = self.words.at_once(target.word, op, whole, loc, was is not None)
            else:
                keep = inverted(mask, target)
                before, made = self.words.by(target.word, lambda word: _added(op, word, bits, mask, keep), own, loc)
        if was is not None:
            made.append(n.Store(n.VarPlace(was, was.type), self.formats.read(p, before, target.shift)))
        made, self.before = [*self.before, *made], outer
        return made

    def summed(self, p: Packing, op: str, word: n.Expr, arg: n.Expr) -> n.Expr:
        t = scalar(arg.type)
        total = n.Binary(op, self.formats.read(p, word, None), arg, t)
        if p.group:
            return self.formats.shared(p, word, total)
        keep = unit(p).max & ~float_mask(p)
        return binary("bit_or", binary("bit_and", cast(word, unit(p)), keep), self.formats.bits(p, total))

    @staticmethod
    def is_highest(target: Target) -> bool:
        """Whether nothing of use is above the bits, where a sum may be carried to."""
        p = target.packing
        return target.shift is None and p.bit + p.width == p.used.bit_length()

    def flushed(self, change: Change) -> list[n.Stmt]:
        return self.words.changed(change, self.is_own(change.key))


def _passes(s: n.Stmt, key: Memory) -> bool:
    """Whether what a statement does is the same before and behind a store to these words."""
    if isinstance(s, n.Comment):
        return True
    if isinstance(s, n.Declare):
        looked_at: list[Any] = [s.init]
    elif isinstance(s, n.Store):
        looked_at = [s.value, *getattr(walk.root(s.place), "indices", ())]
        if not is_packed(s.place) or memory(packed_cells(s.place)[0].array) != key:
            return False
    else:
        return False
    for node in walk.walk(looked_at):
        if isinstance(node, CHANGING):
            return False
        if isinstance(node, n.Cell) and any(memory(cell.array) == key for cell in packed_cells(node)):
            return False
    return True


def _added(op: str, word: n.Expr, bits: n.Expr, mask: n.Expr, keep: n.Expr) -> n.Expr:
    """Bits below get nothing, and what is carried out is cut off."""
    u = scalar(bits.type)
    total = binary("bit_and", n.Binary(op, cast(word, u), bits, u), mask)
    return binary("bit_or", binary("bit_and", cast(word, u), keep), total)
