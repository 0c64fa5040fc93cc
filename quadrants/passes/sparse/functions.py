"""Functions of IR that find, activate and deactivate one cell.

Of the threads that want a cell at once, the one that puts -1 in its slot makes the container; the others wait for it.
It does so within one round of the loop, so that no thread of a warp waits for another one of it that cannot go on.
"""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.sparse import CAPACITY, FIRST, FREED, LIVE, LOST, SparseNode, axes_above, container_of
from quadrants.ir.types import i32, u1
from quadrants.passes.address_arithmetic import plus
from quadrants.passes.sparse.build import Body, at, binary, compare, const, got, load, part
from quadrants.passes.sparse.tree import Coords, Tree, above, loads, variables, within_shape

MAKING = -1


def activate_function(tree: Tree, node: SparseNode) -> n.Function:
    params = variables(len(node.axes))
    coords = loads(params)
    body = Body()
    outside = body.when(n.Unary("logic_not", within_shape(node, coords), u1))
    outside.back(const(LOST if container_of(node) is not None else 0))
    if node.kind == "dynamic":
        _extend(tree, node, coords, body)
    else:
        container = _around(tree, node, coords, body)
        (_make if node.kind == "pointer" else _set_bit)(tree, node, coords, container, body)
    doc = "Makes a cell active, with all around it, and gives the container that it is in."
    return n.Function("", params, body.statements, (i32,), pure=False, doc=doc, settles=True)


def activate(tree: Tree, node: SparseNode, coords: Coords) -> n.Call:
    return n.Call(tree.function("activate", node, activate_function), tuple(coords), i32)


def _around(tree: Tree, node: SparseNode, coords: Coords, body: Body) -> n.Expr | None:
    """Activate what is around a cell; the container that its header is in."""
    if node.above is None:
        return None
    made = body.hold("around", activate(tree, node.above, above(node, coords, node.above)))
    return made if node.holder is not None else None


def _make(tree: Tree, node: SparseNode, coords: Coords, container: n.Expr | None, body: Body) -> None:
    pool = node.pool
    assert pool is not None
    number = body.hold("number", tree.number(node, coords))
    digits = [part(coords, k, divisor, extent) for k, divisor, extent in node.digits]
    cell = tree.header(node, container, digits, number)
    slot = body.declare("slot", got(cell), mutable=True)
    waiting = Body()
    body.statements.append(n.While([], compare("le", load(slot), const(0)), waiting.statements))
    waiting.set(slot, waiting.atomic("cas", cell, const(0), const(MAKING), name="old"))
    mine = waiting.when(compare("eq", load(slot), const(0)))
    live = mine.atomic("add", tree.counter(pool, LIVE), const(1), name="live")
    room = mine.hold("room", got(tree.counter(pool, CAPACITY)))
    full = mine.when(compare("ge", live, room))
    full.atomic("sub", tree.counter(pool, LIVE), const(1))
    full.atomic("exchange", cell, const(0))
    full.statements.append(n.Check(n.Const(False, u1), tree.memory_site(pool), (room,)))
    full.back(const(LOST))
    found = mine.declare("container", got(tree.entry(pool, "order", live)), mutable=True)
    fresh = mine.when(compare("eq", load(found), const(0)))
    fresh.set(found, plus(live, FIRST))
    mine.store(tree.entry(pool, "order", live), load(found))
    mine.store(tree.entry(pool, "place", load(found)), live)
    for k, c in enumerate(coords):
        mine.store(tree.entry(pool, "coords", load(found), const(k)), c)
    mine.atomic("exchange", cell, load(found))
    mine.set(slot, load(found))
    body.back(load(slot))


def _set_bit(tree: Tree, node: SparseNode, coords: Coords, container: n.Expr | None, body: Body) -> None:
    cell = tree.header_of(node, coords, container)
    bit = body.hold("bit", tree.bit(node, coords))
    missing = body.when(compare("eq", binary("bit_and", got(cell), bit), const(0)))
    missing.atomic("or", cell, bit)
    body.back(_in(node, container, body))


def _in(node: SparseNode, container: n.Expr | None, body: Body) -> n.Expr:
    return container if container is not None else const(0)


def _extend(tree: Tree, node: SparseNode, coords: Coords, body: Body) -> None:
    """Make a list long enough, with all the chunks that it then has."""
    assert node.above is not None
    position = node.own[0][0]
    chunk = next(divisor for k, divisor in node.above_axes if k == position)
    made = body.hold("chunk", activate(tree, node.above, above(node, coords, node.above)))
    cell = tree.header_of(node, coords)
    length = body.hold("length", got(cell))
    longer = body.when(compare("ge", coords[position], length))
    ends = [part((coords[position],), 0, chunk, 0)]
    inner, (k,) = longer.repeat(["chunk_before"], ends, [part((length,), 0, chunk, 0)])
    before = above(node, coords, node.above)
    where = [index for index, (axis, _) in enumerate(node.above_axes) if axis == position]
    before[where[0]] = k
    inner.statements.append(n.Eval(activate(tree, node.above, before)))
    longer.atomic("max", cell, plus(coords[position], 1))
    body.back(made)


