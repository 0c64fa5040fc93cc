"""A subject of the hunt: parallel loops that read and write one container, refused exactly where iterations meet.

`python -m fuzz.hunt --subject races -n 1000`. What iterations read and write is found by running the loop in plain
Python. A loop in which one reads a cell that another writes has to be refused (E-16), also one in which two write to a
cell and do not both add to it, and no other one, but those whose indices are different sums of variables of the
parallel loop. The gradient of an accepted one, which is linear, is that of plain Python.
"""

from __future__ import annotations

import ast
import itertools
import random
import re
import types

import numpy as np

from .check import Outcome, refused
from .execute import Arch, load, start
from .grammar.program import Program
from .lines import Lines

TRIPS = 4  # what the kernel gets as n
SIZES = {"x": (64,), "z": (48, 48), "out": (64,)}
_REFUSAL = "Cross-iteration "
_OPTIONS: tuple = ({}, {}, {"debug": True}, {"cfg_optimization": False}, {"default_ip": "i64"})
_FIELD = "{n} = qd.field(qd.f64, {s}, needs_grad=True)"
_X = (
    (_FIELD, ""),
    ("{n} = qd.Vector.field(2, qd.f64, {s}, needs_grad=True).get_scalar_field(1)", ""),
    ("{n} = qd.ndarray(qd.f64, {s}, needs_grad=True)", ", x: qd.types.ndarray()"),
)
_PARALLEL = (
    ("i", "range(4)"), ("i", "range(4)"), ("i", "range(1, 6)"), ("i", "range(n)"), ("i", "qd.ndrange((1, 4))"),
    ("i", "range(1)"), ("i, j", "qd.ndrange(3, 4)"), ("i, j", "qd.ndrange((1, 3), n)"),
)  # fmt: skip
_INNER = (
    "range(2 if {v} > 1 else 3)",
    "range(qd.min({v}, 3))",
    "range(4)",
    "range(2)",
    "range(n)",
    "range(1, 4)",
    "range({v})",
    "range({v}, 4)",
    "qd.static(range(3))",
)


