"""Threads of blocks in plain Python: each is a generator that yields at a barrier.

What threads do between two barriers is noted. A program in which one reads or writes a shared cell that another writes
meanwhile, or reads one that none wrote, or in which only some of a block come to a barrier, is Undefined.
"""

from __future__ import annotations

import ast
from itertools import accumulate
from operator import add


class Undefined(Exception):
    """Of a program that the language gives no meaning."""


class Shared:
    """A shared array of one block."""

    def __init__(self):
        self.cells: dict = {}
        self.thread = -1
        self.barrier()

    def barrier(self) -> None:
        self._readers: dict = {}
        self._writers: dict = {}
        self._adders: dict = {}

    def _note(self, mine: dict, at: int, *others: dict) -> None:
        mine.setdefault(at, set()).add(self.thread)
        if any(found.get(at, set()) - {self.thread} for found in others):
            raise Undefined("threads meet at a shared cell without a barrier")

    def __getitem__(self, at: int) -> int:
        self._note(self._readers, at, self._writers, self._adders)
        if at not in self.cells:
            raise Undefined("a shared cell that none wrote")
        return self.cells[at]

    def __setitem__(self, at: int, value: int) -> None:
        self._note(self._writers, at, self._readers, self._writers, self._adders)
        self.cells[at] = value

    def add(self, at: int, value: int) -> None:
        self._note(self._adders, at, self._readers, self._writers)
        if at not in self.cells:
            raise Undefined("a shared cell that none wrote")
        self.cells[at] += value


class Votes:
    """What all threads of a block get at a barrier from what each brings."""

    @staticmethod
    def sync(values):
        return [None] * len(values)

    @staticmethod
    def sync_any_nonzero(values):
        return [int(any(values))] * len(values)

    @staticmethod
    def sync_all_nonzero(values):
        return [int(all(values))] * len(values)

    @staticmethod
    def sync_count_nonzero(values):
        return [sum(map(bool, values))] * len(values)

    @staticmethod
    def reduce_all_add(values):
        return [sum(values)] * len(values)

    @staticmethod
    def reduce_all_max(values):
        return [max(values)] * len(values)

    @staticmethod
    def inclusive_add(values):
        return list(accumulate(values))

    @staticmethod
    def inclusive_max(values):
        return list(accumulate(values, max))

    @staticmethod
    def exclusive_add(values):
        return list(accumulate(values[:-1], add, initial=0))

    @staticmethod
    def exclusive_max(values):
        return list(accumulate(values[:-1], max, initial=-(2**31)))


class _Plain(ast.NodeTransformer):
    """Kernels and funcs as generators: `block.sync()` is `yield ("sync", 0)`, a call of a func is `yield from`."""

    def __init__(self, module: ast.Module):
        self.funcs = {s.name for s in module.body if isinstance(s, ast.FunctionDef)}

    def visit_FunctionDef(self, node):
        node.decorator_list, node.returns = [], None
        for parameter in node.args.args:
            parameter.annotation = None
        node.body = [self.visit(s) for s in node.body]
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name.startswith("block."):
            brought = ast.unparse(node.args[0]) if node.args else "0"
            return ast.parse(f"(yield ({name[6:]!r}, {brought}))", mode="eval").body
        if name in self.funcs:
            return ast.YieldFrom(node)
        if name.startswith("qd."):
            return node.args[0]
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.LShift):
            return ast.parse(f"shifted({ast.unparse(node.left)}, {ast.unparse(node.right)})", mode="eval").body
        return node

    def visit_AugAssign(self, node):
        node.value = self.visit(node.value)
        if not isinstance(node.target, ast.Subscript):
            return node
        sign = "-" if isinstance(node.op, ast.Sub) else ""
        where = f"{ast.unparse(node.target.value)}, {ast.unparse(node.target.slice)}"
        return ast.parse(f"added({where}, {sign}({ast.unparse(node.value)}))").body[0]


def _added(cells, at: int, value: int) -> None:
    if isinstance(cells, Shared):
        cells.add(at, value)
    else:
        cells[at] += value


def _shifted(value: int, by: int) -> int:
    """i32: counts are taken modulo 32, and bits beyond are lost."""
    bits = value << by % 32 & 0xFFFFFFFF
    return bits - (bits >> 31 << 32)


def run(text: str, count: int, m: int, x: list, y: list) -> dict:
    """x and y after the kernel `k`, and the number of threads of a block."""
    module = ast.parse(text)
    plain = _Plain(module)
    block, threads = _thread(module, plain)
    made: dict = {"added": _added, "shifted": _shifted}
    exec(compile(ast.fix_missing_locations(threads), "<plain>", "exec"), made)
    for first in range(0, count, block):
        _block(made["k"], range(first, min(first + block, count)), (x, y, count, m))
    return {"x": x, "y": y, "block": block}


def _thread(module: ast.Module, plain: _Plain) -> tuple[int, ast.Module]:
    """The module with the loop of its kernel as a function of one iteration, and the threads of a block."""
    funcs = [s for s in module.body if isinstance(s, ast.FunctionDef)]
    (kernel,) = (f for f in funcs if f.name == "k")
    *_, loop = kernel.body
    block = loop.body[0].value.right.value  # of `t = i % 64`
    kernel.body = [s for s in loop.body if "SharedArray" not in ast.unparse(s)]
    kernel.args.args = [ast.arg(name) for name in ("i", "s", "r", *(a.arg for a in kernel.args.args))]
    kernel.body.append(ast.parse("yield ('end', 0)").body[0])
    return block, ast.Module([plain.visit(f) for f in funcs], [])


def _block(thread, iterations: range, arguments: tuple) -> None:
    arrays = Shared(), Shared()
    running = [thread(i, *arrays, *arguments) for i in iterations]
    answers: list = [None] * len(running)
    while True:
        brought = []
        for k, (generator, answer) in enumerate(zip(running, answers, strict=True)):
            for array in arrays:
                array.thread = k
            brought.append(generator.send(answer))
        (name, *others) = {name for name, _ in brought}
        if others:
            raise Undefined("threads of a block come to different barriers")
        if name == "end":
            return
        answers = getattr(Votes, name)([value for _, value in brought])
        for array in arrays:
            array.barrier()
