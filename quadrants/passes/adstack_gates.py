"""Stacks behind a condition: on a device only the threads that get there need rows of them.

for i in range(n):                      a task in front counts the iterations with g[i] > t; the task has that many
    if g[i] > t:                        rows, and a thread claims one when it first gets behind the condition
        for k in range(m[None]): ..

Only the heap of real numbers is shared out so; integers always have a row for each thread. What is no gate in the
sense of `_gate` has rows for all threads, which is always right. On a CPU nothing is claimed: no more workers take part
than there are rows.
"""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.adstack_heaps import FLOAT, kind_of, of_task, split
from quadrants.ir.overlap import is_same_memory
from quadrants.ir.printer import expr
from quadrants.ir.ranges import known_length
from quadrants.ir.types import f32, f64, i32, i64, u1
from quadrants.ir.walk import root, walk
from quadrants.passes.reductions import recognise_in

Values = dict[int, n.Declare]  # of this iteration, by id of the variable
Names = dict[int, n.Var]
Digit = tuple[int, int]  # divisor, and modulus or 0

_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))


def claim_gates(module: n.Module) -> n.Module:
    """Put a counting task in front of every task with a gate, and have its threads claim rows."""
    return count_gates(module, claims=True)


def count_gates(module: n.Module, claims: bool = False) -> n.Module:
    """Put a counting task in front of every task with a gate."""
    tasks: list[n.Task] = []
    for task in module.tasks:
        loop = task.loop
        found = _gate(task, loop, module.tasks, claims) if loop is not None else None
        if loop is not None and found is not None:
            number = sum(t.gate is not None for t in tasks)
            gate = task.gate = _gate_of(number, found)
            if claims:
                _claim(module, gate, found)
            tasks.append(_counting(module, number, loop, task.pre, gate, found))
        tasks.append(task)
    module.tasks = tasks
    return module


def _written(tasks: list[n.Task]) -> set[n.ArrayDecl]:
    places = [root(s.place) for t in tasks for s in walk([t.body, t.reductions]) if isinstance(s, (n.Store, n.Atomic))]
    return {cell.array for cell in places if isinstance(cell, n.Cell)}


class _Found:
    """A gate: the branch that has the stacks, what is declared for the condition, the condition, and how it reads."""

    def __init__(self, block: list[n.Stmt], declared: list[n.Declare], cond: n.Expr, text: str) -> None:
        self.block = block
        self.declared = declared
        self.cond = cond
        self.text = text


def _gate(task: n.Task, loop: n.For, tasks: list[n.Task], claims: bool) -> _Found | None:
    """The one condition around all stacks of real numbers, where it compares a cell with a number."""
    stacks = split(of_task(task))[1] if claims else of_task(task)
    own = {d.id for d in stacks if kind_of(d) == FLOAT}
    if not own:
        return None
    holders = [s for s in task.body if _uses([s], own)]
    if len(holders) != 1 or not isinstance(holders[0], n.If):
        return None
    branch = holders[0]
    inside = _uses(branch.then, own), _uses(branch.orelse, own)
    if all(inside):
        return None
    block = branch.then if inside[0] else branch.orelse
    below = [s for s in block if _uses([s], own)]
    if len(below) == 1 and isinstance(below[0], n.If):
        return None  # two conditions
    values = {s.var.id: s for s in task.body if isinstance(s, n.Declare)}
    declared: Names = {}
    cond = _behind(branch.cond, values, declared)
    if not isinstance(cond, n.Binary) or cond.op not in _COMPARISONS or cond.loc is not None:
        return None
    sides = [_converted(e, values, declared) for e in (cond.a, cond.b)]
    load = next((e for e in sides if isinstance(e, n.Load)), None)
    if load is None or not any(isinstance(e, n.Const) for e in sides) or load.type not in (f32, f64, i32):
        return None
    if not isinstance(load.place, n.Cell) or any(is_same_memory(load.place.array, array) for array in _written(tasks)):
        return None
    if not _finds_each_once(load.place, loop, values, declared):
        return None
    needed = [s for s in task.body if isinstance(s, n.Declare) and s.var.id in declared]
    passes = branch.cond if inside[0] else n.Unary("logic_not", branch.cond, u1)
    text = expr(cond) if inside[0] else f"not {expr(cond)}"
    return _Found(block, needed, passes, text)


def _uses(body: list[n.Stmt], stacks: set[int]) -> bool:
    return any(isinstance(node, n.Cell) and node.array.id in stacks for node in walk(body))


def _behind(e: n.Expr | None, values: Values, declared: Names) -> n.Expr | None:
    """What stands behind the name of a value of this iteration, or of a component of one; `declared` gets the names on
    the way.
    """
    while isinstance(e, n.Load):
        at = root(e.place)
        if not isinstance(at, n.VarPlace) or at.var.id not in values:
            break
        if at.var.mutable:
            return None
        declared[at.var.id] = at.var
        init = values[at.var.id].init
        if at is e.place:
            e = init
            continue
        made = _behind(init, values, declared)
        if not isinstance(made, n.Make) or not isinstance(e.place, n.ElemPlace) or len(e.place.indices) != 1:
            return None
        (which,) = e.place.indices
        if e.place.base is not at or not isinstance(which, n.Const):
            return None
        e = made.parts[which.value]
    return e


