"""A subject of the hunt: threads of a block that meet at barriers in loops, branches and functions.

`python -m fuzz.hunt --subject blocks -n 1000 --arches cuda,amdgpu`. Threads exchange values through shared memory, by
votes and folds, and every barrier is reached by all of a block. Where threads without an iteration go along with their
block, the last block need not be full. The results are those of threads that plain Python runs one by one from barrier
to barrier.
"""

from __future__ import annotations

import ast
import random

import numpy as np

from .block_model import Undefined, run
from .check import Outcome, refused
from .execute import Arch, load, start
from .grammar.program import Program
from .lines import Lines

ROOM, BINS, PARAMETER = 192, 16, 3  # cells of x, cells of y, what the kernel gets as m
FOLLOWING = ("opencl", "vulkan", "metal")  # archs on which threads without an iteration go along
# With one block of threads it does all iterations, in rounds.
_OPTIONS: tuple = ({}, {}, {"debug": True}, {"cfg_optimization": False}, {"saturating_grid_dim": 1})
_MAKE = (("qd.ndarray(qd.i32, {s})", "qd.types.ndarray(qd.i32, 1)"), ("qd.field(qd.i32, {s})", "qd.template()"))
# Indices that stay within four neighbours, of which either all or none have an iteration.
_NEAR = ("{t}", "{t} ^ 1", "{t} ^ 3", "{t} // 4 * 4 + ({t} + {c}) % 4", "({t} | 3) - {t} % 4")
_FAR = ("({t} + {c}) % {B}", "{B} - 1 - {t}", "{t} ^ {h}", "({t} * 5 + {c}) % {B}")

_FUNCS = '''
@qd.func
def swapped(s: qd.template(), t, value):
    """The value of the thread beside this one."""
    block.sync()
    s[t] = value
    block.sync()
    return s[t ^ 1]


@qd.func
def turned(s: qd.template(), t, value, rounds):
    for turn in range(rounds):
        block.sync()
        s[t ^ 3] = value
        block.sync()
        value = (value + s[t] + turn) & 4095
    return value


@qd.real_func
def met(x: {x}, i: qd.i32, value: qd.i32) -> qd.i32:
    block.sync()
    x[i] += value
    if value & 1:
        return value // 2
    return value + 1
'''


# Of blocks of 64, which are whole subgroups on every arch. A loop with one of these need not say that it has those.
_FOLDS = """

@qd.func
def summed(value):
    return block.reduce_all_add(value & 1023, 64, qd.i32) & 4095


@qd.func
def ranked(value):
    return summed(value) + (block.exclusive_max(value, 64, qd.i32) & 255)
"""
_WITH_FOLD = ("reduce_all_", "inclusive_", "exclusive_", "summed(", "ranked(")


