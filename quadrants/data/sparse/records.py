"""From storage with sizes to the records that kernels and the host work with, and to memory."""

from __future__ import annotations

import math
import re

from quadrants._ext.core import Writes
from quadrants.data.alone import alone
from quadrants.data.layout import CellLayout
from quadrants.data.sparse import pools
from quadrants.data.sparse.active import deactivate_all
from quadrants.data.sparse.host import live
from quadrants.data.sparse.store import SLOT, Store, bits_of, measure, placed, stores_of
from quadrants.ir.sparse import Memory, SparseNode, Within


class SparseTree:
    """What a sparse tree has besides the memory of its root: its sparse nodes, outer before inner, and its storage.

    writes: of all that says which cells are active.
    """

    def __init__(self, tree):
        self.tree = tree
        self.writes = Writes()
        self.top = stores_of(tree.root)
        self.nbytes = measure(self.top)
        self.nodes: list[SparseNode] = []
        self._stores: dict = {}

    def describe(self) -> None:
        """Make the records, and the memory of pools. The tree has the memory of its root."""
        self._describe(self.top, None)

    def _describe(self, store: Store, record: SparseNode | None) -> None:
        """record: the last sparse node above the cells of `store`, or the one that they are cells of."""
        self._stores[id(store.own), store.kind != "dynamic"] = store
        for child in store.children:
            below = record
            if child.kind in ("pointer", "bitmasked"):
                below = self._sparse(child, record)
            if child.kind == "dense" and child.up.chunks:
                below = self._list(child, record)
            child.record = below
            self._describe(child, below)

    def _sparse(self, store: Store, above: SparseNode | None) -> SparseNode:
        frame = store.frame()
        position = {axis: k for k, axis in enumerate(frame)}
        own = dict(zip(store.axes, store.dims))
        entries = store.cells if store.kind == "pointer" else -(-store.cells // 32)
        holder, digits, header = self._header(store.up, store.offset, own, position, entries)
        node = SparseNode(
            name=_name(store), kind=store.kind, axes=tuple(frame), shape=tuple(frame.values()),
            own=tuple((position[axis], extent) for axis, extent in own.items()), digits=digits, above=above,
            above_axes=_above_axes(above, frame), header=header, entries=entries, holder=holder, chunks=store.chunks,
        )  # fmt: skip
        self.nodes.append(node)
        if store.kind == "pointer":
            self._add_table(store, node)
            node.pool = pools.make(node.name, len(frame), store.cell_bytes, math.prod(frame.values()), self.writes)
        else:
            levels = (*header.levels[:-1], *_flat(len(digits) + (holder is not None), store))
            shape = tuple(level[1] for level in levels)
            node.words = Memory(levels, header.offset + store.inside, shape, header.tree, self.writes)
        return node

    def _list(self, store: Store, above: SparseNode) -> SparseNode:
        """The record of a dynamic node, whose cells are those of its chunks."""
        head = store
        while head.kind != "dynamic":
            head = head.up
        frame = store.frame()
        position = {axis: k for k, axis in enumerate(frame)}
        (axis,) = store.axes
        holder, digits, header = self._header(head.up, head.offset, {axis: frame[axis]}, position, 1)
        node = SparseNode(
            name=_name(store), kind="dynamic", axes=tuple(frame), shape=tuple(frame.values()),
            own=((position[axis], frame[axis]),), digits=digits, above=above, above_axes=_above_axes(above, frame),
            header=header, entries=1, holder=holder, most=head.own.dims[0],
        )  # fmt: skip
        node.tables.append(head.children[0].record)
        self.nodes.append(node)
        head.record = node
        return node

    def _header(self, up: Store, offset: int, own: dict, position: dict, entries: int) -> tuple:
        """(holder, digits, memory) of what describes the cells of a sparse node in the cell of `up`."""
        boundary, at, levels, _ = placed(up)
        digits = tuple((position[axis], divisor * own.get(axis, 1), extent) for axis, extent, divisor, _ in levels)
        holder = boundary.record if boundary.kind == "pointer" else None
        parts = [level[3] for level in levels]
        extents = [level[1] for level in levels]
        tree = self.tree
        if holder is not None:
            tree = holder.pool.words.tree
            parts.insert(0, holder.pool.stride)
            extents.insert(0, holder.pool.words.shape[0])
        parts.append(SLOT)
        extents.append(entries)
        header = tuple((k, extent, 1, stride) for k, (extent, stride) in enumerate(zip(extents, parts)))
        return holder, digits, Memory(header, at + offset, tuple(extents), tree, self.writes)

    @staticmethod
    def _add_table(store: Store, node: SparseNode) -> None:
        """Tell what is cleared with the cells around it that it has slots in them."""
        at = store.up
        while at.kind != "root":
            if at.kind in ("pointer", "bitmasked"):
                at.record.tables.append(node)
            if at.kind == "pointer":
                return
            at = at.up

    # ------------------------------------------------------------ fields and nodes

    def cell_of(self, leaf) -> CellLayout:
        """The cell of a leaf."""
        store = self.store(leaf.snode)
        frame = store.frame()
        place = {axis: (leaf.order[k] if leaf.order else k) for k, axis in enumerate(frame)}
        boundary, offset, levels, _ = placed(store)
        pooled = boundary.kind == "pointer"
        packing, size = leaf.packing, leaf.dtype.size
        if packing is not None:
            bits = bits_of(store, leaf.bits)
            packing = packing._replace(levels=tuple((place[axis], *rest) for axis, *rest in bits))
            size = packing.word.size
        return CellLayout(
            tuple((place[axis], extent, divisor, stride) for axis, extent, divisor, stride in levels),
            offset, leaf.shape, leaf.dtype, leaf.offset or (0,) * len(frame),
            boundary.record.pool.words.tree if pooled else self.tree, leaf.writes,
            packing, self.within(store, place, size),
        )  # fmt: skip

    def within(self, store: Store, place: dict, size: int) -> Within | None:
        """Where the cells of `store` are. place: the index of each axis. None where no sparse node is above them."""
        node = store.record
        if node is None:
            return None
        frame = store.frame()
        axes = tuple((place[axis], frame[axis] // extent) for axis, extent in zip(node.axes, node.shape))
        boundary = placed(store)[0]
        return Within(node, axes, boundary.cell_bytes // size if boundary.kind == "pointer" else 0)

    def release(self) -> None:
        """Let go of the memory of pools."""
        for node in self.nodes:
            if node.pool is not None:
                for part in (node.pool.words, *node.pool.lists.values()):
                    part.tree.buffer = None

    # ------------------------------------------------------------ what the host asks of a node

    def allocated(self, snode) -> int:
        """Containers that the cells of a node have."""
        store = self._stores.get((id(snode), True))
        node = store.record if store is not None else None
        if node is not None and node.kind == "dynamic":
            node = node.above
        if node is None or node.pool is None or store.kind not in ("pointer", "dense") or snode.kind == "dense":
            return 0
        return live(node.pool)

    @alone
    def deactivate_below(self, snode) -> None:
        """Make inactive the cells of a node and of those below it."""
        self.writes.advance()
        for child in [snode] if snode.kind in ("pointer", "bitmasked", "dynamic") else ():
            deactivate_all(self.store(child).record, self.nodes)
            return
        for child in snode.children:
            if child.kind != "place":
                self.deactivate_below(child)

    def store(self, snode, head: bool = False) -> Store:
        """The storage whose cells are those of a node of the user's; `head`: the lengths of a dynamic one."""
        return self._stores[id(snode), not head]

    def cells_of(self, snode) -> tuple | None:
        """(levels in a container, `Within`) of the cells of a node; None where no sparse node is at or above it."""
        store = self.store(snode)
        position = {axis: k for k, axis in enumerate(store.frame())}
        within = self.within(store, position, 1)
        if within is None:
            return None
        levels = (*placed(store)[2], *bits_of(store, 0))
        return tuple((position[axis], *rest) for axis, *rest in levels), within


def _flat(axes: int, store: Store) -> tuple:
    """Levels of the cells of a bitmasked node by number, and of the words of one."""
    words = store.cell_bytes // SLOT
    return (axes, store.cells, 1, store.cell_bytes), (axes + 1, words, 1, SLOT)


def _above_axes(above: SparseNode | None, frame: dict) -> tuple:
    if above is None:
        return ()
    position = {axis: k for k, axis in enumerate(frame)}
    return tuple((position[axis], frame[axis] // extent) for axis, extent in zip(above.axes, above.shape))


def _name(store: Store) -> str:
    """What the emitted text calls a node: that of a field below it, where it has a name, and its kind."""
    at = store
    while at.kind != "place":
        at = at.children[0]
    kind = "chunks" if store.chunks else "lists" if store.up is not None and store.up.chunks else store.kind
    name = re.sub(r"\W+", "_", at.leaf.name).strip("_")
    return f"{name or 'field'}_{kind}"
