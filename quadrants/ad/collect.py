"""Additions of a loop to one cell of a gradient become one addition behind it.

    for k in 0..n:                        sum = 0
        w_grad[i] += g * x[k]     ->      for k in 0..n:
                                              sum += g * x[k]
                                          if sum != 0: w_grad[i] += sum

The test is there because the cell may not exist when the loop does not run. A gradient to which a loop does anything
but add is left alone, and so is one that may be the same memory as such a gradient.
"""

from __future__ import annotations

from quadrants.ad.build import add, compare, variable, zero
from quadrants.ir import walk
from quadrants.ir.nodes import Atomic, Cell, Declare, Eval, For, If, Load, Store, Var, VarPlace
from quadrants.ir.overlap import may_overlap
from quadrants.ir.walk import root


def collect(body: list, gradients: set) -> list:
    """The same statements; nested blocks too. Parallel loops are entered, but keep their additions. gradients: the ids
    of the gradients of array arguments.
    """
    out: list = []
    for s in body:
        before, after = _collected(s, gradients) if isinstance(s, For) and not s.parallel else ([], [])
        walk.update_blocks(s, collect, gradients)  # what stays inside may still leave an inner loop
        out += [*before, s, *after]
    return out


def may_be_gradient(node, gradients: set) -> bool:
    """Whether a node is a cell of a field or of such a gradient: no other array argument is a gradient."""
    return isinstance(node, Cell) and (node.array.kind != "array" or node.array.id in gradients)


def _collected(loop: For, gradients: set) -> tuple:
    """(declarations in front of the loop, additions behind it) for what could be taken out of its body."""
    inside = {v.id for v in loop.vars}
    mentions: dict = {}  # what may be a gradient -> how often the loop mentions it
    additions: dict = {}
    for node in walk.walk(loop.body):
        if isinstance(node, For):
            inside.update(v.id for v in node.vars)
        elif isinstance(node, Declare):
            inside.add(node.var.id)
        elif isinstance(node, Store) and isinstance(root(node.place), VarPlace):
            inside.add(root(node.place).var.id)
        elif may_be_gradient(node, gradients):
            mentions[node.array] = mentions.get(node.array, 0) + 1
        elif isinstance(node, Eval) and isinstance(node.value, Atomic) and node.value.op == "add":
            additions.setdefault(root(node.value.place).array, []).append(node)
    taken: dict = {}
    used = [array for array, count in mentions.items() if count > len(additions.get(array, ()))]
    for array, found in additions.items():
        if not any(may_overlap(array, other) for other in used):
            taken.update((id(s), s) for s in found if _is_fixed(s.value.place, inside))
    if not taken:
        return [], []
    sums: dict = {}
    loop.body = _replaced(loop.body, taken, sums)
    before, after = [], []
    for var, s in sums.values():
        before.append(Declare(var, zero(var.type), s.loc))
        addition = Eval(Atomic("add", s.value.place, (variable(var),), s.value.type), s.loc)
        after.append(If(compare("ne", variable(var), zero(var.type)), [addition], [], s.loc))
    return before, after


def _is_fixed(place, inside: set) -> bool:
    """Whether a place is the same in all iterations: of variables from outside, without memory."""
    nodes = list(walk.walk(place))
    cells = sum(isinstance(n, Cell) for n in nodes)
    return cells == 1 and not any(isinstance(n, VarPlace) and n.var.id in inside for n in nodes)


def _replaced(body: list, taken: dict, sums: dict) -> list:
    out = []
    for s in body:
        walk.update_blocks(s, _replaced, taken, sums)
        if id(s) in taken:
            key = _key(s.value.place)
            if key not in sums:
                array = root(s.value.place).array
                sums[key] = (Var(f"sum_{array.name}", s.value.type, True, level=1), s)
            var = sums[key][0]
            place = VarPlace(var, var.type)
            s = Store(place, add(Load(place, var.type), s.value.args[0]), s.loc)
        out.append(s)
    return out


def _key(place) -> tuple:
    """Equal for equal places; places that differ in form count as different."""
    return tuple(
        (type(n).__name__, getattr(n, "op", None), getattr(n, "value", None), _identity(n)) for n in walk.walk(place)
    )


def _identity(node):
    if isinstance(node, VarPlace):
        return node.var.id
    return node.array.id if isinstance(node, Cell) else None
