"""Loops of which a thread of a device does several iterations, with all their loads before any of their stores.

A thread that loads two numbers, stores one and ends keeps too few bytes on their way to saturate the memory. The
iterations of a parallel loop are independent, so those of one thread may overlap, although the compiler would not
dare to: the arrays may be the same. What is written is this, for `y[i] = a * x[i] + y[i]`:

    for each of 4 iterations    load x[i] and y[i] into registers
    for each of 4 iterations    store the sum to y[i]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quadrants.emit.records import Local
from quadrants.emit.text import element
from quadrants.emit.text import name as identifier
from quadrants.ir import cost, walk
from quadrants.ir import nodes as n
from quadrants.ir.types import DType, TensorType, size_align

if TYPE_CHECKING:
    from quadrants.emit.blocks import BlockPrinter
    from quadrants.launch.tasks import Program

# Bytes of one thread that should be on their way, and most iterations of one thread.
BYTES, MOST = 32, 4
# A loop of fewer iterations than a device has threads would leave some idle; the more it computes, the more that costs.
FEWEST, FEWEST_OF_HEAVIER = 1 << 18, 1 << 20
# Work of an iteration, in units of `ir.cost`, from which threads that compute hide the latency of others.
_LIGHT, _HEAVIER = 24, 64

_HARMLESS = (n.Declare, n.Store, n.Eval, n.If, n.Comment, n.Continue)
_VALUES = (
    n.Const, n.Load, n.Unary, n.Binary, n.Select, n.Cast, n.Make, n.Elem, n.Member, n.MatOp, n.Extent, n.VarPlace,
    n.Slot, n.ElemPlace, n.MemberPlace, n.Atomic,
)  # fmt: skip


@dataclass(slots=True, eq=False, repr=False)
class Batch:
    """times: iterations of a thread. body: of one iteration. loads: `Load`s of it that come before any store; the same
    place more than once where it is loaded more than once. before: declarations of the body that their indices use.
    """

    times: int
    body: list[n.Stmt]
    loads: list[n.Load] = field(default_factory=list)
    before: list[n.Declare] = field(default_factory=list)


def batch_of(task: n.Task, loop: n.For, count: int | Program | None) -> Batch | None:
    """How a thread does several iterations of a parallel loop at once; None where one is as good.

    count: of the iterations, if known before the launch.
    """
    if loop.config is not None and loop.config.block_dim is not None or task.collective or task.reductions:
        return None
    if isinstance(count, int) and count < FEWEST or not loop.vars:
        return None
    many = isinstance(count, int) and count >= FEWEST_OF_HEAVIER
    if not _is_light(task, _HEAVIER if many else _LIGHT):
        return None
    body = [_as_store(s) for s in task.body]
    finder = _Loads(body, loop.vars)
    finder.block(body)
    if not finder.done or {id(load) for load in _array_loads(body)} != {id(load) for load in finder.found}:
        return None
    times = MOST
    while times > 1 and times * finder.bytes > BYTES:
        times //= 2
    return Batch(times, body, finder.found, finder.before()) if times > 1 else None


def print_loads(p: BlockPrinter, batch: Batch) -> tuple[list[Local], list[str]]:
    """Declarations of registers for what the iterations of a thread load, and the lines of the loop that loads it. From
    then on `p`, a BlockPrinter, prints the registers in place of the loads.
    """
    for s in batch.before:
        p.statement(s)
    registers: dict[str, tuple[str, str]] = {}
    for e in batch.loads:
        text = p.text(e).bare
        if text not in registers:
            slot = e.place.base if isinstance(e.place, n.ElemPlace) else e.place
            assert isinstance(slot, n.Slot)
            taken = [name for name, _ in registers.values()]
            name = f"qd_{slot.array.name}_in"
            registers[text] = (f"{name}{len(taken) + 1}" if name in taken else name, p.type(e.type))
            p.put(f"{registers[text][0]}[qd_k] = {text};")
    held = {text: element(identifier(name), identifier("qd_k")) for text, (name, _) in registers.items()}
    p.loaded = {id(e): held[text] for e, text in [(e, p.text(e).bare) for e in batch.loads]}
    lines, p.lines, p.line_of = p.lines, [], None
    return [Local("array", t, name, length=batch.times) for name, t in registers.values()], lines


def _is_light(task: n.Task, most: int) -> bool:
    """Whether there are only assignments, conditions and arithmetic on values, and few of those."""
    work, atomics = cost.of_task(task)
    if work > most or atomics > 2:
        return False
    for node in walk.walk(task.body):
        if isinstance(node, n.Slot) and node.array.kind == "shared":
            return False
        if not (_is_pure(node) if isinstance(node, n.Call) else _is_arithmetic(node)):
            return False
    return True


def _is_arithmetic(node: n.Node) -> bool:
    """Whether a node is none that may end the launch, wait, or do what an iteration of another thread notices."""
    return isinstance(node, (*_HARMLESS, *_VALUES)) and not (isinstance(node, n.Binary) and node.loc is not None)


def _is_pure(call: n.Call, within: tuple[int, ...] = ()) -> bool:
    """Whether the values of its arguments decide what a call gives, and it does nothing else: it changes no variable of
    the caller either. Recursion is taken for too long.
    """
    if id(call.func) in within or any(isinstance(a, n.PLACES) for a in call.args):
        return False
    for node in walk.walk(call.func.body):
        if isinstance(node, n.Call):
            if not _is_pure(node, (*within, id(call.func))):
                return False
        elif isinstance(node, (n.Slot, n.Extent)) or not isinstance(node, n.Return) and not _is_arithmetic(node):
            return False
    return True


def _as_store(s: n.Stmt) -> n.Stmt:
    """An update that no other thread can see as a load and a store."""
    symbols = {"add": "add", "sub": "sub", "mul": "mul", "and": "bit_and", "or": "bit_or", "xor": "bit_xor"}
    if not isinstance(s, n.Eval) or not isinstance(s.value, n.Atomic) or not s.value.plain:
        return s
    e = s.value
    if e.op not in symbols or not isinstance(e.type, DType) or e.type.bits < 32 or not _in_array(e.place):
        return s
    return n.Store(e.place, n.Binary(symbols[e.op], n.Load(e.place, e.type), e.args[0], e.type), s.loc)


def _array_loads(body: Sequence[n.Stmt]) -> list[n.Load | n.Atomic]:
    """Loads of arrays, atomics that load and store among them."""
    return [
        node
        for node in walk.walk(body)
        if isinstance(node, n.Load) and _in_array(node.place) or isinstance(node, n.Atomic) and node.plain
    ]


def _in_array(place: n.Place) -> bool:
    return walk.root_var(place) is None


class _Loads:
    """Collects the loads that every iteration does, before its first store, from cells that its number decides."""

    def __init__(self, body: Sequence[n.Stmt], variables: tuple[n.Var, ...]) -> None:
        self.known = {v.id for v in variables}
        self.local: set[int] = set()
        self.changed: set[int] = set()
        for node in walk.walk(body):
            if isinstance(node, n.Declare):
                (self.changed if node.var.id in self.local else self.local).add(node.var.id)
            elif isinstance(node, (n.Store, n.Atomic)):
                var = walk.root_var(node.place)
                self.changed |= {var.id} if var is not None else set()
        self.early: list[n.Declare] = []  # declarations of what the number of the iteration decides
        self.found: list[n.Load] = []
        self.bytes = 0
        self.done = False  # a store has been met

    def block(self, body: Sequence[n.Stmt]) -> None:
        for s in body:
            if self.done:
                return
            if isinstance(s, n.Declare):
                self.value(s.init)
                self.done |= s.var.shared or _writes([n.Eval(s.init)])
                if s.var.id not in self.changed and not s.var.shared and self.decided(s.init):
                    self.known.add(s.var.id)
                    self.early.append(s)
            elif isinstance(s, (n.Store, n.Eval)):
                if isinstance(s, n.Store):
                    self.indices(s.place)
                self.value(s.value)
                self.done |= _writes([s])
            elif isinstance(s, n.If):
                self.value(s.cond)
                self.done |= _writes([s]) or any(isinstance(node, n.Continue) for node in walk.walk([s]))
            elif isinstance(s, n.Continue):
                self.done = True

    def value(self, e: n.Node) -> None:
        """Look at what is evaluated in any case."""
        if isinstance(e, n.Load) and _in_array(e.place):
            self.load(e)
        elif isinstance(e, n.Select):
            self.value(e.cond)
        elif isinstance(e, n.Binary) and e.op in ("logic_and", "logic_or"):
            self.value(e.a)
        elif isinstance(e, n.Atomic):
            self.indices(e.place)
            for a in e.args:
                self.value(a)
        else:
            for below in walk.children(e):
                self.value(below)

    def indices(self, place: n.Place) -> None:
        for below in walk.children(place):
            if isinstance(below, (n.ElemPlace, n.MemberPlace, n.Slot)):
                self.indices(below)
            else:
                self.value(below)

    def load(self, e: n.Load) -> None:
        slot = e.place
        if isinstance(slot, n.ElemPlace) and all(isinstance(i, n.Const) for i in slot.indices):
            slot = slot.base
        if not isinstance(slot, n.Slot) or not self.decided(slot.index):
            self.indices(e.place)
        elif isinstance(e.type, (DType, TensorType)):
            self.found.append(e)
            self.bytes += size_align(e.type)[0]

    def before(self) -> list[n.Declare]:
        """The early declarations that the places of loads use, and those that these use."""
        used = {node.var.id for node in walk.walk([load.place for load in self.found]) if isinstance(node, n.VarPlace)}
        needed: list[n.Declare] = []
        for s in reversed(self.early):
            if s.var.id in used:
                needed.insert(0, s)
                used |= {node.var.id for node in walk.walk([s.init]) if isinstance(node, n.VarPlace)}
        return needed

    def decided(self, e: n.Expr) -> bool:
        """Whether the number of the iteration and the arguments decide a value."""
        for node in walk.walk([e]):
            if isinstance(node, (n.Slot, n.Atomic)):
                return False
            if isinstance(node, n.VarPlace):
                var = node.var
                if var.id not in self.known and (var.id in self.local or var.shared or var.mutable):
                    return False
        return True


def _writes(body: Sequence[n.Stmt]) -> bool:
    for node in walk.walk(body):
        if isinstance(node, (n.Store, n.Atomic)):
            var = walk.root_var(node.place)
            if var is None or var.shared:
                return True
    return False