class Writer(Lines):
    """Makes the loop of a seed, of about `budget` statements."""

    def __init__(self, seed: int, size: int | None):
        super().__init__(seed)
        self.budget = size or seed % 4 + 1
        self.make, self.parameter = self.pick(_X)
        names, over = self.pick(_PARALLEL)
        self.names = names.split(", ")
        self.counters: list[tuple[str, int]] = []  # variables for indices that change, and the loops around each
        self.loops = 0
        self.write(0, f"for {names} in {over}:")
        self.block(1)

    def index(self) -> str:
        v = self.pick(self.names)
        forms = [v, v, v, str(self.pick(range(9))), f"{v} + {self.pick(range(1, 9))}", f"{self.pick((2, 3))} * {v}"]
        forms += [f"2 * {v} + {self.pick(range(1, 9))}", f"{self.pick(range(8, 16))} - {v}", f"{v} * 4 + 1"]
        forms += [f"{v} + {self.pick(self.names)} * {self.pick((1, 4, 8))}", f"{v} + n"]
        forms += [f"({v} + {self.pick(range(1, 9))} if {v} > {self.pick(range(3))} else {v})"]
        for k, _ in self.counters:
            forms += [k, k, k, f"{k} + {self.pick(range(1, 9))}"]
        return self.pick(forms)

    def cell(self, *names: str) -> str:
        name = self.pick(names)
        return f"{name}[{', '.join(self.index() for _ in SIZES[name])}]"

    def value(self) -> str:
        """A linear expression in cells."""
        return " + ".join(f"{self.pick((0.5, 2.0, -1.5))} * {self.cell('x', 'x', 'z')}" for _ in self.pick(("1", "12")))

    def block(self, depth: int) -> None:
        outside = len(self.counters)
        for _ in range(self.pick((1, 1, 2))):
            self.budget -= 1
            if self.pick((0, 0, 1)):
                self._counter(depth)
            kinds = ["add", "add", "store", "sum"] + (["for", "for", "if"] if self.budget > 0 and depth < 4 else [])
            kinds += ["change", "count", "inner_change"] if self._changeable() else []
            getattr(self, f"_{self.pick(kinds)}")(depth)
        del self.counters[outside:]

    # ------------------------------------------------------------ indices that change

    def _counter(self, depth: int) -> None:
        k = f"k{len(self.lines)}"
        self.write(depth, f"{k} = {self.pick(self.names)} + {self.pick(range(2, 5))}")
        self.counters.append((k, self.loops))
        for _ in range(self.pick(range(3))):
            self._change(depth)

    def _changeable(self) -> list:
        """What a longer loop inside sets is known only as far as one iteration tells, see `_inner_change`."""
        return [k for k, loops in self.counters if loops == self.loops]

    def _change(self, depth: int) -> None:
        k, v, step = self.pick(self._changeable()), self.pick(self.names), self.pick(range(1, 4))
        forms = (f"{k} += {step}", f"{k} = {k} + {step}", f"{k} = {v} + {step}", f"{k} -= 1; {k} += {step}")
        test = self.pick(("", "", f"if {v} > {step - 1}: ", f"if {k} % 2 == {v} % 2: "))
        self.write(depth, test + self.pick(forms))
        if not test and self.pick((0, 0, 1)):
            other = self.pick(self._changeable())
            self.write(depth, f"{k}, {other} = {other}, {k}" if k != other else f"{k} = {v}")

    def _inner_change(self, depth: int) -> None:
        """A loop that sets an index: a short one in any way, others to what does not depend on what it was."""
        k, v, j = self.pick(self._changeable()), self.pick(self.names), f"j{len(self.lines)}"
        short = (
            f"{k} += {j}",
            f"{k} = {k} + 3 - {k} % 2",
            f"{k} = {j} + {v}",
            f"{k} -= {j} % 2",
        )
        if self.pick((0, 1)):
            self.write(depth, f"for {j} in range({self.pick((1, 2, 3))}):")
            self.write(depth + 1, self.pick(("", f"if {j} > 0: ", f"if {v} > 1: ")) + self.pick(short))
        else:
            trips = self.pick(("6", "n", v, f"{v}, 4", "qd.min(3, n)"))
            self.write(depth, f"for {j} in range({trips}): {k} = {self.pick((f'{v} + {j}', f'{j} + 2', f'{v} + 1'))}")

    def _count(self, depth: int) -> None:
        """A loop that adds to an index at its end."""
        k = self.pick(self._changeable())

        def body() -> None:
            self.block(depth + 1)
            self.write(depth + 1, f"{k} += {self.pick((1, 2, 3))}")

        self._inside(depth, body)

    # ------------------------------------------------------------ statements

    def _add(self, depth: int) -> None:
        self.write(depth, f"{self.cell('x', 'x', 'z', 'out')} {self.pick('+-')}= {self.value()}")

    def _store(self, depth: int) -> None:
        self.write(depth, f"{self.cell('x', 'x', 'z')} = {self.value()}")

    def _sum(self, depth: int) -> None:
        """What all of an inner loop read, stored behind it."""
        s = f"s{len(self.lines)}"
        self.write(depth, f"{s} = 0.0")
        self._inside(depth, lambda: self.write(depth + 1, f"{s} += {self.value()}"))
        self.write(depth, f"{self.cell('x', 'z')} = {s}")

    def _for(self, depth: int) -> None:
        self._inside(depth, lambda: self.block(depth + 1))

    def _inside(self, depth: int, body) -> None:
        j = f"j{len(self.lines)}"
        self.write(depth, f"for {j} in {self.pick(_INNER).format(v=self.pick(self.names))}:")
        self.names.append(j)
        self.loops += 1
        body()
        self.loops -= 1
        self.names.pop()

    def _if(self, depth: int) -> None:
        v, c = self.pick(self.names), self.pick(range(4))
        forms = (f"{v} > {c}", f"{v} == {c}", f"{v} != {c}", f"{v} % 2 == {c % 2}", f"not ({v} < {c} or {v} == 3)")
        self.write(depth, f"if {self.pick(forms)}:")
        self.block(depth + 1)
        if self.pick((0, 1)):
            self.write(depth, "else:")
            self.block(depth + 1)

    def module(self) -> str:
        made = "\n".join((self.make if n == "x" else _FIELD).format(n=n, s=s) for n, s in SIZES.items())
        arguments = f"arguments = [{'x' if self.parameter else ''}]"
        kernel = "\n".join([f"def k(n: qd.i32{self.parameter}):", *self.lines])
        return f"import quadrants as qd\n\n{made}\n{arguments}\n\n\n@qd.kernel\n{kernel}\n"