class Writer(Lines):
    """The kernel of a seed, of about `budget` statements."""

    def __init__(self, seed: int, size: int | None):
        super().__init__(seed)
        self.budget = size or seed % 5 + 1
        self.block = self.pick((8, 16, 32, 64, 64))
        self.full = seed % 2 == 0
        self.sums = seed % 3 == 0  # into one cell, which nothing else uses: what is a reduction without blocks
        self.count = self.pick((1, 2, 2)) * self.block + (0 if self.full else self.pick(range(4, self.block, 4)))
        self.make, self.parameter = self.pick(_MAKE)
        self.begin()
        self.body(1)
        if any(name in line for line in self.lines for name in _WITH_FOLD) and self.pick((0, 1)):
            del self.lines[0]
        self.write(1, "x[i] += v")
        if self.sums:
            self.write(1, f"y[{self.pick((0, 3))}] += {self.value()}")

    def begin(self) -> None:
        self.write(0, f"qd.loop_config(block_dim={self.block})")
        self.write(0, "for i in range(n):")
        self.write(1, f"t = i % {self.block}")
        self.write(1, f"s = block.SharedArray(({self.block},), qd.i32)")
        self.write(1, f"r = block.SharedArray(({self.block},), qd.i32)")
        self.write(1, f"v = (i * {self.pick((3, 5, 7))} + x[i]) & 4095")
        if self.pick((0, 1)):  # the arrays are the block's own, so that the first use waits for nobody
            self.write(1, f"s[{self.index()}] = {self.value()}")
            self.write(1, "block.sync()")
            self.keep(1, f"v + s[{self.index()}]")

    # ------------------------------------------------------------ expressions

    def index(self) -> str:
        forms = _NEAR + _FAR if self.full else _NEAR
        return self.pick(forms).format(t="t", c=self.pick(range(1, 8)), B=self.block, h=self.block // 2)

    def value(self) -> str:
        """What differs from thread to thread."""
        v, c = self.pick(("v", "v", "t", "i")), self.pick(range(1, 40))
        return self.pick(
            (f"{v} + {c}", f"{v} * {c}", f"{v} ^ {c}", f"v - {c} * t", f"(v if t & 1 else {c})", f"v << {c}")
        )

    def trips(self) -> str:
        """What is the same for all of a block."""
        read = "m + 0" if self.sums else "m + 0 * y[3]"
        return self.pick(("2", "m", f"i // {self.block} + 1", "m - 1", f"(i // {self.block} + m) % 3", "1", read))

    def truth(self) -> str:
        return f"{self.trips()} {self.pick(('>', '==', '!=', '<='))} {self.pick((0, 1, 2, 3))}"

    def keep(self, depth: int, text: str) -> None:
        self.write(depth, f"v = ({text}) & 4095")

    # ------------------------------------------------------------ statements

    def body(self, depth: int) -> None:
        for _ in range(self.pick((1, 2, 2))):
            self.budget -= 1
            kinds = ["exchange", "exchange", "counts", "alone", "call"] + ["bins"] * (not self.sums)
            kinds += ["vote"] if self.full else []
            kinds += ["fold", "folded"] if self.full and self.block == 64 else []
            kinds += ["loop", "loop", "while_", "branch"] * (2 if self.budget > 0 and depth < 4 else 0)
            getattr(self, f"_{self.pick(kinds)}")(depth)

    def _exchange(self, depth: int) -> None:
        s = self.pick("sr")
        self.write(depth, "block.sync()")
        self.write(depth, f"{s}[{self.index()}] = {self.value()}")
        if self.pick((0, 0, 1)):
            self._alone(depth)
        self.write(depth, "block.sync()")
        self.keep(depth, f"v + {s}[{self.index()}]")

    def _counts(self, depth: int) -> None:
        """Sums in shared memory."""
        self.write(depth, "block.sync()")
        self.write(depth, f"r[t] = {self.pick(('0', 'i', 'm'))}")
        self.write(depth, "block.sync()")
        self.write(depth, f"r[t // 4 * 4 + (v & 3)] {self.pick('+-')}= {self.pick(('1', 'v', 't'))}")
        self.write(depth, "block.sync()")
        self.keep(depth, f"v * 3 + r[{self.index()}]")

    def _alone(self, depth: int) -> None:
        """What a thread does by itself, and some do not."""
        q = f"q{len(self.lines)}"
        form = self.pick(range(4))
        if form == 0:
            self.write(depth, f"if t % {self.pick((2, 3))} == {self.pick((0, 1))}:")
            self.keep(depth + 1, self.value())
        elif form == 1:
            self.write(depth, f"for {q} in range(t % 4):")
            self.write(depth + 1, self.pick((f"if {q} == 2: break", f"if {q} == v % 3: continue", f"v += {q}")))
            self.keep(depth + 1, f"v + {q} * 2")
        elif form == 2:
            self.write(depth, f"{q} = v % 5")
            self.write(depth, f"while {q} > 0:")
            self.write(depth + 1, f"{q} -= 1")
            self.keep(depth + 1, f"v + {q}")
        else:
            self.write(depth, f"x[i] += {self.value()} & 15")

    def _bins(self, depth: int) -> None:
        self.write(depth, f"y[(v + {self.pick((0, 1, 5))}) % {BINS}] += {self.pick(('1', 't', 'v & 7'))}")

    def _call(self, depth: int) -> None:
        calls = (f"swapped({self.pick('sr')}, t, v)", f"turned(s, t, v, {self.trips()})", "met(x, i, v & 63)")
        self.keep(depth, f"v + {self.pick(calls)}" if self.pick((0, 1)) else self.pick(calls))

    def _vote(self, depth: int) -> None:
        name = self.pick(("any", "all", "count"))
        self.keep(depth, f"v * 2 + block.sync_{name}_nonzero(qd.i32(v % {self.pick((2, 3, 64))} != 0))")

    def _fold(self, depth: int) -> None:
        name = self.pick(("reduce_all", "inclusive", "exclusive"))
        self.keep(depth, f"v + block.{name}_{self.pick(('add', 'max'))[:3]}(v, {self.block}, qd.i32)")

    def _folded(self, depth: int) -> None:
        self.keep(depth, f"v + {self.pick(('summed', 'ranked'))}({self.value()})")

    def _loop(self, depth: int) -> None:
        j = f"j{len(self.lines)}"
        self.write(depth, f"for {j} in range({self.trips()}):")
        self._rounds(depth + 1, j)

    def _while_(self, depth: int) -> None:
        j = f"j{len(self.lines)}"
        self.write(depth, f"{j} = 0")
        self.write(depth, f"while {j} < {self.trips()}:")
        self.write(depth + 1, f"{j} += 1")
        self._rounds(depth + 1, j)

    def _rounds(self, depth: int, j: str) -> None:
        """The body of a loop, which may end or go on early where all of a block do."""
        ends = self.pick(
            ("", "", f"if {j} == {self.pick((1, 2))} and {self.truth()}: {self.pick(('break', 'continue'))}")
        )
        last = self.pick((True, False))
        if ends and not last:
            self.write(depth, ends)
        self.body(depth)
        if ends and last:
            self.write(depth, ends)
        if self.pick((0, 0, 1)):  # some threads go on early, where no barrier follows in the round
            self.write(depth, f"if v % 3 == {self.pick((0, 1))}: continue")
        self.keep(depth, f"v + {j}")

    def _branch(self, depth: int) -> None:
        self.write(depth, f"if {self.truth()}:")
        self.body(depth + 1)
        if self.pick((0, 1)):
            self.write(depth, "else:")
            self.body(depth + 1)

    # ------------------------------------------------------------ the module

    def module(self) -> str:
        made = "\n".join(f"{name} = {self.make.format(s=s)}" for name, s in (("x", ROOM), ("y", BINS)))
        head = f"import quadrants as qd\n\nblock = qd.simt.block\n{made}\ncount = {self.count}\n"
        kernel = f"def k(x: {self.parameter}, y: {self.parameter}, n: qd.i32, m: qd.i32):"
        funcs = _FUNCS.replace("{x}", self.parameter) + (_FOLDS if self.block == 64 else "")
        return "\n".join([head, funcs, "", "@qd.kernel", kernel, *self.lines, ""])


def program(seed: int, size: int | None = None, off=frozenset()) -> Program:
    writer = Writer(seed, size)
    return Program(writer.module(), dict(random.Random(seed ^ 0x5EED).choice(_OPTIONS)))


def check(text: str, options: dict, arch: Arch) -> Outcome:
    values = {s.targets[0].id: s.value for s in ast.parse(text).body if isinstance(s, ast.Assign)}
    count = values["count"].value
    kernel = text.split("@qd.kernel")[1]
    if "loop_config" not in kernel and not any(name in kernel for name in _WITH_FOLD):
        return Outcome("open", "blocks of any size")
    rng = np.random.default_rng(len(text))
    x, y = rng.integers(0, 100, ROOM), np.zeros(BINS, np.int64)
    try:
        want = run(text, count, PARAMETER, x.tolist(), y.tolist())
    except Undefined as reason:
        return Outcome("open", str(reason))
    if count % want["block"] and arch.base not in FOLLOWING:
        return Outcome("open", "a block that is not full")
    try:
        got = _results(text, options, arch, count, x, y)
    except Exception as error:
        return refused(error)
    for name in "xy":
        wrong = np.flatnonzero(got[name] != np.array(want[name]).astype(np.int32))
        if len(wrong):
            at = int(wrong[0])
            return Outcome(
                "differs", "differs", f"{name}[{at}]: {got[name][at]}, not {want[name][at]}; {len(wrong)} in all"
            )
    return Outcome("ok")


def _results(text: str, options: dict, arch: Arch, count: int, x, y) -> dict:
    start(options, arch)
    module = load(text)
    for container, values in ((module.x, x), (module.y, y)):
        container.from_numpy(values.astype(np.int32))
    module.k(module.x, module.y, count, PARAMETER)
    return {"x": module.x.to_numpy(), "y": module.y.to_numpy()}


def check_seed(seed: int, size: int | None, off, arch: Arch) -> Outcome:
    found = program(seed, size, off)
    return check(found.text, found.options, arch)
