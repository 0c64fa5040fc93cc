"""Operations on cells of sparse nodes. Passes make functions and arrays of them (`passes.sparse`)."""

from __future__ import annotations

from quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError, QuadrantsTypeError
from quadrants.frontend.memory import Memory
from quadrants.frontend.places import Places
from quadrants.frontend.simt import Simt
from quadrants.frontend.state import State
from quadrants.frontend.structcell import StructCell
from quadrants.ir.nodes import Const, If
from quadrants.ir.types import i32
from quadrants.lang import access, tensor, typed
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.kinds import kind_of
from quadrants.lang.value import Value


class Sparse:
    """Activates, deactivates and asks cells, and appends to lists."""

    __slots__ = ("options", "writer", "flow", "declared", "memory", "places", "simt")

    def __init__(self, state: State, memory: Memory, places: Places, simt: Simt) -> None:
        self.options = state.options
        self.writer = state.writer
        self.flow = state.flow
        self.declared = state.declared
        self.memory = memory
        self.places = places
        self.simt = simt

    # ------------------------------------------------------------ cells

    def coordinates(self, node, indices, listed: bool = True) -> tuple:
        """The coordinates of a cell of a node, as i32. listed: of a dynamic node, those of a list are asked for."""
        flat = access.flatten_indices((indices,))
        axes = list(node.extents())
        own = axes.index(node.axes[0]) if node.kind == "dynamic" and listed else -1
        count = len(axes) - (own >= 0)
        if len(flat) != count:
            raise QuadrantsRuntimeError(f"The {node.kind} node {node} has {count} indices. Indexed with {len(flat)}.")
        found = [self.writer.temp(Value(access.index_expr(x, k))).expr for k, x in enumerate(flat)]
        if own >= 0:
            found.insert(own, Const(0, i32))
        if self.options.check_bounds:
            extents = [Const(n, i32) for n in node.shape]
            site = ("field", str(node), node.shape, None)
            self.writer.check(access.in_bounds(tuple(found), extents), site, tuple(found))
        return tuple(found)

    def run(self, verb: str, node, coords: tuple, t=None):
        """`sparse.verb` of the cell at some coordinates."""
        return self.operation(verb, coords, t, _record(node))

    def operation(self, verb: str, coords: tuple, t, record):
        self.declared.on_nodes = True
        return self.simt.intrinsic(f"sparse.{verb}", coords, t, (record,))

    def deactivation_of(self, element: Value | StructCell) -> access.KernelMethod | None:
        """`x[i].deactivate` of a cell of a pointer or bitmasked node; None where it is in no such cell."""
        place = element.member(element.keys[0]).place if isinstance(element, StructCell) else element.place
        decl = getattr(place, "array", None)
        if decl is None or decl.within is None:
            return None
        parts = decl.components or (decl,)
        within = parts[0].within
        first = decl.index_offset or (0,) * decl.ndim
        index = [Value(e) for e in place.indices]
        zero_based = [typed.binary("sub", x, o) if o else x for x, o in zip(index, first)]
        coords = [typed.binary("floordiv", zero_based[k], d) if d > 1 else zero_based[k] for k, d in within.axes]
        held = tuple(self.writer.temp(x).expr for x in coords)
        return access.KernelMethod(
            lambda _: self.operation("deactivate", held, None, within.node), element, "deactivate"
        )

    # ------------------------------------------------------------ lists

    def append(self, node, indices, value) -> Value:
        """Store `value` behind the last entry of a list. It is dropped where the list is full."""
        coords = self.coordinates(node, indices)
        own = list(node.extents()).index(node.axes[0])
        value = value.as_value() if isinstance(value, StructCell) else value
        held = self.writer.temp(typed.to_value(value), "entry")
        parts = _leaves(held)
        inside = _inside(node)
        places = [child for child in inside if child.kind == "place" and child.leaf.role == "primal"]
        if len(parts) != len(places) or any(child.kind != "place" for child in inside):
            raise QuadrantsTypeError(
                f"An entry of the list {node} has {len(places)} numbers; what is appended has {len(parts)}."
            )
        record = _record(node)
        self.operation("around", coords, None, record)
        slot = self.operation("append", coords, i32, record)
        room = typed.binary("lt", slot, node.dims[0])
        if self.options.debug:
            self.writer.check(room.expr, ("list", str(node), node.dims[0]), (slot.expr,))
        then: list = []
        with self.flow.runtime_control(), self.writer.in_block(then):
            for child, part in zip(places, parts):
                at = [Value(c) for c in coords]
                at[own] = slot
                self.places.assign_to(self.cell_of(child, at), part)
        self.writer.emit(If(room.expr, then, []))
        return slot

    def cell_of(self, place, coords: list) -> Value:
        """The number that a place node has at some coordinates."""
        leaf = place.leaf
        field = next(f for f in (ref() for ref in leaf.owners) if f is not None and leaf in f._leaves)
        order = leaf.order or tuple(range(len(coords)))
        offset = leaf.offset or (0,) * len(coords)
        index: list = [None] * len(coords)
        for k, axis in enumerate(order):
            index[axis] = typed.binary("add", coords[k], offset[axis]) if offset[axis] else coords[k]
        return self.component(field, leaf, index)

    def component(self, field, leaf, index: list) -> Value:
        while kind_of(field) == "struct_field":
            field = next(m for m in (field.get_member_field(k) for k in field.keys) if leaf in m._leaves)
        found = self.memory.subscript_object(field, tuple(index))
        if kind_of(field) == "field":
            return found
        number = field._leaves.index(leaf)
        columns = field.m if field.ndim == 2 else 1
        return access.subscript(found, (number,) if field.ndim == 1 else divmod(number, columns))


