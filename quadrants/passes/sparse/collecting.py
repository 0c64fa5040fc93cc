"""What a task has freed, sorted out behind it: cells below are freed too, containers are cleared and can be used again.

The order of a pool has its live containers first. Those that were freed leave holes there, which the last live ones
move to. All loops run over what was freed, however many cells there are.
"""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.sparse import FREED, HIGH, HOLES, LIVE, MOVED, SparseNode, path
from quadrants.passes.sparse.build import Body, at, binary, compare, const, got, load
from quadrants.passes.sparse.functions import free_slot
from quadrants.passes.sparse.tree import Tree


def collect(tree: Tree, freed: list[SparseNode], known: list[SparseNode], loc: n.Loc | None) -> list[n.Stmt]:
    """Statements for the top of a kernel, behind a task that frees cells of the pointer nodes `freed`. known: all
    nodes of the trees, outer ones before inner ones.
    """
    body = Body(loc, tree.unique)
    wanted = {id(node) for node in freed}
    for node in known:
        if node.kind == "pointer" and (id(node) in wanted or any(id(up) in wanted for up in path(node))):
            _collect(tree, node, body)
    return body.statements


def _collect(tree: Tree, node: SparseNode, body: Body) -> None:
    pool = node.pool
    assert pool is not None
    count = load(body.declare("freed", got(tree.counter(pool, FREED))))
    for table in node.tables:
        names = ["freed_k", *(f"digit{k}" for k in range(len(table.digits))), "entry"]
        ends: list[n.Expr] = [count, *(const(extent) for _, _, extent in table.digits), const(table.entries)]
        inner, found = body.repeat(names, ends, parallel=True)
        container = inner.hold("container", got(tree.entry(pool, "freed", found[0])))
        free_slot(tree, table, tree.header(table, container, found[1:-1], found[-1]), inner)
    words = tree.array(pool.words, f"{pool.name}_words")
    inner, (k, word) = body.repeat(["freed_k", "word"], [count, const(pool.words.shape[-1])], parallel=True)
    inner.store(at(words, got(tree.entry(pool, "freed", k)), word), const(0))
    live = load(body.declare("live", got(tree.counter(pool, LIVE))))
    left = load(body.declare("left", binary("sub", live, count)))
    body.store(tree.counter(pool, HIGH), binary("max", got(tree.counter(pool, HIGH)), live))
    body.store(tree.counter(pool, HOLES), const(0))
    body.store(tree.counter(pool, MOVED), const(0))
    inner, (k,) = body.repeat(["freed_k"], [count], parallel=True)
    container = inner.hold("container", got(tree.entry(pool, "freed", k)))
    place = inner.hold("place", got(tree.entry(pool, "place", container)))
    inner.store(tree.entry(pool, "place", container), const(-1))
    hole = inner.when(compare("lt", place, left))
    hole.store(tree.entry(pool, "holes", hole.atomic("add", tree.counter(pool, HOLES), const(1), name="hole")), place)
    inner, (p,) = body.repeat(["place"], [live], [left], parallel=True)
    container = inner.hold("container", got(tree.entry(pool, "order", p)))
    stays = inner.when(compare("ge", got(tree.entry(pool, "place", container)), const(0)))
    moved = stays.atomic("add", tree.counter(pool, MOVED), const(1), name="moved")
    stays.store(tree.entry(pool, "moved", moved), container)
    holes = load(body.declare("holes", got(tree.counter(pool, HOLES))))
    inner, (k,) = body.repeat(["hole"], [holes], parallel=True)
    container = inner.hold("container", got(tree.entry(pool, "moved", k)))
    place = inner.hold("place", got(tree.entry(pool, "holes", k)))
    inner.store(tree.entry(pool, "order", place), container)
    inner.store(tree.entry(pool, "place", container), place)
    inner, (k,) = body.repeat(["freed_k"], [count], parallel=True)
    inner.store(tree.entry(pool, "order", binary("add", left, k)), got(tree.entry(pool, "freed", k)))
    body.store(tree.counter(pool, LIVE), left)
    body.store(tree.counter(pool, FREED), const(0))
