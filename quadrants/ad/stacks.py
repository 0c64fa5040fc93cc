"""What a loop saves for the backward sweep: one stack for each variable that it carries.

A stack is an array of the running thread that the iterations of its loop number: iteration k writes slot k on the way
forward and reads slot k on the way back, so there are no counts to keep, and an inner loop starts over at slot 0 every
time it is entered.

    for k in 0..n:  v_stack[k] = v; v = f(v)
    for k in n-1..0:  v_1 = v_stack[k]; ...
"""

from __future__ import annotations

from quadrants.ad.build import index
from quadrants.ir.nodes import ArrayDecl, Binary, Cell, Const, For, Load, Store, Var, VarPlace
from quadrants.ir.types import i32


class Stack:
    """One stack. `decl.source` is what sizing knows of it: see `sizes`."""

    def __init__(self, decl: ArrayDecl):
        self.decl = decl

    def slot(self, loop: For) -> Cell:
        return Cell(self.decl, (trip(loop),), self.decl.type)

    def push(self, loop: For, value) -> Store:
        return Store(self.slot(loop), value, loop.loc)

    def top(self, loop: For) -> Load:
        return Load(self.slot(loop), self.decl.type)


class Stacks:
    """All stacks of one kernel. `sites`: messages of the kernel's checks, to which those of stacks are added."""

    def __init__(self, sizing, sites: list, forced: int = 0):
        self.sizing = sizing
        self.sites = sites
        self.forced = forced
        self.all: list = []

    def new(self, var: Var, loop: For, bounds: tuple) -> Stack:
        name = f"{var.name}_stack"
        decl = ArrayDecl(name=name, kind="stack", type=var.type, ndim=1, shape=(1,), label=var.name)
        decl.source = loop
        self.all.append(decl)
        return Stack(decl)

    def guard(self, stacks, bounds: tuple, loc) -> list:
        """What stops a loop that is longer than its stacks."""
        return []


def trips(bounds: tuple):
    """The number of iterations of a loop, not below zero for each axis, as a 32-bit expression."""
    total = None
    for begin, end in bounds:
        n = end if isinstance(begin, Const) and begin.value == 0 else Binary("sub", end, begin, i32)
        n = Binary("max", n, index(0), i32) if not isinstance(n, Const) else index(max(0, n.value))
        total = n if total is None else Binary("mul", total, n, i32)
    return total if total is not None else index(1)


def trip(loop: For):
    """The number of the present iteration, from 0."""
    number = None
    for var, (begin, end) in zip(loop.vars, loop.bounds):
        here = Load(VarPlace(var, i32), i32)
        if not (isinstance(begin, Const) and begin.value == 0):
            here = Binary("sub", here, begin, i32)
        if number is None:
            number = here
        else:
            extent = end if isinstance(begin, Const) and begin.value == 0 else Binary("sub", end, begin, i32)
            number = Binary("add", Binary("mul", number, extent, i32), here, i32)
    return number if number is not None else index(0)
