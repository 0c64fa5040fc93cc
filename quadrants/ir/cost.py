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


def estimate(body: Sequence[Stmt], seen: tuple[int, ...] = ()) -> tuple[int, int]:
    """(cost without atomics, number of atomics on memory) of running `body` once."""
    work = atomics = 0
    parts: tuple[tuple[int, int], ...]
    for stmt in body:
        if isinstance(stmt, For):
            times, parts = _trips(stmt), (estimate(stmt.body, seen),)
        elif isinstance(stmt, While):
            times, parts = TRIPS, (estimate(stmt.body, seen),)
        elif isinstance(stmt, If):
            times, parts = 1, (max(estimate(stmt.then, seen), estimate(stmt.orelse, seen)), (1, 0))
        else:
            times, parts = 1, tuple(_node(node, seen) for node in walk.walk([stmt]))
        work += times * sum(p[0] for p in parts)
        atomics += times * sum(p[1] for p in parts)
    return min(work, 10**12), min(atomics, 10**12)


def of_task(task: Task) -> tuple[int, int]:
    """What one iteration of a task costs, as `estimate` says; found once, so that lowered addresses do not count."""
    if task.cost is None:
        task.cost = estimate(task.body)
    return task.cost


def _node(node: Node, seen: tuple[int, ...]) -> tuple[int, int]:
    if isinstance(node, Call) and node.func.settles:
        return LOOK, 0
    if isinstance(node, Call) and id(node.func) not in seen:
        work, atomics = estimate(node.func.body, (*seen, id(node.func)))
        return work + 1, atomics
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
    yield from (node for node in walk.with_functions(task.body) if isinstance(node, (For, While)))


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
    waits = ONE_BY_ONE * sum(map(_is_of_one_cell, walk.walk(task.body)))
    return work <= max((work + contended * atomics) / threads, waits)


def _is_of_one_cell(node: Node) -> bool:
    """Whether it is an atomic update of the same cell in every iteration, as of a counter or the length of a list."""
    if not isinstance(node, Atomic) or node.plain or walk.root_cell(node.place) is None:
        return False
    return not any(isinstance(x, VarPlace) for x in walk.walk(node.place))
