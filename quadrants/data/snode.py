"""Trees with and without memory: the tree under construction, builders, materialization, destruction."""

from __future__ import annotations

import itertools
import math
import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any

from quadrants import caller
from quadrants._ext.core import members
from quadrants.data import context, exhaustion, layout, memory
from quadrants.data.node import Leaf, SNode, TreeBuilding
from quadrants.data.sites import caller_site
from quadrants.errors import QuadrantsRuntimeError

# Re-entrant: a client's materialize hook fills fields, which asks for materialization again.
_lock = threading.RLock()


class SNodeTree:
    """A field tree. `buffer` is its memory, None before allocation and after destruction."""

    def __init__(self):
        self.frozen = False
        self.destroyed = False
        self.buffer = None
        self.sparse: Any = None  # a `SparseTree`, once it has memory and sparse nodes
        self.leaves: list = []
        self.root = SNode("root")
        self.root.tree = self
        self._id = None

    @property
    def id(self) -> int:
        """Number of the tree, in order of allocation; `QuadrantsRuntimeError` once destroyed."""
        if self.destroyed:
            raise QuadrantsRuntimeError("SNode tree has been destroyed")
        return self._id

    def root_object(self):
        """What `parent()` of a top-level node gives."""
        return root

    def destroy(self) -> None:
        """Free the memory and drop what is compiled, which may hold its address.

        Its fields are dead from then on; a second call raises `QuadrantsRuntimeError`.
        """
        if self.destroyed:
            raise QuadrantsRuntimeError("SNode tree has been destroyed")
        with _lock:
            self.kill()
            if self in _state.trees:
                _state.trees.remove(self)
        from quadrants._ext.core import clear_all

        clear_all()

    def kill(self, why: str = "") -> None:
        """Mark every field of the tree dead and drop the memory. Views that users still hold keep it alive.

        `why`: what kept the tree from getting memory, if it never had any.
        """
        self.frozen = self.destroyed = True
        for leaf in self.leaves:
            for ref in leaf.owners:
                owner = ref()
                if owner is not None:
                    owner._kill(why)
        if self.sparse is not None:
            self.sparse.release()
        self.buffer = self.sparse = None

    def check(self) -> None:
        """`RuntimeError` for a childless node or for components of one field that differ in shape."""
        _check(self)

    def allocate(self) -> None:
        """Lay the tree out and give it zeroed memory. An invalid tree raises and stays open for repair; running out
        of memory kills the tree, so that what follows is not blocked by it."""
        self.check()
        self.frozen = True
        try:
            self._get_memory()
        except QuadrantsRuntimeError as error:
            told = exhaustion.of_tree(self.leaves, error)
            self.kill(told)
            raise QuadrantsRuntimeError(told) from None
        except BaseException:
            self.kill()
            raise
        self._id = next(_state.ids)
        place = layout.cell_of if self.sparse is None else self.sparse.cell_of
        for leaf in self.leaves:
            leaf.cell = place(leaf)
        _state.trees.append(self)

    def _get_memory(self) -> None:
        nbytes = layout.assign_offsets(self.root)
        if not _is_sparse(self.root):
            self.buffer = memory.allocate(nbytes)
            return
        from quadrants.data.sparse import report  # few programs have sparse trees
        from quadrants.data.sparse.records import SparseTree

        report.register(trees)
        sparse = SparseTree(self)
        self.buffer = memory.allocate(sparse.nbytes)
        sparse.describe()
        self.sparse = sparse

    def deactivate_all(self) -> None:
        """Make every cell of every sparse node inactive."""
        if self.sparse is not None:
            self.sparse.deactivate_below(self.root)


class _State:
    """What a runtime knows of field trees."""

    def __init__(self):
        self.ids = itertools.count()
        self.trees: list = []
        self.building: SNodeTree | None = None
        self.builders: list = []
        self.unplaced = weakref.WeakSet()


_state = _State()


