"""Nodes of a field tree, and how a tree is put together before it gets memory.

A tree describes storage from the outside in: `root -> dense -> .. -> place`. A `place` node is the slot of one scalar
component, described by a `Leaf`. `layout.py` turns a finished tree into byte offsets; `tree.py` gives it memory.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants._ext.core import Writes
from quadrants.data import context, packing, shapes
from quadrants.data.axes import Axis
from quadrants.data.placeable import flatten_fields
from quadrants.data.sites import Site
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from quadrants.ir.quant import Packing, QuantType
    from quadrants.ir.types import DType

_ids = itertools.count()


class Leaf:
    """One scalar component of a field: its type, its place in a tree and, once allocated, its cell.

    `order` lists the canonical axis of each storage axis (None: equal). `group` holds all components of the field.
    `owners` are weak references to the field objects that show this component; they die with the storage. `role` is
    "grad" or "dual" for a component of such a companion, "flags" for `check_flags`, else "primal"; `primal` is what it
    is the companion of, or None. `writes` counts the writes of integers, for all components of a field together. `site`
    is where a large field was declared. `quant` is the quantised type, whose computing type `dtype` is then, and
    `packing` which bits of a word it has. `field_class`: that of the scalar field of this component alone.
    """

    __slots__ = (
        "dtype", "name", "snode", "cell", "order", "offset", "group", "owners", "role", "primal", "writes", "site",
        "quant", "packing", "field_class", "__weakref__",
    )  # fmt: skip

    def __init__(self, dtype, name: str, order: tuple | None = None, quant: QuantType | None = None):
        self.dtype = dtype
        self.quant = quant
        self.packing: Packing | None = None
        self.field_class: Any = None
        self.name = name
        self.snode: Any = None
        self.cell: Any = None
        self.order = order
        self.offset: tuple | None = None
        self.group: tuple = ()
        self.owners: list = []
        self.role = "primal"
        self.primal: Leaf | None = None
        self.site: Site | None = None
        self.writes = Writes() if dtype.is_integral else None

    @property
    def bits(self) -> int:
        """Bits of a cell."""
        return self.quant.bits if self.quant is not None else 8 * self.dtype.size

    @property
    def shape(self) -> tuple:
        """Canonical shape."""
        physical = self.snode.shape
        if self.order is None:
            return physical
        return tuple(physical[self.order.index(axis)] for axis in range(len(physical)))


class TreeBuilding:
    """Verbs shared by nodes, builders and `qd.root`. `_node()` gives the node that new children go under."""

    __slots__ = ()

    def _node(self) -> SNode:
        raise NotImplementedError

    def dense(self, axes: Any, dimensions: Any) -> SNode:
        """A child in which every cell exists. `dimensions`: cells per axis; one int repeats for all axes."""
        return self._node()._add_child("dense", *_check_axes(axes, dimensions))

    def pointer(self, axes: Any, dimensions: Any) -> SNode:
        """A sparse child whose cells get memory when first written. `QuadrantsRuntimeError` where unsupported."""
        _check_supported("Pointer")
        return self._node()._add_child("pointer", *_check_axes(axes, dimensions))

    def bitmasked(self, axes: Any, dimensions: Any) -> SNode:
        """A sparse child with one activity bit a cell. `QuadrantsRuntimeError` where unsupported."""
        _check_supported("Bitmasked")
        return self._node()._add_child("bitmasked", *_check_axes(axes, dimensions))

    def dynamic(self, axis: Any, dimension: Any, chunk_size: Any = None) -> SNode:
        """A child with a list in each cell, along an axis that no node above has, of at most `dimension` entries.

        A list gets memory for `chunk_size` entries at a time, for all of them unless told otherwise.
        `QuadrantsRuntimeError` where unsupported.
        """
        _check_supported("Dynamic")
        return self._node()._add_list(*_check_axes(axis, dimension), chunk_size)

    def quant_array(self, axes: Any, dimensions: Any, max_num_bits: Any) -> SNode:
        """A child whose cells are bits of one word of `max_num_bits` (8, 16, 32 or 64), for one field of `quant.int` or
        `quant.fixed`. `QuadrantsRuntimeError` for another size, and when a field is placed that needs more bits.
        """
        word = packing.word_of(max_num_bits)
        child = self._node()._add_child("quant_array", *_check_axes(axes, dimensions))
        child.word = word
        return child

    def place(self, *things: Any, offset: Any = None) -> Any:
        """Put fields (also `.grad`, `.dual`, and lists of them) into the cell of this node, side by side.

        things: also `qd.BitpackedFields`. `offset`: first valid index, an int or one int per axis. Raises `ValueError`
        for what is no field, `RuntimeError` for a field that has a place already or for an offset of the wrong length.
        """
        self._node()._place(things, offset)
        return self

    def lazy_grad(self) -> None:
        """Give every real field under this node a gradient in the same cell, unless it has one."""
        self._node()._place_companions("grad")

    def lazy_dual(self) -> None:
        """As `lazy_grad` for forward-mode duals."""
        self._node()._place_companions("dual")


class SNode(TreeBuilding):
    """One node of a field tree. `axes` are axis numbers in storage order (increasing), `dims` the cells along them.

    block = qd.root.dense(qd.ij, (4, 4))  # a qd.SNode
    block.place(x)
    """

    __slots__ = (
        "kind", "axes", "dims", "up", "children", "tree", "leaf", "cell_bytes", "align", "offset", "word", "chunk_size",
        "_id",
        "__weakref__",
    )  # fmt: skip

    def __init__(self, kind: str, axes: tuple = (), dims: tuple = (), up: SNode | None = None, leaf=None):
        self.kind = kind
        self.axes = axes
        self.dims = dims
        self.up = up
        self.children: list[SNode] = []
        self.tree: Any = up.tree if up is not None else None
        self.leaf = leaf
        self.word: DType | None = None  # of nodes whose children are bits
        self.cell_bytes = self.align = self.offset = self.chunk_size = 0
        self._id = next(_ids)

    # -- building

    def _node(self) -> SNode:
        if self.tree.frozen:
            raise QuadrantsRuntimeError(
                "FieldsBuilder finalized: this tree has its memory and takes no more nodes. Begin another one, by "
                "qd.root or qd.FieldsBuilder()"
            )
        if self.kind == "place":
            raise QuadrantsRuntimeError("A place node has no children; place under its parent instead")
        return self

    def _add_child(self, kind: str, axes: tuple, dims: tuple) -> SNode:
        if self.word is not None:
            raise QuadrantsRuntimeError(f"{packing.NOT_IN_ARRAY}, not a {kind} node.")
        child = SNode(kind, axes, dims, self)
        self.children.append(child)
        return child

    def _add_list(self, axes: tuple, dims: tuple, chunk_size: Any) -> SNode:
        if len(axes) != 1:
            raise AssertionError(f"A dynamic node has one axis, not {len(axes)}.")
        if axes[0] in self.extents():
            raise QuadrantsRuntimeError(
                "Dynamic SNode must have a standalone dimensionality. Give it one axis that no node above it has."
            )
        chunk = dims[0] if chunk_size is None else operator.index(chunk_size)
        if chunk <= 0:
            raise QuadrantsRuntimeError(f"The chunk_size of a dynamic node is a number of entries, not {chunk}.")
        child = self._add_child("dynamic", axes, dims)
        child.chunk_size = min(chunk, dims[0])
        return child

    def _place(self, things, offset) -> None:
        words = [thing for thing in things if isinstance(thing, packing.BitpackedFields)]
        fields = list(flatten_fields(thing for thing in things if not isinstance(thing, packing.BitpackedFields)))
        leaves = [leaf for field in fields for leaf in field._leaves]
        if len(set(map(id, leaves))) != len(leaves) or any(leaf.snode is not None for leaf in leaves):
            raise QuadrantsRuntimeError(packing.PLACED)
        for field in (*fields, *(field for bits in words for field in bits.fields)):
            field._check_alive()
        offset = self._check_offset(offset)
        if self.word is not None:
            self._pack(leaves, words, offset)
            return
        for leaf in leaves:
            if leaf.quant is not None:
                raise QuadrantsRuntimeError(f"{leaf.name or 'x'}: {packing.NEEDS_WORD.format(quant=leaf.quant)}")
        for leaf in leaves:
            self.attach(leaf, offset)
        for bits in words:
            self._place_word(bits, offset)

    def _place_word(self, bits: packing.BitpackedFields, offset: tuple | None) -> None:
        leaves = bits.close()
        child = self._add_child("bit_struct", (), ())
        child.word = bits.word
        for leaf in leaves:
            child.attach(leaf, offset)

    def _pack(self, leaves: list[Leaf], words: list, offset: tuple | None) -> None:
        """Place the field of a `quant_array`."""
        if self.kind != "quant_array" or words or self.children or len(leaves) != 1:
            raise QuadrantsRuntimeError(f"{packing.NOT_IN_ARRAY}.")
        assert self.word is not None
        leaves[0].packing = packing.in_array(leaves[0], self.word, self.cells)
        self.attach(leaves[0], offset)

    def attach(self, leaf: Leaf, offset: tuple | None) -> None:
        """Make `leaf` a place child of this node. Nothing is checked here."""
        leaf.snode = SNode("place", up=self, leaf=leaf)
        leaf.offset = offset
        self.children.append(leaf.snode)
        self.tree.leaves.append(leaf)

    def _check_offset(self, offset):
        if offset is None:
            return None
        if isinstance(offset, (int, np.integer)):
            offset = (offset,)
        rank = len(self.shape)
        if len(offset) != rank:
            raise QuadrantsRuntimeError(f"offset needs one int per axis: {rank} expected, got {len(offset)}")
        return tuple(operator.index(o) for o in offset)

    def _place_companions(self, which: str) -> None:
        for child in list(self.children):
            if child.kind == "place":
                self._place_companion(child.leaf, which)
            else:
                child._place_companions(which)

    def _place_companion(self, leaf: Leaf, which: str) -> None:
        # A component seen through its vector field gets its companion from the vector field, all components at once;
        # a struct field has no place of its own, its members have.
        found = [ref() for ref in leaf.owners]
        owners = [owner for owner in found if owner is not None and owner._is_primal and owner._placeable() == [owner]]
        if not owners or leaf is not leaf.group[0]:
            return
        if leaf.quant is not None:
            raise QuadrantsRuntimeError(
                f"the {which} of a quantised field is quantised too, and needs a place among bits: declare the field "
                f"with needs_{which}=True and write bits.place(x, x.{which})"
            )
        companion = getattr(max(owners, key=lambda owner: len(owner._leaves)), which)
        if companion is not None and companion._leaves[0].snode is None:
            self._place((companion,), leaf.offset)

    # -- inspection

    def path(self) -> list:
        """The nodes from the root down to this one, both included."""
        out: list = []
        node: SNode | None = self
        while node is not None:
            out.append(node)
            node = node.up
        return out[::-1]

    def extents(self) -> dict:
        """Cells per axis number over the whole path, axes in increasing order."""
        out: dict = {}
        node: SNode | None = self
        while node is not None:
            for axis, extent in zip(node.axes, node.dims, strict=True):
                out[axis] = out.get(axis, 1) * extent
            node = node.up
        return dict(sorted(out.items()))

    @property
    def shape(self) -> tuple:
        """Cells per axis in storage order of axes, over the whole path."""
        return tuple(self.extents().values())

    def parent(self, n: int = 1):
        """The n-th ancestor; the root object on top, None above it."""
        node: SNode | None = self
        for _ in range(n):
            if node is None:
                return None
            node = node.up
        return node.tree.root_object() if node is not None and node.kind == "root" else node

    @property
    def cells(self) -> int:
        """Number of cells of this node alone."""
        return math.prod(self.dims)

    @property
    def _name(self) -> str:
        return self.leaf.name if self.leaf is not None else ""

    @property
    def _snode_tree_id(self) -> int:
        return self.tree.id

    def _measured(self) -> SNode:
        """This node, with the sizes that it has, or would have if the tree got its memory now."""
        if not self.tree.frozen:
            from quadrants.data import layout  # it is about trees, so it knows this module

            layout.assign_offsets(self.tree.root)
        return self

    @property
    def _cell_size_bytes(self) -> int:
        return 0 if self.kind == "place" or self.word is not None else self._measured().cell_bytes

    @property
    def _offset_bytes_in_parent_cell(self) -> int:
        return self._measured().offset

    @property
    def _num_dynamically_allocated(self) -> int:
        """Cells that have memory of their own: those of a pointer node, chunks of lists of a dynamic one."""
        sparse = self.tree.sparse
        return 0 if sparse is None else sparse.allocated(self)

    def _get_children(self) -> list:
        return list(self.children)

    def _path_from_root(self) -> list:
        return [self.tree.root_object(), *self.path()[1:]]

    def deactivate_all(self) -> None:
        """Make the cells of this node and of all nodes below inactive, where they are sparse."""
        if not self.tree.frozen:
            context.materialize()
        if self.tree.sparse is not None:
            self.tree.sparse.deactivate_below(self)

    def __str__(self) -> str:
        steps = [f"{node.kind} {list(node.shape)}" for node in self.path()[1:]]
        return " => ".join(["qd.root", *steps])

    def __repr__(self) -> str:
        return f"<qd.SNode of type {self.kind}>"


def _check_supported(kind: str) -> None:
    if not context.has_extension("sparse"):
        raise _unsupported(kind)


def _unsupported(kind: str) -> QuadrantsRuntimeError:
    return QuadrantsRuntimeError(f"{kind} SNode is not supported on this backend.")


def _check_axes(axes, dims) -> tuple:
    """`(axis numbers, extents)` in increasing order of axes. Storage is row-major over them."""
    if isinstance(axes, Axis):
        axes = [axes]
    if not isinstance(axes, (list, tuple)) or not all(isinstance(a, Axis) for a in axes):
        raise TypeError(f"axes are written qd.i, qd.ij or qd.axes(0, 2), not {axes!r}")
    if isinstance(dims, (int, np.integer)):
        dims = (dims,) * len(axes)
    elif not isinstance(dims, (tuple, list, np.ndarray)):
        raise TypeError(f"dims must be an int or one int per axis, not {dims!r}")
    elif len(dims) == 1:
        dims = tuple(dims) * len(axes)
    if len(axes) != len(dims):
        raise QuadrantsRuntimeError(f"axes and sizes must have the same size, but got {len(axes)} and {len(dims)}.")
    try:
        dims = tuple(operator.index(n) for n in dims)
    except TypeError:
        raise TypeError(f"dims must be ints, not {dims!r}") from None
    shapes.check_extents(dims)
    numbers = [axis.value for axis in axes]
    if len(set(numbers)) != len(numbers):
        raise QuadrantsRuntimeError("Each axis may be named once per node; split it further with a child node.")
    pairs = sorted(zip(numbers, dims, strict=True))
    return tuple(axis for axis, _ in pairs), tuple(extent for _, extent in pairs)
