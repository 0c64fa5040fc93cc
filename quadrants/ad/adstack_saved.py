"""What a loop saves for the backward sweep: one stack for each variable that it carries.

A stack is an array of the running thread that the iterations of its loop number: iteration k writes slot k on the way
forward and reads slot k on the way back, so there are no counts to keep, and an inner loop starts over at slot 0 every
time it is entered.

    for k in 0..n:    v_stack[k] = v; v = f(v)
    for k in n-1..0:  v_1 = v_stack[k]; ...

All stacks of one loop have the same depth: the length of the loop where that is a constant, N where
`ad_stack_size=N` says so, else what the launch makes of its size (`adstack_sizes`), once for all loops of a task that
have the same one. A loop that turns out longer fails the launch before it writes.
"""

from __future__ import annotations

from quadrants.ad.adstack_sizes import Sizing, Values
from quadrants.ad.build import cast, index
from quadrants.ad.refusals import Refusals, frames_of
from quadrants.ir import rename, walk
from quadrants.ir.adstack_evaluation import evaluate
from quadrants.ir.adstack_size_trees import Size, Unresolved
from quadrants.ir.nodes import (
    ArrayDecl,
    Atomic,
    Binary,
    Cast,
    Cell,
    Check,
    Const,
    Declare,
    For,
    Load,
    Loc,
    Module,
    StackDepth,
    Store,
    Var,
    VarPlace,
)
from quadrants.ir.types import i32, i64, u1
from quadrants.ir.walk import root


class Stack:
    """One stack of the loop that it was made for."""

    def __init__(self, decl: ArrayDecl):
        self.decl = decl

    def slot(self, loop: For) -> Cell:
        return Cell(self.decl, (trip(loop),), self.decl.type)

    def push(self, loop: For, value) -> Store:
        return Store(self.slot(loop), value, loop.loc)

    def top(self, loop: For) -> Load:
        return Load(self.slot(loop), self.decl.type)


def new(var: Var) -> Stack:
    """A stack for the values of a variable; its depth is settled when the derivative is complete."""
    return Stack(ArrayDecl(name=f"{var.name}_stack", kind="stack", type=var.type, ndim=1, label=var.name))


def trips(bounds: tuple):
    """The number of iterations of a loop, as a 64-bit expression."""
    total = None
    for begin, end in bounds:
        n = Cast(end, i64)
        if not (isinstance(begin, Const) and begin.value == 0):
            n = Binary("sub", n, Cast(begin, i64), i64)
        n = Binary("max", n, Const(0, i64), i64) if len(bounds) > 1 else n
        total = n if total is None else Binary("mul", total, n, i64)
    return total if total is not None else Const(1, i64)


def trip(loop: For):
    """The number of the present iteration, from 0; over several axes in 64 bits."""
    number = None
    t = i32 if len(loop.vars) == 1 else i64
    for var, (begin, end) in zip(loop.vars, loop.bounds):
        at_zero = isinstance(begin, Const) and begin.value == 0
        here = cast(Load(VarPlace(var, i32), i32), t)
        here = here if at_zero else Binary("sub", here, cast(begin, t), t)
        if number is not None:
            extent = cast(end, t) if at_zero else Binary("sub", cast(end, t), cast(begin, t), t)
            here = Binary("add", Binary("mul", number, extent, t), here, t)
        number = here
    return number if number is not None else index(0)