class Noting(ast.NodeTransformer):
    """The kernel as a plain function that notes what it does to cells: note.read("x", (i,)) for x[i]."""

    def __init__(self, text: str):
        (self.kernel,) = (s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef))
        self.cells: list = []  # (container, its indices) of all that is read and written
        loops = [s for s in ast.walk(self.kernel) if isinstance(s, ast.For)]
        targets = [s.target for s in loops if s in self.kernel.body or "static" in ast.unparse(s.iter)]
        self.names = {v.id for target in targets for v in ast.walk(target) if isinstance(v, ast.Name)}

    def function(self):
        plain = ast.parse("def plain(note, n, qd): pass")
        plain.body[0].body = [self.visit(s) for s in self.kernel.body]
        for s in plain.body[0].body:
            if isinstance(s, ast.For):
                s.body.insert(0, ast.parse(f"note.iteration = {ast.unparse(s.target)}").body[0])
        made: dict = {}
        exec(compile(ast.fix_missing_locations(plain), "<plain>", "exec"), made)
        return made["plain"]

    def note(self, what: str, cell: ast.Subscript, *values: str):
        indices = list(map(ast.unparse, cell.slice.elts if isinstance(cell.slice, ast.Tuple) else [cell.slice]))
        self.cells.append((cell.value.id, indices))
        given = ", ".join([repr(cell.value.id), f"({', '.join(indices)},)", *values])
        return ast.parse(f"note.{what}({given})").body[0]

    def visit_Subscript(self, node):
        return self.note("read", node).value

    def visit_AugAssign(self, node):
        node.value = self.visit(node.value)
        sign = "-" if isinstance(node.op, ast.Sub) else ""
        if not isinstance(node.target, ast.Subscript):
            return node
        return self.note("add", node.target, f"{sign}({ast.unparse(node.value)})")

    def visit_Assign(self, node):
        node.value = self.visit(node.value)
        target = node.targets[0]
        return self.note("store", target, ast.unparse(node.value)) if isinstance(target, ast.Subscript) else node

    # ------------------------------------------------------------ what the check cannot know

    @property
    def uses_n(self) -> bool:
        """Whether a race may depend on what only the launch knows."""
        return any(isinstance(x, ast.Name) and x.id == "n" for x in ast.walk(self.kernel))

    @property
    def changes_by_n(self) -> bool:
        return self.uses_n and any(self._changes(index) for _, indices in self.cells for index in indices)

    @property
    def told_by_sums(self) -> bool:
        """Whether an index of two cells is a different sum of the parallel loop's variables and numbers alone, or may
        be one by what changes it.
        """
        return any(
            (a != b or self._changes(a)) and self._moves(a) and self._moves(b)
            for (name, first), (other, second) in itertools.combinations(self.cells, 2)
            if name == other
            for a, b in zip(first, second, strict=True)
        )

    def _moves(self, index: str) -> bool:
        used = set(re.findall(r"[a-z]\w*", index))
        return self._changes(index) or bool(used) and used <= {*self.names, "n"}

    def _changes(self, index: str) -> bool:
        return "k" in index or " if " in index


class OutOfRange(Exception):
    """Of an index in plain Python."""


