"""The storage of a sparse tree: what its nodes are made of, and how many bytes that takes.

    cell of the parent    | a a | slots of P .. | words of B, cells of B | length of D, slots of its chunks |
    container of P        | what is below one cell of P |

A dynamic node is a length beside the slots of a pointer node with a cell for each chunk, above a dense node of that
size. Where a list has many chunks the table has two steps, so that short lists do not pay for long ones.
"""

from __future__ import annotations

import math

from quadrants.data import layout

# Slots of one table of the chunks of a list.
TABLE = 1024
SLOT = 4


class Store:
    """A piece of storage. kind: "root", "dense", "pointer", "bitmasked", "dynamic", "word", whose cells are bits, or
    "place".

    offset: in the cell of `up`. inside: from the beginning of it to its first cell, where they are in place. record:
    the sparse node that it is. own: the node of the user's tree whose cells it has.
    """

    __slots__ = (
        "kind", "axes", "dims", "up", "children", "leaf", "own", "offset", "inside", "cell_bytes", "align", "record",
        "chunks",
    )  # fmt: skip

    def __init__(self, kind: str, axes=(), dims=(), up=None, leaf=None, own=None, chunks=False):
        self.kind, self.axes, self.dims, self.up, self.leaf, self.own = kind, tuple(axes), tuple(dims), up, leaf, own
        self.children: list[Store] = []
        self.offset = self.inside = self.cell_bytes = 0
        self.align = 1
        self.record = None
        self.chunks = chunks
        if up is not None:
            up.children.append(self)

    @property
    def cells(self) -> int:
        """Cells of this piece alone."""
        return math.prod(self.dims)

    def path(self) -> list[Store]:
        """The pieces from the root down to this one, both included."""
        out, at = [], self
        while at is not None:
            out.append(at)
            at = at.up
        return out[::-1]

    def frame(self) -> dict:
        """Cells per axis over the whole path, axes in increasing order."""
        out: dict = {}
        for piece in self.path():
            for axis, extent in zip(piece.axes, piece.dims, strict=True):
                out[axis] = out.get(axis, 1) * extent
        return dict(sorted(out.items()))


def stores_of(root) -> Store:
    """The storage of a finished tree, without sizes."""
    top = Store("root", own=root)
    for child in root.children:
        _add(child, top)
    return top


def _add(node, up: Store) -> None:
    if node.kind == "place":
        Store("place", up=up, leaf=node.leaf, own=node)
        return
    kind = "word" if node.word is not None else node.kind
    below = _lists(node, up) if node.kind == "dynamic" else Store(kind, node.axes, node.dims, up, own=node)
    for child in node.children:
        _add(child, below)


def _lists(node, up: Store) -> Store:
    (axis,), (most,), chunk = node.axes, node.dims, min(node.chunk_size, node.dims[0])
    chunks = -(-most // chunk)
    top = Store("dynamic", up=up, own=node)
    if chunks > TABLE:
        top_table = Store("pointer", (axis,), (-(-chunks // TABLE),), top, chunks=True)
        table = Store("pointer", (axis,), (TABLE,), top_table, chunks=True)
    else:
        table = Store("pointer", (axis,), (chunks,), top, chunks=True)
    return Store("dense", (axis,), (chunk,), table, own=node)


def measure(store: Store) -> int:
    """Set sizes and offsets from here down; gives the bytes that the piece takes in the cell of its parent."""
    if store.kind == "place":
        store.cell_bytes = store.align = store.leaf.dtype.size
        return store.cell_bytes
    if store.kind == "word":
        store.cell_bytes = store.align = store.own.word.size  # of all cells together
        return store.cell_bytes
    size, align = 0, 1
    if store.kind == "dynamic":
        size, align = SLOT, SLOT
    for child in store.children:
        nbytes = measure(child)
        starts = child.kind != "place" or child.leaf is child.leaf.group[0]
        step = layout.ROOT_ALIGN if store.kind == "root" and starts else child.align
        child.offset = _round_up(size, step)
        size = child.offset + nbytes
        align = max(align, child.align)
    if store.kind in ("pointer", "bitmasked"):
        align = max(align, SLOT)  # cells are cleared word by word
    store.align = align
    store.cell_bytes = _round_up(size, align)
    if store.kind == "pointer":
        store.align = SLOT
        return store.cells * SLOT
    if store.kind == "bitmasked":
        store.inside = _round_up(-(-store.cells // 32) * SLOT, align)
        return store.inside + store.cells * store.cell_bytes
    return store.cell_bytes * store.cells


def _round_up(size: int, step: int) -> int:
    return -(-size // step) * step


def placed(store: Store) -> tuple:
    """(piece whose cell is a container, offset in it, levels, below) of the cell of `store`.

    levels: (axis, extent, divisor, stride in bytes) from the outside in. below: per axis, how many indices of the cell
    of `store` have one container. The piece is a pointer node, or the root.
    """
    levels: list = []
    offset = 0
    below: dict = {}
    at = store
    while at.kind not in ("pointer", "root"):
        offset += at.offset + at.inside
        inner = _digits(at, below, at.cell_bytes)
        levels.extend(inner if at.kind != "word" else [])
        at = at.up
    return at, offset, levels[::-1], below


def bits_of(store: Store, bits: int) -> list:
    """Levels, from the outside in, of the cells in the word that `store` is, or is placed in; their strides in bits."""
    at = store if store.kind != "place" else store.up
    return _digits(at, {}, bits)[::-1] if at.kind == "word" else []


def _digits(at: Store, below: dict, stride: int) -> list:
    """Levels of the axes of one piece, from the inside out; `below` counts its cells, too, from here on."""
    levels = []
    for axis, extent in zip(reversed(at.axes), reversed(at.dims), strict=True):
        levels.append((axis, extent, below.get(axis, 1), stride))
        below[axis] = below.get(axis, 1) * extent
        stride *= extent
    return levels