class ListCell(KernelObject):
    """`x[i]` of a field `x` in lists, with an index for every axis but that of the list."""

    what = "list"

    def __init__(self, sparse: Sparse, node, indices: tuple) -> None:
        self.sparse, self.node, self.indices = sparse, node, indices

    def attribute(self, name: str):
        """A method of lists."""
        methods = {"append": _append, "length": _length, "deactivate": _deactivate}
        if name not in methods:
            raise QuadrantsCompilationError(f"A list has no attribute '{name}'; it has {', '.join(methods)}.")
        return access.KernelMethod(methods[name], self, name)


def list_cell(sparse: Sparse, field, indices: tuple) -> ListCell | None:
    """What `field[indices]` is where that names a list; None otherwise."""
    leaf = field._leaves[0]
    if leaf.snode is None or leaf.cell is None:
        return None
    node = leaf.snode.up.up if leaf.snode.up.kind == "bit_struct" else leaf.snode.up
    if node.kind != "dynamic":
        return None
    if len(access.flatten_indices(indices)) != len(node.shape) - 1:
        return None
    offset = leaf.offset or (0,) * len(node.shape)
    own = list(node.extents()).index(node.axes[0])
    rest = [o for k, o in enumerate(offset) if k != own]
    flat = access.flatten_indices(indices)
    return ListCell(sparse, node, tuple(typed.binary("sub", x, o) if o else x for x, o in zip(flat, rest)))


def _append(cell: ListCell, val) -> Value:
    return cell.sparse.append(cell.node, cell.indices, val)


def _length(cell: ListCell) -> Value:
    return cell.sparse.run("length", cell.node, cell.sparse.coordinates(cell.node, cell.indices), i32)


def _deactivate(cell: ListCell) -> None:
    cell.sparse.run("deactivate", cell.node, cell.sparse.coordinates(cell.node, cell.indices))


def _inside(node) -> list:
    """The nodes in a cell; those of a word in place of it."""
    return [part for child in node.children for part in (child.children if child.kind == "bit_struct" else [child])]


def _record(node):
    return node.tree.sparse.store(node).record


def _leaves(value: Value) -> list:
    """The numbers of a value, in the order in which members and components are placed."""
    if value.is_struct:
        return [leaf for key, _ in value.type.members for leaf in _leaves(access.member(value, key))]
    return tensor.parts(value) if value.is_tensor else [value]