def current() -> SNodeTree:
    """The tree that collects fields declared under `qd.root` until the next materialization."""
    if _state.building is None:
        _state.building = SNodeTree()
    return _state.building


def trees() -> list:
    """Allocated trees that are alive."""
    return list(_state.trees)


def declare(field) -> None:
    """Remember a field that was made without a shape; materialization fails while it has no place."""
    _state.unplaced.add(field)


def pending() -> bool:
    """True if a materialization would allocate something."""
    return _state.building is not None and bool(_state.building.root.children)


def alone() -> AbstractContextManager:
    """Keeps other threads from the tree under construction meanwhile."""
    return _lock


def materialize() -> None:
    """Allocate the tree under construction and open a fresh one. Cheap when nothing is pending.

    Raises `QuadrantsRuntimeError` (`is not finalized`) while a `FieldsBuilder` is open, `RuntimeError`
    (`These field(s) are not placed`) for fields without a place, `RuntimeError` for an invalid tree.
    """
    with _lock:
        _check_builders()
        _check_unplaced()
        tree = _state.building
        if tree is None or not tree.root.children:
            return
        tree.check()
        _state.building = None
        tree.allocate()


def clear() -> None:
    """Forget everything; called when the runtime goes. Field objects stay, dead."""
    global _state
    with _lock:
        old, _state = _state, _State()
        dying = [*old.trees, *(builder._tree for builder in _open_builders(old))]
        if old.building is not None:
            dying.append(old.building)
        for tree in dying:
            tree.kill()
        for field in members(old.unplaced):
            field._kill()


def _open_builders(state) -> list:
    return [builder for ref in state.builders if (builder := ref()) is not None and not builder.finalized]


def _check_builders() -> None:
    if not _state.builders:
        return
    for builder in _open_builders(_state):
        raise QuadrantsRuntimeError(
            f"Field builder {builder} is not finalized. Please call finalize() on it. Traceback:\n{builder._site}"
        )


def _check_unplaced() -> None:
    if not _state.unplaced:
        return
    for field in members(_state.unplaced):
        if field._is_placed():
            _state.unplaced.discard(field)
    if not _state.unplaced:
        return
    parts = [_told(role, [f for f in members(_state.unplaced) if f._role == role]) for role in ("", "grad", "dual")]
    raise QuadrantsRuntimeError("\n".join(filter(None, parts)))


def _told(role: str, fields: list) -> str:
    """What a message says of fields without a place: those of a role, such as "grad"."""
    if not fields:
        return ""
    rule = "=" * 44
    sites = "\n".join(f"{rule}\n{field._site}" for field in fields)
    if not role:
        cure = "Give it a shape, as in qd.field(dtype, shape=n), or place it: qd.root.dense(qd.i, n).place(x)."
        return f"These field(s) are not placed:\n{sites}\n{rule}\n{cure}"
    return (
        f"These field(s) require needs_{role}=True, however their {role} field(s) are not placed:\n{sites}\n{rule}\n"
        f"Place both, as in qd.root.dense(qd.i, n).place(x, x.{role}), or call qd.root.lazy_{role}() behind place(x)."
    )


def _check(tree: SNodeTree) -> None:
    _check_children(tree.root)
    for leaf in tree.leaves:
        first = leaf.group[0]
        if first is leaf or first.snode is None or first.snode.up is leaf.snode.up:
            continue
        if first.shape != leaf.shape:
            raise QuadrantsRuntimeError(
                f"The components of one matrix field have different shapes: {first.shape} and {leaf.shape}"
            )


def _is_sparse(node: SNode) -> bool:
    return node.kind in ("pointer", "bitmasked", "dynamic") or any(map(_is_sparse, node.children))


def _check_children(node: SNode) -> None:
    if node.kind == "place":
        return
    if not node.children:
        raise QuadrantsRuntimeError(f"{node.kind} node must have at least one child: place a field under {node}")
    cells = math.prod(node.shape)
    if cells > 2**31 - 1:
        caller.warn(f"{node} has {cells} cells, more than 32-bit indices can count")
    for child in node.children:
        _check_children(child)


