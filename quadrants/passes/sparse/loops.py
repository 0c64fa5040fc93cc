"""Loops over fields below sparse nodes become loops over containers; what tasks free is collected behind them.

    for i, j in x: ..             for k, a, b in (live containers of P, levels in a container):
                                      container = order[k]
                                      i, j = coords[container, 0] * 8 + a, coords[container, 1] * 8 + b
                                      if the bit of the cell is set: ..         (where there are such nodes below P)

The live containers of a pool are the first of its order, so that no list has to be made for a launch.
"""

from __future__ import annotations

from typing import Any

from quadrants.ir import nodes as n
from quadrants.ir import walk
from quadrants.ir.places import digit_levels
from quadrants.ir.sparse import LIVE, SparseNode, path
from quadrants.ir.types import i32
from quadrants.passes.address_arithmetic import plus, times
from quadrants.passes.sparse.build import Body, const, got, load, shifted
from quadrants.passes.sparse.collecting import collect
from quadrants.passes.sparse.functions import activate, deactivate_function
from quadrants.passes.sparse.in_order import in_order
from quadrants.passes.sparse.tree import Tree, above
from quadrants.passes.sparse.where import axes_of, cells_active


def sparse_loops(module: n.Module) -> n.Module:
    """Replace loops over sparse fields, and the operations `sparse.*`."""
    if module.on_nodes or any(decl.within is not None for decl in module.arrays):
        module.sparse = tree = Tree(module)
        module.body = _block(tree, module.body, top=True)
        for function in list(module.functions):
            function.body = _block(tree, function.body, top=False)
    return module


def _block(tree: Tree, block: list[n.Stmt], top: bool) -> list[n.Stmt]:
    out: list[n.Stmt] = []
    for s in block:
        _operations(tree, s)
        in_region = top and isinstance(s, n.Region)
        walk.update_blocks(s, _inner, tree, in_region)
        out += _loop(tree, s) if isinstance(s, n.For) and s.over is not None else [s]
        if top and not isinstance(s, n.Region):
            freed = _freed_by_calls(tree, s)
            if freed:
                out += collect(tree, freed, _known(freed), s.loc)
    return out


def _inner(block: list[n.Stmt], tree: Tree, top: bool) -> list[n.Stmt]:
    return _block(tree, block, top)


# ---------------------------------------------------------------- operations


def _operations(tree: Tree, s: n.Stmt) -> None:
    """Replace the operations in a statement itself; its blocks come later."""

    def rewrite(x: Any) -> Any:
        if type(x) is list:
            return x
        x = walk.rebuilt(x, rewrite)
        return operation(tree, x) if isinstance(x, n.Intrinsic) and x.op.startswith("sparse.") else x

    walk.update(s, rewrite)


def operation(tree: Tree, x: n.Intrinsic) -> n.Expr:
    """What an operation on a node is in IR. Its arguments are the coordinates of a cell."""
    (node,) = x.params
    coords: Any = x.args
    verb = x.op.split(".")[1]
    if verb == "activate":
        return activate(tree, node, coords)
    if verb == "around":  # what the header of a list is in
        around = node.outside
        return activate(tree, around, above(node, coords, around)) if around is not None else const(0)
    if verb == "deactivate":
        return n.Call(tree.function("deactivate", node, deactivate_function), coords, None)  # type: ignore[arg-type]
    if verb == "is_active":
        return n.Cast(tree.is_active(node, coords), i32)
    length = tree.header_of(node, coords)
    if verb == "append":
        return n.Atomic("add", length, (const(1),), i32)
    assert verb == "length"
    return n.Binary("min", got(length), const(node.most), i32)


def _freed_by_calls(tree: Tree, s: n.Stmt) -> list[SparseNode]:
    """The pointer nodes whose containers a statement may free."""
    verbs = {id(tree.function_of("deactivate", node)): node for node in tree.made("deactivate")}
    found: dict[int, SparseNode] = {}
    for call in walk.with_functions(s, (n.Call,)):
        sparse = verbs.get(id(call.func))
        if sparse is not None:
            for one in (sparse, *sparse.tables) if sparse.kind == "pointer" else sparse.tables:
                found[id(one)] = one
    return list(found.values())


def _known(freed: list[SparseNode]) -> list[SparseNode]:
    """The pointer nodes at and below those that are freed, outer ones first."""
    out: dict[int, SparseNode] = {}
    todo = sorted(freed, key=lambda node: len(path(node)))
    while todo:
        node = todo.pop(0)
        if id(node) not in out:
            out[id(node)] = node
            todo = sorted([*todo, *node.tables], key=lambda x: len(path(x)))
    return list(out.values())


# ---------------------------------------------------------------- loops


def _loop(tree: Tree, loop: n.For) -> list[n.Stmt]:
    """What stands for a loop over a sparse field."""
    assert loop.over is not None and loop.over.within is not None
    if not loop.parallel and loop.over.within.holder is not None:
        return in_order(tree, loop)
    return [*_over(tree, loop), loop]


def _over(tree: Tree, loop: n.For) -> list[n.Stmt]:
    """Make a loop over a sparse field one over containers; the statements in front of it."""
    decl = loop.over
    assert decl is not None and decl.levels is not None and decl.within is not None
    within = decl.within
    holder = within.holder
    front, body = Body(loop.loc, tree.unique), Body(loop.loc, tree.unique)
    names: list[str] = []
    bounds: list[tuple[n.Expr, n.Expr]] = []
    pool = holder.pool if holder is not None else None
    if pool is not None:
        live = front.declare("live", got(tree.counter(pool, LIVE)))
        names.append("k")
        bounds.append((const(0), load(live)))
    levels = digit_levels(decl)
    names += [f"digit{k}" for k in range(len(levels))]
    bounds += [(const(0), const(extent)) for _, extent, _, _ in levels]
    digits = tuple(n.Var(tree.unique(f"qd_{name}"), i32, False, level=1) for name in names)
    container = None
    sums: list[n.Expr | None] = [None] * decl.ndim
    if holder is not None and pool is not None:
        container = load(body.declare("container", got(tree.entry(pool, "order", load(digits[0])))))
        for k, (axis, divisor) in enumerate(axes_of(within, holder)):
            sums[axis] = times(got(tree.entry(pool, "coords", container, const(k))), divisor)
    for var, (axis, _, divisor, _) in zip(digits[len(digits) - len(levels) :], levels):
        sums[axis] = shifted(sums[axis], times(load(var), divisor))
    first = decl.index_offset or (0,) * decl.ndim
    variables = loop.vars
    for var, value, offset in zip(variables, sums, first):
        body.statements.append(n.Declare(var, plus(value if value is not None else const(0), offset), loop.loc))
    coords = [plus(load(var), -offset) for var, offset in zip(variables, first)]
    cond = cells_active(tree, within, coords, container)
    loop.vars, loop.bounds, loop.index = digits, tuple(bounds), tuple(variables)
    loop.body[:], rest = body.statements, [*loop.body]
    if cond is not None:
        loop.body.append(n.If(cond, rest, [], loop.loc))
    else:
        loop.body += rest
    return front.statements