class Depths:
    """Settles the depth of every stack in the body of a derivative and guards the loops that write them."""

    def __init__(self, module: Module, refusals: Refusals, *, allowed: bool, forced: int):
        self.module = module
        self.refusals = refusals
        self.allowed = allowed
        self.forced = forced
        self.params = {v.id for v in module.params}
        self.stacks: list = []
        self.depths: list = []
        self.known: dict = {}  # of the present task, by size
        self.loc: Loc | None = None  # of a loop whose stacks a launch gives their depth

    def settle(self, body: list) -> list:
        """`body` with guards; `source` of the declarations of stacks is set."""
        values, made = _values(body), []
        for s in body:
            if isinstance(s, For) and s.parallel:
                self.known = {}
            made += self._block([s], values, {})
        if self.stacks:
            self.module.heap_site = len(self.module.sites)
            self.module.sites.append((("adstack memory",), frames_of(self.loc), self.module.name))
            self._name()
        return made

    def _name(self) -> None:
        """Names that are unique in the text."""
        names = rename.names_of(self.module)
        for decl in self.stacks:
            base, k = decl.name, 1
            while decl.name in names:
                decl.name, k = f"{base}_{k}", k + 1
            names.add(decl.name)
        rename.unique_names([s for depth in self.depths for s in depth.statements], names)

    def _block(self, body: list, values: Values, loops: dict) -> list:
        out: list = []
        for s in body:
            inner = loops
            if isinstance(s, For):
                stacks = [x for x in map(_written_stack, s.body) if x is not None]
                if stacks:
                    out += self._loop(s, stacks, values, loops)
                inner = {**loops, **{v.id: pair for v, pair in zip(s.vars, s.bounds)}}
            walk.update_blocks(s, self._block, values, inner)
            out.append(s)
        return out

    def _loop(self, s: For, stacks: list, values: Values, loops: dict) -> list:
        """Give the stacks that `s` writes their depth; returns what comes in front of the loop."""
        if not self.allowed:
            self.refusals.dynamic_loop(s.loc)
        size = self._size(s, Sizing(values, loops, self.params))
        depth = self._depth(size)
        for stack in stacks:
            stack.source = depth
        self.stacks += stacks
        if self.forced:
            # Of N slots a trip count of N - 2 must fit and one of N must not.
            limit = Const(self.forced - 1, i64)
        elif isinstance(depth.count, Const):
            return []
        else:
            limit = depth.count
        self.loc = self.loc or s.loc
        self.module.sites.append((("adstack", stacks[0].label, self.forced), frames_of(s.loc), self.module.name))
        count = trips(s.bounds)
        held = Var("trips", i64, False, level=1)
        value = Load(VarPlace(held, i64), i64)
        fits = Binary("le", value, limit, u1)
        return [
            Declare(held, count, s.loc),
            Check(fits, len(self.module.sites) - 1, (value, limit), s.loc),
        ]

    def _size(self, s: For, sizing: Sizing) -> Size:
        if self.forced:
            return Size("const", (), self.forced)
        try:
            return sizing.trips(s.bounds)
        except Unresolved as reason:
            self.refusals.bound(str(reason), s.loc)
            raise AssertionError("refused") from None

    def _depth(self, size: Size) -> StackDepth:
        if size.op == "const":
            return StackDepth(Const(size.of, i64), [], size)
        if size not in self.known:
            var = Var(f"qd_depth{len(self.depths) or ''}", i64, True, shared=True)
            self.module.depths.append(var)
            self.known[size] = StackDepth(Load(VarPlace(var, i64), i64), evaluate(size, var), size)
            self.depths.append(self.known[size])
        return self.known[size]


def _written_stack(s) -> ArrayDecl | None:
    at = root(s.place) if isinstance(s, Store) else None
    return at.array if isinstance(at, Cell) and at.array.kind == "stack" else None


def _values(body: list) -> Values:
    assigned: dict = {}
    pushed: dict = {}
    loops: dict = {}
    parts = set()
    for node in walk.statements(body):
        if isinstance(node, Declare) and not isinstance(node.init, Atomic):
            assigned.setdefault(node.var.id, []).append(node.init)
        elif isinstance(node, For):
            loops.update(zip((v.id for v in node.vars), node.bounds))
        elif isinstance(node, Store):
            at = root(node.place)
            if isinstance(at, Cell):
                pushed.setdefault(at.array.id, []).append(node.value)
            elif at is node.place:
                assigned.setdefault(at.var.id, []).append(node.value)
            else:
                parts.add(at.var.id)
    whole = {var: found for var, found in assigned.items() if var not in parts}
    once = {var: found[0] for var, found in whole.items() if len(found) == 1}
    return Values(once, {var: found for var, found in whole.items() if len(found) > 1}, pushed, loops)
