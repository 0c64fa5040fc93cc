"""What IR knows of a sparse tree: its sparse nodes, and the pools that their cells live in. Plain records, no IR.

    root container    | slots of A: 0 2 0 1 ..                |      a slot has the number of a container, 0 for none
    pool of A         | 0: zeros | 1: cell 3 | 2: cell 1 | .. |          what is below one cell of A, dense inside

Container 0 of a pool is always zero: a read of an inactive cell is a read of it. A slot is negative while one thread
makes its container. `Memory` says where something lies: levels, offset and tree as of a `CellLayout`, strides in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Members of a pool's counters.
LIVE, FREED, HOLES, MOVED, CAPACITY, HIGH = range(6)
COUNTERS = 8
ZEROS, LOST, FIRST = range(3)  # container of zeros, that of writes which found no room, the first that a cell gets


class Memory(NamedTuple):
    """An array of i32 in a container or in a list of a pool. It has the members of a `CellLayout` that a launch asks
    for, so that it can be the source of a declaration.
    """

    levels: tuple[tuple[int, int, int, int], ...]
    offset: int
    shape: tuple[int, ...]
    tree: Any  # has `buffer`
    writes: Any
    packing: None = None


@dataclass(slots=True, eq=False, repr=False)
class Pool:
    """The containers of a pointer node.

    stride: bytes of a container. capacity: of how many cells its memory has room for the containers; limit: of how many
    it may ever need them.
    words: its memory as i32, by container and word. lists: by name "counters", "order" (live containers first), "place"
    (of a container in the order), "coords" (of the cell of a container, by container and axis), "freed" (containers
    given back since the last task), "holes" and "moved" (used while freed ones are sorted out).
    """

    name: str
    rank: int
    stride: int
    capacity: int
    limit: int
    words: Memory
    lists: dict[str, Memory]


@dataclass(slots=True, eq=False, repr=False)
class SparseNode:
    """A sparse node of a tree. Its coordinates number its cells along `axes`, from zero; `shape` of them.

    kind: "pointer": `header` has a slot for each cell. "bitmasked": `header` has a bit for each cell, 32 in a word.
    "dynamic": `header` has the length of a list; its coordinates are those of a cell of the list.
    own: (position among axes, extent) of the axes that it divides, the last one fastest.
    digits: (position, divisor, extent) of the container's levels above the node, outermost first: the indices of the
    header but for the container, which comes first where there is one, and the entry, which comes last.
    above: the next sparse node towards the root; above_axes: (position, divisor) of each of its coordinates.
    holder: the pointer node in whose containers the header is; None for the root's.
    entries: slots, words, or 1. most: of a dynamic node, the capacity of a list. The chunks of its lists are cells of
    the pointer node above it, which is marked `chunks`, as others of a table in two steps are; its header is beside
    the first table. words: of a bitmasked node, its cells as words, by header index, cell and word.
    tables: pointer nodes whose slots are in the container, in a cell of a bitmasked node, or those of a list.
    """

    name: str
    kind: str
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    own: tuple[tuple[int, int], ...]
    digits: tuple[tuple[int, int, int], ...]
    above: SparseNode | None
    above_axes: tuple[tuple[int, int], ...]
    header: Memory
    entries: int
    holder: SparseNode | None = None
    pool: Pool | None = None
    most: int = 0
    chunks: bool = False
    words: Memory | None = None
    tables: list[SparseNode] = field(default_factory=list)

    @property
    def outside(self) -> SparseNode | None:
        """The sparse node around the header: of a dynamic node, above its chunks."""
        node = self.above
        while self.kind == "dynamic" and node is not None and node.chunks:
            node = node.above
        return node


@dataclass(slots=True, eq=False, repr=False)
class Within:
    """Where the cells of a field or node are: `node` is the last sparse node on the way, `axes` (index, divisor) of
    each of its coordinates in terms of zero-based indices; stride: elements from one container to the next, 0 in the
    root's.
    """

    node: SparseNode
    axes: tuple[tuple[int, int], ...]
    stride: int

    @property
    def holder(self) -> SparseNode | None:
        """The pointer node in whose containers the cells are; None for the root's."""
        return container_of(self.node)


def container_of(node: SparseNode | None) -> SparseNode | None:
    """The last pointer node at `node` or above it."""
    while node is not None and node.kind != "pointer":
        node = node.above
    return node


def axes_above(node: SparseNode, target: SparseNode | None) -> tuple[tuple[int, int], ...]:
    """(position, divisor) of each coordinate of `target`, which is `node` or above it, in those of `node`."""
    found = tuple((k, 1) for k in range(len(node.axes)))
    while node is not target:
        assert node.above is not None
        found = tuple((found[k][0], found[k][1] * d) for k, d in node.above_axes)
        node = node.above
    return found


def path(node: SparseNode | None) -> list[SparseNode]:
    """The sparse nodes from the root down to `node`."""
    out: list[SparseNode] = []
    while node is not None:
        out.append(node)
        node = node.above
    return out[::-1]