def _converted(e: n.Expr | None, values: Values, declared: Names) -> n.Expr | None:
    """The cell that a number comes from, or the literal."""
    e = _behind(e, values, declared)
    while isinstance(e, n.Cast) and not e.bits:
        e = _behind(e.a, values, declared)
    return e


def _finds_each_once(cell: n.Cell, loop: n.For, values: Values, declared: Names) -> bool:
    """Whether different iterations look at different cells: the indices are those of the loop, or quotients and
    remainders of one that tell all of its iterations apart; others are constants or arguments.
    """
    own = {v.id: k for k, v in enumerate(loop.vars)}
    plain: set[int] = set()
    parts: list[Digit] = []
    for index in cell.indices:
        e = _behind(index, values, declared)
        if isinstance(e, n.Const):
            continue
        if isinstance(e, n.Load) and isinstance(e.place, n.VarPlace):
            if e.place.var.id in own:
                plain.add(own[e.place.var.id])
            elif e.place.var.mutable or e.place.var.shared:
                return False
            continue
        part = _part(e, own, values, declared)
        if part is None:
            return False
        parts.append(part)
    if cell.array.kind == "array" and (parts or len(plain) != len(cell.indices)):
        return False
    if len(loop.vars) == 1 and parts and 0 not in plain:
        return _tells_apart(parts, loop)
    covered = plain | ({0} if len(loop.vars) == 1 and 0 in plain else set())
    return covered == set(range(len(loop.vars))) and _fits(cell, loop)


def _part(e: n.Expr | None, own: dict[int, int], values: Values, declared: Names) -> Digit | None:
    """(divisor, modulus or 0) of `i // divisor % modulus`."""
    if not isinstance(e, n.Binary) or e.loc is not None:
        return None
    b = _behind(e.b, values, declared)
    if not isinstance(b, n.Const) or b.value < 1:
        return None
    a = _behind(e.a, values, declared)
    is_index = isinstance(a, n.Load) and isinstance(a.place, n.VarPlace) and a.place.var.id in own
    if e.op in ("floordiv", "raw_div"):
        return (int(b.value), 0) if is_index else None
    if e.op not in ("mod", "raw_mod"):
        return None
    inner = (1, 0) if is_index else _part(a, own, values, declared)
    return (inner[0], int(b.value)) if inner is not None and inner[1] == 0 else None


def _tells_apart(parts: list[Digit], loop: n.For) -> bool:
    """Whether quotients and remainders together number the iterations of a loop of known length."""
    ((begin, end),) = loop.bounds
    if not isinstance(begin, n.Const) or begin.value != 0 or len(set(parts)) < 2:
        return False
    last = end.value - 1 if isinstance(end, n.Const) else None
    reach = 1
    for divisor, modulus in sorted(set(parts)):
        if divisor != reach:
            return False
        if modulus == 0:
            return True
        reach *= modulus
    return last is not None and last < reach


def _fits(cell: n.Cell, loop: n.For) -> bool:
    """No more iterations of known number than cells."""
    if cell.array.shape is None:
        return True
    cells = trips = 1
    for extent in cell.array.shape:
        cells *= extent
    for begin, end in loop.bounds:
        length = known_length(begin, end)
        if length is None:
            return True
        trips *= length
    return trips <= cells


def _counting(module: n.Module, number: int, loop: n.For, pre: list[n.Declare], gate: n.Gate, found: _Found) -> n.Task:
    """How many iterations pass: one addition for each, which a reduction makes cheap."""
    passing = n.VarPlace(gate.passing, i64)
    add = n.Eval(n.Atomic("add", passing, (n.Const(1, i64),), i64))
    body: list[n.Stmt] = [*found.declared, n.If(found.cond, [add], [])]
    name = f"{module.name}_gate{number or ''}"
    counting = n.Task(
        name, "range_for", body, n.For(loop.vars, loop.bounds, body, parallel=True), pre=list(pre), sizing=True
    )
    recognise_in(counting)
    return counting


def _gate_of(number: int, found: _Found) -> n.Gate:
    return n.Gate(
        n.Var(f"qd_passing{number or ''}", i64, True, shared=True),
        n.Var(f"qd_claimed{number or ''}", i32, True, shared=True),
        n.Var("qd_float_row", i32, True),
        n.Var("qd_float_rows", i32),
        found.text,
    )


def _claim(module: n.Module, gate: n.Gate, found: _Found) -> None:
    """Have a thread without a row take the next one where it first gets behind the gate."""
    row, rows = n.VarPlace(gate.row, i32), n.VarPlace(gate.rows, i32)
    module.sites.append((("adstack diverged",), [], module.name))
    claimed = n.Atomic("add", n.VarPlace(gate.claimed, i32), (n.Const(1, i32),), i32)
    take: list[n.Stmt] = [
        n.Store(row, claimed),
        n.Check(
            n.Binary("lt", n.Load(row, i32), n.Load(rows, i32), u1), len(module.sites) - 1,
            (n.Load(row, i32), n.Load(rows, i32)),
        ),
    ]  # fmt: skip
    found.block.insert(0, n.If(n.Binary("lt", n.Load(row, i32), n.Const(0, i32), u1), take, []))
