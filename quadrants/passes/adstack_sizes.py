"""Depths of stacks that depend on cells of arrays, found by tasks of a device in front of those that have the stacks.

What the arguments alone decide is for the host (`emit.adstack_plan`). Everything else goes into one serial task, but
for the maxima over whole arrays: each of these is a parallel loop that ends in an atomic, so that the passes and
templates of reductions make it fast.

    over(i; 0, extent, read(n; loop(i)))       for i in 0..n.shape[0]:              # parallel
                                                   atomic_max(qd_most, n[i])
                                               qd_depth = max(qd_most, 0)           # serial
                                               qd_most = 0                          # for the next launch

A serial walk has a limit: one thread of a device needs about a second for that many cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants.ir import nodes as n
from quadrants.ir import rename
from quadrants.ir.adstack_evaluation import Evaluation
from quadrants.ir.adstack_heaps import of_task, split
from quadrants.ir.adstack_size_trees import Size, reads_cells, walk
from quadrants.ir.types import DType, element_dtype, i32, i64, u1
from quadrants.ir.walk import root
from quadrants.ir.walk import walk as walk_ir
from quadrants.passes.adstack_rows import iterations
from quadrants.passes.reductions import recognise_in

if TYPE_CHECKING:
    from quadrants.banner import Frame

Count = tuple[n.Var, list[n.Stmt], n.Expr]  # of iterations: the variable for it, and what gives its value
Chain = list[tuple[Size, Size, int]]  # first, last and loop variable

# From so many cells on a launch of many threads is done sooner than one thread.
LONG = 256
# The longest serial walk.
LIMIT = 1 << 24
# What the arguments decide.
CLOSED = frozenset(("const", "extent", "arg", "add", "sub", "mul", "max", "most", "min", "div", "shift"))


def size_stacks(module: n.Module, narrow: bool = False) -> n.Module:
    """Put tasks that find depths in front of those that need them, and list them in `module.sizings`. narrow: there are
    atomics of 32 bits only, which hold every depth that memory could.
    """
    tasks: list[n.Task] = []
    known: set[str] = set()
    for number, task in enumerate(module.tasks):
        if task.name not in known and _needs(module, [task]) != ([], []):
            # Once a launch, unless a task of it changes what is read.
            together = module.tasks[number : _next_write(module.tasks, number) + 1]
            _put(module, tasks, *_needs(module, together), i32 if narrow else i64)
            known.update(t.name for t in together)
        tasks.append(task)
    module.tasks = tasks
    return module


def _needs(module: n.Module, tasks: list[n.Task]) -> tuple[list[n.StackDepth], list[Count]]:
    """What has to be found for some tasks: depths of stacks that depend on cells, each once; and of the tasks with
    stacks in the heaps (variable to set, statements, expression), where a task in front of them sets the bounds.
    """
    depths: dict[int, n.StackDepth] = {}
    counts: list[Count] = []
    writes = _next_write(module.tasks, 0) < len(module.tasks)
    for task in tasks:
        stacks = of_task(task)
        depths.update((id(d.source), d.source) for d in stacks if reads_cells(d.source.size))
        if split(stacks)[1] and task.loop is not None and not writes:
            count = iterations(module, task.loop)
            if count is not None:
                if task.trips is None:
                    task.trips = n.Var(f"qd_trips_{task.name}", i64, True, shared=True)
                counts.append((task.trips, *count))
    return list(depths.values()), counts


def _next_write(tasks: list[n.Task], number: int) -> int:
    """The first task from this one on that writes to integers. Two arguments may be the same array: any counts."""
    for k in range(number, len(tasks)):
        for node in walk_ir(tasks[k].body):
            if isinstance(node, (n.Store, n.Atomic)):
                at = root(node.place)
                real = isinstance(at, n.Cell) and element_dtype(node.place.type).is_real
                if isinstance(at, n.Cell) and at.array.kind in ("field", "array") and not real:
                    return k
    return len(tasks)


def _put(
    module: n.Module, tasks: list[n.Task], depths: list[n.StackDepth], counts: list[Count], most: DType = i64
) -> None:
    """Append the tasks that find these depths and counts."""
    begin = len(tasks)
    name = f"{module.name}_sizes{len(module.sizings) or ''}"
    names = rename.names_of(module)
    maxima = _Maxima(sum(len(s.maxima) for s in module.sizings), most)
    evaluation = Evaluation(guard=lambda count, known: _guard(module, count, known))
    body: list[n.Stmt] = []
    for depth in depths:
        evaluation.into(depth.var, maxima.without(depth.size), body)
    for var, statements, count in counts:
        body += [*statements, n.Declare(var, count)]
    for k, loop in enumerate(maxima.loops):
        rename.unique_names([loop], names)
        tasks.append(n.Task(f"{name}_max{k}", loop.kind, loop.body, loop, sizing=True))
        recognise_in(tasks[-1])
    body += [n.Store(n.VarPlace(var, most), n.Const(0, most)) for var in maxima.vars]
    rename.unique_names(body, names)
    tasks.append(n.Task(f"{name}_serial", "serial", body, sizing=True))
    variables = [d.var for d in depths] + [var for var, *_ in counts]
    module.sizings.append(n.Sizing(begin, len(tasks), variables, maxima.vars))
    module.shared += maxima.vars


def _guard(module: n.Module, count: n.Expr, known: int | None) -> list[n.Stmt]:
    if known is not None and known <= LIMIT:
        return []
    return [n.Check(n.Binary("le", count, n.Const(LIMIT, i64), u1), _site(module), (count,))]


def _site(module: n.Module) -> int:
    """The message for a walk that is too long, one for all."""
    message: tuple[tuple[Any, ...], list[Frame], str] = (("adstack walk", LIMIT), [], module.name)
    if message not in module.sites:
        module.sites.append(message)
    return module.sites.index(message)


class _Maxima:
    """Parallel loops for the parts of sizes that are maxima over long, rectangular ranges."""

    def __init__(self, before: int, type: DType):
        self.before = before
        self.type = type
        self.loops: list[n.For] = []
        self.vars: list[n.Var] = []

    def without(self, size: Size, around: frozenset[int] = frozenset()) -> Size:
        """The size with a variable for every such part, inner ones first; `around` are the loops that it is in."""
        inside = around | {size.of} if size.op == "over" else around
        if size.args:
            size = Size(size.op, tuple(self.without(s, inside) for s in size.args), size.of)
        if size.op == "over" and not any(s.op == "loop" and s.of.id in around for s in walk(size)):
            chain, body = _chain(size)
            if _is_long(chain):
                return Size("held", (), self._loop(chain, body))
        return size

    def _loop(self, chain: Chain, body: Size) -> n.Var:
        t = self.type
        most = n.Var(f"qd_most{self.before + len(self.vars) or ''}", t, True, shared=True)
        loops = {of: n.Var("i", i32, False, level=1) for _, _, of in chain}
        statements: list[n.Stmt] = []
        value = Evaluation(dict(loops)).value(body, statements)
        if t is not i64:
            value = n.Cast(n.Binary("min", value, n.Const(t.max, i64), i64), t)
        statements.append(n.Eval(n.Atomic("max", n.VarPlace(most, t), (value,), t)))
        bounds = tuple((_bound(first), _bound(last)) for first, last, _ in chain)
        self.loops.append(n.For(tuple(loops.values()), bounds, statements, parallel=True))
        self.vars.append(most)
        return most


def _chain(size: Size) -> tuple[Chain, Size]:
    """(first, last, loop variable) of nested maxima over ranges that the arguments decide, and the body inside; none if
    that has others.
    """
    found: Chain = []
    while size.op == "over" and all(s.op in CLOSED for end in size.args[:2] for s in walk(end)):
        first, last, body = size.args
        found.append((first, last, size.of))
        size = body
    return ([], size) if any(s.op == "over" for s in walk(size)) else (found, size)


def _is_long(chain: Chain) -> bool:
    if any(first.op != "const" or last.op != "const" for first, last, _ in chain):
        return True
    count = 1 if chain else 0
    for first, last, _ in chain:
        count *= max(0, int(last.of) - int(first.of))
    return count >= LONG


def _bound(size: Size) -> n.Expr:
    """A bound of a parallel loop, in 32 bits as all are; plain where the host can tell the count from it."""
    if size.op == "const":
        return n.Const(size.of, i32)
    if size.op == "extent":
        array, axis = size.of
        return n.Extent(array, axis, i32)
    if size.op == "arg" and size.of.type is i32:
        return n.Load(n.VarPlace(size.of, i32), i32)
    return n.Cast(Evaluation().value(size, []), i32)