class _Root(TreeBuilding):
    """`qd.root`: stands for whatever tree is under construction."""

    __slots__ = ()
    shape = ()

    def _node(self) -> SNode:
        _require_init()
        return current().root

    def parent(self, n: int = 1):
        """Nothing is above the root: None."""
        return None

    def deactivate_all(self) -> None:
        """Make the cells of all sparse nodes inactive, in all trees that have memory."""
        _require_init()
        context.materialize()
        for tree in trees():
            tree.deactivate_all()

    def _get_children(self) -> list:
        return self._node()._get_children()

    def __repr__(self) -> str:
        return "qd.root"


def _require_init() -> None:
    try:
        context.require()
    except QuadrantsRuntimeError:
        raise QuadrantsRuntimeError("Please call init() first: qd.root belongs to a runtime") from None


root = _Root()


def deactivate_all_snodes() -> None:
    """Make the cells of all sparse nodes inactive, in all trees that have memory.

    qd.deactivate_all_snodes()
    """
    root.deactivate_all()


class FieldsBuilder(TreeBuilding):
    """A tree of its own: build it like `qd.root`, then `finalize()` it into an `SNodeTree` that can be destroyed.

    builder = qd.FieldsBuilder()
    builder.dense(qd.i, 8).place(x)
    tree = builder.finalize()
    """

    __slots__ = ("_tree", "finalized", "_site", "__weakref__")

    def __init__(self):
        context.require()
        self._tree = SNodeTree()
        self.finalized = False
        self._site = caller_site()
        _state.builders.append(weakref.ref(self))

    @property
    def root(self) -> SNode:
        """The root node of the tree."""
        return self._tree.root

    @property
    def empty(self) -> bool:
        """True while nothing was built."""
        return not self._tree.root.children

    def _node(self) -> SNode:
        if self.finalized:
            raise QuadrantsRuntimeError("FieldsBuilder finalized")
        return self._tree.root._node()

    # The verbs of nodes, whose parameters are called otherwise here.

    def dense(self, indices: Any, dimensions: Any) -> SNode:
        """A top node in which every cell exists. `dimensions`: cells per axis; one int repeats for all axes."""
        return super().dense(indices, dimensions)

    def pointer(self, indices: Any, dimensions: Any) -> SNode:
        """As `SNode.pointer`."""
        return super().pointer(indices, dimensions)

    def bitmasked(self, indices: Any, dimensions: Any) -> SNode:
        """As `SNode.bitmasked`."""
        return super().bitmasked(indices, dimensions)

    def dynamic(self, index: Any, dimension: Any, chunk_size: Any = None) -> SNode:
        """As `SNode.dynamic`."""
        return super().dynamic(index, dimension, chunk_size)

    def quant_array(self, indices: Any, dimensions: Any, max_num_bits: Any) -> SNode:
        """As `SNode.quant_array`."""
        return super().quant_array(indices, dimensions, max_num_bits)

    def deactivate_all(self) -> None:
        """Make the cells of all sparse nodes of the tree inactive."""
        self._tree.deactivate_all()

    def finalize(self, raise_warning: bool = True) -> SNodeTree:
        """Allocate the tree at once. An empty builder only warns, unless `raise_warning` is False."""
        if self.finalized:
            raise QuadrantsRuntimeError("FieldsBuilder finalized")
        with _lock:
            if self.empty:
                if raise_warning:
                    caller.warn("Finalizing an empty FieldsBuilder")
                self._tree.frozen = True
                self._tree._id = next(_state.ids)
            else:
                self._tree.allocate()
            self.finalized = True
            _state.builders[:] = [ref for ref in _state.builders if ref() not in (None, self)]
        return self._tree


__all__ = ["FieldsBuilder", "Leaf", "SNode", "SNodeTree", "current", "deactivate_all_snodes", "materialize", "root"]


@context.on_first_container
def _register(session) -> None:
    session.on_materialize(materialize)
    session.on_clear(clear)
