"""Loops that are no tasks visit active cells in the order of memory: down the tree, table by table.

for cell in (slots of P):            row by row
    if its slot is not empty:
        for a, b in (levels in a container): ..
"""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.places import digit_levels
from quadrants.ir.sparse import SparseNode, axes_above, path
from quadrants.ir.types import i32, u1
from quadrants.passes.address_arithmetic import plus, times
from quadrants.passes.sparse.build import Body, compare, const, got, joined, load, shifted
from quadrants.passes.sparse.tree import Coords, Tree
from quadrants.passes.sparse.where import axes_of, cells_active


def in_order(tree: Tree, loop: n.For) -> list[n.Stmt]:
    """What stands for a sequential loop over a sparse field that has containers."""
    decl = loop.over
    assert decl is not None and decl.within is not None and decl.levels is not None
    body = Body(loop.loc, tree.unique)
    flag = body.declare("left", n.Const(False, u1), mutable=True) if loop.has_break else None
    nodes = [node for node in path(decl.within.node) if node.kind == "pointer"]
    _tables(tree, loop, nodes, [], None, body, flag)
    if flag is not None:
        body.statements.pop()  # no loop is around the first one
    return body.statements


def _tables(
    tree: Tree, loop: n.For, nodes: list[SparseNode], base: Coords, container: n.Expr | None, body: Body,
    flag: n.Var | None,
) -> None:  # fmt: skip
    """Loops over the tables of `nodes`, the first of which is in `container`, whose cell has the coordinates `base`."""
    if not nodes:
        _cells(tree, loop, base, container, body, flag)
        return
    node = nodes[0]
    digits = [extent for _, _, extent in node.digits]
    inner, variables = _nest(loop, body, [*digits, *(extent for _, extent in node.own)], tree, flag)
    values, own = variables[: len(digits)], variables[len(digits) :]
    sums: list[n.Expr | None] = [None] * len(node.axes)
    if node.holder is not None:
        for (k, divisor), coord in zip(axes_above(node, node.holder), base):
            sums[k] = times(coord, divisor)
    for value, (k, divisor, _) in zip(values, node.digits):
        sums[k] = shifted(sums[k], times(value, divisor))
    for value, (k, _) in zip(own, node.own):
        sums[k] = shifted(sums[k], value)
    number = joined([(value, extent) for value, (_, extent) in zip(own, node.own)])
    slot = inner.hold("slot", got(tree.header(node, container, values, number)))
    there = inner.when(compare("gt", slot, const(0)))
    coords = [there.hold("coord", value if value is not None else const(0)) for value in sums]
    _tables(tree, loop, nodes[1:], coords, slot, there, flag)
    if flag is not None:
        inner.statements.append(n.If(load(flag), [n.Break()], []))


def _cells(
    tree: Tree, loop: n.For, base: Coords, container: n.Expr | None, body: Body, flag: n.Var | None
) -> None:  # fmt: skip
    decl = loop.over
    assert decl is not None and decl.within is not None and decl.levels is not None
    within = decl.within
    assert within.holder is not None
    levels = digit_levels(decl)
    inner, values = _nest(loop, body, [extent for _, extent, _, _ in levels] or [1], tree, flag)
    sums: list[n.Expr | None] = [None] * decl.ndim
    for (axis, divisor), coord in zip(axes_of(within, within.holder), base):
        sums[axis] = times(coord, divisor)
    for value, (axis, _, divisor, _) in zip(values, levels):
        sums[axis] = shifted(sums[axis], times(value, divisor))
    first = decl.index_offset or (0,) * decl.ndim
    for var, total, offset in zip(loop.vars, sums, first):
        inner.statements.append(n.Declare(var, plus(total if total is not None else const(0), offset), loop.loc))
    coords = [plus(load(var), -offset) for var, offset in zip(loop.vars, first)]
    cond = cells_active(tree, within, coords, container)
    rest = loop.body if flag is None else _told(loop.body, flag)
    inner.statements += rest if cond is None else [n.If(cond, rest, [], loop.loc)]


def _nest(
    loop: n.For, body: Body, extents: list[int], tree: Tree, flag: n.Var | None
) -> tuple[Body, list[n.Expr]]:  # fmt: skip
    """Loops over some axes, one in another so that each can be left; the body of the last one, and the variables."""
    found: list[n.Expr] = []
    for extent in extents:
        var = n.Var(tree.unique("qd_digit"), i32, False, level=1)
        inner = Body(loop.loc, tree.unique)
        body.statements.append(
            n.For((var,), ((const(0), const(extent)),), inner.statements, has_break=flag is not None, loc=loop.loc,
                  backward=loop.backward)
        )  # fmt: skip
        if flag is not None:
            body.statements.append(n.If(load(flag), [n.Break()], []))
        found.append(load(var))
        body = inner
    return body, found


def _told(body: list[n.Stmt], flag: n.Var) -> list[n.Stmt]:
    """A body that sets the flag in front of every `break` of its own."""
    out: list[n.Stmt] = []
    for s in body:
        if isinstance(s, n.Break):
            out.append(n.Store(n.VarPlace(flag, u1), n.Const(True, u1)))
        elif isinstance(s, n.If):
            s.then, s.orelse = _told(s.then, flag), _told(s.orelse, flag)
        out.append(s)
    return out
