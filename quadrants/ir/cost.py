"""Rough cost of running IR, in units of one arithmetic operation (about a third of a nanosecond).

Decides about threads, never about results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quadrants.ir import walk
from quadrants.ir.nodes import (
    MEMORY,
    Atomic,
    Binary,
    Call,
    Const,
    For,
    Function,
    If,
    MatOp,
    Module,
    Node,
    Print,
    Rand,
    Stmt,
    Task,
    Unary,
    VarPlace,
    While,
)
from quadrants.ir.ops import OPS
from quadrants.ir.ranges import known_length
from quadrants.ir.types import TensorType, ValueType

# An atomic update against a plain one: a locked read-modify-write, and the cache line that other threads want too.
ATOMIC = 25
# What each of many threads waits for an atomic update of one and the same cell: its line goes from core to core.
ONE_BY_ONE = 200
# Trips of a loop whose bounds are not known.
TRIPS = 16
# A call of a function that only looks whether something is done.
LOOK = 8
# Work that pays for waking another thread, about 7 microseconds.
CHUNK = 20000


class Estimate:
    """What bodies of one module cost. A function costs the same wherever it is called, and nothing where it calls
    itself again."""

    def __init__(self) -> None:
        self.of_functions: dict[int, tuple[int, int]] = {}

    def body(self, body: Sequence[Stmt]) -> tuple[int, int]:
        """(cost without atomics, number of atomics on memory) of running `body` once."""
        work = atomics = 0
        parts: Sequence[tuple[int, int]]
        for stmt in body:
            if isinstance(stmt, For):
                times, parts = _trips(stmt), (self.body(stmt.body),)
            elif isinstance(stmt, While):
                times, parts = TRIPS, (self.body(stmt.body),)
            elif isinstance(stmt, If):
                times, parts = 1, (max(self.body(stmt.then), self.body(stmt.orelse)), (1, 0))
            else:
                times, parts = 1, [self.node(node) for node in walk.only([stmt], _COSTLY)]
            for w, a in parts:
                work += times * w
                atomics += times * a
        return min(work, 10**12), min(atomics, 10**12)

    def node(self, node: Node) -> tuple[int, int]:
        return self._call(node.func) if isinstance(node, Call) else _alone(node)

    def _call(self, func: Function) -> tuple[int, int]:
        if func.settles:
            return LOOK, 0
        known = self.of_functions.get(id(func))
        if known is None:
            self.of_functions[id(func)] = (0, 0)
            work, atomics = self.body(func.body)
            known = self.of_functions[id(func)] = (work + 1, atomics)
        return known


def note_costs(tasks: Sequence[Task]) -> None:
    """Have `of_task` know what tasks cost as they are now, if it does not yet."""
    estimate = Estimate()
    for task in tasks:
        if task.cost is None:
            task.cost = estimate.body(task.body)


def of_task(task: Task) -> tuple[int, int]:
    """What one iteration of a task costs; found once, so that lowered addresses do not count."""
    note_costs([task])
    assert task.cost is not None
    return task.cost


def before_conditions(task: Task) -> int:
    """What an iteration costs at least: what it does outside of conditions, and that it looks at these."""
    outside = [stmt for stmt in task.body if not isinstance(stmt, If)]
    looks = [node for stmt in task.body if isinstance(stmt, If) for node in walk.only([stmt.cond], _COSTLY)]
    estimate = Estimate()
    return estimate.body(outside)[0] + sum(estimate.node(node)[0] for node in looks)


# Nodes that cost something by themselves.
_COSTLY = frozenset((Call, Atomic, Unary, Binary, MatOp, Rand, Print, *MEMORY))


def _alone(node: Node) -> tuple[int, int]:
    if isinstance(node, Atomic):
        var = walk.root_var(node.place)
        return 1, int(not node.plain and (var is None or var.shared))
    if isinstance(node, (Unary, Binary)):
        return OPS[node.op].cost * _elements(node.type), 0
    if isinstance(node, MatOp):
        return 2 * max(_elements(a.type) for a in node.args), 0
    return int(isinstance(node, (*MEMORY, Rand, Print))), 0


def _elements(t: ValueType) -> int:
    return t.count if isinstance(t, TensorType) else 1


def _trips(loop: For) -> int:
    trips = 1
    for begin, end in loop.bounds:
        known = known_length(begin, end)
        trips *= TRIPS if known is None else known
    return min(trips, 10**9)


def grain_of(task: Task) -> int:
    """Iterations that are worth a wake-up of another thread."""
    work, atomics = of_task(task)
    return max(1, min(65536, CHUNK // max(1, work + ATOMIC * atomics)))


def effort(module: Module) -> int:
    """The optimisation level that pays: 1 where one launch does less work than is worth waking a thread, else 3.

    2 where that holds if a `while` ends after TRIPS rounds: no compiler vectorises those, but they may be long.
    """
    total, level = 0, 2 if any(r.kind == "loop" for r in module.regions) else 1
    for task in module.tasks:
        for node in _loops(task):
            if isinstance(node, While):
                level = 2
            elif not _is_known(node):
                return 3
        work, atomics = of_task(task)
        total += (work + ATOMIC * atomics) * (_trips(task.loop) if task.loop is not None else 1)
    return level if total <= CHUNK else 3


def _loops(task: Task) -> Iterator[For | While]:
    """Every loop of a task, also in the functions that it calls."""
    if task.loop is not None:
        yield task.loop
    yield from (node for node in walk.with_functions(task.body, (For, While)) if not isinstance(node, Call))


def _is_known(loop: For) -> bool:
    return all(isinstance(e, Const) for pair in loop.bounds for e in pair)


def runs_alone(task: Task, threads: int) -> bool:
    """Whether one thread without atomics beats `threads` threads with them, as in scatters on few cores."""
    config = task.loop.config if task.loop is not None else None
    if task.loop is None or config is not None and config.parallelize:
        return False
    work, atomics = of_task(task)
    if not atomics:
        return False
    # The more threads there are, the more often the line of a cell is in the cache of another core.
    contended = ATOMIC * (1 + threads / 4)
    waits = ONE_BY_ONE * sum(map(_is_of_one_cell, walk.only(task.body, (Atomic,))))
    return work <= max((work + contended * atomics) / threads, waits)


def _is_of_one_cell(node: Atomic) -> bool:
    """Whether it updates the same cell in every iteration, as of a counter or the length of a list."""
    if node.plain or walk.root_cell(node.place) is None:
        return False
    return not any(walk.only(node.place, (VarPlace,)))