class Notes:
    """What a loop in plain Python does to its cells."""

    def __init__(self, cells: dict):
        self.cells = {name: values.copy() for name, values in cells.items()}
        self.iteration: tuple = ()
        self.readers: dict = {}
        self.stores: dict = {}
        self.writers: dict = {}

    def _key(self, name: str, at: tuple) -> tuple:
        if not all(0 <= k < extent for k, extent in zip(at, SIZES[name], strict=True)):
            raise OutOfRange
        return name, at

    def read(self, name: str, at: tuple) -> float:
        self.readers.setdefault(self._key(name, at), set()).add(self.iteration)
        return self.cells[name][at]

    def add(self, name: str, at: tuple, value: float) -> None:
        self.writers.setdefault(self._key(name, at), set()).add(self.iteration)
        self.cells[name][at] += value

    def store(self, name: str, at: tuple, value: float) -> None:
        self.add(name, at, 0.0)
        self.stores.setdefault((name, at), set()).add(self.iteration)
        self.cells[name][at] = value

    def meets(self, first: dict, second: dict) -> bool:
        """Whether a cell of both has two iterations."""
        return any(len(found | second[key]) > 1 for key, found in first.items() if key in second)


def plainly(plain, cells: dict) -> Notes:
    notes = Notes(cells)
    plain(notes, TRIPS, types.SimpleNamespace(ndrange=_ndrange, static=lambda x: x, min=min))
    return notes


def _ndrange(*axes):
    product = itertools.product(*(range(axis) if isinstance(axis, int) else range(*axis) for axis in axes))
    return (at[0] for at in product) if len(axes) == 1 else product


def program(seed: int, size: int | None = None, off=frozenset()) -> Program:
    writer = Writer(seed, size)
    options = random.Random(seed ^ 0x5EED).choice(_OPTIONS)
    return Program(writer.module(), {"ad_stack_experimental_enabled": True, "default_fp": "f64", **options})


def check(text: str, options: dict, arch: Arch) -> Outcome:
    start(options, arch)
    module, noting = load(text), Noting(text)
    plain = noting.function()
    rng = np.random.default_rng(len(text))
    cells, weights = ({name: rng.uniform(-1, 1, size) for name, size in SIZES.items()} for _ in range(2))
    try:
        notes = plainly(plain, cells)
    except OutOfRange:
        return Outcome("open", "an index out of range")
    races = notes.meets(notes.writers, notes.readers) or notes.meets(notes.stores, notes.writers)
    for name in SIZES:
        getattr(module, name).from_numpy(cells[name])
        getattr(module, name).grad.from_numpy(weights[name])
    try:
        module.k.grad(TRIPS, *module.arguments)
    except Exception as error:
        if _REFUSAL not in str(error):
            return refused(error)
        if races or noting.told_by_sums:
            return Outcome("ok", "refused") if races else Outcome("open", "sums that differ")
        if noting.changes_by_n:
            return Outcome("open", "what n is")
        return Outcome("differs", "no race", text)
    if races:
        return Outcome("open", "what n is") if noting.uses_n else Outcome("differs", "a race is accepted", text)
    return compared(module, plain, weights)


def compared(module, plain, weights: dict) -> Outcome:
    """The gradient against that of the plain loop, which is linear: one cell at a time."""
    zero = {name: np.zeros(size) for name, size in SIZES.items()}
    notes = plainly(plain, zero)
    for name in ("x", "z"):
        found = getattr(module, name).grad.to_numpy()
        for at in {at for holder, at in (*notes.readers, *notes.writers) if holder == name}:
            one = {n: v.copy() for n, v in zero.items()}
            one[name][at] = 1.0
            want = sum(float((v * weights[n]).sum()) for n, v in plainly(plain, one).cells.items())
            if abs(found[at] - want) > 1e-9 * max(1.0, abs(want)):
                return Outcome("differs", "gradient", f"{name}{list(at)}: {found[at]!r}, not {want!r}")
    return Outcome("ok", "accepted")


def check_seed(seed: int, size: int | None, off, arch: Arch) -> Outcome:
    found = program(seed, size, off)
    return check(found.text, found.options, arch)
