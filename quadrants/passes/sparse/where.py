"""Where the cells of a field are among the nodes above them."""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.sparse import SparseNode, Within, axes_above, path
from quadrants.passes.sparse.build import both, part
from quadrants.passes.sparse.tree import Coords, Tree, above


def axes_of(within: Within, holder: SparseNode) -> list[tuple[int, int]]:
    """(index, divisor) of each coordinate of the node whose containers the cells are in."""
    return [(within.axes[k][0], within.axes[k][1] * d) for k, d in axes_above(within.node, holder)]


def cells_active(tree: Tree, within: Within, indices: Coords, container: n.Expr | None) -> n.Expr | None:
    """Whether all that lies between a live container and a cell in it is active; None if nothing does."""
    coords = [part(indices, axis, divisor, 0) for axis, divisor in within.axes]
    cond = None
    for node in path(within.node):
        if node.kind == "pointer":
            cond = None
            continue
        there = container if node.holder is within.holder else None
        cond = both(cond, tree.is_active(node, above(within.node, coords, node), there))
    return cond
