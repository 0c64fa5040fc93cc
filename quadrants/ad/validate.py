"""Validation mode: the primal, and a check that no cell is written after it was read.

    v = x[i] * 2       v = x[i] * 2; x_flags[i] = READ | NEEDED
    x[j] = v      ->   check x_flags[j] == 0; x[j] = v

The derivative reads arrays as the tape leaves them, so a cell that was read must keep its value. That counts for the
statement itself too: `a[i] = a[i] * a[i]` loses what its derivative needs. `a[i] += ..` reads nothing.

READ holds for the launch: in it, no cell of an array with a gradient may be written after it was read. NEEDED is what
the derivative of the kernel in fact reads, of any array, and lasts for the tape. The launcher clears READ and keeps
NEEDED between launches (`tapes.watch`). Whether an array is needed is one answer for a whole kernel, so no two threads
set a flag to different values.

Observation mode sets NEEDED and checks nothing.
"""

from __future__ import annotations

from quadrants.ad.refusals import frames_of
from quadrants.ad.sweep import components
from quadrants.ir.nodes import (
    Atomic,
    Binary,
    Cell,
    Check,
    Const,
    Declare,
    ElemPlace,
    Eval,
    For,
    If,
    Load,
    Module,
    Select,
    StopGrad,
    Store,
    Unary,
    While,
)
from quadrants.ir.rename import uses
from quadrants.ir.types import TensorType, u1, u8
from quadrants.ir.walk import children, root

READ, NEEDED = 1, 2
_LAUNCH = (
    "after it was read in this launch, so that the derivative may not find a value that it needs. Write to another "
    "field or to another cell of it, such as that of the next time step."
)
_EARLIER = (
    "while the derivative of an earlier launch of the tape needs the value it had. Write to another field or cell, or "
    "run the earlier part again on the way back (qd.ad.grad_replaced)."
)


def validate(module: Module, checks: bool = True) -> None:
    """Give `module` the flags, and the checks; `flags` of its array declarations say where the flags are."""
    module.body = _Validation(module, checks).block(module.body)


class _Validation:
    """Adds the checks to the body of one kernel."""

    def __init__(self, module: Module, checks: bool):
        self.module = module
        self.checks = checks
        # The frontend keeps the old value of what a statement writes, in case: where nothing uses it, nothing is read.
        self.used = uses(module.body)

    def block(self, body: list) -> list:
        out: list = []
        for s in body:
            self.statement(s, out)
        return out

    def statement(self, s, out: list) -> None:
        if isinstance(s, StopGrad):
            return
        if isinstance(s, If):
            out += self.reads(s.cond)
            s.then, s.orelse = self.block(s.then), self.block(s.orelse)
        elif isinstance(s, For):
            out += [f for pair in s.bounds for e in pair for f in self.reads(e)]
            s.body = self.block(s.body)
        elif isinstance(s, While):
            s.pre = self.block(s.pre) + self.reads(s.cond)
            s.body = self.block(s.body)
        elif isinstance(s, (Store, Eval)) or isinstance(s, Declare) and self.counts(s):
            self.access(s, out)
        out.append(s)

    def counts(self, s: Declare) -> bool:
        """Whether a declaration reads or writes anything that matters."""
        return s.var.id in self.used or isinstance(s.init, Atomic)

    def access(self, s, out: list) -> None:
        """What comes before a statement that reads, and may write."""
        written = None
        if isinstance(s, Store):
            written, values = s.place, [s.value]
        else:
            value = s.init if isinstance(s, Declare) else s.value
            written, values = (value.place, list(value.args)) if isinstance(value, Atomic) else (None, [value])
        for e in values:
            out += self.reads(e)
        if written is not None:
            for e in children(written):
                out += self.reads(e)
        if self.checks and written is not None and self.flag(written) is not None:
            array = root(written).array
            for part in components(self.flag(written)):
                for op, limit, why in (("ne", NEEDED, _EARLIER), ("eq", 0, _LAUNCH)):
                    fine = Binary(op, Load(part, u8), Const(limit, u8), u1)
                    out.append(Check(fine, self.site(array, why, s.loc), (), s.loc))

    def site(self, array, why: str, loc) -> int:
        name = array.label or array.name
        text = f"(kernel={self.module.name}) Breaks the global data access rule: '{name}' is written {why}"
        self.module.sites.append((("assert", (text,)), frames_of(loc), self.module.name))
        return len(self.module.sites) - 1

    def flag(self, place):
        """The place of the flag of a cell or component of one, or None."""
        at = root(place)
        if not isinstance(at, Cell) or at.array.flags is None:
            return None
        flags = at.array.flags
        cell = Cell(flags, at.indices, flags.type)
        if place is at:
            return cell
        return ElemPlace(cell, place.indices, u8) if isinstance(place, ElemPlace) and place.base is at else cell

    @staticmethod
    def mark(flag, array):
        """What the flag of a cell becomes when it is read."""
        if array.needed:
            return Const(READ | NEEDED, u8)
        return Binary("bit_or", Load(flag, u8), Const(READ, u8), u8)

    def reads(self, e) -> list:
        """Statements that set the flags of what an expression reads, where it does read it."""
        if isinstance(e, Select) and e.lazy and not isinstance(e.cond.type, TensorType):
            out = self.reads(e.cond)
            then, orelse = self.reads(e.a), self.reads(e.b)
            return [*out, If(e.cond, then, orelse)] if then or orelse else out
        if isinstance(e, Binary) and e.op in ("logic_and", "logic_or"):
            out, second = self.reads(e.a), self.reads(e.b)
            test = e.a if e.op == "logic_and" else Unary("logic_not", e.a, u1)
            return [*out, If(test, second, [])] if second else out
        out = []
        if isinstance(e, Load):
            flag = self.flag(e.place)
            if flag is not None:
                out = [Store(part, self.mark(part, root(e.place).array)) for part in components(flag)]
        for child in children(e):
            out += self.reads(child)
        return out
