"""A subject of the hunt: kernels that several Python threads launch at once, on containers that they share.

`python -m fuzz.hunt --subject threads -n 1000 --arches cpu,cuda`. What a launch adds to a cell depends on nothing that
others store, so that the order of launches does not matter: the sum is that of plain Python. Nor does it matter when
Python stores to the neighbours of what kernels add to, in the same blocks and words.
"""

from __future__ import annotations

import ast
import itertools
import random
import sys
import threading
import types

import numpy as np

from .check import Outcome, refused
from .execute import Arch, load, start
from .grammar.program import Program
from .lines import Lines

SHAPE = (3, 4)
LAUNCHES = 40  # of each thread
SECONDS = 50
# A field for kernels and its neighbour, to which Python stores.
_BOTH = "{n} = qd.field(qd.i32)\n{h} = qd.field(qd.i32)\n"
_WORDS = (
    "{n} = qd.field(qd.types.quant.int(24))\n{h} = qd.field(qd.types.quant.int(8))\n"
    "{n}_words = qd.BitpackedFields(32)\n{n}_words.place({n}, {h})\n"
)
_GLOBAL = (
    "{n} = qd.field(qd.i32, {s})\n{h} = qd.field(qd.i32, {s}, order='ji', offset=(0, 0))",
    _BOTH + "qd.root.dense(qd.ij, {s}).place({n}, {h})",
    _BOTH + "qd.root.pointer(qd.ij, {s}).place({n}, {h})",
    _BOTH + "qd.root.pointer(qd.i, 3).dense(qd.j, 4).place({n}, {h})",
    _BOTH + "qd.root.dense(qd.i, 3).bitmasked(qd.j, 4).place({n}, {h})",
    _BOTH + "qd.root.pointer(qd.i, 3).dynamic(qd.j, 4, chunk_size=2).place({n}, {h})",
    _WORDS + "qd.root.dense(qd.ij, {s}).place({n}_words)",
    _WORDS + "qd.root.pointer(qd.ij, {s}).place({n}_words)",
)
_PUT = "def {n}_put(i, j):\n    {h}[i, j] = 10 * i + j + 1"
_PASSED = (
    "{n} = np.zeros({s}, np.int32)",
    "{n} = np.zeros({s}, np.int32)",
    "{n} = np.zeros({s}, np.int32, order='F')",
    "{n} = np.zeros({s}, np.int32, order='F')",
    "{n} = np.zeros((2, *{s}), np.int32)[1]",
    "{n} = qd.ndarray(qd.i32, {s})\n{n}.fill(0)",
)
_OPTIONS: tuple = ({}, {}, {}, {"debug": True}, {"cpu_max_num_threads": 1}, {"check_out_of_bound": True})
_STEPS = (
    "{c}[i, j] += {k}",
    "{c}[i, j] += 2 * {k}",
    "{c}[i, j] -= i * {k} + j",
    "{c}[{a}, {b}] += i + j + {k}",
    "{c}[i, (j + 1) % 4] += {k}",
    "if i > j: {c}[i, j] += v",
)


