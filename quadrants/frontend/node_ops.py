"""`qd.get_addr`, `qd.rescale_index`, and what the operations on sparse nodes mean where a node is dense."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.ir.nodes import Cell, Const
from quadrants.ir.types import i32, u64
from quadrants.lang import tensor, typed
from quadrants.lang.kinds import FIELD_KINDS, kind_of, unwrapped
from quadrants.lang.value import Value

if TYPE_CHECKING:
    from quadrants.frontend.tracer import Tracer


def _get_addr(tracer: Tracer, f, indices) -> Value:
    """The address of the element; of its first component where the components have arrays of their own."""
    f = unwrapped(f)
    if kind_of(f) not in ("field", "matrix_field"):
        raise QuadrantsTypeError("qd.get_addr takes a field of numbers, vectors or matrices, and its indices.")
    cell = tracer.memory.subscript_object(f, (indices,)).place
    if tracer.outside.stands_for(cell):  # what stands for it is no memory of the field
        return Value(Const(0, u64))
    if cell.array.components is not None:
        first = cell.array.components[0]
        cell = Cell(first, cell.indices, first.type)
    return tracer.simt.intrinsic("address", (cell,), u64)


def _rescale_index(tracer: Tracer, a, b, I) -> Value:  # noqa: E741, N803 - the public name of the parameter
    shapes = [_shape(a), _shape(b)]
    if isinstance(I, Value) and I.is_tensor and len(I.shape) == 1:
        parts = tensor.parts(I)
    elif getattr(I, "_qd_host_matrix", False):
        parts = I.to_list()
    else:
        raise QuadrantsTypeError(
            "qd.rescale_index: the index must be a vector: qd.rescale_index(a, b, qd.Vector([i, j]))"
        )
    parts = list(parts)
    for axis, (old, new) in enumerate(zip(*shapes, strict=False)):
        if axis >= len(parts):
            break
        if new > old:
            parts[axis] = typed.binary("mul", parts[axis], new // old)
        elif new < old:
            parts[axis] = typed.binary("floordiv", parts[axis], old // new)
    return tensor.construct(parts)


def _shape(x) -> tuple:
    x = unwrapped(x)
    if kind_of(x) not in (*FIELD_KINDS, "snode"):
        raise QuadrantsTypeError("qd.rescale_index takes fields or nodes of a field tree, and an index vector.")
    return x.shape


def _node(x, function: str):
    if kind_of(x) != "snode":
        raise QuadrantsSyntaxError(
            f"qd.{function} takes a node of a field tree, such as field.parent(), and its indices."
        )
    return x


def _activate(tracer: Tracer, node, indices) -> None:
    """Dense cells are always there: nothing to do."""
    if _node(node, "activate").kind == "place":
        raise QuadrantsTypeError("qd.activate is not supported on a place node; name the node above it.")
    if node.kind in ("pointer", "bitmasked"):
        tracer.sparse.run("activate", node, tracer.sparse.coordinates(node, indices))
    elif node.kind == "dynamic":
        raise QuadrantsTypeError("qd.activate does not work on a dynamic node: append to its lists.")


def _deactivate(tracer: Tracer, node, indices) -> None:
    if _node(node, "deactivate").kind in ("pointer", "bitmasked", "dynamic"):
        tracer.sparse.run("deactivate", node, tracer.sparse.coordinates(node, indices))


def _is_active(tracer: Tracer, node, indices) -> Value:
    _only_on("is_active", node, ("pointer", "bitmasked"))
    return tracer.sparse.run("is_active", node, tracer.sparse.coordinates(node, indices), i32)


def _append(tracer: Tracer, node, indices, val) -> Value:
    _only_on("append", node, ("dynamic",))
    return tracer.sparse.append(node, indices, val)


def _length(tracer: Tracer, node, indices) -> Value:
    _only_on("length", node, ("dynamic",))
    return tracer.sparse.run("length", node, tracer.sparse.coordinates(node, indices), i32)


def _only_on(function: str, node, kinds: tuple) -> None:
    found = _node(node, function).kind
    if found not in kinds:
        raise QuadrantsTypeError(f"qd.{function} only works on {' or '.join(kinds)} nodes, not on a {found} node.")


HANDLERS = {
    "get_addr": _get_addr,
    "rescale_index": _rescale_index,
    "activate": _activate,
    "deactivate": _deactivate,
    "is_active": _is_active,
    "append": _append,
    "length": _length,
}