# ---------------------------------------------------------------- deactivation


def deactivate_function(tree: Tree, node: SparseNode) -> n.Function:
    """Of a dynamic node: of the whole list; the coordinate along it means nothing."""
    params = variables(len(node.axes))
    coords = loads(params)
    body = Body()
    {"pointer": _free_cell, "bitmasked": _clear_cell, "dynamic": _clear_list}[node.kind](tree, node, coords, body)
    doc = "Makes a cell inactive, with all below it."
    return n.Function("", params, body.statements, (), pure=False, doc=doc)


def free_slot(tree: Tree, node: SparseNode, cell: n.Cell, body: Body) -> None:
    """Empty a slot; its container joins those that were freed."""
    pool = node.pool
    assert pool is not None
    there = body.when(compare("gt", got(cell), const(0)))
    old = there.atomic("exchange", cell, const(0), name="old")
    mine = there.when(compare("gt", old, const(0)))
    count = mine.atomic("add", tree.counter(pool, FREED), const(1), name="freed")
    mine.store(tree.entry(pool, "freed", count), old)


def _free_cell(tree: Tree, node: SparseNode, coords: Coords, body: Body) -> None:
    free_slot(tree, node, _held(tree, node, coords, body), body)


def _held(tree: Tree, node: SparseNode, coords: Coords, body: Body) -> n.Cell:
    """The header of a cell, with what it takes to find it in variables."""
    container = None
    if node.holder is not None:
        container = body.hold("around", tree.find(node.holder, above(node, coords, node.holder)))
    digits = [part(coords, k, divisor, extent) for k, divisor, extent in node.digits]
    return tree.header(node, container, digits, body.hold("number", tree.number(node, coords)))


def _clear_cell(tree: Tree, node: SparseNode, coords: Coords, body: Body) -> None:
    """Of a bitmasked node. The bit goes first and is looked at last: other types than that of the words do not pass
    such operations, so that what was stored before stays in front, and what comes later behind."""
    cell = _held(tree, node, coords, body)
    bit = body.hold("bit", tree.bit(node, coords))
    old = body.atomic("and", cell, n.Unary("bit_not", bit, i32), name="old")
    there = body.when(compare("ne", binary("bit_and", old, bit), const(0)))
    for table in node.tables:
        _free_table(tree, table, node, coords, cell, there)
    assert node.words is not None
    words = tree.array(node.words, f"{node.name}_words")
    inner, (word,) = there.repeat(["word"], [const(node.words.shape[-1])])
    inner.store(at(words, *cell.indices[:-1], tree.lin(node, coords), word), const(0))
    there.atomic("or", cell, const(0))


def _free_table(tree: Tree, table: SparseNode, node: SparseNode, coords: Coords, cell: n.Cell, body: Body) -> None:
    """Empty the slots of a pointer node in one cell of a bitmasked node around it."""
    axes = axes_above(table, node)
    ratio = {k: divisor for k, divisor in axes}
    outer = {k: coords[c] for c, (k, _) in enumerate(axes)}
    fixed, looped = {}, []
    for number, (k, divisor, extent) in enumerate(table.digits):
        # A level is inside of the cell, or around it.
        if k in ratio and divisor >= ratio[k]:
            fixed[number] = part((outer[k],), 0, divisor // ratio[k], extent)
        else:
            looped.append((number, extent))
    names = [f"digit{number}" for number, _ in looped] + ["entry"]
    ends = [const(extent) for _, extent in looped] + [const(table.entries)]
    inner, found = body.repeat(names, ends)
    digits = dict(zip((number for number, _ in looped), found)) | fixed
    container = cell.indices[0] if node.holder is not None else None
    slot = tree.header(table, container, [digits[k] for k in range(len(table.digits))], found[-1])
    free_slot(tree, table, slot, inner)


def _clear_list(tree: Tree, node: SparseNode, coords: Coords, body: Body) -> None:
    cell = _held(tree, node, coords, body)
    position = node.own[0][0]
    there = body.when(compare("gt", got(cell), const(0)))
    old = there.atomic("exchange", cell, const(0), name="length")
    old = binary("min", old, const(node.most))  # appends to a full list have counted, too
    (table,) = node.tables
    each = node.shape[position] // table.shape[[axis for axis in table.axes].index(node.axes[position])]
    ends = [part((plus(old, each - 1),), 0, each, 0)]
    inner, (entry,) = there.repeat(["entry"], ends)
    container = cell.indices[0] if node.holder is not None else None
    slot = tree.header(table, container, cell.indices[len(cell.indices) - 1 - len(node.digits) : -1], entry)
    free_slot(tree, table, slot, inner)