class Writer(Lines):
    """Makes the module of a seed."""

    def __init__(self, seed: int, size: int | None):
        super().__init__(seed)
        count = size or seed % 3 + 1
        self.shared = [f"g{k}" for k in range(self.pick((1, 2)))]
        self.names = {name: self.pick(_GLOBAL) for name in self.shared}
        self.passed = [f"a{k}" for k in range(self.pick((1, 2, 3)))]
        self.names |= {name: self.pick(_PASSED) for name in self.passed}
        self.kernels = [self.kernel(f"k{k}") for k in range(count)]

    def kernel(self, name: str) -> tuple[str, int, str]:
        """(name, how many arrays it takes, text)"""
        taken = self.pick((0, 1, 1, 2, 2))
        parameters = [f"p{k}" for k in range(taken)]
        self.lines = []
        for _ in range(self.pick((1, 1, 2))):
            self.write(0, self.pick(("for i, j in qd.ndrange(3, 4):", "for i in range(3):")))
            inner = self.lines[-1].strip() == "for i in range(3):"
            if inner:
                self.write(1, "for j in range(4):")
            for _ in range(self.pick((1, 2))):
                container = self.pick([*parameters, *self.shared])
                step = self.pick(_STEPS).format(c=container, k=self.pick(range(1, 9)), a=self.pick(range(3)), b=1)
                self.write(2 if inner else 1, step)
        head = ", ".join([f"{p}: qd.types.ndarray(qd.i32, 2)" for p in parameters] + ["v: qd.i32"])
        return name, taken, "\n".join([f"@qd.kernel\ndef {name}({head}):", *self.lines])

    def module(self) -> str:
        made = [text.format(n=name, h=f"h{name}", s=SHAPE) for name, text in self.names.items()]
        work = []
        for _ in range(self.pick((2, 3, 4))):
            calls = []
            for _ in range(self.pick((1, 2))):
                name, taken, _ = self.pick(self.kernels)
                if self.pick((0, 0, 1)):
                    calls.append(f"({self.pick(self.shared)}_put, {self.pick(range(3))}, {self.pick(range(4))})")
                elif taken <= len(self.passed):
                    chosen = self._random.sample(self.passed, taken)
                    calls.append(f"({', '.join([name, *chosen, str(self.pick(range(5)))])})")
            work.append(f"[{', '.join(calls)}]")
        puts = [_PUT.format(n=name, h=f"h{name}") for name in self.shared]
        kernels = "\n\n\n".join([*puts, *(text for _, _, text in self.kernels)])
        names = [*self.names, *(f"h{name}" for name in self.shared)]
        head = "import numpy as np\n\nimport quadrants as qd\n"
        return "\n".join([head, *made, f"\n\n{kernels}\n\n\nwork = [{', '.join(work)}]\nnames = {names}\n"])


def program(seed: int, size: int | None = None, off=frozenset()) -> Program:
    return Program(Writer(seed, size).module(), random.Random(seed ^ 0x7EAD).choice(_OPTIONS))


def plainly(text: str) -> dict[str, np.ndarray]:
    """What the containers hold in the end, by kernels as plain functions."""
    tree = ast.parse(text)
    kept = [s for s in tree.body if isinstance(s, ast.FunctionDef)]
    for function in kept:
        function.decorator_list = []
        for argument in function.args.args:
            argument.annotation = None
    (work, names) = (s for s in tree.body if isinstance(s, ast.Assign) and s.targets[0].id in ("work", "names"))
    space: dict = {"qd": types.SimpleNamespace(ndrange=lambda *n: itertools.product(*map(range, n)))}
    space |= {name: np.zeros(SHAPE, np.int64) for name in ast.literal_eval(names.value)}
    exec(compile(ast.Module([*kept, work, names], []), "<plain>", "exec"), space)
    for calls in space["work"]:
        for function, *arguments in calls:
            for _ in range(LAUNCHES):
                function(*arguments)
    return {name: space[name] for name in space["names"]}


def check(text: str, options: dict, arch: Arch) -> Outcome:
    start(options, arch)
    wanted, module = plainly(text), load(text)
    errors: list[BaseException] = []

    def run(calls) -> None:
        try:
            for _ in range(LAUNCHES):
                for kernel, *arguments in calls:
                    kernel(*arguments)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=run, args=(calls,), daemon=True) for calls in module.work]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
    finally:
        sys.setswitchinterval(interval)
    if any(thread.is_alive() for thread in threads):
        return Outcome("hangs", "threads wait for each other", text)
    if errors:
        return refused(errors[0])
    for name, numbers in wanted.items():
        container = getattr(module, name)
        found = np.array([[container[i, j] for j in range(SHAPE[1])] for i in range(SHAPE[0])])
        if not np.array_equal(found, numbers):
            return Outcome("differs", "updates", f"{name} has\n{found}\nnot\n{numbers}")
    return Outcome("ok")


def check_seed(seed: int, size: int | None, off, arch: Arch) -> Outcome:
    found = program(seed, size, off)
    return check(found.text, found.options, arch)
